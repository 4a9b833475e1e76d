"""The toolkit from Python over a database and over files: what the verbs write, and nothing changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import Engine, func, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

import humaneval as he
from humaneval.scoring.response_table import read_responses
from humaneval.store.engine import open_engine
from humaneval.store.migrate import downgrade
from humaneval.store.tables import StudyRow
from tests.answered import answer
from tests.commands import Command
from tests.unit.test_python import NAMES
from tests.unit.test_report import responses


@pytest.fixture
def file(study: str, sqlite_engine: Engine, sqlite_database: str) -> str:
    """The path of a database with an answered study called `study`, on which commands run, too."""
    answer(sqlite_engine, study)
    return sqlite_database.removeprefix("sqlite:///")


@pytest.fixture
def frame() -> pd.DataFrame:
    return responses(NAMES)


def test_a_stored_study_has_the_scores_and_responses_of_the_verbs(
    file: str, command: Command, tmp_path: Path
) -> None:
    with he.open(file) as db:
        assert db.studies == ("study",)
        one = db.study("study")
        assert one.scores().json() == command("score", "study", "--json").json
        at = one.scores(level=0.8, everything=True)
        assert at.json() == command("score", "study", "--level", "0.8", "--all", "--json").json
        assert command("export", "study", "--out", tmp_path / "r.csv").code == 0
        exported = read_responses(tmp_path / "r.csv")
        assert list(one.responses()["worker"]) == list(exported["worker"])
        assert list(one.responses()["choice"]) == list(exported["choice"])
        assert he.score(one.responses()).json()["scores"] == one.scores().json()["scores"]


def test_simulated_annotators_are_announced_wherever_scores_are_shown(
    study: str, sqlite_engine: Engine, sqlite_database: str, tmp_path: Path, command: Command
) -> None:
    answer(sqlite_engine, study, programs=5)
    assert command("export", study, "--out", tmp_path / "r.csv").code == 0
    with he.open(sqlite_database) as db:
        for found in (
            db.study(study).scores(),
            he.score(tmp_path / "r.csv"),
            he.score(db.study(study).responses()),
        ):
            for text in (repr(found), found._repr_html_()):
                assert "5 simulated" in text
                assert "say nothing about what people can tell" in " ".join(text.split())


def test_the_report_is_the_page_of_the_verb(file: str, command: Command, tmp_path: Path) -> None:
    with he.open(file) as db:
        db.study("study").scores().report(tmp_path / "mine.html", title="Mine")
    assert command("report", "study", "--title", "Mine", "--out", tmp_path / "verb.html").code == 0
    mine, verb = (
        re.sub(r"[-\d]+ [:\d]+ UTC", "", (tmp_path / name).read_text(encoding="utf-8"))
        for name in ("mine.html", "verb.html")
    )
    assert mine == verb


def test_a_database_is_opened_to_be_read_unless_said_otherwise(file: str) -> None:
    with he.open(file) as db, pytest.raises(OperationalError, match="readonly"), db.engine.begin() as made:
        made.execute(text("UPDATE studies SET name = 'other'"))
    with he.open(file, mode="write") as db, db.engine.begin() as made:
        made.execute(text("UPDATE studies SET name = 'other'"))
    with he.open(file) as db:
        assert db.studies == ("other",)


def test_so_is_one_on_a_server(engine: Engine, database: str) -> None:
    with he.open(database) as db:
        assert db.studies == ()
        with (
            pytest.raises(DBAPIError, match=r"readonly|read-only"),
            db.engine.begin() as made,
        ):
            made.execute(text("UPDATE studies SET name = 'other'"))
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(StudyRow)) == 0


def test_what_was_opened_is_closed_and_says_so(file: str) -> None:
    with he.open(file) as db:
        one = db.study("study")
        kept = one.scores()
        before = kept.json()
        assert "study" in repr(db)
    db.close()
    assert repr(db) == "<Database, closed>"
    assert kept.json() == before
    with pytest.raises(he.StoreError, match="is closed"):
        kept.report("x.html")
    for use in (lambda: db.studies, one.scores, one.responses, lambda: db.study("study")):
        with pytest.raises(he.StoreError, match="is closed"):
            use()


def test_a_wrong_name_makes_no_database_and_lists_no_studies(file: str, tmp_path: Path) -> None:
    with pytest.raises(he.StoreError, match="there is no database"):
        he.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("worker,story\n" * 500)
    with pytest.raises(he.StoreError, match="not a database"):
        he.open(tmp_path / "text.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(he.StoreError, match="holds no data of this toolkit"):
        he.open(tmp_path / "empty.db")
    with he.open(file) as db, pytest.raises(he.UsageError, match="no study 'other'") as raised:
        db.study("other")
    assert raised.value.__notes__ == ["Studies: study."]


def test_a_database_of_another_revision_is_refused_with_the_command_that_helps(
    file: str, sqlite_database: str, command: Command
) -> None:
    old = open_engine(sqlite_database)
    downgrade(old, "0001")
    old.dispose()
    with pytest.raises(he.StoreError, match="older revision 0001") as raised:
        he.open(file)
    (advice,) = re.findall(r"`humaneval (.*?)`", raised.value.hint)
    assert advice == f"--database {file} db upgrade"
    assert command(*advice.split()).code == 0
    with he.open(file) as db:
        assert db.studies == ("study",)


def test_a_study_without_responses_says_what_fetches_them(study: str, sqlite_database: str) -> None:
    with he.open(sqlite_database) as db, pytest.raises(he.InputError, match="no responses yet") as raised:
        db.study(study).scores()
    assert "up study" in raised.value.hint


def test_no_report_shows_a_workers_id(frame: pd.DataFrame, tmp_path: Path) -> None:
    named = frame.assign(worker="A2" + frame["worker"].str.upper())
    page = he.score(named).report(tmp_path / "x.html").read_text(encoding="utf-8")
    assert not any(worker in page for worker in named["worker"].unique())
    numbers = he.score(frame.assign(worker=frame["worker"].str[1:].astype(int)))
    assert numbers.json()["scores"] == he.score(frame).json()["scores"]


def test_R_gets_the_roles_that_arguments_name(frame: pd.DataFrame, tmp_path: Path) -> None:
    other = frame.replace({"generator": {"Control": "check", "Human": "people"}})
    he.score(other, control="check", human="people").report(tmp_path / "all")
    rows = pd.read_csv(tmp_path / "all" / "responses_r.csv")
    assert set(rows["generator"]) == {"sa", "lm", "ilm", "people"}
    assert set(rows.loc[rows["generator"] == "people", "role"]) == {"human"}


def test_report_makes_the_page_of_a_table_from_elsewhere(
    frame: pd.DataFrame, tmp_path: Path, command: Command
) -> None:
    other = frame.replace({"generator": {"Control": "check"}})
    other.to_csv(tmp_path / "r.csv", index=False)
    options = ("--responses", tmp_path / "r.csv", "--control", "check", "--margin", "0.1", "--level", "0.9")
    said = command("report", *options, "--out", tmp_path / "verb.html", "--title", "Elsewhere")
    assert said.code == 0, said.err
    page = (tmp_path / "verb.html").read_text(encoding="utf-8")
    assert "<h1>Elsewhere</h1>" in page
    assert "90\N{NO-BREAK SPACE}% interval" in page
    mine = he.score(tmp_path / "r.csv", control="check", margin=0.1, level=0.9)
    assert mine.report(tmp_path / "mine.html", title="Elsewhere").read_text(encoding="utf-8") == page
    assert command("report", *options, "--out", tmp_path / "r.json").code == 0
    written = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert written == command("score", *options, "--details", "--json").json
    assert command("report", *options).code == 0
    assert Path("r-report.html").is_file()


def test_report_makes_the_page_of_counts(tmp_path: Path, command: Command) -> None:
    counts = {"Control": 0, "BERT": 19, "SA": 28, "LM": 39, "ILM": 43, "Human": 74}
    lines = ["generator,not_identified,n", *(f"{name},{x},95" for name, x in counts.items())]
    (tmp_path / "paper.csv").write_text("\n".join(lines), encoding="utf-8")
    assert command("report", "--counts", tmp_path / "paper.csv", "--out", tmp_path / "all").code == 0
    page = (tmp_path / "all" / "report.html").read_text(encoding="utf-8")
    assert "<h1>paper</h1>" in page
    assert "ILM and LM score above BERT; all 4 score below Human." in page
    assert "Higher is better: fewer people noticed" in page
    document = json.loads((tmp_path / "all" / "report.json").read_text(encoding="utf-8"))
    assert document == command("score", "--counts", tmp_path / "paper.csv", "--json").json
    table = pd.read_csv(tmp_path / "all" / "scores.csv")
    assert list(table["not_identified"]) == [row["not_identified"] for row in document["scores"]]
    assert "ILM higher" in (tmp_path / "all" / "report.md").read_text(encoding="utf-8")
    assert r"\caption{" in (tmp_path / "all" / "tables.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a study, or a table"),
        (("study", "--counts", "c.csv"), "name a study, or a table"),
        (("study", "--margin", "0.1"), "go with --responses"),
        (("--counts", "c.csv", "--tests"), "--tests does not go with --counts"),
    ],
)
def test_report_takes_one_source_with_options_that_go_with_it(
    words: tuple[str, ...], message: str, command: Command
) -> None:
    Path("c.csv").write_text("generator,not_identified,n\nlm,1,2\n", encoding="utf-8")
    said = command("report", *words)
    assert said.code == 2
    assert message in said.err


def test_a_study_in_which_everybody_missed_the_control_names_a_way_that_works(
    sqlite_engine: Engine,
    study_factory: Callable,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    answer(sqlite_engine, spammers=4)
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(sqlite_engine.url))
    monkeypatch.chdir(tmp_path)
    refused = command("score", "study")
    assert "all 4 annotators missed a Control passage" in refused.err
    assert "--control" not in refused.err
    for verb in ("report", "archive", "datasheet"):
        assert command(verb, "study").err == refused.err
    ways = re.findall("`humaneval (.*?)`", refused.err)
    assert [way.split()[0] for way in ways] == ["review", "export", "score"]
    for way in ways[1:]:
        assert command(*way.split()).code == 0
    with he.open(str(sqlite_engine.url)) as db:
        study = db.study("study")
        with pytest.raises(he.InputError) as error:
            study.scores()
        assert '`humaneval.score(study.responses(), missed_control="none")`' in error.value.hint
        assert len(he.score(study.responses(), missed_control="none").frame) > 2
