"""Another program deletes what a command is about, between any two looks of it into the database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, column, func, select, table

from humaneval.crowd.outbox import hold_study
from humaneval.domain import GeneratorRequest, Story
from humaneval.errors import GoneError, StoreError, UsageError
from humaneval.infills.asked import in_order
from humaneval.infills.blanks import blanks_of
from humaneval.infills.forget import forget
from humaneval.infills.generate import open_run, run
from humaneval.infills.generate import store as store_infills
from humaneval.interface.database import scores_of_study
from humaneval.kinds import build
from humaneval.store import engine as store
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.responses import rows_in
from humaneval.store.tables import (
    AssignmentRow,
    GeneratorRow,
    InfillRow,
    OutboxRow,
    RunRow,
    StudyRow,
    WorkerRow,
)
from humaneval.store.types import Base
from humaneval.study.audit import audit
from humaneval.study.delete import delete_study
from humaneval.study.enlarge import enlarge
from humaneval.study.stored import open_study
from tests.before_look import before_look, connections_closed
from tests.commands import Command

Factory = Callable[..., object]
LOOKS = 60
"""No command here looks as often into its database."""


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize(
    "verb",
    [
        "publish study --to link",
        "status study",
        "study enlarge study --annotators 4 --yes",
        "report study --out page.html",
        "study delete study",
        pytest.param("study show study", marks=pytest.mark.long),
        pytest.param("study show study --key key.json", marks=pytest.mark.long),
        pytest.param("study audit study", marks=pytest.mark.long),
        pytest.param("study preview study --out page.html", marks=pytest.mark.long),
        pytest.param("study plan study", marks=pytest.mark.long),
        pytest.param("publish study --to csv --out batch", marks=pytest.mark.long),
        pytest.param("collect study", marks=pytest.mark.long),
        pytest.param("score study", marks=pytest.mark.long),
        pytest.param("export study --out table.csv", marks=pytest.mark.long),
        pytest.param("archive study --out archive.zip", marks=pytest.mark.long),
        pytest.param("datasheet study --out sheet.md", marks=pytest.mark.long),
        pytest.param("review study", marks=pytest.mark.long),
        pytest.param("worker list study", marks=pytest.mark.long),
        pytest.param("close study", marks=pytest.mark.long),
    ],
)
def test_a_study_that_goes_is_told_in_a_line(
    engine: Engine,
    database: str,
    study_factory: Factory,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    verb: str,
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)  # what holds the study at a look keeps it
    monkeypatch.setenv("HUMANEVAL_DATABASE", database)
    monkeypatch.chdir(tmp_path)
    study_factory(engine)
    study_factory(engine, "another")
    other = open_engine(database, pool=False)

    def go() -> None:
        with suppress(StoreError):
            delete_study(other, "study")

    for number in range(1, LOOKS):
        with before_look(number, go) as looks:
            said = command(*verb.split())
        if looks[0] < number:  # it was through before
            break
        assert said.code in (0, 1, 2), said.err
        study_factory(engine)


@pytest.mark.parametrize("kind", ["human", "control"])
def test_infills_that_go_while_more_are_written_are_told_in_a_line(
    engine: Engine,
    database: str,
    study_factory: Factory,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    study_factory(engine)
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)
    monkeypatch.setenv("HUMANEVAL_DATABASE", database)
    other = open_engine(database, pool=False)

    def go() -> None:
        with suppress(StoreError, UsageError):
            forget(other, "extra")

    codes = set()
    for number in range(1, LOOKS):
        with connections_closed():
            assert command("generate", "--generator", kind, "--as", "extra", "--positions", "3").code == 0
        with before_look(number, go) as looks:
            said = command("generate", "--generator", kind, "--as", "extra")
        codes.add(said.code)
        assert said.code in (0, 1), said.err
        if looks[0] < number:
            break
        with connections_closed():
            command("generators", "forget", "extra")
    assert codes == {0, 1}


def test_infills_of_a_forgotten_generator_are_not_stored_as_those_of_the_next(
    engine: Engine, study_factory: Factory, stories: tuple[Story, ...]
) -> None:
    study_factory(engine)  # which stores the stories
    blanks = blanks_of(stories[:4])
    slow = build(GeneratorRequest("human", "slow"))[0]
    begun = open_run(engine, slow.name, slow.provenance, blanks)
    forget(engine, "slow")
    run(engine, build(GeneratorRequest("control", "next"))[0], blanks[:5])
    with pytest.raises(GoneError):
        store_infills(engine, begun, [*in_order(slow, begun.blanks)])
    with reading(engine) as session:
        mine = select(func.count()).select_from(InfillRow).join(GeneratorRow)
        assert session.scalar(mine.where(GeneratorRow.name == "next")) == 5
        assert session.scalar(mine.where(GeneratorRow.name == "slow")) == 0


def test_a_study_that_was_made_since_is_not_taken_for_the_one_that_went(
    engine: Engine, study_factory: Factory
) -> None:
    study_factory(engine, "first")
    first = open_study(engine, "first")
    delete_study(engine, "first")
    study_factory(engine, "second")
    before = second_rows(engine)
    for act in (partial(enlarge, annotators=4), audit, scores_of_study):
        with pytest.raises(GoneError):
            act(first)
    with pytest.raises(GoneError), writing(engine) as session:
        hold_study(session, first.id)
    assert second_rows(engine) == before


def second_rows(engine: Engine) -> int:
    with reading(engine) as session:
        return rows_in(session, open_study(engine, "second").id)


@pytest.mark.parametrize("kind", [StudyRow, GeneratorRow, RunRow, OutboxRow, WorkerRow, AssignmentRow])
def test_an_id_that_programs_keep_is_never_given_again(sqlite_engine: Engine, kind: type[Base]) -> None:
    with sqlite_engine.connect() as connection:
        made = (
            select(column("sql"))
            .select_from(table("sqlite_master"))
            .where(column("name") == kind.__tablename__)
        )
        assert "AUTOINCREMENT" in str(connection.scalar(made))
