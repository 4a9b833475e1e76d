"""Fills masks one visit after another: which places are visited in which order, and how a piece is drawn
there.

Each text has its own walk, a Python generator: it yields the places whose pieces it wants to know, gets what
the model says there, and puts pieces in. Every turn is one forward pass for all texts that are still on their
way. What a text gets depends on (seed, key) alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from generators.masked.masked_lm import MaskedLM
from generators.options import refuse_unless
from generators.sampling.decoding import limited, pick, uniforms

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Visiting:
    """The options. `top_k` 0 and `top_p` 1: no limit. `steps`: of gibbs; `rounds`: of mask-predict."""

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
        refuse_unless(0 < self.temperature <= 100, "temperature", "above 0, to 100")
        refuse_unless(0 <= self.top_k <= 1_000_000, "top_k", "0 (no limit) or more")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0, to 1")
        refuse_unless(1 <= self.steps <= 100_000, "steps", "1 to 100000")
        refuse_unless(1 <= self.rounds <= 1000, "rounds", "1 to 1000")

    def at(self, turn: int) -> Visiting:
        """How pieces are drawn at a turn: in the first half of gibbs' steps, from all pieces (Wang and
        Cho 2019)."""
        if self.order == "gibbs" and turn < self.steps // 2:
            return Visiting(sampling=self.sampling, temperature=self.temperature, top_p=1.0)
        return self


OWN = {"gibbs": {"top_k": "100", "top_p": "1"}}
"""Options that an order has values of its own for, where none are given."""


class Seen(NamedTuple):
    """What the model says at a masked place: the piece that was drawn, its log-probability, and that of the
    likeliest."""

    piece: int
    logprob: float
    best: float


@dataclass(slots=True)
class Row:
    """A text on its way: its ids with masks, and the places to fill, by their indices among the ids."""

    ids: list[int]
    holes: tuple[int, ...]
    key: str
    mask: int
    logprobs: dict[int, float] = field(default_factory=dict)
    """By number of the hole: of the piece that stands there now."""
    visits: list[int] = field(default_factory=list)
    """Numbers of the holes, in the order in which pieces were put in."""

    def put(self, hole: int, seen: Seen) -> None:
        self.ids[self.holes[hole]] = seen.piece
        self.logprobs[hole] = seen.logprob
        self.visits.append(hole)

    def clear(self, hole: int) -> None:
        self.ids[self.holes[hole]] = self.mask

    @property
    def empty(self) -> list[int]:
        """Numbers of the holes that were never filled."""
        return [hole for hole in range(len(self.holes)) if hole not in self.logprobs]


Walk = Generator[Sequence[int], Sequence[Seen], None]


def left_to_right(row: Row, options: Visiting, seed: int) -> Walk:
    yield from _one_by_one(row, range(len(row.holes)))


def by_chance(row: Row, options: Visiting, seed: int) -> Walk:
    order = np.argsort(uniforms(seed, f"{row.key} order", len(row.holes)), kind="stable")
    yield from _one_by_one(row, order.tolist())


def confident(row: Row, options: Visiting, seed: int) -> Walk:
    """The place where the likeliest piece is likeliest, among those that are empty; the left one of
    equals."""
    while left := row.empty:
        seen = yield left
        at = max(range(len(left)), key=lambda number: seen[number].best)
        row.put(left[at], seen[at])


def gibbs(row: Row, options: Visiting, seed: int) -> Walk:
    """From masks alone, `steps` places by chance, each emptied and drawn anew; what was never met is filled
    at the end."""
    chance = uniforms(seed, f"{row.key} order", options.steps)
    for hole in (chance * len(row.holes)).astype(int).tolist():
        row.clear(hole)
        yield from _one_by_one(row, [hole])
    yield from _one_by_one(row, row.empty)


def mask_predict(row: Row, options: Visiting, seed: int) -> Walk:
    """All at once; then, in round t of T, the n·(T−t)/T places are drawn anew that were put in with the least
    probability (Ghazvininejad et al. 2019)."""
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
"""The orders, as an arm's description tells them."""
WALKS: dict[str, Callable[[Row, Visiting, int], Walk]] = {
    "left-to-right": left_to_right,
    "random": by_chance,
    "confident": confident,
    "gibbs": gibbs,
    "mask-predict": mask_predict,
}


def fill_masks(model: MaskedLM, rows: Sequence[Row], options: Visiting, seed: int) -> None:
    """Take every row along its walk to the end; rows have at least one hole. Those that are done leave
    the batch."""
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
    """What the model says at every place that is looked at."""
    import torch

    line = {at: number for number, at in enumerate(active)}
    logits = model.logits(
        [rows[at].ids for at in active],
        [line[look.row] for look in looks],
        [rows[look.row].holes[look.hole] for look in looks],
    )
    # A gap does not begin in the middle of a word.
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
    """One piece a line of `logits` (lines, pieces): the likeliest, or the one at which the cumulated share of
    what is allowed passes the line's number in `chance` (0 to 1). top_p is the usual one: the piece that
    crosses it is in.
    """
    import torch

    if how.sampling == "greedy":
        return logits.argmax(-1)
    shares = torch.softmax(logits / how.temperature, dim=-1)
    return pick(limited(shares, how.top_p, how.top_k), chance.to(shares.device))
