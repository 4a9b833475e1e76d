"""Files as other platforms export them, through the command line: what is read, what is left out, what is
said."""

from __future__ import annotations

import csv
import datetime
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.foreign import propose, read_sheet, responses
from tests.commands import Command, Said
from tests.conftest import lacking

TURK = (
    "HITId",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "WorkTimeInSeconds",
)
PASSAGE = ("Input.story", "Input.generator", "Input.position")
WHEN = "Wed May 06 11:55:42 PDT 2020"


def table(
    path: Path, rows: Iterable[Sequence[object]], separator: str = ",", encoding: str = "utf-8"
) -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


def turk_row(n: int, status: str = "Submitted", choice: object = 2, **cells: object) -> list[object]:
    row = {
        "HITId": f"H{n}",
        "AssignmentId": f"A{n}",
        "WorkerId": f"AWORKER{n}",
        "AssignmentStatus": status,
        "AcceptTime": WHEN,
        "SubmitTime": WHEN,
        "WorkTimeInSeconds": "0:03:26",
    }
    return [*(row | cells).values(), f"s{n}", "ilm", 3, choice]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Three assignments, the second rejected; the header names Approve and Reject, the rows do not."""
    rows = [turk_row(1), turk_row(2, "Rejected"), turk_row(3, choice=3)]
    return table(tmp_path / "batch.csv", [[*TURK, *PASSAGE, "Answer.choice", "Approve", "Reject"], *rows])


Import = Callable[..., Said]


@pytest.fixture
def imported(
    command: Command, tmp_path: Path
) -> Callable[..., tuple[list[dict[str, Any]], dict[str, Any], Said]]:
    """Runs `responses import`, and reads the table and the account that it wrote."""

    def run(file: Path, *flags: str) -> tuple[list[dict[str, Any]], dict[str, Any], Said]:
        out = tmp_path / "out.jsonl"
        said = command("responses", "import", file, "--out", out, "--force", "--yes", *flags)
        if said.code:
            return [], {}, said
        account = json.loads((tmp_path / "out.jsonl.manifest.json").read_text(encoding="utf-8"))
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()], account, said

    return run


Imported = Callable[..., tuple[list[dict[str, Any]], dict[str, Any], Said]]


def test_a_ragged_batch_becomes_responses_with_an_account_of_every_row(
    imported: Imported, batch: Path
) -> None:
    rows, account, said = imported(batch)
    assert [(row["story"], row["generator"], row["position"], row["choice"]) for row in rows] == [
        ("s1", "ilm", 3, 2),
        ("s3", "ilm", 3, 3),
    ]
    assert {row["submitted_at"] for row in rows} == {"2020-05-06T18:55:42+00:00"}
    assert (account["format"], account["rows_read"], account["rows_used"]) == ("mturk", 3, 2)
    assert account["left_out"] == [{"cause": "AssignmentStatus is rejected", "rows": 1, "lines": [3]}]
    assert account["sha256"]
    assert "1 left out: AssignmentStatus is rejected (line 3)" in said.err


def test_rejected_work_counts_when_it_is_asked_for(imported: Imported, batch: Path) -> None:
    assert len(imported(batch, "--all")[0]) == 3


def test_raw_worker_ids_are_in_nothing_that_is_written_or_said(
    imported: Imported, batch: Path, tmp_path: Path
) -> None:
    _, _, said = imported(batch)
    written = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("out.jsonl*"))
    assert "AWORKER" not in written + said.out + said.err


def test_the_same_person_has_one_name_in_two_files_of_one_database(imported: Imported, batch: Path) -> None:
    first = [row["worker"] for row in imported(batch)[0]]
    assert [row["worker"] for row in imported(batch, "--study", "other")[0]] == first
    assert len(set(first)) == 2


def test_a_foreign_file_is_scored_once_it_is_imported(command: Command, batch: Path, tmp_path: Path) -> None:
    refused = command("score", "--responses", batch, "--missed-control", "none")
    assert refused.code == 1
    assert f"{batch} is not a response table" in refused.err
    assert f"Make one of it: humaneval responses import {batch} --out responses.csv" in refused.err
    assert not list(tmp_path.glob("*.db*"))
    assert command("responses", "import", batch, "--out", "responses.csv", "--yes").code == 0
    said = command("score", "--responses", "responses.csv", "--missed-control", "none", "--json")
    (row,) = said.json["scores"]
    assert (row["generator"], row["n"], row["not_identified"]) == ("ilm", 2, 1)


def test_a_guess_without_a_terminal_is_refused_with_what_to_type(command: Command, batch: Path) -> None:
    said = command("responses", "import", batch, "--out", "out.csv")
    assert said.code == 2
    assert "columns were guessed (story, generator, position, choice)" in said.err
    assert "--yes, or --column worker=WorkerId --column story=Input.story" in said.err


@pytest.mark.parametrize(("typed", "code"), [(True, 0), (False, 2)])
def test_at_a_terminal_a_guess_is_shown_and_asked_about(
    command: Command, batch: Path, monkeypatch: pytest.MonkeyPatch, typed: bool, code: int
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: typed)
    said = command("responses", "import", batch, "--out", "out.csv")
    assert said.code == code
    assert "choice is read from the column Answer.choice" in said.err


def test_options_about_tables_do_not_go_with_a_study_nor_the_other_way_round(
    command: Command, study: str
) -> None:
    said = command("score", study, "--control", "x")
    assert said.code == 2
    assert "go with --responses" in said.err
    Path("t.csv").write_text("worker,story,generator,position,choice\nw,s,ilm,1,2\n", encoding="utf-8")
    said = command("score", "--responses", "t.csv", "--all")
    assert said.code == 2
    assert "--all goes with a study" in said.err


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_X53_a_table_in_another_encoding_is_read_and_a_guess_is_said(
    command: Command, tmp_path: Path, encoding: str
) -> None:
    rows = [["worker", "story", "generator", "position", "choice"], ["w", "Zoë’s", "ilm", 1, 2]]
    path = table(tmp_path / "t.csv", rows, encoding=encoding)
    for verb in (
        ("score", "--missed-control", "none", "--responses", path),
        ("responses", "import", path, "--out", "o.csv", "--yes"),
        ("responses", "summarise", path, "--value", "choice", "--by", "story"),
    ):
        said = command(*verb)
        assert said.code == 0, said.err
        assert ("was read as cp1252" in said.err) == (encoding == "cp1252")
    assert "Zoë’s" in said.out


@pytest.mark.parametrize(
    ("separator", "line_end", "encoding", "before"),
    [
        (";", "\n", "utf-8-sig", ""),
        ("\t", "\r", "utf-16", ""),
        ("|", "\r\n", "utf-8", ""),
        (";", "\r\n", "utf-8-sig", "sep=;\r\n"),
    ],
)
def test_C61_a_batch_reads_the_same_however_it_was_saved(
    imported: Imported, batch: Path, separator: str, line_end: str, encoding: str, before: str
) -> None:
    expected = imported(batch)[0]
    text = batch.read_text(encoding="utf-8").replace(",", separator).replace("\n", line_end)
    batch.write_bytes((before + text).encode(encoding))
    assert imported(batch)[0] == expected


def test_work_that_was_marked_for_rejection_is_left_out(imported: Imported, tmp_path: Path) -> None:
    header = [*TURK, *PASSAGE, "Answer.choice", "Approve", "Reject"]
    path = table(tmp_path / "marked.csv", [header, [*turk_row(1), "x", ""], [*turk_row(2), "", "too fast"]])
    rows, account, _ = imported(path)
    assert len(rows) == 1
    assert account["left_out"] == [{"cause": "marked for rejection (column Reject)", "rows": 1, "lines": [3]}]


def test_json_that_is_none_is_counted_and_stays(command: Command, tmp_path: Path) -> None:
    rows = [["HITId", "AssignmentId", "Answer.taskAnswers"], [1, 2, '[{"q": "yes"}]'], [1, 3, "[{broken"]]
    said = command("responses", "summarise", table(tmp_path / "t.csv", rows), "--value", "Answer.q", "--json")
    assert [(row["value"], row["n"], row["share"]) for row in said.json["table"]] == [("yes", 1, 1.0)]
    assert (
        "Answer.taskAnswers: 1 cell begins like JSON but cannot be read, and stays text: line 3"
        in said.json["notes"]
    )


def test_summing_up_by_worker_shows_no_worker_id(command: Command, batch: Path) -> None:
    said = command("responses", "summarise", batch, "--value", "Answer.choice", "--by", "WorkerId")
    assert said.code == 0
    assert "AWORKER" not in said.out + said.err


def test_what_is_told_is_not_asked_about(command: Command, batch: Path) -> None:
    told = [f"--column={role}=Input.{role}" for role in ("story", "generator", "position")]
    told += ["--column=worker=WorkerId", "--column=choice=Answer.choice"]
    assert command("responses", "import", batch, "--out", "out.csv", *told).code == 0


def test_a_table_that_is_there_is_not_written_over(command: Command, batch: Path, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine", encoding="utf-8")
    said = command("responses", "import", batch, "--out", tmp_path / "out.csv", "--yes")
    assert said.code == 2
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "mine"


def test_a_name_that_a_study_has_is_refused(command: Command, batch: Path, study: str) -> None:
    said = command("responses", "import", batch, "--out", "out.csv", "--yes", "--study", study)
    assert said.code == 2
    assert f"the database already has a study {study!r}" in said.err


def test_json_answers_of_a_form_with_many_passages(imported: Imported, tmp_path: Path) -> None:
    order = (1, 10, 2)
    cell = json.dumps([{f"pick_{n}": {str(k): k == n % 5 + 1 for k in range(1, 6)} for n in order}])
    header = [*TURK, *(f"{name}_{n}" for name in PASSAGE for n in order), "Answer.taskAnswers"]
    row = [*turk_row(1)[:7], *(f"s{n}" for n in order), *["ilm"] * 3, *[1] * 3, cell]
    rows, account, _ = imported(table(tmp_path / "forms.csv", [header, row]))
    assert [(row["story"], row["choice"]) for row in rows] == [("s1", 2), ("s2", 3), ("s10", 1)]
    assert account["columns"]["choice"] == "Answer.pick_{}"


def test_one_column_for_each_option(imported: Imported, tmp_path: Path) -> None:
    header = [*TURK, *PASSAGE, *(f"Answer.choice.{n}" for n in range(1, 6))]
    rows = [[*turk_row(n)[:10], *("TRUE" if k == n else "FALSE" for k in range(1, 6))] for n in (2, 5)]
    assert [row["choice"] for row in imported(table(tmp_path / "options.csv", [header, *rows]))[0]] == [2, 5]


def test_columns_that_are_there_twice_are_kept_apart(command: Command, tmp_path: Path) -> None:
    path = table(
        tmp_path / "twice.csv",
        [
            ["HITId", "AssignmentId", "Answer.x", "Answer.x", "Answer.y", "Answer.y"],
            [1, 2, "a", "b", "c", "c"],
        ],
    )
    said = command("responses", "summarise", path, "--value", "Answer.x (2)", "--json")
    assert [(row["value"], row["n"], row["share"]) for row in said.json["table"]] == [("b", 1, 1.0)]
    assert [note for note in said.json["notes"] if note.startswith(("columns with", "of columns"))] == [
        "of columns with the same name and the same cells, one is read: Answer.y",
        "columns with the name of another, but different cells, are called Answer.x (2)",
    ]


def test_a_file_without_people_is_refused_or_every_row_is_somebody(
    imported: Imported, tmp_path: Path
) -> None:
    path = table(
        tmp_path / "nobody.csv", [[*PASSAGE, "Answer.choice"], ["s1", "ilm", 1, 2], ["s2", "ilm", 1, 2]]
    )
    assert "which column holds: worker" in imported(path)[2].err
    rows, account, _ = imported(path, "--anonymous-workers")
    assert len({row["worker"] for row in rows}) == 2
    assert any("every row counts as another worker" in note for note in account["notes"])


def test_durations_that_cannot_be_told_become_empty_and_are_counted(
    imported: Imported, tmp_path: Path
) -> None:
    header = ["worker", "story", "generator", "position", "choice", "seconds", "submitted_at"]
    path = table(
        tmp_path / "t.csv",
        [header, ["w", "s", "ilm", 1, 2, "3:26", "1/2/2020 10:00"], ["w", "t", "ilm", 1, 2, "0:03:26", ""]],
    )
    rows, account, _ = imported(path, "--format", "table")
    assert [row["seconds"] for row in rows] == [None, 206.0]
    assert "seconds: 1 cell cannot be read, left empty; for example '3:26' (line 2)" in account["notes"]
    assert any(
        note.startswith("submitted_at: 1 cell cannot be read (give --time-zone)") for note in account["notes"]
    )


def test_toloka_with_bytes_and_statuses(imported: Imported, tmp_path: Path) -> None:
    header = [
        "INPUT:story",
        "INPUT:system",
        "INPUT:position",
        "OUTPUT:choice",
        "GOLDEN:choice",
        "ASSIGNMENT:worker_id",
        "ASSIGNMENT:assignment_id",
        "ASSIGNMENT:status",
        "ASSIGNMENT:submitted",
    ]
    rows = [
        [
            repr(f"café {n}".encode()),
            "ilm",
            1,
            2,
            "",
            f"worker{n}",
            f"a{n}",
            status,
            "2021-12-23T07:43:44.851",
        ]
        for n, status in enumerate(["APPROVED", "REJECTED", "EXPIRED", "SUBMITTED"])
    ]
    found, account, _ = imported(table(tmp_path / "toloka.tsv", [header, *rows], "\t"))
    assert [row["story"] for row in found] == ["café 0", "café 3"]
    assert found[0]["submitted_at"] == "2021-12-23T07:43:44.851000+00:00"
    assert {left["cause"] for left in account["left_out"]} == {
        "ASSIGNMENT:status is expired",
        "ASSIGNMENT:status is rejected",
    }


IDS = ("status", "ipAddress", "duration", "finished", "_recordId", "recipientEmail", *"pabcdefgh")
QUALTRICS = (
    [
        "StartDate",
        "EndDate",
        "Status",
        "IPAddress",
        "Duration (in seconds)",
        "Finished",
        "ResponseId",
        "RecipientEmail",
        "PROLIFIC_PID",
        "story_1",
        "generator_1",
        "position_1",
        "choice_1",
        "story_2",
        "generator_2",
        "position_2",
        "choice_2",
    ],
    [
        "Start Date",
        "End Date",
        "Response Type",
        "IP Address",
        "Duration (in seconds)",
        "Finished",
        "Response ID",
        "Recipient Email",
        "PROLIFIC_PID",
        *["Which, if any?\nMark one."] * 8,
    ],
    [
        '{"ImportId":"startDate","timeZone":"America/Denver"}',
        '{"ImportId":"endDate","timeZone":"America/Denver"}',
        *(json.dumps({"ImportId": name}, separators=(",", ":")) for name in IDS),
    ],
)


def qualtrics(path: Path) -> Path:
    def row(pid: str, status: str = "IP Address", finished: str = "True") -> list[str]:
        passages = ["s1", "ilm", "1", "2", "s2", "human", "3", "3"]
        return [
            "2020-07-01 11:00:00",
            "2020-07-01 12:00:00",
            status,
            "1.2.3.4",
            "3600",
            finished,
            f"R_{pid}",
            "a@b.c",
            pid,
            *passages,
        ]

    rows = [row("p00001"), row("p00002", "Survey Preview"), row("p00003", finished="False"), row("p00004")]
    return table(path, [*QUALTRICS, *rows], encoding="utf-8-sig")


def test_qualtrics_three_rows_of_header(imported: Imported, tmp_path: Path) -> None:
    found, account, said = imported(qualtrics(tmp_path / "qualtrics.csv"))
    assert [(row["story"], row["choice"]) for row in found] == [("s1", 2), ("s2", 3)] * 2
    assert {row["submitted_at"] for row in found} == {"2020-07-01T18:00:00+00:00"}
    assert [(left["cause"], left["lines"]) for left in account["left_out"]] == [
        ("a preview (Status survey preview)", [13]),
        ("not finished (Finished)", [14]),
    ]
    assert "a@b.c" not in said.out + said.err + json.dumps(account)
    assert any(
        "personal columns that are not read: IPAddress, RecipientEmail" in note for note in account["notes"]
    )


def test_prolific_says_whose_answers_count(command: Command, imported: Imported, tmp_path: Path) -> None:
    header = ["Submission id", "Participant id", "Status", "Started at", "Completed at", "Time taken", "Age"]
    rows = [
        ["x", "p00001", "APPROVED", "", "", "300", "30"],
        ["y", "p00004", "RETURNED", "", "", "", "CONSENT_REVOKED"],
    ]
    export = table(tmp_path / "prolific.csv", [header, *rows])
    found, account, _ = imported(qualtrics(tmp_path / "qualtrics.csv"), "--prolific", str(export))
    assert len(found) == 2
    assert any(left["cause"] == "returned on Prolific" for left in account["left_out"])
    summed = command(
        "responses", "summarise", "qualtrics.csv", "--value", "choice_{}", "--prolific", export, "--json"
    )
    assert [row["n"] for row in summed.json["table"]] == [2]
    wrong = command(
        "responses", "summarise", "qualtrics.csv", "--value", "choice_{}", "--prolific", "qualtrics.csv"
    )
    assert (wrong.code, "is not Prolific's export of submissions" in wrong.err) == (2, True)


def test_X22_an_export_of_prolific_with_none_of_the_workers_is_refused(
    command: Command, tmp_path: Path
) -> None:
    header = ["Submission id", "Participant id", "Status", "Started at", "Completed at", "Time taken"]
    export = table(tmp_path / "prolific.csv", [header, ["x", "5f1234567890", "APPROVED", "", "", "300"]])
    file = qualtrics(tmp_path / "qualtrics.csv")
    said = command("responses", "summarise", file, "--value", "choice_{}", "--prolific", export)
    assert said.code == 1
    assert "has none of the workers who answered. Workers in the export: 5f12… (12 characters);" in said.err
    assert "in the answers: p000… (6 characters)" in said.err
    assert "5f1234567890" not in said.err


def test_prolific_alone_can_be_summed_up_and_has_no_answers(
    command: Command, imported: Imported, tmp_path: Path
) -> None:
    header = [
        "session_id",
        "participant_id",
        "status",
        "started_datetime",
        "completed_date_time",
        "time_taken",
    ]
    rows = [
        ["x", "p1", "APPROVED", "", "", "300"],
        ["y", "p2", "RETURNED", "", "", ""],
        ["z", "p3", "AWAITING REVIEW", "", "", "500"],
    ]
    path = table(tmp_path / "prolific.csv", [header, *rows])
    said = command("responses", "summarise", path, "--value", "time_taken", "--json")
    assert (said.json["format"], said.json["table"][0]["mean"]) == ("prolific", 400)
    assert "which column holds: story, generator, position, choice" in imported(path)[2].err


@pytest.mark.parametrize(
    ("tail", "names"),
    [
        (
            ["doc1", "False", "1588790796.5", "1588790800.5"],
            ["documentID", "isCompleteDocument", "startTime", "endTime"],
        ),
        ([], []),
        (["1588790796.5", "1588790800.5"], ["startTime", "endTime"]),
        (
            ["doc1", "True", "[]", "1588790796.5", "1588790800.5", "7", "12"],
            ["documentID", "isCompleteDocument", "mqm", "startTime", "endTime", "batch", "item"],
        ),
    ],
)
def test_appraise_without_a_header(
    command: Command, tmp_path: Path, tail: list[str], names: list[str]
) -> None:
    rows = [
        ["engdeu0101", "sysA", str(n), kind, "eng", "deu", str(50 + 10 * n), *tail]
        for n, kind in enumerate(["TGT", "TGT", "BAD"])
    ]
    path = table(tmp_path / "appraise.csv", rows)
    said = command(
        "responses",
        "summarise",
        path,
        "--value",
        "score",
        "--by",
        "systemID",
        "--where",
        "itemType=TGT",
        "--json",
    )
    assert said.json["table"][0] == {
        "systemID": "sysA",
        "n": 2,
        "mean": 55.0,
        "sd": pytest.approx(50**0.5),
        "median": 55.0,
        "min": 50.0,
        "max": 60.0,
        "se": None,  # one worker
        "low": None,
        "high": None,
    }
    assert list(read_sheet(path).frame.columns)[7:] == names


def test_appraise_with_a_header_leaves_addresses_out(command: Command, tmp_path: Path) -> None:
    header = ["systemID", "username", "email", "segmentID", "score", "durationInSeconds", "itemType"]
    path = table(tmp_path / "a.csv", [header, ["sysA", "ann", "ann@x.org", "1", "70", "12.5", "TGT"]])
    assert "ann@x.org" not in read_sheet(path).frame.to_csv()
    assert command("responses", "summarise", path, "--value", "score", "--by", "email").code == 2


def test_json_by_hit_and_json_lines(command: Command, imported: Imported, tmp_path: Path) -> None:
    hits = tmp_path / "hits.json"
    hits.write_text(
        json.dumps(
            {
                f"hit{n}": {"Answers": [{"WorkerID": "W1", "A1": "Paragraph 2", "A2": "Paragraph 1"}]}
                for n in (0, 5)
            }
        )
    )
    gold = table(
        tmp_path / "gold.csv",
        [["label", "x"], ["paragraph_2", 1], ["paragraph_2", 1], ["paragraph_1", 1], ["paragraph_1", 1]],
    )
    said = command(
        "responses", "summarise", hits, "--value", "A{}", "--gold", gold, "--gold-column", "label", "--json"
    )
    assert (said.json["table"][0]["mean"], said.json["table"][0]["n"]) == (0.5, 4)
    short = table(tmp_path / "short.csv", [["label", "x"], ["paragraph_2", 1]])
    refused = command(
        "responses", "summarise", hits, "--value", "A{}", "--gold", short, "--gold-column", "label"
    )
    assert refused.code == 1
    assert "2 HITs with 2 passages each need 4 right answers; the file has 1" in refused.err
    lines = tmp_path / "long.jsonl"
    lines.write_text(
        "".join(
            json.dumps({"rater": f"r{n}", "doc": "d", "system": "ilm", "gold": 1, "pick": n}) + "\n"
            for n in (1, 2)
        )
    )
    assert [row["choice"] for row in imported(lines, "--column", "story=doc")[0]] == [1, 2]


@pytest.fixture
def workbook(tmp_path: Path) -> Callable[..., Path]:
    """Writes an Excel workbook of these rows."""
    try:
        import openpyxl
    except ImportError:
        lacking("openpyxl", 'pip install "humaneval-toolkit[excel]"')

    def write(rows: Iterable[Sequence[object]], name: str = "book.xlsx") -> Path:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(list(row))
        book.create_sheet("notes")
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def test_a_batch_that_excel_saved(imported: Imported, workbook: Callable[..., Path]) -> None:
    header = ["worker", "story", "generator", "position", "choice", "seconds", "submitted_at", "test"]
    rows = [
        ["AWORKER1", 1.0, "ilm", 3.0, 2, datetime.time(0, 3, 26), datetime.datetime(2020, 5, 6, 12), True],
        ["AWORKER2", "s2", "ilm", 3, "2", datetime.timedelta(days=1, seconds=206), WHEN, False],
    ]
    found, account, _ = imported(workbook([header, *rows]), "--time-zone", "UTC")
    assert [(row["story"], row["position"], row["seconds"], row["test"]) for row in found] == [
        ("1", 3, 206.0, True),
        ("s2", 3, 86606.0, False),
    ]
    assert [row["submitted_at"] for row in found] == [
        "2020-05-06T12:00:00+00:00",
        "2020-05-06T18:55:42+00:00",
    ]
    assert any("others: notes (choose with --worksheet)" in note for note in account["notes"])


def test_a_formula_without_a_value_and_a_worksheet_that_is_not_there_are_named(
    imported: Imported, workbook: Callable[..., Path]
) -> None:
    path = workbook([["worker", "story"], ["w", "=1+1"]])
    assert "1 formulas have no stored value: B2" in imported(path)[2].err
    said = imported(path, "--worksheet", "other")[2]
    assert (said.code, "there is no worksheet 'other'" in said.err) == (2, True)


def test_a_workbook_without_openpyxl_says_how_to_get_it(
    command: Command, workbook: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook([["worker", "story"], ["w", "s"]])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    said = command("responses", "summarise", path, "--value", "story")
    assert said.code == 1
    assert 'pip install "humaneval-toolkit[excel]"' in said.err


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 5),
            st.integers(1, 5),
            st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_goes_through_a_batch_file_comes_back(answers: list[tuple[int, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows: list[list[object]] = [
            ["HITId", "AssignmentId", "WorkerId", *PASSAGE, "Answer.taskAnswers", "Approve", "Reject"]
        ]
        for n, (position, choice, story) in enumerate(answers):
            cell = json.dumps([{"choice": {str(k): k == choice for k in range(1, 6)}}])
            rows.append([f"H{n}", f"A{n}", f"W{n}", f"{n} {story}", "ilm", position, cell])
        sheet = read_sheet(table(Path(folder) / "batch.csv", rows))
        frame = responses(sheet, propose(sheet, {}), study="x").frame
    assert frame[["position", "choice", "story"]].values.tolist() == [
        [position, choice, f"{n} {story}".strip()] for n, (position, choice, story) in enumerate(answers)
    ]
