"""Files that cannot be read as responses: each gets one clear line and its exit code, and nothing is
changed."""

from __future__ import annotations

import csv
import io
import random
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.answered import answer
from tests.commands import Command

HEADER = "WorkerId,item,model,gold,pick,note\n"
ROW = "AWORKER1,s1,ilm,2,3,x\n"


def archive(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in names:
            file.writestr(name, "<x")
    return data.getvalue()


BAD: dict[str, tuple[str, str | bytes, int, str]] = {
    "nothing": ("a.csv", b"", 1, "a.csv is empty"),
    "blank lines": ("a.csv", " \n\n \n", 1, "a.csv is empty"),
    "a header only": ("a.csv", HEADER, 1, "has a header line and no rows"),
    "a header only, of a batch": (
        "a.csv",
        "HITId,AssignmentId,Answer.x\n",
        1,
        "has a header line and no rows",
    ),
    "binary": (
        "a.csv",
        random.Random(0).randbytes(3000),
        1,
        "a.csv is a binary file, not a table of answers",
    ),
    "control characters": ("a.csv", HEADER + ROW.replace("x", "\x01"), 1, "it contains control characters"),
    "zeros": (
        "a.csv",
        HEADER + ROW.replace("x", "\0"),
        1,
        "a.csv is not text: it contains zero bytes",
    ),
    "a damaged workbook": (
        "a.xlsx",
        b"PK\x03\x04" + b"junk" * 100,
        1,
        "a damaged Excel workbook or zip archive",
    ),
    "half a workbook": ("a.xlsx", archive("xl/workbook.xml"), 1, "openpyxl|a damaged Excel workbook"),
    "a zip": ("a.zip", archive("answers.csv"), 1, "a zip archive, not a table of answers: answers.csv"),
    "an OpenDocument sheet": ("a.ods", archive("mimetype", "content.xml"), 1, "an OpenDocument file"),
    "an old workbook": ("a.xls", b"\xd0\xcf\x11\xe0" + bytes(99), 1, "an old Excel or Word file"),
    "a gzip": ("a.csv.gz", b"\x1f\x8b" + bytes(99), 1, "a gzip archive"),
    "another encoding": (
        "a.csv",
        HEADER + ROW.replace("x", "Zoë’s").encode("cp1252").decode("latin-1"),
        0,
        "",
    ),
    "Windows-1252": (
        "a.csv",
        (HEADER + ROW.replace("x", "Zoë’s")).encode("cp1252"),
        0,
        "the file is not UTF-8 and was read as cp1252",
    ),
    "a web page": ("a.csv", "<!DOCTYPE html><html></html>", 1, "a web page or XML"),
    "a huge cell": (
        "a.csv",
        f"{HEADER}{ROW.replace('x', 'y' * 1_100_000)}",
        1,
        "line 2: a cell has more than 1,048,576",
    ),
    "a big cell": ("a.csv", f"{HEADER}{ROW.replace('x', 'y' * 1_000_000)}", 0, ""),
    "an open quote": (
        "a.csv",
        HEADER + ROW.replace("x", '"x') + ROW,
        1,
        "line 2: a quotation mark is opened and never closed",
    ),
    "ragged rows": (
        "a.csv",
        HEADER + ROW + "w,s\n" + "w,s,m,1,2,3,4\n",
        1,
        "2 rows do not have 6 cells as the header does: lines 3, 4",
    ),
    "one column": ("a.csv", "worker\nw\n", 1, "has only one column"),
    "no header": ("a.csv", "1,2,3\n4,5,6\n", 1, "looks like data, not like column names"),
    "JSON that ends early": ("a.json", '{"a": 1', 1, "line 1: not JSON"),
    "JSON that is no table": ("a.json", "[1, 2]", 1, "has no known format"),
    "deep JSON": ("a.json", "[" * 100_000, 1, "nested too deep"),
    "a key twice": ("a.json", '[{"a": 1, "a": 2}]', 1, "the key 'a' twice"),
    "columns that are not there": (
        "a.csv",
        "worker,item,model\nw,s,m\n",
        1,
        "which column holds: position, choice",
    ),
    "two workers": (
        "a.csv",
        "WorkerId,annotator,item,model,gold,pick\na,b,1,ilm,2,3\n",
        2,
        "2 columns could be the worker: WorkerId, annotator",
    ),
    "rounded ids": (
        "a.csv",
        HEADER + ROW.replace("AWORKER1", "1.2E+10"),
        1,
        "a spreadsheet has rounded 1 id",
    ),
    "contradictions": (
        "a.csv",
        HEADER + ROW + ROW.replace("3", "4"),
        1,
        "1 passage has two different answers by one worker: lines 2, 3",
    ),
    "formulas in text": ("a.csv", HEADER + ROW.replace("x", "=HYPERLINK(A1)"), 0, ""),
    "tasks, not answers": ("a.tsv", "INPUT:story\tHINT:text\nx\ty\n", 1, "Toloka tasks and no answers"),
    "rejected work only": (
        "a.csv",
        "HITId,AssignmentId,AssignmentStatus,Answer.x\n1,2,Rejected,1\n",
        1,
        "no rows are left: 1 left out: AssignmentStatus is rejected",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_read_gets_one_clear_line_and_changes_nothing(
    command: Command, tmp_path: Path, case: str
) -> None:
    name, content, code, expected = BAD[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    said = command("responses", "import", path, "--out", "out.csv", "--yes")
    assert said.code == code, said.err
    assert path.read_bytes() == before
    if code:
        assert any(part in said.err for part in expected.split("|")), said.err
        assert said.err.startswith("Error: ")
        assert "Traceback" not in said.err
        assert {found.name for found in tmp_path.iterdir()} == {name}
        assert command("score", "--responses", path, "--missed-control", "none").code in (1, 2)


def test_a_file_that_is_not_there_and_a_folder_are_refused(command: Command, tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        assert command("responses", "import", path, "--out", "out.csv").code == 2
        assert command("responses", "summarise", path, "--value", "x").code == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--value", "nothing"], "there is no column 'nothing' (--value)"),
        (["--value", "pick", "--by", "nothing"], "there is no column 'nothing' (--by)"),
        (["--value", "pick", "--where", "nothing=1"], "there is no column 'nothing' (--where)"),
        (["--value", "pick", "--where", "pick"], "--where 'pick' has to be NAME=TEXT"),
        (["--value", "p{}"], "no column matches 'p{}'"),
        (["--value", "pick", "--numbers", "5-1"], "is not a range of numbers"),
        (["--value", "pick", "--show", "majority"], "--item COLUMN"),
        (["--value", "pick", "--show", "preference"], "--show preference and --option go together"),
        (["--value", "pick", "--gold", "a.csv"], "--gold and --gold-column go together"),
        (["--value", "pick", "--replaced-by", "a.csv"], "--item COLUMN"),
        (["--value", "pick", "--format", "nothing"], "there is no format 'nothing'"),
        (["--value", "pick", "--time-zone", "Nowhere/Else"], "is not a known time zone"),
        (["--value", "pick", "--encoding", "nothing"], "'nothing' is not an encoding"),
        (
            ["--value", "pick", "--show", "agreement", "--item", "item", "--by", "model"],
            "--by does not go with",
        ),
    ],
)
def test_a_flag_that_makes_no_sense_is_named(
    command: Command, tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "a.csv").write_text(HEADER + ROW, encoding="utf-8")
    said = command("responses", "summarise", tmp_path / "a.csv", *flags)
    assert said.code in (1, 2)
    assert message in said.err


def test_words_have_no_mean_and_nothing_is_left_says_why(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + ROW, encoding="utf-8")
    said = command("responses", "summarise", "a.csv", "--value", "note", "--show", "means")
    assert "1 of 1 values are not numbers: x" in said.err
    said = command("responses", "summarise", "a.csv", "--value", "pick", "--where", "item=other")
    assert "no rows are left: 1 left out: item is not other (line 2)" in said.err


def test_one_empty_cell_in_any_column_of_an_export_is_read_or_told_in_a_line(
    command: Command, study: str, sqlite_engine: Engine, tmp_path: Path
) -> None:
    answer(sqlite_engine)
    whole, holed = tmp_path / "whole.csv", tmp_path / "holed.csv"
    assert command("export", study, "--out", whole).code == 0
    with whole.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    for place, column in enumerate(header):
        first = [cell if here != place else "" for here, cell in enumerate(lines[0])]
        with holed.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, first, *lines[1:]])
        said = command("score", "--responses", holed, "--json")
        assert said.code in (0, 1), (column, said.err)
