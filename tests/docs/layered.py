"""Places boxes on floors so that few of the arrows between them cross. Deterministic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

Arrow = tuple[str, str]

BEND = 22
"""The width of an arrow that passes a floor, in pixels."""

APART = 16
"""The least space between two things on a floor, in pixels."""


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Floors:
    """Where everything is, in pixels from the left."""

    x: dict[str, float]
    """Each box's middle."""

    ways: dict[Arrow, list[float]]
    """Where each arrow passes the floors between its ends."""

    leave: dict[Arrow, float]
    arrive: dict[Arrow, float]


class _Seat(NamedTuple):
    """What takes room on a floor: a box, or an arrow that passes (then `arrow` is its number, from 0)."""

    name: str
    arrow: int = -1


def place(floors: Sequence[Sequence[str]], arrows: Sequence[Arrow], width: float, box: float) -> Floors:
    """Place `floors`, from top to bottom, in a picture of `width` whose boxes are all `box` wide."""
    level = {room: n for n, floor in enumerate(floors) for room in floor}
    rows: list[list[_Seat]] = [[_Seat(room) for room in floor] for floor in floors]
    chains: dict[Arrow, list[_Seat]] = {}
    for number, (start, end) in enumerate(arrows):
        between = [_Seat(f"{start}>{end}", number) for _ in range(level[start] + 1, level[end])]
        chains[start, end] = [_Seat(start), *between, _Seat(end)]
        for n, seat in enumerate(between, level[start] + 1):
            rows[n].append(seat)
    links = [
        {
            (a, b)
            for (start, _), chain in chains.items()
            for k, (a, b) in enumerate(pairwise(chain))
            if level[start] + k == n
        }
        for n in range(len(rows) - 1)
    ]
    rows = _ordered(rows, links)
    at = _spread(rows, links, width, box)
    x = {seat.name: at[n][seat] for n, row in enumerate(rows) for seat in row if seat.arrow < 0}
    ways = {
        arrow: [at[level[arrow[0]] + k][seat] for k, seat in enumerate(chain[1:-1], 1)]
        for arrow, chain in chains.items()
    }
    leave = _ports(x, {arrow: (arrow[0], (ways[arrow] or [x[arrow[1]]])[0]) for arrow in arrows}, box)
    arrive = _ports(x, {arrow: (arrow[1], (ways[arrow] or [x[arrow[0]]])[-1]) for arrow in arrows}, box)
    return Floors(x, ways, leave, arrive)


_Links = list[set[tuple[_Seat, _Seat]]]


def _ordered(rows: list[list[_Seat]], links: _Links) -> list[list[_Seat]]:
    """By the middle of each one's neighbours, downwards and upwards in turn; the best of all rounds."""
    best, fewest = rows, _crossings(rows, links)
    for turn in range(40):
        rows = [list(row) for row in rows]
        order = range(1, len(rows)) if turn % 2 == 0 else range(len(rows) - 2, -1, -1)
        for n in order:
            other = n - 1 if turn % 2 == 0 else n + 1
            rank = {seat: k / max(1, len(rows[other]) - 1) for k, seat in enumerate(rows[other])}
            old = {seat: k / max(1, len(rows[n]) - 1) for k, seat in enumerate(rows[n])}

            between = links[min(n, other)]

            def middle(
                seat: _Seat,
                near: set[tuple[_Seat, _Seat]] = between,
                rank: dict[_Seat, float] = rank,
                old: dict[_Seat, float] = old,
            ) -> float:
                places = [rank[b if a == seat else a] for a, b in near if seat in (a, b)]
                return sum(sorted(places)) / len(places) if places else old[seat]

            rows[n].sort(key=lambda seat: (round(middle(seat), 6), seat))
        rows = _swapped(rows, links)
        found = _crossings(rows, links)
        if found < fewest:
            best, fewest = rows, found
    return best


def _swapped(rows: list[list[_Seat]], links: _Links) -> list[list[_Seat]]:
    """Neighbours change places as long as that takes crossings away."""
    better = True
    while better:
        better = False
        for row in rows:
            for k in range(len(row) - 1):
                before = _crossings(rows, links)
                row[k], row[k + 1] = row[k + 1], row[k]
                if _crossings(rows, links) < before:
                    better = True
                else:
                    row[k], row[k + 1] = row[k + 1], row[k]
    return rows


def _crossings(rows: list[list[_Seat]], links: _Links) -> int:
    total = 0
    for n, pairs in enumerate(links):
        upper = {seat: k for k, seat in enumerate(rows[n])}
        lower = {seat: k for k, seat in enumerate(rows[n + 1])}
        ends = sorted((upper[a], lower[b]) for a, b in pairs)
        total += sum(a < c and b > d for k, (a, b) in enumerate(ends) for c, d in ends[k + 1 :])
    return total


def _spread(rows: list[list[_Seat]], links: _Links, width: float, box: float) -> list[dict[_Seat, float]]:
    """Middles on each floor: near their neighbours above and below, never closer than `APART`."""

    def size(seat: _Seat) -> float:
        return box if seat.arrow < 0 else BEND

    at: list[dict[_Seat, float]] = []
    for row in rows:
        free = (width - sum(size(seat) for seat in row)) / (len(row) + 1)
        left, here = free, {}
        for seat in row:
            here[seat] = left + size(seat) / 2
            left += size(seat) + free
        at.append(here)
    for turn in range(60):
        for n in range(len(rows)) if turn % 2 == 0 else range(len(rows) - 1, -1, -1):
            wanted = {}
            for seat in rows[n]:
                near = [at[n - 1][a] for a, b in links[n - 1] if b == seat] if n else []
                if n < len(links):
                    near += [at[n + 1][b] for a, b in links[n] if a == seat]
                wanted[seat] = sum(sorted(near)) / len(near) if near else width / 2
            at[n] = _apart(rows[n], wanted, size, width)
    return [{seat: round(x, 1) for seat, x in here.items()} for here in at]


def _apart(
    row: Sequence[_Seat], wanted: Mapping[_Seat, float], size: Callable[[_Seat], float], width: float
) -> dict[_Seat, float]:
    """As near to `wanted` as the order and the picture's edges allow: the mean of a push from either side."""
    ahead: dict[_Seat, float] = {}
    back: dict[_Seat, float] = {}
    left = 16.0
    for seat in row:
        ahead[seat] = max(wanted[seat], left + size(seat) / 2)
        left = ahead[seat] + size(seat) / 2 + APART
    right = width - 16.0
    for seat in reversed(row):
        back[seat] = min(wanted[seat], right - size(seat) / 2)
        right = back[seat] - size(seat) / 2 - APART
    found = {seat: (ahead[seat] + back[seat]) / 2 for seat in row}
    # The mean keeps the distances of neighbours, and may leave the picture at one edge.
    left = 16.0
    for seat in row:
        found[seat] = max(found[seat], left + size(seat) / 2)
        left = found[seat] + size(seat) / 2 + APART
    right = width - 16.0
    for seat in reversed(row):
        found[seat] = min(found[seat], right - size(seat) / 2)
        right = found[seat] - size(seat) / 2 - APART
    return found


def _ports(x: dict[str, float], ends: dict[Arrow, tuple[str, float]], box: float) -> dict[Arrow, float]:
    """Where arrows leave (or reach) each box: side by side, in the order in which they go on."""
    found = {}
    for room, middle in x.items():
        here = sorted((towards, arrow) for arrow, (one, towards) in ends.items() if one == room)
        step = min(28.0, (box - 40) / max(1, len(here)))
        for k, (_, arrow) in enumerate(here):
            found[arrow] = round(middle + (k - (len(here) - 1) / 2) * step, 1)
    return found
