"""The design keeps its promises for any number of rows, generators and positions, and says when it cannot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from itertools import pairwise, product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.design.passage_order import williams
from humaneval.design.rows import Cell, make_design
from humaneval.errors import DesignError

Rows = tuple[tuple[Cell, ...], ...]


class Sizes(NamedTuple):
    generators: tuple[str, ...]
    positions: tuple[int, ...]
    stories: int
    annotators: int
    seed: int


def names(m: int) -> tuple[str, ...]:
    return tuple(f"generator-{i}" for i in range(m))


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    m = draw(st.integers(2, 12))
    positions = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5, unique=True))
    stories = draw(st.one_of(st.just(m), st.integers(m, 120)))
    return Sizes(names(m), tuple(positions), stories, draw(st.integers(1, 130)), draw(st.integers(0, 2**32)))


def rows_of(case: Sizes) -> Rows:
    blanks = {f"story-{i}": set(case.positions) for i in range(case.stories)}
    return make_design(
        generators=case.generators,
        blanks=blanks,
        annotators=case.annotators,
        seed=case.seed,
        positions=case.positions,
    ).rows


def range_of(counted: Iterable[Hashable], cells: Iterable[Hashable]) -> int:
    """The largest count less the smallest, over all `cells`, those that never occur too."""
    counts = Counter(counted)
    values = [counts[cell] for cell in cells]
    return max(values, default=0) - min(values, default=0)


@settings(max_examples=60, deadline=None)
@given(sizes())
def test_every_row_has_each_generator_once_and_no_story_twice(case: Sizes) -> None:
    rows = rows_of(case)
    assert len(rows) == case.annotators
    for row in rows:
        assert sorted(cell.generator for cell in row) == sorted(case.generators)
        assert len({cell.story for cell in row}) == len(row)
        assert {cell.position for cell in row} <= set(case.positions)


@settings(max_examples=60, deadline=None)
@given(sizes())
def test_every_count_is_within_one_of_equal_whatever_the_number_of_rows(case: Sizes) -> None:
    rows, m = rows_of(case), len(case.generators)
    cells = [cell for row in rows for cell in row]
    placed = [(cell.generator, place) for row in rows for place, cell in enumerate(row)]
    neighbours = [(a.generator, b.generator) for row in rows for a, b in pairwise(row)]
    pairs = [(a, b) for a, b in product(case.generators, repeat=2) if a != b]
    assert range_of(((c.generator, c.position) for c in cells), product(case.generators, case.positions)) <= 1
    assert range_of(placed, product(case.generators, range(m))) <= 1
    assert range_of(neighbours, pairs) <= (2 if m % 2 else 1)


def test_the_first_rows_of_a_design_are_the_design_of_fewer_annotators() -> None:
    whole = rows_of(Sizes(names(8), (1, 2, 3, 4, 5), 100, 130, 5))
    for annotators in range(1, 131):
        assert rows_of(Sizes(names(8), (1, 2, 3, 4, 5), 100, annotators, 5)) == whole[:annotators]


@pytest.mark.parametrize("squares", [1, 2, 3])
def test_forty_rows_of_eight_generators_are_balanced_exactly(squares: int) -> None:
    rows = rows_of(Sizes(names(8), (1, 2, 3, 4, 5), 100, 40 * squares, 3))
    whole = Counter((c.generator, place, c.position) for row in rows for place, c in enumerate(row))
    assert len(whole) == 8 * 8 * 5
    assert set(whole.values()) == {
        squares
    }  # so generator × position, × place and place × position are exact too
    pairs = Counter((a.generator, b.generator) for row in rows for a, b in pairwise(row))
    assert len(pairs) == 56
    assert set(pairs.values()) == {5 * squares}


@settings(max_examples=40, deadline=None)
@given(sizes())
def test_each_blank_of_a_square_is_seen_under_every_generator_by_different_rows(case: Sizes) -> None:
    size = len(case.generators) * len(case.positions)
    rows = rows_of(case._replace(annotators=size))
    seen: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
    for number, row in enumerate(rows):
        for cell in row:
            seen[cell.story, cell.position].append((cell.generator, number))
    assert len(seen) == size
    for by in seen.values():
        assert sorted(generator for generator, _ in by) == sorted(case.generators)
        assert len({number for _, number in by}) == len(by)


def test_blanks_are_used_evenly_over_many_squares() -> None:
    rows = rows_of(Sizes(names(4), (1, 2, 3, 4, 5), 24, 120, 1))
    counts = Counter((cell.story, cell.position) for row in rows for cell in row)
    assert len(counts) == 24 * 5
    assert set(counts.values()) == {4}  # 6 squares × 20 blanks = 120 blanks, each once under each generator


@settings(max_examples=25, deadline=None)
@given(sizes())
def test_the_same_seed_gives_the_same_design(case: Sizes) -> None:
    assert rows_of(case) == rows_of(case)


def test_another_seed_gives_another_design() -> None:
    case = Sizes(names(8), (1, 2, 3, 4, 5), 100, 40, 0)
    assert len({rows_of(case._replace(seed=seed)) for seed in range(20)}) == 20


@st.composite
def blanks_with_holes(draw: st.DrawFn) -> tuple[int, dict[str, set[int]], int]:
    m = draw(st.integers(2, 8))
    whole = draw(st.integers(m, m + 3))
    part = draw(st.lists(st.sets(st.integers(1, 5)), max_size=12))
    blanks = {f"whole-{i}": {1, 2, 3, 4, 5} for i in range(whole)}
    blanks |= {f"part-{i}": positions for i, positions in enumerate(part)}
    keys = draw(st.permutations(list(blanks)))
    return m, {key: blanks[key] for key in keys}, draw(st.integers(0, 1000))


@settings(max_examples=100, deadline=None)
@given(blanks_with_holes())
def test_as_many_whole_stories_as_generators_are_always_enough_whatever_holes_the_others_have(
    case: tuple[int, dict[str, set[int]], int],
) -> None:
    m, blanks, seed = case
    design = make_design(generators=names(m), blanks=blanks, annotators=2 * m * 5, seed=seed)
    for row in design.rows:
        assert all(cell.position in blanks[cell.story] for cell in row)
        assert len({cell.story for cell in row}) == m


def test_too_few_stories_are_refused_with_the_number_needed() -> None:
    with pytest.raises(DesignError, match=r"8 generators need at least 8 stories .* there are 7") as caught:
        rows_of(Sizes(names(8), (1, 2, 3), 7, 10, 0))
    assert "Generate for more stories" in caught.value.hint


def test_a_position_that_too_few_stories_have_is_named() -> None:
    blanks = {f"story-{i}": {1, 2} if i < 3 else {1} for i in range(20)}
    with pytest.raises(DesignError, match=r"position 2 has only 3 stories .* 4 are needed"):
        make_design(generators=names(4), blanks=blanks, annotators=8, seed=0, positions=(1, 2))


def test_stories_that_can_never_be_kept_apart_are_refused_with_what_would_be_enough() -> None:
    # Position 1 fits stories a and b, position 2 fits b and c: one of the two numbers always lacks a story.
    blanks = {"a": {1, 3}, "b": {1, 2}, "c": {2, 3}}
    with pytest.raises(DesignError, match="rows without repeated stories are impossible") as caught:
        make_design(generators=names(2), blanks=blanks, annotators=4, seed=0, positions=(1, 2, 3))
    assert "2 stories with all positions filled (1, 2, 3)" in caught.value.hint


@pytest.mark.parametrize(
    ("generators", "annotators", "message"),
    [
        (("a",), 4, "at least two generators"),
        (("a", "a", "b"), 4, "listed twice"),
        (("a", "b"), 0, "at least one annotator"),
    ],
)
def test_sizes_that_make_no_study_are_refused(
    generators: tuple[str, ...], annotators: int, message: str
) -> None:
    with pytest.raises(DesignError, match=message):
        make_design(generators=generators, blanks={"s": {1}}, annotators=annotators, seed=0)


@pytest.mark.parametrize("m", range(2, 13))
def test_a_williams_design_has_every_ordered_pair_of_neighbours_equally_often(m: int) -> None:
    orders = williams(m)
    assert all(sorted(order) == list(range(m)) for order in orders)
    pairs = Counter(pair for order in orders for pair in pairwise(order))
    assert len(pairs) == m * (m - 1)
    assert set(pairs.values()) == {1 if m % 2 == 0 else 2}


def test_C52_the_control_is_in_every_row_on_changing_stories_at_every_position_and_place() -> None:
    rows = rows_of(Sizes(("control", *names(7)), (1, 2, 3, 4, 5), 60, 80, 4))
    shown = [(place, cell) for row in rows for place, cell in enumerate(row) if cell.generator == "control"]
    assert len(shown) == len(rows)
    assert set(Counter(cell.position for _, cell in shown).values()) == {16}
    assert set(Counter(place for place, _ in shown).values()) == {10}
    stories = Counter(cell.story for _, cell in shown)
    assert len(stories) > 40
    assert max(stories.values()) <= 3
