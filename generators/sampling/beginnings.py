"""What several rows have in common at their beginnings, so that it is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Joined:
    """N tokens that make R different rows. A token after the same tokens is there once."""

    ids: list[int]
    """(N,)"""
    places: list[int]
    """(N,) where each token stands in its row."""
    rows: list[list[int]]
    """R lists: the tokens of each row, by their number."""
    owner: list[int]
    """The row of each row that was given."""


def join(rows: Sequence[Sequence[int]]) -> Joined:
    """Join rows that begin alike.

    >>> join([[5, 6, 7], [5, 6, 8], [5, 6, 7]])
    Joined(ids=[5, 6, 7, 8], places=[0, 1, 2, 2], rows=[[0, 1, 2], [0, 1, 3]], owner=[0, 1, 0])
    """
    given = [tuple(row) for row in rows]
    different = sorted(set(given))  # so that each has most in common with the one before it
    ids: list[int] = []
    places: list[int] = []
    found: list[list[int]] = []
    before: tuple[int, ...] = ()
    for row in different:
        common = next((at for at, (a, b) in enumerate(zip(before, row, strict=False)) if a != b), len(before))
        new = range(len(ids), len(ids) + len(row) - common)
        found.append([*(found[-1][:common] if found else ()), *new])
        ids += row[common:]
        places += range(common, len(row))
        before = row
    number = {row: at for at, row in enumerate(different)}
    return Joined(ids, places, found, [number[row] for row in given])
