"""Which annotator sees which passages, in which order: seeded, balanced rows.

The design works in *squares* of p × m rows (p positions, m generators; 40 rows for 8 generators and 5
positions). A square has p × m blanks, and every generator fills each of them once. Rows are t = 0, 1, …:

- The passage of generator g in row t is at position (t + a_g) mod p. The a_g are spread over the positions
  again in each square. So every p rows have each position once for each generator.
- It is blank number (s + g) mod m of that position, with s = t div p within the square. So each blank meets
  every generator once, in m different rows, and a row never has a blank number twice. Two blank numbers
  never share a story, so no row shows a story twice.
- The order within a row is row (t + t div lcm(m, p)) mod m of a Williams square; for odd m, of the square
  and its mirror image in turn. For even m, each m rows have every generator once at each place and every
  ordered pair of neighbours once. The slow shift separates place from position if m and p have a common
  divisor.

So every count (generator × position, × place, ordered neighbours) is within 1 of equal after any number of
rows. Only for odd m, ordered neighbours balance over 2m rows and are within 2.

If R annotators judge each passage, R consecutive rows show the same passages in different orders. Then the
above holds for these sets of R rows: generator × position is within R of equal, and places and neighbours
are as even as before. Rows with only some of the generators are in `humaneval.design.partial_rows`,
the squares in `humaneval.design.passage_order`.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import lcm
from random import Random
from typing import NamedTuple

import numpy as np

from humaneval.design.partial_rows import partial_rows, refuse_few
from humaneval.design.passage_order import williams
from humaneval.domain import POSITIONS
from humaneval.errors import DesignError


class Cell(NamedTuple):
    """One passage of a row: the infill by a generator for a story's blank."""

    story: str
    position: int
    generator: str


@dataclass(frozen=True, slots=True)
class Design:
    """Rows of cells, in the order in which annotators get them."""

    rows: tuple[tuple[Cell, ...], ...]
    positions: tuple[int, ...]


def make_design(
    *,
    generators: Sequence[str],
    blanks: Mapping[str, Collection[int]],
    annotators: int,
    seed: int,
    positions: Sequence[int] = POSITIONS,
    passages_per_row: int = 0,
    responses_per_passage: int = 1,
    control: str = "",
) -> Design:
    """A design of `annotators` rows. Its first rows are the design of fewer annotators.

    `blanks` gives, for each story id, the positions that every generator has filled. A row shows every
    generator, or `passages_per_row` of them; then `control`, if it is one of them, is in every row. Each
    passage is in `responses_per_passage` rows. If the number of rows is not a multiple, the last set of
    passages is in fewer.

    Raises DesignError, with the number needed, if there are too few stories.
    """
    m = len(generators)
    size = passages_per_row or m
    _refuse_bad_sizes(generators, annotators, size, responses_per_passage)
    rng = Random(f"design {seed}")
    names = list(generators)
    rng.shuffle(names)
    if size == m:
        rows = _whole_rows(names, blanks, annotators, positions, responses_per_passage, rng)
        return Design(tuple(rows), tuple(positions))
    made = partial_rows(
        generators=m,
        size=size,
        control=names.index(control) if control in names else None,
        blanks=blanks,
        positions=positions,
        responses=responses_per_passage,
        orders=williams(size),
        rng=rng,
    )
    return Design(
        tuple(
            tuple(Cell(shown.story, shown.position, names[shown.generator]) for shown in row)
            for row in islice(made, annotators)
        ),
        tuple(positions),
    )


def _whole_rows(
    names: Sequence[str],
    blanks: Mapping[str, Collection[int]],
    annotators: int,
    positions: Sequence[int],
    responses: int,
    rng: Random,
) -> list[tuple[Cell, ...]]:
    m, p = len(names), len(positions)
    orders = williams(m)
    dealer = _Dealer(blanks, positions, m, rng)
    rows: list[tuple[Cell, ...]] = []
    offsets: list[int] = []
    dealt: list[list[str]] = []
    for row in range(annotators):
        t = row // responses  # number of the set of passages
        s, r = divmod(t % (p * m), p)
        if row % (p * m * responses) == 0:
            offsets = _spread(m, p, rng)
            dealt = dealer.deal()
        block, shift = row // m, row // lcm(m, p * responses)
        order = orders[block * m % len(orders) + (row + shift) % m]
        cells = []
        for g in order:
            at = (r + offsets[g]) % p
            cells.append(Cell(dealt[at][(s + g) % m], positions[at], names[g]))
        rows.append(tuple(cells))
    return rows


def _refuse_bad_sizes(generators: Sequence[str], annotators: int, size: int, responses: int) -> None:
    if len(generators) < 2:
        raise DesignError(
            "a study needs at least two generators", "List them in the study file: generators = [...]."
        )
    if len(set(generators)) != len(generators):
        raise DesignError("a generator is listed twice", "List each generator once.")
    if annotators < 1:
        raise DesignError("a study needs at least one annotator", "Set annotators in the study file.")
    if not 2 <= size <= len(generators):
        raise DesignError(
            f"a row cannot have {size} passages of {len(generators)} generators",
            f"Set passages_per_row to 0 (all of them) or to 2 to {len(generators)}.",
        )
    if responses < 1:
        raise DesignError("a passage needs at least one response", "Set responses_per_passage to 1 or more.")


def _spread(m: int, p: int, rng: Random) -> list[int]:
    """An offset for each generator, so that the positions in a row are as varied as possible."""
    turn = rng.randrange(p)
    offsets = [(i + turn) % p for i in range(m)]
    rng.shuffle(offsets)
    return offsets


class _Dealer:
    """Deals stories to the p × m blanks of one square after another, and uses each story and blank evenly."""

    def __init__(
        self, blanks: Mapping[str, Collection[int]], positions: Sequence[int], m: int, rng: Random
    ) -> None:
        self.m, self.positions = m, positions
        self.stories = [story for story, filled in blanks.items() if set(filled) & set(positions)]
        rng.shuffle(self.stories)
        self.fits = np.array(
            [[position in blanks[story] for story in self.stories] for position in positions], dtype=bool
        )
        # The position with the fewest stories chooses first.
        self.in_turn = sorted(range(len(positions)), key=lambda at: int(self.fits[at].sum()))
        self.used = np.zeros(self.fits.shape, dtype=np.int64)
        self.total = np.zeros(len(self.stories), dtype=np.int64)
        self.queues: list[list[tuple[int, int]]] = []
        if len(self.stories) < m:
            raise DesignError(
                f"{m} generators need at least {m} stories that all of them have filled; there are"
                f" {len(self.stories)}",
                "Generate for more stories, or check that every generator ran on the same ones.",
            )
        for at, position in enumerate(positions):
            refuse_few(position, int(self.fits[at].sum()), m)

    def deal(self) -> list[list[str]]:
        """For each position, m stories. No story has two blank numbers. The least used come first."""
        dealt = self._quickly() or self._thriftily()
        if dealt is None:
            raise DesignError(
                "rows without repeated stories are impossible: too many stories lack a position",
                f"{self.m} stories with all positions filled ({', '.join(map(str, self.positions))}) are"
                " always enough.",
            )
        return dealt

    def _quickly(self) -> list[list[str]] | None:
        """One attempt, which may fail. Each pick looks at the head of a queue, not at all stories.

        First comes a blank used least at its position, then the story used least. A story that is already in
        this pile comes last: more different stories tell more.
        """
        if not self.queues:
            self.queues = [self._queue(at) for at in range(len(self.positions))]
        piled: list[list[int]] = [[] for _ in range(self.m)]
        pile: set[int] = set()
        picked: list[tuple[int, int]] = []
        dealt: list[list[str]] = [[""] * self.m for _ in self.positions]
        for at in self.in_turn:
            for number in range(self.m):
                choices = [(self._cost(at, one) + 1, one) for one in piled[number] if self.fits[at, one]]
                choices += self._head(at, pile)
                if not choices:
                    for place, story in picked:
                        self.used[place, story] -= 1
                        self.total[story] -= 1
                    self.queues = []
                    return None
                best = min(choices)[1]
                if best not in pile:
                    pile.add(best)
                    piled[number].append(best)
                self.used[at, best] += 1
                self.total[best] += 1
                picked.append((at, best))
                dealt[at][number] = self.stories[best]
        for best in pile:
            for at in np.flatnonzero(self.fits[:, best]).tolist():
                heapq.heappush(self.queues[at], (self._cost(at, best), best))
        return dealt

    def _head(self, at: int, pile: set[int]) -> list[tuple[int, int]]:
        """The first story for a position that is in no pile, with its cost; none if there is none left.

        Those in piles come back when the square is dealt.
        """
        queue = self.queues[at]
        while queue:
            cost, story = queue[0]
            if story not in pile and cost == self._cost(at, story):
                return [(cost, story)]
            heapq.heappop(queue)
        return []

    def _cost(self, at: int, story: int) -> int:
        return int(self.used[at, story]) * 1_000_000 + int(self.total[story]) * 10

    def _queue(self, at: int) -> list[tuple[int, int]]:
        """The stories that fit a position, the least used first."""
        costs = self.used[at] * 1_000_000 + self.total * 10
        queue = [(int(costs[story]), int(story)) for story in np.flatnonzero(self.fits[at])]
        heapq.heapify(queue)
        return queue

    def _thriftily(self) -> list[list[str]] | None:
        """An attempt that prefers complete stories: m of them suffice."""
        pile = np.full(len(self.stories), -1, dtype=np.int64)
        used, total = self.used.copy(), self.total.copy()
        dealt: list[list[str]] = [[""] * self.m for _ in self.positions]
        holes = (~self.fits).sum(axis=0)
        for at in self.in_turn:
            for number in range(self.m):
                free = self.fits[at] & ((pile == -1) | (pile == number))
                if not free.any():
                    return None
                cost = (pile == -1) * 1_000_000_000 + holes * 100_000_000 + used[at]
                best = int(np.argmin(np.where(free, cost, np.iinfo(np.int64).max)))
                pile[best] = number
                used[at, best] += 1
                total[best] += 1
                dealt[at][number] = self.stories[best]
        self.used, self.total = used, total
        self.queues = []
        return dealt
