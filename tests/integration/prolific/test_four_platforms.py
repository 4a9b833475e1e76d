"""The same people with the same rows give the same scores, wherever a study is published."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.four_platforms import BY_PANEL, PAPERS, WAYS, compared, table


@pytest.mark.parametrize(
    ("generators", "people", "failing", "stories"),
    [
        (("control", "lm", "human"), 10, 2, 12),
        pytest.param(PAPERS, 100, 5, 100, marks=pytest.mark.long),
    ],
    ids=["ten people", "the paper's design"],
)
def test_scores_are_the_same_by_each_way_and_all_books_agree(
    generators: Sequence[str], people: int, failing: int, stories: int
) -> None:
    found = compared(generators, people, failing, stories)
    assert [each.way for each in found] == [*WAYS], table(found)
    for each in found:
        assert each.scored == found[0].scored, each.way  # nothing tells which it was
        assert each.scored["annotators"] == {
            "collected": people,
            "excluded": failing,
            "analysed": people - failing,
        }
        assert (each.people, each.differences, each.left or 0) == (people, 0, 0), each.way
        assert each.credited == (people - failing if each.way == BY_PANEL else None)
