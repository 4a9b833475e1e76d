"""In which order rows show their passages, so that each generator is at each place equally often.

Rows of all generators follow a Williams square. Rows of some of them are put in an order of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

Node: TypeAlias = tuple[int, int]


def williams(m: int) -> list[list[int]]:
    """The rows of a Williams design for `m` conditions: m rows for even m, 2m for odd m (half mirrored).

    Williams (1949): first row 0, 1, m−1, 2, m−2, …; row i adds i (mod m).

    >>> williams(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    first = [0]
    for step in range(1, m):
        first.append((step + 1) // 2 if step % 2 else m - step // 2)
    square = [[(symbol + i) % m for symbol in first] for i in range(m)]
    mirrored = [row[::-1] for row in square] if m % 2 and m > 1 else []
    return square + mirrored


def even_places(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows, all of length k, reordered so that each condition is at each place equally often.

    Moreover, among every k rows with a condition (the first to k-th, the k + 1st to 2k-th and so on), it is
    once at each place. Each condition must be in a multiple of k rows.

    Such orders exist because a bipartite graph whose nodes all have k edges is the union of k perfect
    matchings (König 1916). Here one side is the rows, the other is every k appearances of a condition, and
    the matchings are the places. They are found by recolouring along alternating paths.

    >>> even_places([(0, 1), (0, 1)])
    [[1, 0], [0, 1]]
    """
    size = len(rows[0])
    seen: Counter[int] = Counter()
    # at[node][place] is the node at the other end of the edge with this place. Nodes are rows
    # (-1, row number) and groups (condition, number).
    at: dict[Node, dict[int, Node]] = {}
    for number, row in enumerate(rows):
        for one in row:
            group, here = (one, seen[one] // size), (-1, number)
            seen[one] += 1
            _join(at, here, group, size)
    return [[at[-1, number][place][0] for place in range(size)] for number in range(len(rows))]


def _join(at: dict[Node, dict[int, Node]], row: Node, group: Node, size: int) -> None:
    """Give the edge between `row` and `group` a place that is free at both; free one if necessary."""
    mine, theirs = at.setdefault(row, {}), at.setdefault(group, {})
    free = next(place for place in range(size) if place not in mine)
    wanted = next(place for place in range(size) if place not in theirs)
    # Follow edges free, wanted, free, … from the group: the path ends before it reaches the row. Swap both
    # places on it.
    path = [group]
    place = free
    while place in at[path[-1]]:
        path.append(at[path[-1]][place])
        place = wanted if place == free else free
    edges = list(pairwise(path))
    for i, (one, other) in enumerate(edges):
        old = free if i % 2 == 0 else wanted
        del at[one][old], at[other][old]
    for i, (one, other) in enumerate(edges):
        new = wanted if i % 2 == 0 else free
        at[one][new], at[other][new] = other, one
    mine[free], theirs[free] = group, row
