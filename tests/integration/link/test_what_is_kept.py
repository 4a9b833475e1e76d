"""What is kept about people who come by link: shown, exported, forgotten and purged, down to the bytes."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from humaneval.crowd.costs import payment_writes
from humaneval.crowd.personal_data import ABOUT_NOBODY, BY_OTHER_WAYS, tables_about_workers
from humaneval.crowd.pseudonyms import pseudonym
from humaneval.crowd.purge import purge
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading, writing
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY
from humaneval.store.tables import (
    METADATA,
    AssignmentRow,
    ConsentTextRow,
    DeletedFormRow,
    MetaRow,
    OutboxRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.store.types import now
from humaneval.study.consent import consent_of
from humaneval.study.stored import open_study
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, heading, panel, send

PERSON, SESSION, COMMENT = "PROLIFICPERSON", "PANELSESSION", "I am Ada Lovelace of Ockham"


@pytest.fixture
def addresses() -> list[str]:
    """The addresses of the people's own, in the order in which they came."""
    return []


@pytest.fixture
def taken(
    sqlite_engine: Engine,
    sqlite_database: str,
    by_link: Callable,
    monkeypatch: pytest.MonkeyPatch,
    addresses: list[str],
) -> LinkStudy:
    """A study called `study` in which three people of a panel have taken part, and a fourth has begun."""
    study: LinkStudy = by_link(
        sqlite_engine, exclusions={"missed_control": "none"}, consent={"retention_days": 90}
    )
    address = study.panel_link()
    for number in range(3):
        page = begin(panel(address, f"{PERSON}{number}", f"{SESSION}{number}"))
        addresses.append(send(page, 1 + number, comment=f"{COMMENT} {number}").url)
    addresses.append(begin(panel(address, f"{PERSON}3", f"{SESSION}3")).url)
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study.collect()
    return study


def bytes_of(folder: Path) -> bytes:
    """The database and all that lies beside it."""
    return b"".join(file.read_bytes() for file in folder.glob("humaneval.db*"))


def test_every_table_is_known_to_be_about_people_or_about_nobody() -> None:
    by_keys = {table.name for table in tables_about_workers()}
    assert by_keys.isdisjoint(BY_OTHER_WAYS | ABOUT_NOBODY)
    assert by_keys | BY_OTHER_WAYS | ABOUT_NOBODY == set(METADATA.tables)


def test_all_that_is_kept_about_one_person_can_be_shown_and_exported(
    command: Command, taken: LinkStudy
) -> None:
    shown = command("worker", "show", f"{PERSON}1", "--json")
    assert shown.code == 0, shown.err
    assert PERSON not in shown.out + command("worker", "show", f"{PERSON}1").out
    assert shown.json["rows"]["responses"] == 4
    said = command("worker", "export", shown.json["worker"], "--out", "mine.json")
    assert said.code == 0, said.err
    text = Path("mine.json").read_text(encoding="utf-8")
    assert stat.S_IMODE(Path("mine.json").stat().st_mode) == 0o600
    assert f"{PERSON}1" in text
    assert f"{COMMENT} 1" in text
    assert f"{PERSON}2" not in text
    tables = json.loads(text)["tables"]
    assert set(tables) == {
        "workers",
        "worker_identities",
        "assignments",
        "answers",
        "responses",
        "consent_texts",
    }
    exported = json.loads(text)["named_in_exports"]["study"]
    assert command("worker", "show", exported, "--json").json["worker"] == shown.json["worker"]


def test_the_consent_is_kept_with_its_version_hash_moment_and_text(taken: LinkStudy) -> None:
    consent = consent_of(open_study(taken.engine, "study").settings.by_link, "panel")
    with reading(taken.engine) as session:
        work = session.scalars(select(AssignmentRow).order_by(AssignmentRow.id)).all()
        (text,) = session.scalars(select(ConsentTextRow)).all()
    assert [one.consent_hash for one in work] == [consent.hash] * 3 + [None]
    assert [one.consented_at == one.answered_at for one in work] == [True] * 4
    assert work[0].consented_at is not None
    assert (text.hash, text.text, text.version) == (consent.hash, consent.text, "1")
    assert "On request we delete all of it" in text.text
    assert "After 90 days we delete ids and comments." in text.text
    assert "On request" not in consent_of(open_study(taken.engine, "study").settings.by_link, "open").text


def test_forgetting_somebody_leaves_nothing_of_them_in_the_files(
    command: Command, taken: LinkStudy, tmp_path: Path
) -> None:
    command("export", "study", "--out", "responses.csv")
    command("db", "backup", "--out", "copy.db")
    with reading(taken.engine) as session:
        name = session.scalars(
            select(WorkerRow.pseudonym)
            .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id)
            .where(WorkerIdentityRow.external_id == f"{PERSON}1")
        ).one()
    traces = [text.encode() for text in (f"{PERSON}1", f"{SESSION}1", f"{COMMENT} 1", name)]
    assert all(trace in bytes_of(tmp_path) for trace in traces)
    before = command("score", "study", "--json").json
    assert command("worker", "forget", f"{PERSON}1").err.strip().endswith("Add --yes.")
    planned = command("worker", "forget", f"{PERSON}1", "--dry-run", "--json").json
    assert all(trace in bytes_of(tmp_path) for trace in traces)
    said = command("worker", "forget", f"{PERSON}1", "--yes")
    assert said.code == 0, said.err
    assert [trace for trace in traces if trace in bytes_of(tmp_path)] == []
    assert f"{PERSON}2".encode() in bytes_of(tmp_path)
    assert planned["studies"][0]["responses"] == 4
    assert "Study 'study' loses 1 form (4 responses)." in said.out
    assert "responses.csv" in said.out  # what was exported before is named
    after = command("score", "study", "--json").json
    assert (before["responses_deleted"], after["forms_deleted"], after["responses_deleted"]) == (0, 1, 4)
    assert after["annotators"]["collected"] == before["annotators"]["collected"] - 1
    assert "1 form with 4 responses was deleted" in command("score", "study").out
    assert command("report", "study", "--out", "report.html").code == 0
    assert "1 form with 4 responses was deleted" in Path("report.html").read_text(encoding="utf-8")
    assert command("archive", "study", "--out", "a.zip").code == 0
    assert command("archive", "--check", "a.zip").code == 0
    assert command("db", "check").code == 0


def test_somebody_who_was_forgotten_is_kept_out_and_not_stored_again(
    command: Command, taken: LinkStudy, tmp_path: Path, by_link: Callable
) -> None:
    assert command("worker", "forget", f"{PERSON}1", "--yes").code == 0
    again = panel(taken.panel_link(), f"{PERSON}1", "another")
    assert "is not open to you" in heading(begin(again))
    other = by_link(taken.engine, "other")
    assert "is not open to you" in heading(begin(panel(other.panel_link(), f"{PERSON}1", "s")))
    assert command("worker", "exclude", "study", f"{PERSON}1").code == 2
    taken.collect()
    assert f"{PERSON}1".encode() not in bytes_of(tmp_path)
    assert command("worker", "show", f"{PERSON}1").code == 2
    # The place is free for somebody else.
    assert form_taken(taken)


def form_taken(study: LinkStudy) -> bool:
    page = send(begin(panel(study.panel_link(), "SOMEBODYELSE", "s")))
    return page.status == 200 and study.states()["answered"] == 1


def test_the_first_person_by_link_makes_the_key_that_everybody_has(taken: LinkStudy) -> None:
    with reading(taken.engine) as session:
        key = bytes.fromhex(session.get_one(MetaRow, PSEUDONYM_KEY).value)
        names = session.execute(
            select(WorkerRow.pseudonym, WorkerIdentityRow.external_id).join(
                WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id
            )
        ).all()
    assert [name for name, _ in names] == [pseudonym(key, "link", whose) for _, whose in names]


def test_forgetting_waits_for_money_and_says_what_to_do_first(
    command: Command,
    sqlite_engine: Engine,
    sqlite_database: str,
    by_link: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study = by_link(sqlite_engine, link={"pay": "elsewhere"}, hit={"reward": "0.80"})
    send(begin(panel(study.panel_link(), PERSON, SESSION)))
    study.collect()
    before = f"{datetime.now(UTC):%Y-%m-%d}"
    for line in (f"worker forget {PERSON} --yes", f"worker purge --before {before} --yes"):
        with writing(sqlite_engine) as session:
            session.execute(update(AssignmentRow).values(submitted_at=datetime.now(UTC) - timedelta(days=9)))
        refused = command(*line.split())
        assert refused.code == 2
        assert "is not approved or rejected yet" in refused.err
        assert SESSION not in refused.err
    way_out = refused.err.split("First: `humaneval ")[1].split("`")[0]
    assert command(*way_out.split()).code == 0
    said = command("worker", "forget", PERSON, "--yes")
    assert said.code == 0, said.err
    assert "The books keep 1 payment without a person." in said.out


def test_a_purge_takes_ids_texts_and_forms_that_nobody_answered_after_the_time_that_the_study_names(
    command: Command, taken: LinkStudy, tmp_path: Path, addresses: list[str]
) -> None:
    table = command("export", "study", "--out", "before.csv")
    assert table.code == 0
    assert "There is nothing to delete." in command("worker", "purge").out
    ago = datetime.now(UTC) - timedelta(days=91)
    with writing(taken.engine) as session:
        first = AssignmentRow.id <= 2
        old = {"opened_at": ago, "submitted_at": ago, "answered_at": ago}
        session.execute(update(AssignmentRow).where(first).values(old))
        session.execute(update(AssignmentRow).where(AssignmentRow.state == "opened").values(opened_at=ago))
    done = command("worker", "purge", "--yes", "--json")
    assert done.code == 0, done.err
    assert {name: done.json[name] for name in ("ids", "comments", "unanswered_forms")} == {
        "ids": 2,
        "comments": 2,
        "unanswered_forms": 1,
    }
    content = bytes_of(tmp_path)
    for number in (0, 1, 3):
        assert f"{PERSON}{number}".encode() not in content
        assert f"{SESSION}{number}".encode() not in content
        assert f"{COMMENT} {number}".encode() not in content
    assert f"{PERSON}2".encode() in content
    taken.collect()
    assert f"{PERSON}0".encode() not in bytes_of(tmp_path)
    assert command("export", "study", "--out", "after.csv").code == 0
    columns = [Path(name).read_text().splitlines() for name in ("before.csv", "after.csv")]
    assert [line.split(",")[:5] for line in columns[0]] == [line.split(",")[:5] for line in columns[1]]
    seen = [heading(Browser().get(address)) for address in addresses]
    assert seen[0] == seen[1] == seen[2] != seen[3]  # thanks, but for the form that is gone
    # Whoever comes back is still known, and can still be forgotten by the id that was purged.
    begin(panel(taken.panel_link(), f"{PERSON}0", "another"))
    assert taken.states() == {"submitted": 3}
    assert command("worker", "forget", f"{PERSON}1", "--yes").code == 0
    with reading(taken.engine) as session:
        assert session.scalars(select(DeletedFormRow.responses)).all() == [4]


def test_a_purge_takes_the_sessions_of_people_about_whom_somebody_has_decided(
    command: Command,
    sqlite_engine: Engine,
    sqlite_database: str,
    by_link: Callable,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study: LinkStudy = by_link(
        sqlite_engine,
        exclusions={"missed_control": "none"},
        link={"pay": "elsewhere"},
        hit={"reward": "0.80"},
    )
    address = study.panel_link()
    for number in range(3):
        send(begin(panel(address, f"{PERSON}{number}", f'{SESSION}"é-{number}')))
    study.collect()
    with reading(sqlite_engine) as session:
        forms = session.scalars(select(AssignmentRow.external_id).order_by(AssignmentRow.id)).all()
    assert command("reject", "study", forms[0], "--reason", "WHATTHEYDID").code == 0
    assert command("review", "study", "--approve").code == 0
    words = ("--elsewhere", "--amount", "1", "--reason", "FORTHEM")
    assert command("compensate", "study", forms[1], *words).code == 0
    before = command("status", "study", "--json").json
    done = purge(sqlite_engine, now(), now())
    assert (done.ids, done.texts) == (3, 1)
    content = bytes_of(tmp_path)
    for trace in (PERSON, SESSION, "WHATTHEYDID", "FORTHEM"):
        assert trace.encode() not in content, trace
    after = command("status", "study", "--json").json
    for said in (before, after):
        del said["endpoints"][0]["about_done_at"]
    assert after == before
    with reading(sqlite_engine) as session:  # each decision still stands beside its form
        work = session.scalars(select(AssignmentRow)).all()
        assert [[row.operation for row in payment_writes(session, one)] for one in work] == [
            ["reject"],
            ["approve"],
            ["approve"],
        ]
    assert purge(sqlite_engine, now(), now()).nothing
    with writing(sqlite_engine) as session:  # as an older version has left it
        row = session.scalars(select(OutboxRow).where(OutboxRow.operation == "reject")).one()
        row.subject, row.answer = f"assignment {forms[0]} worker 1", {"assignment": forms[0]}
    assert purge(sqlite_engine, now(), now()).ids == 1
    assert SESSION.encode() not in bytes_of(tmp_path)
