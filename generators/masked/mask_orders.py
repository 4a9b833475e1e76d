"""Fills masks one after another: the order in which places are visited, and how a piece is drawn there.

Each text has its own walk, a Python generator: it yields places, gets what the model draws there, and puts
pieces in. Every turn is one forward pass for all texts that are not finished. What a text gets depends only
on (seed, key).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from generators.masked.masked_lm import MaskedLM
from generators.options import refuse_unless
from generators.sampling.choosing import chosen, refuse_nan
from generators.sampling.decoding import uniforms

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Visiting:
    """The options. `top_k` 0 and `top_p` 1: no limit. `steps` is for gibbs, `rounds` for mask-predict."""

    order: str = "left-to-right"
    sampling: str = "sampled"
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 0.95
    steps: int = 500
    rounds: int = 10

    def __post_init__(self) -> None:
        refuse_unless(self.order in WALKS, "order", ", ".join(WALKS))
        refuse_unless(self.sampling in ("sampled", "greedy"), "sampling", "sampled or greedy")
        refuse_unless(0.001 <= self.temperature <= 100, "temperature", "0.001 to 100")
        refuse_unless(0 <= self.top_k <= 1_000_000, "top_k", "0 (no limit) or more")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0, to 1")
        refuse_unless(1 <= self.steps <= 100_000, "steps", "1 to 100000")
        refuse_unless(1 <= self.rounds <= 1000, "rounds", "1 to 1000")

    def at(self, turn: int) -> Visiting:
        """The options at a turn: in the first half of the steps of gibbs, all pieces may be drawn (Wang and
        Cho 2019)."""
        if self.order == "gibbs" and turn < self.steps // 2:
            return Visiting(sampling=self.sampling, temperature=self.temperature, top_p=1.0)
        return self


OWN = {"gibbs": {"top_k": "100", "top_p": "1"}}
"""Options for which an order has default values of its own."""


class Seen(NamedTuple):
    """What the model draws at a masked place: a piece, its log-probability, and that of the likeliest
    piece."""

    piece: int
    logprob: float
    best: float


@dataclass(slots=True)
class Row:
    """A text that is being filled: its ids with masks, and the indices of the places to fill."""

    ids: list[int]
    holes: tuple[int, ...]
    key: str
    mask: int
    logprobs: dict[int, float] = field(default_factory=dict)
    """By number of the hole: the log-probability of the piece that is there now."""
    visits: list[int] = field(default_factory=list)
    """The numbers of the holes, in the order in which they were filled."""

    def put(self, hole: int, seen: Seen) -> None:
        self.ids[self.holes[hole]] = seen.piece
        self.logprobs[hole] = seen.logprob
        self.visits.append(hole)

    def clear(self, hole: int) -> None:
        self.ids[self.holes[hole]] = self.mask

    @property
    def empty(self) -> list[int]:
        """The numbers of the holes that were never filled."""
        return [hole for hole in range(len(self.holes)) if hole not in self.logprobs]


Walk = Generator[Sequence[int], Sequence[Seen], None]


def left_to_right(row: Row, options: Visiting, seed: int) -> Walk:
    yield from _one_by_one(row, range(len(row.holes)))


def by_chance(row: Row, options: Visiting, seed: int) -> Walk:
    order = np.argsort(uniforms(seed, f"{row.key} order", len(row.holes)), kind="stable")
    yield from _one_by_one(row, order.tolist())


def confident(row: Row, options: Visiting, seed: int) -> Walk:
    """Fill the empty place whose likeliest piece has the highest probability; the leftmost of equals."""
    while left := row.empty:
        seen = yield left
        at = max(range(len(left)), key=lambda number: seen[number].best)
        row.put(left[at], seen[at])


def gibbs(row: Row, options: Visiting, seed: int) -> Walk:
    """Visit `steps` random places; mask each and draw it again. Places that were never visited are filled at
    the end."""
    chance = uniforms(seed, f"{row.key} order", options.steps)
    for hole in (chance * len(row.holes)).astype(int).tolist():
        row.clear(hole)
        yield from _one_by_one(row, [hole])
    yield from _one_by_one(row, row.empty)


def mask_predict(row: Row, options: Visiting, seed: int) -> Walk:
    """Fill all places at once; then, in round t of T, draw the n·(T−t)/T places with the lowest probability
    again (Ghazvininejad et al. 2019)."""
    count, rounds = len(row.holes), options.rounds
    anew = list(range(count))
    for number in range(1, rounds + 1):
        for hole in anew:
            row.clear(hole)
        for hole, seen in zip(anew, (yield anew), strict=True):
            row.put(hole, seen)
        doubtful = sorted(range(count), key=lambda hole: row.logprobs[hole])
        anew = sorted(doubtful[: count * (rounds - number) // rounds])
        if not anew:
            break


def _one_by_one(row: Row, order: Sequence[int]) -> Walk:
    for hole in order:
        (seen,) = yield [hole]
        row.put(hole, seen)


WORDS = {
    "left-to-right": "each place once, from left to right",
    "random": "each place once, in an order by chance",
    "confident": "each place once, next the one where the likeliest piece is likeliest",
    "gibbs": "steps visits of places by chance, each masked anew; the first half draws from all pieces",
    "mask-predict": "all places at once, then in rounds the least probable anew, ever fewer",
}
"""The orders as a provenance describes them."""
WALKS: dict[str, Callable[[Row, Visiting, int], Walk]] = {
    "left-to-right": left_to_right,
    "random": by_chance,
    "confident": confident,
    "gibbs": gibbs,
    "mask-predict": mask_predict,
}


def fill_masks(model: MaskedLM, rows: Sequence[Row], options: Visiting, seed: int) -> None:
    """Fill all holes of every row; each row has at least one. Finished rows leave the batch."""
    walks = [WALKS[options.order](row, options, seed) for row in rows]
    asked = {at: next(walk) for at, walk in enumerate(walks)}
    turn = 0
    while asked:
        looks = []
        for at, holes in asked.items():
            row = rows[at]
            chance = uniforms(seed, f"{row.key} {turn}", len(row.holes))
            looks += [_Look(at, hole, float(chance[hole])) for hole in holes]
        found = iter(_see(model, rows, list(asked), looks, options.at(turn)))
        going = {}
        for at, holes in asked.items():
            try:
                going[at] = walks[at].send(list(islice(found, len(holes))))
            except StopIteration:
                continue
        asked = going
        turn += 1


class _Look(NamedTuple):
    row: int
    hole: int
    chance: float


def _see(
    model: MaskedLM, rows: Sequence[Row], active: Sequence[int], looks: Sequence[_Look], how: Visiting
) -> list[Seen]:
    """What the model draws at every place that is looked at."""
    import torch

    line = {at: number for number, at in enumerate(active)}
    logits = model.logits(
        [rows[at].ids for at in active],
        [line[look.row] for look in looks],
        [rows[look.row].holes[look.hole] for look in looks],
    )
    # A gap cannot begin in the middle of a word.
    starts = [number for number, look in enumerate(looks) if _begins(rows[look.row], look.hole)]
    if starts and model.pieces.continuing:
        banned = torch.tensor(model.pieces.continuing, device=logits.device)
        logits[torch.tensor(starts, device=logits.device).unsqueeze(1), banned] = float("-inf")
    logprobs = torch.log_softmax(logits, dim=-1)
    chosen = choose(logits, torch.tensor([look.chance for look in looks]), how).to(logits.device)
    taken = logprobs.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
    values = zip(chosen.tolist(), taken.tolist(), logprobs.amax(-1).tolist(), strict=True)
    return [Seen(*one) for one in values]


def _begins(row: Row, hole: int) -> bool:
    return hole == 0 or row.holes[hole - 1] + 1 < row.holes[hole]


def choose(logits: torch.Tensor, chance: torch.Tensor, how: Visiting) -> torch.Tensor:
    """One piece for each line of `logits` (lines, pieces). It is the likeliest, or the one at which the
    cumulative probability passes the line's number in `chance` (0 to 1). The piece that crosses top_p is
    kept.
    """
    import torch

    if how.sampling == "greedy":
        refuse_nan(logits)
        return logits.argmax(-1)
    shares = torch.softmax(logits / how.temperature, dim=-1)
    return chosen(shares, chance.to(shares.device), how.top_p, how.top_k)
