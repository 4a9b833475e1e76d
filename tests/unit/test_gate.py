"""What the Control passages of a study keep out, in words that round nothing to what it is not."""

from __future__ import annotations

import pytest

from humaneval.planning.gate import describe, gate


@pytest.mark.parametrize(
    ("controls", "spammers", "honest", "parts"),
    [
        (
            1,
            0.05,
            1.0,
            ("If 5% of annotators only", "1.04% of those who pass their Control", "rows_per_annotator = 2"),
        ),
        (2, 0.05, 1.0, ("they are 0.21% of those who pass 2 Control passages.",)),
        (1, 0.999, 1.0, ("If 99.9% of annotators only", "rows_per_annotator = 8")),
        (1, 0.3, 0.95, ("5% of the honest annotators are excluded", "rows_per_annotator = 3")),
        (1, 0.5, 0.2, ("No number of Control passages would bring that to 1%.",)),
        (0, 0.05, 1.0, ("all of them count",)),
    ],
)
def test_a_gate_says_what_gets_through_and_how_an_annotator_can_meet_more_controls(
    controls: int, spammers: float, honest: float, parts: tuple[str, ...]
) -> None:
    told = describe(gate(controls, spammers, honest))
    for part in parts:
        assert part in told
    assert ("rows_per_annotator" in told) == any("rows_per" in part for part in parts)


def test_without_spammers_there_is_nothing_to_say_of_a_gate() -> None:
    assert describe(gate(1, 0.0)) == ""
