"""Rows that show some of the generators: the Control in every row, the others in balanced incomplete blocks.

- Which generators: the periods of `humaneval.design.blocks`, one after the other.
- Positions: of every p appearances of a generator, first to p-th and so on, each of the p positions has one. So its
  counts are within 1 of each other after any number of rows.
- Places: of every k appearances of a generator each of the k places has one (`even_places`), with the same bound; what
  stands together in a row changes its order from one cycle to the next by the rows of a Williams square.
- Stories: never twice in a row. A generator shows a blank again only when the row leaves it none that it has shown less
  often; of those it takes the blank that most others have shown already, so that each blank is seen under every
  generator before many more are begun.

The Human is among the others: every score, the ceiling too, then rests on equally many responses, and a short
row is not spent on what is no competitor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import lcm
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from humaneval.design.blocks import even_places, period
from humaneval.errors import DesignError


class Shown(NamedTuple):
    """A passage of a row: whose infill (by number) of which story's blank."""

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
) -> Iterator[list[Shown]]:
    """Rows of `size` of the `generators`, for ever; each set of passages `responses` times running, in other
    orders.

    `control` is the number of the one that is in every row, `orders` a Williams square of `size`. Raises
    DesignError where a position has fewer than `size` stories: with so many there is always one that the row
    has not shown.
    """
    sets, cycle = _cycle(generators, size, control, responses)
    teller = _Teller(generators, size, control, blanks, positions, rng)
    number = 0
    while True:
        order = orders[number % len(orders)]
        for at, row in enumerate(cycle):
            if at % responses == 0:
                passages = teller.tell(sets[at // responses % len(sets)])
            yield [passages[row[place]] for place in order]
        number += 1


def _cycle(
    generators: int, size: int, control: int | None, responses: int
) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """The sets of one period, and the rows in order after which every generator stood at each place equally
    often."""
    others = [g for g in range(generators) if g != control]
    always = [] if control is None else [control]
    blocks = period(len(others), size - len(always))
    sets = [(*always, *(others[one] for one in block)) for block in blocks]
    repeated = [one for one in sets for _ in range(responses)]
    appearances = {g: sum(g in one for one in repeated) for g in range(generators)}
    times = lcm(*(size // np.gcd(size, count) for count in appearances.values() if count))
    return sets, even_places(repeated * int(times))


class _Teller:
    """Says which blank each generator of a row shows."""

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
            if fits.sum() < size:
                raise DesignError(
                    f"position {position} has only {int(fits.sum())} stories that all generators have filled;"
                    f" {size} are needed",
                    "Run every generator on all positions, or leave the position out of the study.",
                )
        self.by = np.zeros((generators, *self.fits.shape), dtype=np.int64)
        self.shown = np.zeros(self.fits.shape, dtype=np.int64)  # by others than the control
        self.left: list[list[int]] = [[] for _ in range(generators)]

    def tell(self, generators: Sequence[int]) -> dict[int, Shown]:
        """A passage for each of them: positions as varied as they can be, no story twice."""
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
            passages[g] = Shown(self.stories[story], self.positions[at], g)
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
        # Of equals the story that was shown least.
        cost = (mine * (self.others + 1) - begun) * 1_000_000 + self.shown.sum(axis=0)
        return int(np.argmin(np.where(self.fits[at] & ~taken, cost, np.iinfo(np.int64).max)))
