"""What `study create` says of a new study: what the form promises, and what the study can find out."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from humaneval.cli.study.pay import pay
from humaneval.cli.study.plan_text import power_warning, tell_outlook, tell_plan
from humaneval.planning.cues import CueScore
from humaneval.planning.forecast import outlook
from humaneval.study.file import read_study_file
from humaneval.study.hit_section import HitSection
from humaneval.study.plan import plan_of


def test_pay_is_what_the_form_promises_and_nothing_is_charged_yet() -> None:
    told = pay(HitSection())
    assert told.startswith("The form promises $")
    assert told.endswith("$12.00 per hour. You pay people yourself, unless you publish with --live.")
    assert "promises no pay" in pay(HitSection(reward=Decimal("0.00")))


def test_the_difference_of_a_warning_is_called_assumed_only_if_nobody_chose_it() -> None:
    design = {"generators": ["control", "human", "a", "b"], "annotators": 20}
    planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
    told = power_warning(planned, outlook(planned))
    assert told.startswith("Only ")
    assert (
        " of such studies find a difference of 10.0 points between two scores. To find it in 80% of" in told
    )
    assert told.endswith(
        "The 10.0 points are assumed: smallest_effect under [analysis] of study.toml sets them."
    )
    chosen = replace(planned, smallest_effect=0.12)
    assert "assumed" not in power_warning(chosen, outlook(chosen))


def test_a_difference_that_no_study_would_find_is_practically_never_found() -> None:
    design = {"generators": ["control", "human", "a", "b"], "annotators": 3}
    planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
    told = power_warning(planned, outlook(planned))
    assert told.startswith("Practically no such study finds a difference of 10.0 points between two scores. ")
    assert "0%" not in told.replace("80%", "")


def test_a_cue_that_finds_sentences_does_not_stop_the_study_and_what_it_means_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    design = {"generators": ["control", "human", "a", "b"], "annotators": 20}
    planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
    cues = [CueScore(cue, "a", 20, 13.0) for cue in ("rarest words", "longest", "first")]
    for tell in (tell_outlook, tell_plan):
        tell(planned, outlook(planned), cues)
        told = capsys.readouterr().out
        told = " ".join(told.split())
        assert "always marking the sentence with the rarest words finds 65% of the sentences by a;" in told
        assert "; the first sentence finds 65% of the sentences by a. By chance it would be 20%." in told
        assert "You can continue; the report shows this under Cues." in told
        assert told.count("always marking") == 1
    tell_outlook(planned, outlook(planned), ())
    assert "always marking" not in capsys.readouterr().out


def test_a_new_studys_plan_is_short_and_names_no_platform_and_no_other_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for annotators, words in (
        (20, "of such studies find a difference of 10.0 points between two scores. To"),
        (2_000, "find a difference of 10.0 points between two scores."),
    ):
        design = {"generators": ["control", "human", "a", "b"], "annotators": annotators}
        planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
        tell_outlook(planned, outlook(planned), ())
        told = capsys.readouterr().out
        assert words in told
        assert len(told.splitlines()) == 2
        assert "Mechanical Turk" not in told
        assert "rows_per_annotator" not in told


def test_scores_are_shown_with_the_digits_that_they_have(capsys: pytest.CaptureFixture[str]) -> None:
    design = {"generators": ["control", "human", "a", "b"], "annotators": 20}
    planned = plan_of(read_study_file(None, overrides={"design": design}).settings)
    planned = replace(planned, expected_score=0.225)
    tell_plan(planned, outlook(planned), ())
    assert "A score of 22.5% against one of 32.5%" in capsys.readouterr().out


@pytest.mark.parametrize(("sentences", "luck"), [(3, "67%"), (5, "80%"), (7, "86%"), (20, "95%")])
def test_cues_are_beside_the_chance_of_the_studys_stories(
    sentences: int, luck: str, capsys: pytest.CaptureFixture[str]
) -> None:
    design: dict[str, object] = {"generators": ["control", "human", "a", "b"], "annotators": 20}
    design["positions"] = list(range(1, sentences + 1))
    planned = plan_of(read_study_file(None, overrides={"design": design}).settings, sentences=sentences)
    guessed = CueScore("longest", "a", 20, 20 * 2 / sentences)
    tell_plan(planned, outlook(planned), [guessed, guessed._replace(cue="first", noticed=20)])
    told = capsys.readouterr().out
    assert f"(any sentence: {luck})" in told
    assert "the first sentence finds 100% of the sentences by a" in told
    assert "the longest sentence finds" not in told, "twice as often as chance is not more than twice"
