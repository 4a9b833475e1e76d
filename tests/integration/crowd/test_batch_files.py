"""A study at a site that works by files: our layout and table in, the site's results out, and collected."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from humaneval.simulated.annotator import Crowd, Skills, crowd_for
from humaneval.simulated.browser import parse_page
from humaneval.store.engine import reading, writing
from humaneval.store.responses import response_lines
from humaneval.store.tables import OutboxRow
from humaneval.study.create import create_study
from humaneval.study.stored import get_study, open_study, study_key
from tests.commands import Command
from tests.integration.test_questions import fill, read, stories_of

ROWS = 6
ODD = 'Ava paid ${form} & said "<b>no</b>" 🦊.'
TIMES = ["Sat Jul 23 10:08:10 PDT 2022", "Sat Jul 23 10:12:10 PDT 2022"]


def answered(folder: Path, crowd: Crowd, key: dict, *, first: int = 0, most: int = ROWS) -> list[dict]:
    """What the site stores: each line of the table in the layout, filled in by a simulated annotator."""
    layout = (folder / "layout.html").read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO((folder / "input.csv").read_bytes().decode(), newline="")))
    assert set(lines[0]) == set(re.findall(r"\$\{(\w+)\}", layout))
    assert "<form" not in layout
    stored = []
    for number, line in enumerate(lines[first : first + most], first):
        html = layout
        for name, value in line.items():
            html = html.replace(f"${{{name}}}", value)
        (form,) = parse_page("", 200, f"<form>{html}</form>").forms
        fields = {**form.values, **crowd.fill_in(form, key), "comment": "Fine, “ok”"}
        stored.append({"worker": f"A{number}WORKER", "input": line, "fields": fields})
    return stored


def results(stored: list[dict], status: str = "Submitted", *, short_ids: bool = False) -> bytes:
    """The table as the requester pages wrote it: all quoted, and rows two cells shorter than the header."""
    inputs, fields = list(stored[0]["input"]), sorted(stored[0]["fields"])
    head = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime"]
    head += [f"Input.{name}" for name in inputs] + [f"Answer.{name}" for name in fields]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([*head, "Approve", "Reject"])
    for number, one in enumerate(stored, 1):
        id = str(number) if short_ids else f"3ASSIGNMENT{number:04}"
        line = [f"3HIT{number}", id, one["worker"], status, *TIMES]
        writer.writerow([*line, *one["input"].values(), *(one["fields"].get(name, "") for name in fields)])
    return out.getvalue().encode()


@pytest.fixture
def batch(
    sqlite_engine: Engine, sqlite_database: str, study_factory: Callable, monkeypatch: pytest.MonkeyPatch
) -> Engine:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study_factory(sqlite_engine, "study", design={"annotators": ROWS})
    return sqlite_engine


@pytest.mark.parametrize(
    ("question", "answers"), [("prefer", {}), ("rate", {"mark": True}), ("boundary", {})]
)
def test_a_batch_asks_any_question(
    sqlite_engine: Engine,
    sqlite_database: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    answers: dict,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    fill(sqlite_engine, stories_of(5), rest=question == "boundary")
    create_study(sqlite_engine, "study", read(question, answers, annotators=ROWS), "")
    assert command("publish", "study", "--to", "csv", "--out", "files").code == 0
    study = open_study(sqlite_engine, "study")
    crowd = crowd_for(study, ROWS, Skills(by_generator={"control": 1.0}))
    stored = answered(tmp_path / "files", crowd, study_key(study))
    if question == "prefer":
        texts = [text for name, text in stored[0]["input"].items() if name.startswith("story_1")]
        assert [text for text in texts if "A or B" in text] == ['<span class="gap" lang="en">A or B</span>']
    Path("results.csv").write_bytes(results(stored))
    found = command("collect", "study", "--to", "csv", "--from", "results.csv", "--json").json
    assert found["responses"] == ROWS * study.settings.row_size
    assert command("review", "study", "--json").code == 0


@pytest.mark.parametrize("short_ids", [False, True], ids=["as at Mechanical Turk", "as at Turkle"])
def test_a_batch_goes_out_and_its_answers_come_in_once_and_are_scored(
    batch: Engine, command: Command, tmp_path: Path, short_ids: bool
) -> None:
    made = command("publish", "study", "--to", "csv", "--out", "files", "--json")
    assert (made.code, made.json["forms"]) == (0, ROWS), made.err
    key = study_key(open_study(batch, "study"))
    stored = answered(tmp_path / "files", Crowd(ROWS, Skills(by_generator={"control": 1.0})), key, most=4)
    stored[0]["fields"]["comment"] = "Fine\x1b[31m, red\x1b]0;title\x07"
    stored[1]["fields"]["consent"] = ""
    Path("results.csv").write_bytes(results(stored, short_ids=short_ids))
    looked = command("collect", "study", "--to", "csv", "--from", "results.csv", "--dry-run", "--json").json
    assert (looked["submissions"], looked["new"]) == (4, 4)
    first = command("collect", "study", "--to", "csv", "--from", "results.csv", "--json").json
    again = command("collect", "study", "--to", "csv", "--from", "results.csv", "--json").json
    assert [(each["new"], each["responses"]) for each in (first, again)] == [(4, 16), (0, 16)]
    (told,) = first["differences"]
    assert told.endswith(": no consent came with the answers")
    with reading(batch) as session:
        lines = response_lines(session, get_study(session, "study"))
    given = [one["fields"][f"choice-{number}"] for one in stored for number in range(1, 5)]
    assert sorted(given) == sorted(str(line["choice"]) for line in lines)
    assert {line["endpoint"] for line in lines} == {"csv"}
    assert command("score", "study", "--json").json["annotators"]["collected"] == 4
    assert command("export", "study", "--comments", "--out", "c.csv").code == 0
    assert "Fine[31m, red]0;title" in Path("c.csv").read_text(), "a terminal would do what it says"
    # What has answers is not put into another batch.
    assert command("publish", "study", "--to", "csv", "--out", "more", "--json").json["forms"] == 2


def test_work_that_the_site_has_decided_is_decided_here_and_never_by_us(
    batch: Engine, command: Command, tmp_path: Path
) -> None:
    assert "publish study --to csv --out FOLDER" in command("doctor", "study", "--to", "csv").out
    command("publish", "study", "--to", "csv", "--out", "files")
    key = study_key(open_study(batch, "study"))
    stored = answered(tmp_path / "files", Crowd(ROWS, Skills()), key)
    Path("results.csv").write_bytes(results(stored).replace(b"Fine", b"=Fine"))
    said = command("collect", "study", "--to", "csv", "--from", "results.csv", "--out", "review.csv")
    assert "with an X for" in said.out
    review = Path("review.csv").read_text(encoding="utf-8")
    assert '"X"' in review
    assert "\"'=Fine" in review  # a person looks at it in a spreadsheet
    again = command("collect", "study", "--to", "csv", "--from", "review.csv", "--json").json
    assert (again["new"], again["differences"]) == (0, [])
    assert Path("review.csv").stat().st_mode & 0o077 == 0  # it has ids
    for arguments in (
        ("review", "study", "--approve"),
        ("approve", "study", "3ASSIGNMENT0001"),
        ("reject", "study", "3ASSIGNMENT0001", "--reason", "no"),
        ("compensate", "study", "3ASSIGNMENT0001", "--amount", "0.80", "--reason", "no", "--elsewhere"),
    ):
        said = command(*arguments, "--to", "csv")
        assert (said.code, "approved, rejected and paid at the site" in said.err) == (1, True), said.err
    for line, why in (
        ("notify study --subject a --text b", "cannot be written to"),
        ("notify study --subject a --text b --again", "cannot be written to"),
        ("worker block study A0WORKER --reason no", "kept out at the site"),
        ("worker exclude study A0WORKER", "kept out at the site"),
        ("extend study --days 1", "extended and ended at the site"),
        ("expire study", "extended and ended at the site"),
        ("expire study --dry-run", "extended and ended at the site"),
    ):
        said = command(*line.split(), "--to", "csv")
        assert (said.code, why in said.err) == (1, True), said.err
    said = command("worker", "forget", "A0WORKER")
    assert "collect study --to csv --from RESULTS.csv" in said.err, said.err
    assert command("status", "study", "--json").json["endpoints"][0]["unconfirmed"] == 0
    with reading(batch) as session:
        assert not session.scalars(
            select(OutboxRow).where(OutboxRow.operation.in_(("approve", "reject")))
        ).all()
    Path("results.csv").write_bytes(results(stored, "Approved"))
    command("collect", "study", "--to", "csv", "--from", "results.csv")
    status = command("status", "study", "--json").json["endpoints"][0]
    assert (status["approved"], status["refused"], status["spent"]) == (ROWS, 0, "0.00")
    assert "End the batch at its site" in command("close", "study", "--to", "csv").out
    assert "Next: humaneval study create NAME" in command("doctor", "study", "--to", "csv").out


def test_results_of_another_study_and_a_missing_file_are_refused(
    batch: Engine, command: Command, tmp_path: Path, study_factory: Callable
) -> None:
    command("publish", "study", "--to", "csv", "--out", "files")
    study_factory(batch, "other", design={"annotators": ROWS, "seed": 7})
    command("publish", "other", "--to", "csv", "--out", "others")
    key = study_key(open_study(batch, "study"))
    Path("results.csv").write_bytes(results(answered(tmp_path / "files", Crowd(ROWS, Skills()), key)))
    said = command("collect", "other", "--to", "csv", "--from", "results.csv")
    assert (said.code, "no line of results.csv is of study 'other'" in said.err) == (1, True)
    twice = Path("results.csv").read_bytes().replace(b"3ASSIGNMENT0005", b"3ASSIGNMENT0002")
    Path("twice.csv").write_bytes(twice)
    said = command("collect", "study", "--to", "csv", "--from", "twice.csv")
    assert "twice.csv, line 6: the assignment 3ASSIGNMENT0002 is on line 3, too" in said.err
    assert (said.code, command("status", "study", "--json").json["endpoints"][0]["submitted"]) == (1, 0)
    said = command("collect", "study", "--to", "csv")
    assert (said.code, "--from RESULTS.csv" in said.err) == (2, True)
    assert command("collect", "study", "--to", "link", "--from", "results.csv").code == 2
    assert command("publish", "study", "--to", "csv").code == 2


def test_a_text_with_variables_markup_and_emoji_is_shown_as_it_is(
    batch: Engine, command: Command, tmp_path: Path
) -> None:
    with batch.begin() as connection:
        connection.exec_driver_sql("UPDATE passages SET sentences = json_set(sentences, '$[1]', ?)", (ODD,))
    command("publish", "study", "--to", "csv", "--out", "files")
    layout = (tmp_path / "files" / "layout.html").read_text(encoding="utf-8")
    line = next(csv.DictReader(io.StringIO((tmp_path / "files" / "input.csv").read_text(encoding="utf-8"))))
    for name, value in line.items():
        layout = layout.replace(f"${{{name}}}", value)
    (form,) = parse_page("", 200, f"<form>{layout}</form>").forms
    assert {form.choices[f"choice-{place}"][1].label for place in range(1, 5)} == {ODD}


def test_an_interrupted_publish_is_advised_with_a_folder(
    batch: Engine, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    again = "publish study --to csv --out FOLDER"
    assert command(*again.split()).code == 0
    with writing(batch) as session:
        session.execute(update(OutboxRow).values(state="pending", attempts=0))
    assert f"none was sent.\nNext: humaneval {again}\n" in command("status", "study").out
    assert command(*again.split()).code == 0
