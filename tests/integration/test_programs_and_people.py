"""Each row knows whether a program or a person answered, and sentences count both."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text

from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.report.from_study import study_report
from humaneval.simulated import Skills, crowd_for, follow_links, work_through
from humaneval.simulated.browser import Browser
from humaneval.store import migrate
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow
from humaneval.study.scores import collected
from humaneval.study.stored import mark_simulated, open_study, study_key
from tests.answered import answer
from tests.commands import Command
from tests.integration.link.people import take

WORDS = "4 annotators: 3 simulated, 1 person"


def marks(engine: Engine) -> list[bool]:
    with reading(engine) as session:
        return sorted(session.scalars(select(AssignmentRow.by_program)))


def test_X51_at_the_marketplace_each_row_knows_who_answered(
    sqlite_engine: Engine, study_factory: Callable, form_server: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at)
    up = publish_hits(at, public_url=form_server(sqlite_engine).url)
    crowd = crowd_for(at.study, 3, Skills(1.0))
    mark_simulated(at.study)
    work_through(crowd, up.preview_urls[0], study_key(at.study))
    ada = Browser()
    page = ada.get(up.preview_urls[0])
    page = ada.submit(page, page.form(action="/signin"), {"name": "Ada"})
    page = ada.submit(page, page.form(action="/accept"), {})
    form_page = ada.get(page.frames[0])
    assert "Some annotators in this study are computer programs, not people." in form_page.html
    form = form_page.form(field="form")
    assert form is not None
    handed = ada.submit(form_page, form, crowd.fill_in(form, study_key(at.study)))
    ada.submit(handed, handed.form(action="/mturk/externalSubmit"), {})
    assert collect_work(at).new == 4
    assert marks(sqlite_engine) == [False, True, True, True]
    assert str(study_report(at.study, collected(at.study).table()).answerers) == WORDS


def test_X51_by_link_each_row_knows_who_answered(
    sqlite_engine: Engine,
    study_factory: Callable,
    form_server: Callable,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4}, exclusions={"missed_control": "none"})
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(sqlite_engine.url))
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", form_server(sqlite_engine).url)
    (link,) = command("publish", "study", "--to", "link", "--json").json["links"]
    take(link)
    assert "imulated" not in command("status", "study").out
    study = open_study(sqlite_engine, "study")
    mark_simulated(study)
    follow_links(crowd_for(study, 3, Skills(1.0)), [link], study_key(study))
    command("collect", "study")
    assert marks(sqlite_engine) == [False, True, True, True]
    for verb in (("status", "study"), ("review", "study"), ("score", "study"), ("study", "audit", "study")):
        assert WORDS in command(*verb).out, verb


@pytest.fixture
def mixed(sqlite_engine: Engine, study: str) -> str:
    """A study of 40 answers, of which the last 39 are programs'."""
    answer(sqlite_engine, spammers=0)
    with sqlite_engine.begin() as connection:
        connection.execute(text("UPDATE assignments SET by_program = id > 1"))
        connection.execute(text("UPDATE studies SET simulated = 1"))
    return study


def test_X51_every_sentence_counts_programs_and_people(mixed: str, command: Command, tmp_path: Path) -> None:
    with (tmp_path / "r.csv").open("w", encoding="utf-8"):
        pass
    assert command("export", mixed, "--out", tmp_path / "r.csv").code == 0
    with (tmp_path / "r.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    people = {line["worker"] for line in lines if line["simulated"] == "false"}
    programs = {line["worker"] for line in lines if line["simulated"] == "true"}
    words = f"{len(people) + len(programs)} annotators: {len(programs)} simulated, 1 person"
    assert len(people) == 1
    assert words in command("score", mixed).out
    assert words in command("score", "--responses", tmp_path / "r.csv").out
    assert command("report", mixed, "--out", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert words in page
    assert "are programs. The scores" not in page
    assert "All annotators are simulated" not in page
    assert command("datasheet", mixed, "--out", tmp_path / "d.md").code == 0
    sheet = (tmp_path / "d.md").read_text(encoding="utf-8")
    assert words in sheet
    assert "All are programs" not in sheet


def test_X51_a_mark_without_a_program_makes_nobody_one(
    sqlite_engine: Engine, study: str, command: Command
) -> None:
    answer(sqlite_engine, spammers=0)
    mark_simulated(open_study(sqlite_engine, study))
    assert "imulated" not in command("score", study).out
    assert command("score", study, "--json").json["simulated"] is False


def test_X51_an_upgrade_takes_all_answers_of_simulated_studies_for_programs(
    engine: Engine, study_factory: Callable
) -> None:
    study_factory(engine, "study", design={"annotators": 4})
    answer(engine, spammers=0)
    mark_simulated(open_study(engine, "study"))
    migrate.downgrade(engine, "0001")
    migrate.upgrade(engine)
    assert migrate.check(engine) == []
    assert set(marks(engine)) == {True}
