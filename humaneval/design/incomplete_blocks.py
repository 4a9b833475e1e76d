"""Balanced incomplete blocks: which `size` of v conditions a row shows.

A *period* is a list of blocks. Over a period every condition is in equally many blocks. If a balanced
incomplete block design is found, so is every pair of conditions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import comb, gcd
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Block: TypeAlias = tuple[int, ...]

SUBSETS = 20_000
"""The most subsets that are searched for a balanced design. Beyond it, pairs are only nearly even."""
MOST_TRIED = 100_000
"""The most pairs or triples of families that are tried."""
MOST_BLOCKS = 20_000
"""The most blocks of a period whose pairs are nearly even. One with more, as for 150 conditions, is cut to a
fifth of them: it would take minutes."""
ALL = 1_000
"""If nothing smaller is balanced and there are at most this many subsets, all of them are the period."""


@cache
def period(v: int, size: int) -> tuple[Block, ...]:
    """The blocks of one period for conditions 0 … v − 1, in an order that keeps their first rows even.

    A balanced incomplete block design, built from difference families (Bose 1939): a subset with all its
    shifts modulo v, or modulo v − 1 with one condition fixed. The period is the smallest balanced union of
    one, two or three such families. If there is none, it is all subsets, if they are few. Otherwise each
    block takes the conditions that were used least.

    >>> period(3, 2)
    ((0, 1), (0, 2), (1, 2))
    >>> len(period(7, 3)), len(period(9, 3)), len(period(6, 3))
    (7, 12, 10)
    """
    if not 0 <= size <= v:
        raise ValueError("a block has at most as many conditions as there are")
    if size in (0, v):
        return (tuple(range(size)),)
    subsets = comb(v, size)
    blocks = _balanced(v, size) if subsets <= SUBSETS else ()
    if not blocks and subsets <= ALL:
        blocks = tuple(combinations(range(v), size))
    return _ordered(blocks, v) if blocks else _nearly(v, size)


def _balanced(v: int, size: int) -> tuple[Block, ...]:
    """The smallest balanced union of up to three families; empty if there is none."""
    found = [_union(_families(v, size, modulus), v, modulus) for modulus in (v, v - 1)]
    return min((union for union in found if union), key=len, default=())


def _families(v: int, size: int, modulus: int) -> list[tuple[Block, ...]]:
    """Every subset with its shifts modulo `modulus`. Conditions from `modulus` on stay fixed."""
    families: list[tuple[Block, ...]] = []
    seen: set[Block] = set()
    for subset in combinations(range(v), size):
        if subset in seen:
            continue
        shifts = {
            tuple(sorted((one + by) % modulus if one < modulus else one for one in subset))
            for by in range(modulus)
        }
        seen |= shifts
        families.append(tuple(sorted(shifts)))
    return families


def _union(families: Sequence[tuple[Block, ...]], v: int, modulus: int) -> tuple[Block, ...]:
    """The smallest union of one to three families with equally frequent conditions and pairs."""
    smallest: dict[Block, tuple[Block, ...]] = {}
    for family in families:
        there = smallest.setdefault(_unevenness(family, v, modulus), family)
        if len(family) < len(there):
            smallest[_unevenness(family, v, modulus)] = family
    even = (0,) * len(next(iter(smallest)))
    found = [smallest[even]] if even in smallest else []
    several = list(smallest)
    for many in (2, 3):
        if found or len(several) ** (many - 1) > MOST_TRIED:
            break
        for chosen in combinations(several, many - 1):
            lacking = tuple(-sum(parts) for parts in zip(*chosen, strict=True))
            if lacking in smallest and lacking not in chosen:
                found.append(tuple(block for one in (*chosen, lacking) for block in smallest[one]))
    return min(found, key=len, default=())


def _unevenness(family: Sequence[Block], v: int, modulus: int) -> Block:
    """The differences between counts in a family. Shifts keep counts, so pairs with 0 stand for all."""
    ones = Counter(one for block in family for one in block)
    pairs = Counter(pair for block in family for pair in combinations(block, 2))
    last = v - 1
    singles = [ones[0], ones[last]]
    doubles = [pairs[0, other] for other in range(1, v)] + [pairs[0, last]]
    return tuple(count - singles[0] for count in singles) + tuple(count - doubles[0] for count in doubles)


def _ordered(blocks: Sequence[Block], v: int) -> tuple[Block, ...]:
    """The same blocks, ordered so that the first ones are also as balanced as possible, then their pairs."""
    blocks = sorted(blocks)
    holds = np.array([[one in block for one in range(v)] for block in blocks], dtype=np.int64)
    ones, pairs = np.zeros(v, dtype=np.int64), np.zeros((v, v), dtype=np.int64)
    left = np.ones(len(blocks), dtype=np.bool_)
    ordered = []
    for _ in blocks:
        # The block that adds least to the sums of squared counts; the first of several.
        cost = (holds @ ones) * 1_000_000 + ((holds @ pairs) * holds).sum(axis=1)
        best = int(np.argmin(np.where(left, cost, np.iinfo(np.int64).max)))
        left[best] = False
        ordered.append(blocks[best])
        _count(ones, pairs, blocks[best])
    return tuple(ordered)


def _nearly(v: int, size: int) -> tuple[Block, ...]:
    """Blocks of the conditions that were used least; of several, the one that has met the chosen ones least.

    After any number of blocks the counts of conditions differ by at most 1. At the end of a period they are
    equal.
    """
    ones, pairs = np.zeros(v, dtype=np.int64), np.zeros((v, v), dtype=np.int32)
    blocks, even = [], v // gcd(v, size)
    count = even * (v - 1)
    if count > MOST_BLOCKS:
        count = even * max(1, MOST_BLOCKS // 5 // even)
    for _ in range(count):
        chosen: list[int] = []
        cost = ones * 1_000_000_000
        while len(chosen) < size:
            one = int(np.argmin(cost))
            chosen.append(one)
            cost += pairs[one]
            cost[one] = np.iinfo(np.int64).max // 2
        block = tuple(sorted(chosen))
        blocks.append(block)
        _count(ones, pairs, block)
    return tuple(blocks)


def _count(ones: NDArray[np.int64], pairs: NDArray[Any], block: Block) -> None:
    ones[list(block)] += 1
    pairs[np.ix_(block, block)] += 1
    pairs[block, block] -= 1
