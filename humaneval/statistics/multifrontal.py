"""The determinant of a large sparse symmetric matrix, and the entries of its inverse that a model needs.

The multifrontal method. Rows with the same neighbours are eliminated together, and those with the fewest
neighbours first. Each such group is a *front*: a small dense matrix of its own rows and the neighbours that
are left. Where forms were dealt in squares, as the designs of this toolkit deal them, fronts stay as small as
a square. Then n rows cost n times a square instead of n³. Everything is exact.

Duff and Reid (1983), The multifrontal solution of indefinite sparse symmetric linear equations. For the
inverse: Takahashi, Fagan and Chen (1973).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from humaneval.statistics.arrays import Codes, Floats, Indices, distinct

STEPS = 20_000_000
"""So many neighbours are joined at most when the order is sought: about three seconds. The rest is one dense
front."""


class Front(NamedTuple):
    """Rows that are eliminated together, and the later rows that they touch."""

    own: int
    """How many of `rows` are eliminated here: the first ones."""
    rows: Codes
    parent: int
    """The front that eliminates the first of the others; −1 if there are none."""
    places: Codes
    """Where the others stand among the parent's rows."""
    start: int
    """Where its matrix begins among the numbers of all fronts."""

    @property
    def size(self) -> int:
        """Rows of its matrix."""
        return int(self.rows.size)


@dataclass(frozen=True, slots=True)
class Fronts:
    """The order of elimination for one pattern of entries. Values come later, as often as needed."""

    fronts: tuple[Front, ...]
    place: Codes
    """Where each entry of the pattern stands among the numbers of all fronts."""
    numbers: int
    """How many numbers all fronts hold."""

    @property
    def cost(self) -> float:
        """The multiplications of a factorisation, up to a constant: n³ for one dense front of n rows."""
        return float(sum(front.size**3 for front in self.fronts))

    def inverse(self, values: Floats) -> Inverted:
        """The logarithm of the determinant, and the inverse at the pattern's entries.

        `values` are the entries of a positive definite matrix, in the order of the pattern.
        """
        held = np.zeros(self.numbers)
        held[self.place] = values
        squares = [
            held[front.start : front.start + front.size**2].reshape(front.size, front.size)
            for front in self.fronts
        ]
        logdet = 0.0
        for front, square in zip(self.fronts, squares, strict=True):
            own = front.own
            factor, _ = linalg.lapack.dpotrf(square[:own, :own], lower=1, clean=1)
            logdet += 2.0 * float(np.log(factor.diagonal()).sum())
            inverted, _ = linalg.lapack.dpotri(factor, lower=1)
            inverted = np.tril(inverted) + np.tril(inverted, -1).T
            square[:own, :own] = inverted
            if front.parent >= 0:
                below = square[own:, :own].copy()
                square[own:, :own] = below @ inverted
                left = square[own:, own:] - square[own:, :own] @ below.T
                squares[front.parent][np.ix_(front.places, front.places)] += left
        for front, square in zip(self.fronts[::-1], squares[::-1], strict=True):
            if front.parent >= 0:
                own, across = front.own, square[front.own :, : front.own].copy()
                beyond = squares[front.parent][np.ix_(front.places, front.places)]
                square[own:, own:] = beyond
                reach = beyond @ across
                square[:own, :own] += across.T @ reach
                square[own:, :own] = -reach
                square[:own, own:] = -reach.T
        return Inverted(logdet, held[self.place])


class Inverted(NamedTuple):
    """The logarithm of a matrix's determinant, and entries of its inverse."""

    logdet: float
    entries: Floats


def fronts_of(rows: Indices, columns: Indices, size: int, steps: int = STEPS) -> Fronts:
    """The fronts of a symmetric pattern: entries (row, column), both ways and with the diagonal, sorted.

    Finds rows with the same neighbours, and then eliminates by minimum degree (Tinney and Walker 1967).
    """
    groups = _groups(rows, columns, size)
    of = np.empty(size, dtype=np.int64)
    for number, members in enumerate(groups):
        of[members] = number
    found = _eliminated(_near(of, rows, columns, len(groups)), [one.size for one in groups], steps)
    return _laid_out(found, groups, rows, columns, size)


def _groups(rows: Indices, columns: Indices, size: int) -> list[Codes]:
    """The rows, those with the same neighbours together."""
    ends = np.cumsum(np.bincount(rows, minlength=size))
    same: dict[bytes, list[int]] = {}
    start = 0
    for row, end in enumerate(ends.tolist()):
        same.setdefault(columns[start:end].tobytes(), []).append(row)
        start = end
    return [np.array(members, dtype=np.int64) for members in same.values()]


def _near(of: Codes, rows: Indices, columns: Indices, groups: int) -> list[set[int]]:
    """The other groups that each group touches; `of` says to which one a row belongs."""
    firsts, others = np.divmod(distinct(of[rows] * groups + of[columns]), groups)
    numbers = list(range(groups))  # one object for each in all sets
    found, start = [], 0
    for group, end in enumerate(np.cumsum(np.bincount(firsts, minlength=groups)).tolist()):
        found.append({numbers[other] for other in others[start:end].tolist() if other != group})
        start = end
    return found


class _Step(NamedTuple):
    """Groups that are eliminated together, and the groups that they touch."""

    groups: list[int]
    touched: set[int]


def _eliminated(near: list[set[int]], weights: list[int], steps: int) -> list[_Step]:
    """Groups in the order of elimination. After `steps` joined neighbours, the rest comes at once."""

    def degree(group: int) -> int:
        return weights[group] + sum(weights[other] for other in near[group])

    waiting = [(degree(group), group) for group in range(len(near))]
    heapq.heapify(waiting)
    left = set(range(len(near)))
    found = []
    while waiting and steps > 0:
        counted, group = heapq.heappop(waiting)
        if group not in left:
            continue
        if counted != degree(group):
            heapq.heappush(waiting, (degree(group), group))
            continue
        touched, together = near[group], [group]
        left.discard(group)
        for other in touched:
            near[other] |= touched
            near[other] -= {other, group}
        steps -= len(touched) ** 2
        # Without neighbours beyond these, a group makes no more entries when it goes with this one.
        alone = [other for other in touched if len(near[other]) == len(touched) - 1]
        together += alone
        left.difference_update(alone)
        touched = touched.difference(alone)
        for other in touched:
            near[other].difference_update(alone)
            heapq.heappush(waiting, (degree(other), other))
        found.append(_Step(together, touched))
    if left:
        found.append(_Step(sorted(left), set()))
    return found


def _laid_out(steps: list[_Step], groups: list[Codes], rows: Indices, columns: Indices, size: int) -> Fronts:
    """The fronts with their places in one array of numbers, and the place of each entry."""
    step_of = np.empty(len(groups), dtype=np.int64)
    for number, step in enumerate(steps):
        step_of[step.groups] = number
    front_of = np.empty(size, dtype=np.int64)
    own, others = [], []
    for number, step in enumerate(steps):
        own.append(np.concatenate([groups[one] for one in step.groups]))
        front_of[own[-1]] = number
        beyond = sorted(step.touched, key=lambda one: int(step_of[one]))
        others.append(np.concatenate([groups[one] for one in beyond]) if beyond else own[-1][:0])
    members = [np.concatenate(pair) for pair in zip(own, others, strict=True)]
    sizes = np.array([one.size for one in members])
    starts = np.concatenate([[0], np.cumsum(sizes**2)])
    keys = np.concatenate([number * size + one for number, one in enumerate(members)])
    within = np.concatenate([np.arange(one.size) for one in members])
    order = np.argsort(keys)
    keys, within = keys[order], within[order]

    def local(fronts: Codes, one: Indices) -> Codes:
        return np.asarray(within[np.searchsorted(keys, fronts * size + one)], dtype=np.int64)

    first = np.minimum(front_of[rows], front_of[columns])
    place = starts[first] + local(first, rows) * sizes[first] + local(first, columns)
    fronts = []
    for number, (mine, beyond_rows) in enumerate(zip(own, others, strict=True)):
        parent = int(front_of[beyond_rows].min()) if beyond_rows.size else -1
        places = local(np.full(beyond_rows.size, parent), beyond_rows) if beyond_rows.size else beyond_rows
        fronts.append(Front(int(mine.size), members[number], parent, places, int(starts[number])))
    return Fronts(tuple(fronts), np.asarray(place, dtype=np.int64), int(starts[-1]))
