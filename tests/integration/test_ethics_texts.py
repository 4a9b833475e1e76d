"""Texts for review boards and checklists say what is known, name what is open, and tell of no small group."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, update

from humaneval.report.people_facts import counted_out
from humaneval.report.places import places_of
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, ConsentTextRow, HitRow, OutboxRow
from humaneval.study.consent import consent_of
from humaneval.study.stored import open_study
from tests.answered import answer
from tests.commands import Command


def parts(path: str) -> dict[str, dict[str, list[str]]]:
    return {one["number"]: one for one in json.loads(Path(path).read_text(encoding="utf-8"))["parts"]}


def test_a_review_board_can_read_of_a_study_before_anybody_takes_part(
    command: Command, study: str, sqlite_engine: Engine
) -> None:
    said = command("datasheet", study, "--board", "--json")
    assert said.code == 0, said.err
    text = Path("study-board.md").read_text(encoding="utf-8")
    consent = consent_of(open_study(sqlite_engine, study).settings, "hit")
    assert consent.hash in text
    assert "On request we delete all of it" in text
    assert "Nobody has taken part yet." in text
    assert all(f"- **to fill in:** {line.partition(' ')[2]}" in text for line in said.json["to_fill_in"])
    assert "set `contact` in [consent]" in text
    assert "How long are ids and comments kept?" in text


def test_the_arr_answers_hold_what_is_known_and_leave_the_rest_open(
    command: Command, study: str, sqlite_engine: Engine
) -> None:
    answer(sqlite_engine)
    said = command("datasheet", study, "--arr", "--out", "arr.json", "--json")
    assert said.code == 0, said.err
    found = parts("arr.json")
    assert list(found) == ["D1", "D2", "D3", "D4", "D5"]
    assert all(one["open"] for one in found.values())
    assert found["D4"]["known"] == []  # never guessed
    assert "“Which sentence of this story was written by a machine?”" in found["D1"]["known"][0]
    assert "Amazon Mechanical Turk (40 people)" in found["D2"]["known"][0]
    assert "an hour." in " ".join(found["D2"]["known"])
    assert "only the version of the consent is stored" in " ".join(found["D3"]["known"])
    assert len(said.json["to_fill_in"]) == sum(len(one["open"]) for one in found.values())


def test_groups_below_five_are_not_told(
    command: Command,
    study_factory: Callable,
    sqlite_engine: Engine,
    sqlite_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study_factory(sqlite_engine, "study", design={"annotators": 20})
    answer(sqlite_engine)
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).where(AssignmentRow.id <= 4).values(endpoint="local"))
        session.execute(update(AssignmentRow).where(AssignmentRow.id == 9).values(state="rejected"))
    assert command("datasheet", "study", "--arr").code == 0
    text = Path("study-arr.md").read_text(encoding="utf-8")
    assert "a self-hosted marketplace (fewer than 5 people)" in text
    assert "16 people" not in text  # of 20, which others may know
    assert "People with rejected work: fewer than 5." in text
    assert counted_out({"a": 3, "b": 2, "c": 9}) == {"a": "fewer than 5", "b": "fewer than 5", "c": "9"}


def test_nothing_is_said_of_programs_as_of_people(
    command: Command, study: str, sqlite_engine: Engine
) -> None:
    answer(sqlite_engine, programs=40)
    assert command("datasheet", study, "--arr").code == 0
    text = Path("study-arr.md").read_text(encoding="utf-8")
    assert text.count("The annotators of this study are programs") == 5


def test_a_board_reads_of_nobody_who_is_a_program_and_of_every_requirement(
    command: Command,
    study_factory: Callable,
    sqlite_engine: Engine,
    sqlite_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    age = {"filter_id": "age", "selected_range": {"lower": 18, "upper": 60}}
    study_factory(sqlite_engine, "study", prolific={"devices": ["desktop"], "filters": [age]})
    answer(sqlite_engine, programs=40)
    with writing(sqlite_engine) as session:
        consent = consent_of(open_study(sqlite_engine, "study").settings, "hit")
        session.add(ConsentTextRow(hash=consent.hash, **asdict(consent)))
        session.execute(update(AssignmentRow).values(consent_hash=consent.hash))
    assert command("datasheet", "study", "--board").code == 0
    text = Path("study-board.md").read_text(encoding="utf-8")
    assert ("Nobody has taken part yet." in text, "agreed to with" in text) == (True, False)
    assert "at Prolific a device of these: desktop; Prolific's filter age, " in text
    assert '"upper": 60' in text


def test_a_panel_is_called_by_its_name_and_a_stand_in_not_by_the_services(
    sqlite_engine: Engine, study_factory: Callable
) -> None:
    study_factory(sqlite_engine, "study", link={"panel": "sona", "completion_url": "https://sona.example/c"})
    study = open_study(sqlite_engine, "study")
    hit: dict[str, Any] = {"study_id": study.id, "assignments": 1}
    request: dict[str, Any] = {"operation": "publish", "subject": "hit 1", "token": "1", "state": "confirmed"}
    with writing(sqlite_engine) as session:
        for audience in ("panel", "open"):
            session.add(HitRow(endpoint="link", key=audience, audience=audience, **hit))
        session.add(OutboxRow(study_id=study.id, endpoint="prolific", request={"stand_in": True}, **request))
    with reading(sqlite_engine) as session:
        named = places_of(session, study.id, study.settings)
    assert (named["link"], named["prolific"]) == (
        "an open link and the panel SONA",
        "a stand-in for Prolific",
    )
