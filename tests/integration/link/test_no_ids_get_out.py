"""What verbs print, log and write names nobody: one run with ids that are easy to find, and a search."""

from __future__ import annotations

import io
import json
import logging
import re
import stat
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode
from zipfile import ZipFile

import pandas as pd
import pytest
from sqlalchemy import Engine, insert, select, text

from humaneval.crowd.link import Invitation
from humaneval.crowd.outbox import intend, intent_of, perform
from humaneval.crowd.pseudonyms import worker_row
from humaneval.crowd.workers import find_worker
from humaneval.errors import PlatformError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import WorkerRow
from humaneval.study.stored import get_study
from tests.commands import Command
from tests.integration.link.people import begin, panel, send
from tests.integration.test_form_server import serving
from tests.pace import PATIENCE

PERSON, SESSION = "PROLIFICPERSON", "PANELSESSION"
VERBS = [
    "collect study",
    "review study",
    "status study --json",
    "worker list study",
    "worker list study --json",
    "score study --json",
    "export study --out responses.csv",
    "export study --out responses.jsonl",
    "export study --comments --out comments.csv",
    "export study --infills --out infills",
    "report study --out report.html",
    "archive study --out archive.zip",
    "datasheet study --out sheet.md",
    "report study --out report",
    "review study --json",
    "worker show PERSON",
    "worker exclude study PERSON",
    "worker include study PERSON",
    "review study --approve",
    "worker export PERSON --out person.json",
    "worker forget PERSON --yes",
    "worker purge --before 2026-01-01 --yes",
    "db check",
]
"""PERSON: the pseudonym of one of them."""


def contents(folder: Path) -> dict[str, str]:
    """Every file under `folder` as text, those in zips too; not the database, which keeps the ids."""
    found = {}
    for file in folder.rglob("*"):
        if not file.is_file() or file.name.startswith("humaneval.db"):
            continue
        data = file.read_bytes()
        found[file.name] = data.decode("utf-8", "replace")
        if file.suffix == ".zip":
            with ZipFile(io.BytesIO(data)) as archive:
                found |= {f"{file.name}/{name}": archive.read(name).decode() for name in archive.namelist()}
    return found


@pytest.fixture
def taken(
    sqlite_engine: Engine, sqlite_database: str, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> Engine:
    """A study called `study` in which four people of a panel have taken part."""
    study = by_link(sqlite_engine, exclusions={"missed_control": "none"})
    link = study.panel_link()
    for number in range(4):
        send(
            begin(panel(link, f"{PERSON}{number}", f"{SESSION}{number}")),
            1 + number,
            comment=f"=1+cmd|'/C'!A0 by {PERSON}{number} of {SESSION}{number}",
        )
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    return sqlite_engine


def test_no_id_of_a_person_is_in_what_verbs_print_log_or_write(
    command: Command, taken: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="humaneval")
    printed = ""
    with reading(taken) as session:
        somebody = session.scalars(select(WorkerRow.pseudonym)).first() or ""
    for line in VERBS:
        said = command(*line.replace("PERSON", somebody).split())
        assert said.code == 0, (line, said.err)
        printed += said.out + said.err
    # What a person may ask for has their own ids.
    files = {name: text for name, text in contents(tmp_path).items() if name != "person.json"}
    assert {"responses.csv", "comments.csv", "archive.zip/responses.csv", "report.html"} <= set(files)
    everything = {"the terminal": printed, "the log": caplog.text, **files}
    assert [name for name, text in everything.items() if PERSON in text] == []
    assert [name for name, text in everything.items() if SESSION in text] == []
    assert "'=1+cmd" in files["comments.csv"]
    fractions = re.compile(r"\d\d:\d\d:\d\d\.\d")
    assert [name for name, text in files.items() if fractions.search(text)] == []
    # The files of one export belong together.
    table = pd.read_csv("responses.csv")
    assert set(table["worker"]) == set(pd.read_csv("comments.csv")["worker"])
    assert set(table["assignment"]) == set(pd.read_csv("comments.csv")["assignment"])
    assert table["assignment"].nunique() == table["worker"].nunique() == 4


def test_what_review_shows_of_a_panels_form_can_be_decided_about(command: Command, taken: Engine) -> None:
    command("collect", "study")
    work = command("review", "study", "--json").json["assignments"]
    first, second = (each["assignment"] for each in work[:2])
    for line, code in (
        (f"compensate study {first} --amount 1 --reason no --elsewhere", 0),
        (f"approve study {first} --dry-run --json", 0),
        (f"approve study {first}", 0),
        (f"reject study {first} --reason no", 1),
        (f"reject study {second} --reason no --dry-run --json", 0),
        (f"reject study {second} --reason no", 0),
        (f"approve study {second}", 1),
        (f"approve study {second} --undo-rejection", 0),
        (f"compensate study {first} --amount 1 --reason no", 1),
    ):
        said = command(*line.split())
        assert (said.code, SESSION in said.out + said.err) == (code, False), (line, said)


def test_the_platforms_ids_are_written_only_on_request_and_only_for_the_owner(
    command: Command, taken: Engine, tmp_path: Path
) -> None:
    command("collect", "study")
    assert command("export", "study", "--platform-ids", "--out", "mine.csv").code == 0
    assert SESSION in Path("mine.csv").read_text(encoding="utf-8")
    assert PERSON not in Path("mine.csv").read_text(encoding="utf-8")
    assert stat.S_IMODE(Path("mine.csv").stat().st_mode) == 0o600


def test_personal_links_are_their_owners_file(
    command: Command, sqlite_engine: Engine, study: str, tmp_path: Path
) -> None:
    Path("people.csv").write_text("name,phone\n=Ada,+49 30 123\n", encoding="utf-8")
    Path("links.csv").write_text("old", encoding="utf-8")
    Path("links.csv").chmod(0o644)
    said = command("publish", study, "--to", "link", "--people", "people.csv", "--out", "links.csv")
    assert said.code == 0, said.err
    assert stat.S_IMODE(Path("links.csv").stat().st_mode) == 0o600
    assert '"\'=Ada","+49 30 123",' in Path("links.csv").read_text(encoding="utf-8-sig")


def test_the_same_person_has_another_name_in_the_export_of_each_study(
    command: Command, taken: Engine, by_link: Callable
) -> None:
    other = by_link(taken, "other", design={"annotators": 4})
    link = other.panel_link()
    for number in range(4):
        send(begin(panel(link, f"{PERSON}{number}", f"{SESSION}{number}")))
    names = {}
    for study in ("study", "other"):
        command("collect", study)
        command("export", study, "--out", f"{study}.csv")
        table = pd.read_csv(f"{study}.csv")
        people = command("worker", "list", study, "--json").json["workers"]
        assert {one["exported_as"] for one in people} == set(table["worker"])
        names[study] = {one["worker"]: one["exported_as"] for one in people}
        assert not set(table["worker"]) & set(names[study])
    assert names["study"].keys() == names["other"].keys()  # one worker stays one inside the database
    assert not set(names["study"].values()) & set(names["other"].values())
    with reading(taken) as session:
        for study in names:
            for worker, exported in names[study].items():
                row = session.get_one(WorkerRow, find_worker(session, "link", exported))
                assert row.pseudonym == worker


def test_a_platforms_words_about_a_worker_are_told_with_the_pseudonym(
    sqlite_engine: Engine, study: str
) -> None:
    ids = ["AWORKER1", "AWORKER12", "ann@example.org", "=1+cmd|'/C'!A0"]
    with writing(sqlite_engine) as session:
        names = {one: worker_row(session, "local", one).pseudonym for one in ids}
        row = intend(
            session,
            study_id=get_study(session, study).id,
            endpoint="local",
            operation="exclude",
            subject="study 1 worker 1 #1",
            key="k",
            request={},
        )
        intent = intent_of(row)

    def refuse() -> None:
        raise PlatformError(f"no such workers: {', '.join(ids[:3])}; '{ids[3]}'; AWOR…", nothing_done=True)

    with pytest.raises(PlatformError) as caught:
        perform(sqlite_engine, intent, refuse, lambda session, _: {})
    *three, fourth = names.values()
    expected = f"no such workers: {', '.join(three)}; '{fourth}'; …"
    assert caught.value.message == str(caught.value) == expected
    with reading(sqlite_engine) as session:
        assert session.scalars(select(type(row).error)).one() == expected


def test_errors_of_the_database_quote_no_values(sqlite_engine: Engine) -> None:
    with writing(sqlite_engine) as session:
        worker_row(session, "local", "AWORKER1")
    with pytest.raises(Exception, match="UNIQUE") as caught, writing(sqlite_engine) as session:
        session.execute(insert(WorkerRow), {"id": 1, "pseudonym": "SECRETNAME"})
    assert "SECRETNAME" not in str(caught.value)
    assert json.dumps(str(caught.value))


def test_the_log_of_a_server_names_no_id_address_or_browser_whatever_fails(
    command: Command, by_link: Callable, sqlite_engine: Engine, sqlite_database: str, tmp_path: Path
) -> None:
    study = by_link(sqlite_engine)
    address, agent, before = panel(study.panel_link(), PERSON, SESSION), "SECRETBROWSER/1.0", "203.0.113.77"
    personal = study.invite(Invitation("personal", "person x", 1))[0]
    key = personal.rpartition("/")[2]
    with writing(sqlite_engine) as session:  # as PostgreSQL tells of a value that is there already
        told = f"Key (external_id)=({PERSON}) already exists"
        session.execute(
            text(
                "CREATE TRIGGER refused BEFORE INSERT ON worker_identities"
                f" WHEN NEW.external_id LIKE 'person %' BEGIN SELECT RAISE(ABORT, '{told}'); END"
            )
        )
    given = {"User-Agent": agent, "X-Forwarded-For": before}
    environment = {"HUMANEVAL_DATABASE": sqlite_database, "HUMANEVAL_TRUSTED_PROXIES": "1"}
    with serving(tmp_path, "serve", **environment) as server:

        def ask(whole: str, data: dict[str, str] | None = None) -> int:
            url = whole.replace(study.url, f"http://127.0.0.1:{server.port}")
            sent = urllib.request.Request(url, headers=given, data=data and urlencode(data).encode())
            try:
                with urllib.request.urlopen(sent, timeout=PATIENCE) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as error:
                return error.code

        assert ask(address) == 200
        ids = {"PROLIFIC_PID": PERSON, "SESSION_ID": SESSION}
        assert ask(address.partition("?")[0], ids) == 200
        assert ask(f"{address.partition('?')[0]}x?{urlencode(ids)}") == 404
        assert ask(personal, {"x": "1"}) == 500
        assert ask(f"{personal}/nonsense", ids) == 404
        # The database is written anew under the server, which goes on with it.
        forgotten = command("--database", sqlite_database, "worker", "forget", PERSON, "--yes")
        assert forgotten.code == 0, forgotten.err
        assert ask(address.partition("?")[0], ids) == 200
        server.process.terminate()
        printed = server.process.communicate()
    log = server.log.read_text(encoding="utf-8")
    assert "POST /take/<key> failed: IntegrityError" in log
    for trace in (PERSON, SESSION, agent, before, key):
        assert trace not in log + printed, trace
