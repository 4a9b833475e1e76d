"""Finds what was written into the gaps of a rewritten text: the alignment with the fewest edits of the
rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Aligned(NamedTuple):
    """The (start, end) of each gap in the written tokens, and the number of edits in the rest."""

    spans: list[tuple[int, int]]
    edits: int


def align(pieces: Sequence[Sequence[int]], written: Sequence[int]) -> Aligned:
    """Where the gaps between `pieces` lie in `written`. Tokens within a gap cost nothing; each other token
    that is added, left out or changed is one edit.

    This is the usual edit distance (Wagner and Fischer 1974) with free insertions at gaps. If two gaps have
    no token between them, the first takes all.

    >>> align([[1, 2], [3]], [1, 2, 8, 9, 3])
    Aligned(spans=[(2, 4)], edits=0)
    """
    kept = [token for piece in pieces for token in piece]
    gaps, at = [], 0
    for piece in pieces[:-1]:
        at += len(piece)
        gaps.append(at)
    free = set(gaps)
    # costs[i][j]: fewest edits between the first i tokens of the rest and the first j written ones.
    costs = [[0] * (len(written) + 1)]
    for j in range(1, len(written) + 1):
        costs[0][j] = costs[0][j - 1] + (0 not in free)
    for i, token in enumerate(kept, 1):
        above, inserted = costs[-1], int(i not in free)
        row = [above[0] + 1]
        for j, other in enumerate(written, 1):
            row.append(min(above[j - 1] + (token != other), above[j] + 1, row[j - 1] + inserted))
        costs.append(row)
    found: dict[int, list[int]] = {}
    i, j = len(kept), len(written)
    while i or j:
        here = costs[i][j]
        if i and j and here == costs[i - 1][j - 1] + (kept[i - 1] != written[j - 1]):
            i, j = i - 1, j - 1
        elif j and here == costs[i][j - 1] + (i not in free):
            j -= 1
            if i in free:
                found.setdefault(i, []).append(j)
        else:
            i -= 1
    spans = []
    for gap in gaps:
        inside = found.pop(gap, [])
        spans.append((inside[-1], inside[0] + 1) if inside else (0, 0))
    return Aligned(spans, costs[-1][-1])
