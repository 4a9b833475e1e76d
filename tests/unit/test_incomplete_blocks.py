"""Blocks: balanced at the end of a period, nearly so before; places by matchings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.design.incomplete_blocks import Block, period
from humaneval.design.passage_order import even_places


def is_balanced(blocks: Sequence[Block], v: int) -> bool:
    """Whether every condition, and every pair of them, is in equally many blocks."""
    ones = Counter(one for block in blocks for one in block)
    pairs = Counter(pair for block in blocks for pair in combinations(sorted(block), 2))
    return len({ones[i] for i in range(v)}) == 1 and len({pairs[p] for p in combinations(range(v), 2)}) <= 1


def spread(values: list[int]) -> int:
    return max(values) - min(values)


# The smallest designs of the tables of balanced incomplete blocks (Fisher and Yates), v, k and number of
# blocks.
@pytest.mark.parametrize(
    ("v", "size", "blocks"),
    [
        (4, 2, 6),
        (4, 3, 4),
        (5, 3, 10),
        (6, 3, 10),
        (7, 3, 7),
        (7, 4, 7),
        (8, 4, 14),
        (9, 3, 12),
        (9, 4, 18),
        (11, 5, 11),
        (13, 4, 13),
    ],
)
def test_the_known_balanced_designs_are_found(v: int, size: int, blocks: int) -> None:
    found = period(v, size)
    assert len(found) == blocks
    assert is_balanced(found, v)


@pytest.mark.parametrize("v", range(2, 13))
def test_a_period_is_balanced_and_its_first_blocks_nearly_so(v: int) -> None:
    for size in range(1, v):
        blocks = period(v, size)
        assert all(len(set(block)) == size and set(block) <= set(range(v)) for block in blocks)
        assert is_balanced(blocks, v)
        ones: Counter[int] = Counter()
        pairs: Counter[Block] = Counter()
        for block in blocks:
            ones.update(block)
            pairs.update(combinations(block, 2))
            assert spread([ones[i] for i in range(v)]) <= (2 if v <= 10 else 3)
            assert spread([pairs[p] for p in combinations(range(v), 2)]) <= (4 if v <= 11 else 5)


def test_where_no_balanced_design_is_found_conditions_are_within_one_and_even_at_the_end() -> None:
    blocks, ones = period(19, 8), Counter[int]()
    for block in blocks:
        ones.update(block)
        assert spread([ones[i] for i in range(19)]) <= 1
    assert len(set(ones.values())) == 1
    pairs = Counter(pair for block in blocks for pair in combinations(block, 2))
    assert spread([pairs[p] for p in combinations(range(19), 2)]) <= 12


def test_hundreds_of_conditions_have_a_short_period_in_which_each_is_as_often() -> None:
    blocks = period(501, 7)
    ones = Counter(one for block in blocks for one in block)
    assert (len(blocks), set(ones.values())) == (7 * 501, {49})
    pairs = Counter(pair for block in blocks for pair in combinations(block, 2))
    assert max(pairs.values()) <= 6


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 9), st.integers(1, 6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_k_appearances_of_a_condition_hold_each_place_once(v, size, times, random) -> None:
    size = min(size, v)
    rows = [tuple(block) for block in period(v, size)] * (size * times)
    random.shuffle(rows)
    ordered = even_places(rows)
    seen: dict[int, list[int]] = {}
    for row, order in zip(rows, ordered, strict=True):
        assert sorted(row) == sorted(order)
        for place, one in enumerate(order):
            seen.setdefault(one, []).append(place)
    for places in seen.values():
        for start in range(0, len(places), size):
            assert sorted(places[start : start + size]) == list(range(size))
