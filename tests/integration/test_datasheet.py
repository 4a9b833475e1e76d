"""The datasheet: in the form of the web form of HEDS, filled in from the store, with the numbers of `score
--json`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, update

from humaneval.report.datasheet import Datasheet, Line, datasheet
from humaneval.report.dossier import dossier
from humaneval.statistics.pay import HourlyPay, Pay
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow
from humaneval.store.types import now
from humaneval.study.stored import open_study
from tests.answered import answer
from tests.commands import Command


@pytest.fixture
def answered(sqlite_engine: Engine, study: str) -> str:
    answer(sqlite_engine)
    return study


def of(engine: Engine, **options: bool) -> Datasheet:
    return datasheet(dossier(open_study(engine, "study"), **options))


def test_its_keys_are_those_of_the_web_form(sqlite_engine: Engine, answered: str, test_data: Path) -> None:
    real = json.loads((test_data / "responses" / "reprohum_d2t" / "heds_datacard.json").read_text("utf-8"))
    ours = of(sqlite_engine).to_json()
    # A form's tick box for input, output and task is there only once it was touched: those are the other
    # study's.
    assert {key for key in set(real) - set(ours) if not key.startswith("heds-system-")} == set()
    for key in set(real) & set(ours):
        assert set(ours[key]) == set(real[key]), key
        assert {type(one) for one in ours[key]["data"].values()} == {
            type(one) for one in real[key]["data"].values()
        }, key
        assert ("" in ours[key]["data"]) == ("" in real[key]["data"]), key


def test_at_least_three_in_five_questions_carry_a_value_and_the_rest_is_listed(
    sqlite_engine: Engine, answered: str, command: Command
) -> None:
    sheet = of(sqlite_engine)
    numbers = {question.number for question, _ in sheet.lines}
    without = {question.number for question in sheet.open}
    assert sheet.filled >= 0.6 * len(sheet.lines)
    assert len(numbers - without) >= 0.6 * len(numbers)
    text = sheet.markdown()
    listed = text.split("## To fill in")[1].split("## Answers")[0]
    for question, said in sheet.lines:
        assert f"**Q{question.number} {question.label}:**" in text
        assert (f"- Q{question.number} {question.label}\n" in listed) == (said is None)
        assert said is None or said.text or said.ticks
    said = command("datasheet", answered, "--out", "d.md", "--json")
    assert said.json["filled"] == sheet.filled
    assert Path("d.md").read_text("utf-8") == text
    assert command("datasheet", answered, "--out", "d.json").code == 0
    assert json.loads(Path("d.json").read_text("utf-8")) == sheet.to_json()


def test_a_form_that_two_clocks_call_sent_before_it_was_opened_has_no_time(
    sqlite_engine: Engine, answered: str
) -> None:
    with writing(sqlite_engine) as session:
        first, *others = session.scalars(select(AssignmentRow).order_by(AssignmentRow.id))
        for row in (first, *others):
            row.submitted_at = row.answered_at or now()
            row.opened_at = row.submitted_at + timedelta(hours=100 if row is first else -1)
    shown = dossier(open_study(sqlite_engine, answered))
    assert isinstance(shown.pay, Pay)
    assert isinstance(shown.pay.work_time, HourlyPay)
    assert (shown.pay.work_time.unknown, shown.pay.work_time.seconds) == (1, 3600 * len(others))
    assert shown.data.money.median_seconds == 3600


def test_what_a_stranger_named_is_no_markdown(sqlite_engine: Engine, answered: str) -> None:
    sheet = of(sqlite_engine)
    at = next(at for at, (_, said) in enumerate(sheet.lines) if said and said.text)
    question, said = sheet.lines[at]
    assert said is not None
    named = Line(question, said._replace(text="Ours.\n[x](javascript:alert(1)) <img onerror=alert(1)>"))
    text = replace(sheet, lines=(*sheet.lines[:at], named, *sheet.lines[at + 1 :])).markdown()
    assert r"\[x\](javascript:alert(1)) \<img onerror=alert(1)\>" in text


def told(sheet: Datasheet, number: str, label: str = "") -> str:
    (said,) = [
        said
        for question, said in sheet.lines
        if question.number == number and label in question.label and said and said.text
    ][:1]
    return said.text


def test_every_number_in_it_is_one_of_score_json_of_the_plan_or_of_the_study_file(
    sqlite_engine: Engine, answered: str, command: Command
) -> None:
    sheet = of(sqlite_engine)
    known: set[str] = set()

    def take(value: Any, name: str = "") -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                take(part, key)
        elif isinstance(value, list):
            for part in value:
                take(part, name)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            known.update(
                (
                    f"{value:g}",
                    f"{value:,}",
                    f"{value:.2f}",
                    f"{value:.1f}",
                    f"{value:.3f}",
                    f"{100 * value:.1f}",
                    f"{100 * value:.0f}",
                )
            )
        elif isinstance(value, str):
            known.update(re.findall(r"\d+(?:[.,]\d+)*", value))

    take(command("score", answered, "--json").json)
    take(command("study", "plan", answered, "--json").json)
    take(command("study", "show", answered, "--json").json)
    shown = dossier(open_study(sqlite_engine, "study"))
    take(shown.settings.model_dump(mode="json"))
    pay = shown.pay
    take([pay.in_page.median, pay.union.median, pay.work_time.median])
    # The scale, Connor’s year, alpha, the higher of the two scores planned for, passages of a form.
    take([1, 2, 3, 4, 5, 1987, 0.05, 0.5, len(shown.settings.design.generators)])
    hashes = re.compile(r"SHA-256 [0-9a-f]{64}")
    seen = 0
    for question, said in sheet.lines:
        for number in re.findall(r"\d+(?:[.,]\d+)*", hashes.sub("", said.text) if said else ""):
            assert number in known, (question.number, number, said)
            seen += 1
    assert seen > 60


def test_scores_and_counts_stand_where_they_are_asked_for(
    sqlite_engine: Engine, answered: str, command: Command
) -> None:
    sheet, scores = of(sqlite_engine), command("score", answered, "--json").json
    for row in scores["scores"]:
        ends = "–".join(f"{100 * end:.1f}" for end in row["interval"] or ()) or row["note"].rstrip(".")
        line = (
            f"{row['generator']} {100 * row['score']:.1f} % ({row['not_identified']} of {row['n']}; {ends})"
        )
        assert line in told(sheet, "4.3.9")
        assert f"{row['generator']}: {row['n']} passages" in told(sheet, "3.1.1")
    people = scores["annotators"]
    assert people["excluded"] == 1
    assert told(sheet, "3.2.1") == f"{people['collected']}, of whom {people['analysed']} are analysed."
    plan = command("study", "plan", answered, "--json").json["outlook"]
    assert told(sheet, "3.1.3").startswith(f"Before the study: {100 * plan['power']:.1f} %")
    assert "39 of 40 Control passages" in told(sheet, "3.3.3")
    assert scores["rule"]["description"] in told(sheet, "3.3.3")
    assert told(sheet, "4.3.7") == "Which sentence of this story was written by a machine?"
    assert "Not estimable" in told(sheet, "4.3.11", "figures") or "at least two answers" in told(
        sheet, "4.3.11", "figures"
    )


def test_payment_is_told_by_three_ways_of_counting_time(sqlite_engine: Engine, answered: str) -> None:
    text = told(of(sqlite_engine), "3.2.2", "Payment")
    assert text.startswith("$0.80 per form.")
    assert "$32.00 from opening a form to submitting it" in text  # 0.80 dollars in 90 seconds
    assert "by the page’s own timers" in text


def test_no_registry_is_claimed(sqlite_engine: Engine, answered: str) -> None:
    document = of(sqlite_engine).to_json()
    prefix = "heds-sample_evaluators_design-experimental_design-preregistered"
    assert document[f"{prefix}-1"]["data"][""] is document[f"{prefix}-2"]["data"][""] is False
    assert "does not know of a registration" in document[f"{prefix}-other_text"]["data"][""]


def test_programs_are_not_called_people(sqlite_engine: Engine, answered: str) -> None:
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(by_program=True))
    sheet = of(sqlite_engine)
    assert "programs, not people" in told(sheet, "3.2.1")
    assert told(sheet, "3.2.2", "Payment") == "Programs are not paid."
    assert told(sheet, "5.2") == "None. The evaluators are programs."


def test_a_pilot_says_so(
    sqlite_engine: Engine, study_factory: Callable[..., object], sqlite_database: str, command: Command
) -> None:
    study_factory(sqlite_engine, "study", design={"pilot": True})
    answer(sqlite_engine)
    said = command("--database", sqlite_database, "datasheet", "study", "--out", "d.md")
    assert said.code == 1
    assert "tests or pilots" in said.err
    assert "pilot or test" in told(of(sqlite_engine, tests=True), "3.2.2", "Description")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["datasheet", "study", "--out", "d.md"], 1, "study 'study' has no responses yet"),
        (["datasheet", "nothing", "--out", "d.md"], 2, "there is no study 'nothing'"),
        (["datasheet", "study", "--out", "d.pdf"], 2, "does not end in .md or .json"),
    ],
)
def test_what_cannot_be_told_is_said_in_a_line(
    command: Command, study: str, arguments: list[str], code: int, words: str
) -> None:
    said = command(*arguments)
    assert said.code == code
    assert words in said.err
    assert "Traceback" not in said.err
    assert not list(Path().glob("d.*"))


def test_a_place_that_cannot_be_written_is_said_in_a_line(command: Command, answered: str) -> None:
    said = command("datasheet", answered, "--out", "nowhere/d.md")
    assert said.code == 1
    assert "nowhere/d.md cannot be written: the folder nowhere does not exist" in said.err
