"""Designs whose rows show some of the generators, or whose passages several annotators judge: even for any
numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.design.rows import Cell, make_design
from humaneval.errors import DesignError

Rows = tuple[tuple[Cell, ...], ...]


class Sizes(NamedTuple):
    generators: tuple[str, ...]
    size: int
    positions: tuple[int, ...]
    stories: int
    annotators: int
    responses: int
    seed: int


def names(m: int, control: bool = True) -> tuple[str, ...]:
    return ("control",) * control + tuple(f"generator-{i}" for i in range(m - control))


@st.composite
def sizes(draw: st.DrawFn, responses: int = 3, whole: bool = False) -> Sizes:
    m = draw(st.integers(2, 9))
    size = m if whole else draw(st.integers(2, m))
    positions = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5, unique=True))
    stories = draw(st.one_of(st.just(m), st.integers(m, 60)))
    control = draw(st.booleans())
    return Sizes(
        names(m, control),
        size,
        tuple(positions),
        stories,
        draw(st.integers(1, 90)),
        draw(st.integers(1, responses)),
        draw(st.integers(0, 99)),
    )


def rows_of(case: Sizes, blanks: Mapping[str, Collection[int]] | None = None) -> Rows:
    return make_design(
        generators=case.generators,
        blanks=blanks or {f"story-{i}": set(case.positions) for i in range(case.stories)},
        annotators=case.annotators,
        seed=case.seed,
        positions=case.positions,
        passages_per_row=case.size,
        responses_per_passage=case.responses,
        control="control",
    ).rows


def spread(counts: Mapping[object, int], cells: Collection[object]) -> int:
    values = [counts.get(cell, 0) for cell in cells]
    return max(values, default=0) - min(values, default=0)


def others(case: Sizes) -> list[str]:
    return [name for name in case.generators if name != "control"]


@settings(max_examples=80, deadline=None)
@given(sizes())
def test_a_row_has_its_number_of_generators_the_control_among_them_and_no_story_twice(case: Sizes) -> None:
    rows = rows_of(case)
    assert len(rows) == case.annotators
    for row in rows:
        assert len({cell.generator for cell in row}) == len(row) == case.size
        assert ("control" in case.generators) <= ("control" in {cell.generator for cell in row})
        assert len({cell.story for cell in row}) == len(row)


@settings(max_examples=80, deadline=None)
@given(sizes())
def test_every_count_keeps_its_bound_after_any_number_of_rows(case: Sizes) -> None:
    positions: Counter[tuple[str, int]] = Counter()
    places: Counter[tuple[str, int]] = Counter()
    shown: Counter[str] = Counter()
    pairs: Counter[frozenset[str]] = Counter()
    systems, several = others(case), case.responses
    for row in rows_of(case):
        for place, cell in enumerate(row):
            positions[cell.generator, cell.position] += 1
            places[cell.generator, place] += 1
            shown[cell.generator] += 1
        pairs.update(map(frozenset, combinations(sorted(cell.generator for cell in row), 2)))
        for name in case.generators:
            assert spread(positions, [(name, at) for at in case.positions]) <= several
            assert spread(places, [(name, at) for at in range(case.size)]) <= 1
        assert spread(shown, systems) <= 2 * several
        assert spread(positions, [(name, at) for name in systems for at in case.positions]) <= 3 * several
        assert spread(places, [(name, at) for name in systems for at in range(case.size)]) <= 3 * several
        assert spread(pairs, [frozenset(pair) for pair in combinations(systems, 2)]) <= 4 * several


def test_at_the_end_of_the_full_period_all_is_exactly_even() -> None:
    # 7 others in rows of 4 (one is the Control): Fano's plane, 7 blocks; 4 places; 5 positions.
    rows = rows_of(Sizes(names(8), 4, (1, 2, 3, 4, 5), 100, 7 * 4 * 5, 1, 3))
    systems = names(8)[1:]
    shown = Counter(cell.generator for row in rows for cell in row)
    assert shown == {"control": 140, **dict.fromkeys(systems, 60)}
    assert set(Counter((c.generator, c.position) for row in rows for c in row).values()) == {28, 12}
    assert set(Counter((c.generator, at) for row in rows for at, c in enumerate(row)).values()) == {35, 15}
    pairs = Counter(frozenset(pair) for row in rows for pair in combinations([c.generator for c in row], 2))
    assert {pairs[frozenset(pair)] for pair in combinations(systems, 2)} == {20}
    ordered = Counter((a.generator, b.generator) for row in rows for a, b in pairwise(row))
    # After 4 cycles of 28 rows (here 5) each ordered pair is next to each other equally often.
    assert spread(ordered, [(a, b) for a in systems for b in systems if a != b]) <= 3


@settings(max_examples=50, deadline=None)
@given(sizes(), st.integers(1, 90))
def test_the_first_rows_are_the_design_of_fewer_annotators(case: Sizes, fewer: int) -> None:
    fewer = min(fewer, case.annotators)
    assert rows_of(case._replace(annotators=fewer)) == rows_of(case)[:fewer]


def test_each_blank_is_seen_under_every_generator_before_many_more_are_begun() -> None:
    rows = rows_of(Sizes(names(8), 4, (1, 2, 3, 4, 5), 100, 140, 1, 3))
    by: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in rows:
        for cell in row:
            if cell.generator != "control":
                by[cell.story, cell.position].append(cell.generator)
    assert all(len(set(generators)) == len(generators) for generators in by.values())
    # 420 passages would fill exactly 60 blanks seen under all 7; at most 10 % of them may be split up.
    assert sum(len(generators) == 7 for generators in by.values()) >= 54


@settings(max_examples=60, deadline=None)
@given(sizes(responses=5), st.booleans())
def test_C57_each_passage_is_in_so_many_rows_whatever_the_numbers(case: Sizes, of_all: bool) -> None:
    if of_all:  # overlap = all users
        case = case._replace(annotators=min(case.annotators, 30), responses=min(case.annotators, 30))
    else:
        case = case._replace(annotators=case.annotators * case.responses)
    rows = rows_of(case)
    sets = [frozenset(row) for row in rows]
    for start in range(0, len(rows), case.responses):
        assert len(set(sets[start : start + case.responses])) == 1
    if case.stories * len(case.positions) >= len(rows) * case.size:
        # With a blank for each passage none is asked of more rows than that.
        assert set(Counter(cell for row in rows for cell in row).values()) == {case.responses}


@settings(max_examples=60, deadline=None)
@given(sizes(responses=5, whole=True))
def test_C57_repeated_rows_keep_places_and_neighbours_even_and_have_other_orders(case: Sizes) -> None:
    rows, m = rows_of(case), len(case.generators)
    placed = Counter((c.generator, at) for row in rows for at, c in enumerate(row))
    assert spread(placed, [(g, at) for g in case.generators for at in range(m)]) <= 1
    ordered = Counter((a.generator, b.generator) for row in rows for a, b in pairwise(row))
    assert spread(ordered, [(a, b) for a in case.generators for b in case.generators if a != b]) <= 1 + m % 2
    at = Counter((c.generator, c.position) for row in rows for c in row)
    assert spread(at, [(g, p) for g in case.generators for p in case.positions]) <= case.responses
    for start in range(0, len(rows), case.responses):
        same = rows[start : start + min(case.responses, m)]
        assert len(set(same)) == len(same)


def test_two_responses_a_passage_are_exactly_even_after_eighty_rows() -> None:
    rows = rows_of(Sizes(names(8), 8, (1, 2, 3, 4, 5), 100, 80, 2, 3))
    whole = Counter((c.generator, place, c.position) for row in rows for place, c in enumerate(row))
    assert len(whole) == 8 * 8 * 5
    assert set(whole.values()) == {2}


@settings(max_examples=60, deadline=None)
@given(sizes(), st.lists(st.sets(st.integers(1, 5)), max_size=12))
def test_stories_with_holes_never_show_a_blank_that_is_not_filled(case: Sizes, part: list[set[int]]) -> None:
    blanks: dict[str, set[int]] = {f"whole-{i}": set(case.positions) for i in range(len(case.generators))}
    blanks |= {f"part-{i}": filled for i, filled in enumerate(part)}
    for row in rows_of(case, blanks):
        assert all(cell.position in blanks[cell.story] for cell in row)


def test_a_partial_design_needs_only_as_many_stories_as_a_row_shows() -> None:
    case = Sizes(names(8), 4, (1, 2, 3), 4, 30, 1, 0)
    assert len(rows_of(case)) == 30
    with pytest.raises(DesignError, match=r"position 1 has only 3 stories .* 4 are needed"):
        rows_of(case._replace(stories=3))


@pytest.mark.parametrize(
    ("size", "responses", "message"),
    [
        (1, 1, "a row cannot have 1 passages"),
        (9, 1, "a row cannot have 9 passages"),
        (4, 0, "at least one response"),
    ],
)
def test_sizes_that_make_no_rows_are_refused(size: int, responses: int, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        rows_of(Sizes(names(8), size, (1,), 20, 10, responses, 0))
