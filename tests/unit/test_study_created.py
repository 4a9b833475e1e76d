"""What `study create` says of a new study: what the form promises, and what the study can find out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from humaneval.cli.study.pay import pay
from humaneval.cli.study.plan_text import power_warning, tell_outlook
from humaneval.planning.forecast import outlook
from humaneval.study.file import HitSection, read_study_file
from humaneval.study.plan import plan_of


def test_pay_is_what_the_form_promises_and_nothing_is_charged_yet() -> None:
    told = pay(HitSection())
    assert told.startswith("The form promises $")
    assert (
        "Nothing is charged before you publish with --live: the local marketplace moves no real money."
        in told
    )


def test_the_difference_of_a_warning_is_called_a_default_only_if_nobody_chose_it() -> None:
    design = {"generators": ["control", "human", "a", "b"], "annotators": 20}
    planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
    told = power_warning(planned, outlook(planned))
    assert told.startswith("Too small for a difference of 10.0 points: it would be found in ")
    assert "This difference is only the default: smallest_effect under [analysis] in a study file" in told
    chosen = replace(planned, smallest_effect=0.12)
    assert "default" not in power_warning(chosen, outlook(chosen))


def test_a_new_studys_plan_is_short_and_names_no_platform_and_no_other_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for annotators, words in (
        (20, "Too small for"),
        (2_000, "A difference of 10.0 points would be"),
    ):
        design = {"generators": ["control", "human", "a", "b"], "annotators": annotators}
        planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
        tell_outlook(planned, outlook(planned), ())
        told = capsys.readouterr().out
        assert words in told
        assert len(told.splitlines()) == 3
        assert "Mechanical Turk" not in told
        assert "rows_per_annotator" not in told
