"""Rows that show some of the generators: the Control in every row, the others in balanced incomplete blocks.

- Generators: the periods of `humaneval.design.incomplete_blocks`, one after another.
- Positions: every p appearances of a generator (the first to p-th and so on) use each of the p positions
  once. So its counts differ by at most 1 after any number of rows.
- Places: every k appearances of a generator use each of the k places once (`even_places`), with the same
  bound. The order within a row changes from one cycle to the next by the rows of a Williams square.
- Stories: never twice in a row. A generator repeats a blank only if the row leaves it none that it has
  shown less often. Of those it takes the blank that most others have shown already. So each blank is seen
  under every generator before many new ones are started.

The Human is one of the others: every score, including the ceiling, then rests on equally many responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import lcm
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from humaneval.design.incomplete_blocks import period
from humaneval.design.passage_order import even_places
from humaneval.errors import DesignError
from humaneval.text import counted


class NumberedCell(NamedTuple):
    """One passage of a row: the infill for a story's blank by a generator, which is a number here."""

    story: str
    position: int
    generator: int


def partial_rows(
    *,
    generators: int,
    size: int,
    control: int | None,
    blanks: Mapping[str, Collection[int]],
    positions: Sequence[int],
    responses: int,
    orders: Sequence[Sequence[int]],
    rng: Random,
) -> Iterator[list[NumberedCell]]:
    """Endless rows of `size` of the `generators`; each set of passages `responses` times, in other orders.

    `control` is the number of the generator that is in every row, `orders` a Williams square of `size`.
    Raises DesignError if a position has fewer than `size` stories: with that many, one is always left.
    """
    sets, cycle = _cycle(generators, size, control, responses)
    chooser = _Chooser(generators, size, control, blanks, positions, rng)
    number = 0
    while True:
        order = orders[number % len(orders)]
        for at, row in enumerate(cycle):
            if at % responses == 0:
                passages = chooser.choose(sets[at // responses % len(sets)])
            yield [passages[row[place]] for place in order]
        number += 1


def _cycle(
    generators: int, size: int, control: int | None, responses: int
) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """The sets of one period, and ordered rows that put every generator at each place equally often."""
    others = [g for g in range(generators) if g != control]
    always = [] if control is None else [control]
    blocks = period(len(others), size - len(always))
    sets = [(*always, *(others[one] for one in block)) for block in blocks]
    repeated = [one for one in sets for _ in range(responses)]
    appearances = Counter(g for one in repeated for g in one)
    times = lcm(*(size // np.gcd(size, count) for count in appearances.values()))
    return sets, even_places(repeated * int(times))


def refuse_few(position: int, stories: int, needed: int) -> None:
    """Raise DesignError if fewer stories are filled at a position than a row needs."""
    if stories < needed:
        raise DesignError(
            f"position {position} has only {counted(stories, 'story', plural='stories')} that all generators"
            f" have filled; {needed:,} are needed",
            "Run every generator on all positions, or leave the position out of the study.",
        )


class _Chooser:
    """Chooses the blank that each generator of a row shows."""

    def __init__(
        self,
        generators: int,
        size: int,
        control: int | None,
        blanks: Mapping[str, Collection[int]],
        positions: Sequence[int],
        rng: Random,
    ) -> None:
        self.positions, self.control, self.rng = positions, control, rng
        self.others = generators - (control is not None)
        self.stories = [story for story, filled in blanks.items() if set(filled) & set(positions)]
        rng.shuffle(self.stories)
        self.fits = np.array(
            [[at in blanks[story] for story in self.stories] for at in positions], dtype=np.bool_
        )
        for position, fits in zip(positions, self.fits, strict=True):
            refuse_few(position, int(fits.sum()), size)
        self.by = np.zeros((generators, *self.fits.shape), dtype=np.int64)
        self.shown = np.zeros(self.fits.shape, dtype=np.int64)  # by others than the control
        self.left: list[list[int]] = [[] for _ in range(generators)]

    def choose(self, generators: Sequence[int]) -> dict[int, NumberedCell]:
        """A passage for each generator: positions as varied as possible, no story twice."""
        taken = np.zeros(len(self.stories), dtype=np.bool_)
        here = [0] * len(self.positions)
        passages = {}
        for g in sorted(generators, key=lambda g: (g == self.control, g)):
            at = self._position(g, here)
            here[at] += 1
            story = self._story(g, at, taken)
            taken[story] = True
            self.by[g, at, story] += 1
            self.shown[at, story] += g != self.control
            passages[g] = NumberedCell(self.stories[story], self.positions[at], g)
        return passages

    def _position(self, g: int, here: Sequence[int]) -> int:
        if not self.left[g]:
            self.left[g] = list(range(len(self.positions)))
            self.rng.shuffle(self.left[g])
        at = min(self.left[g], key=lambda at: here[at])
        self.left[g].remove(at)
        return at

    def _story(self, g: int, at: int, taken: NDArray[np.bool_]) -> int:
        mine = self.by[g, at]
        begun = 0 if g == self.control else np.clip(self.shown[at] - mine * self.others, 0, self.others)
        # Of several equal ones, the story that was shown least.
        cost = (mine * (self.others + 1) - begun) * 1_000_000 + self.shown.sum(axis=0)
        return int(np.argmin(np.where(self.fits[at] & ~taken, cost, np.iinfo(np.int64).max)))
