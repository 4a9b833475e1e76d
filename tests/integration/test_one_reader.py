"""One reader for `responses import` and `score --responses`: the same checks, pseudonyms and statements in
both."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.pseudonyms import pseudonym
from humaneval.store.engine import writing
from humaneval.store.tables import WorkerRow
from tests.answered import answer
from tests.commands import Command
from tests.integration.test_importing import table

NAMES = ["worker", "story", "generator", "position", "choice"]


def ours(*changes: dict[str, object], workers: int = 6) -> list[list[object]]:
    """A table with the names that we use: everybody judges the control, two systems and Human; then rows with
    `changes`."""
    rows = [
        {
            "worker": f"AWORKER{n}",
            "story": f"s{n}{g}",
            "generator": g,
            "position": 2,
            "choice": 2 + (g != "control"),
        }
        for n in range(workers)
        for g in ("control", "a", "b", "human")
    ]
    more: list[dict[str, Any]] = [rows[1] | change for change in changes]
    return [NAMES, *([row[name] for name in NAMES] for row in [*rows, *more])]


def test_a_score_of_a_table_with_our_names_shows_no_worker_id(command: Command, tmp_path: Path) -> None:
    said = command("score", "--responses", table(tmp_path / "t.csv", ours()), "--details", "--json")
    assert said.code == 0
    assert len(said.json["details"]["workers"]) == 6
    assert "AWORKER" not in said.out + said.err
    assert said.json["responses"]["columns"]["choice"] == "choice"


def test_our_own_export_keeps_its_pseudonyms(
    command: Command, sqlite_engine: Engine, study: str, tmp_path: Path
) -> None:
    answer(sqlite_engine)
    with writing(sqlite_engine) as session:
        for one in session.scalars(select(WorkerRow)):
            one.pseudonym = pseudonym(b"key", "local", one.pseudonym)
    assert command("export", "study", "--out", tmp_path / "e.csv").code == 0
    with (tmp_path / "e.csv").open(encoding="utf-8", newline="") as file:
        names = {line["worker"] for line in csv.DictReader(file)}
    stored = command("score", "study", "--details", "--json").json
    said = command("score", "--responses", tmp_path / "e.csv", "--details", "--json")
    assert {line["worker"] for line in said.json["details"]["workers"]} == names
    assert [said.json[name] for name in ("study", "scores", "exclusions", "simulated")] == [
        stored[name] for name in ("study", "scores", "exclusions", "simulated")
    ]
    assert said.json["responses"]["left_out"] == []


def test_a_table_that_only_looks_like_our_export_is_given_pseudonyms(
    command: Command, tmp_path: Path
) -> None:
    first, *rest = ours()
    rows = [[*first, "study", "endpoint"], *([*row, "s", "production"] for row in rest)]
    said = command("score", "--responses", table(tmp_path / "t.csv", rows), "--details", "--json")
    assert (said.code, "AWORKER" in said.out) == (0, False)


def test_contradictions_in_a_table_with_our_names_are_refused(command: Command, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", ours({"choice": 5}))
    for verb in (("score", "--responses", path), ("responses", "import", path, "--out", "o.csv")):
        said = command(*verb)
        assert said.code == 1
        assert "1 passage has two different answers by one worker: lines 3, 26" in said.err
    last = ("--contradictions", "last", "--out", "o.csv")
    assert command("responses", "import", path, *last).code == 0
    assert command("score", "--responses", "o.csv").code == 0


def test_import_and_score_read_the_same_words(command: Command, tmp_path: Path) -> None:
    rows = [NAMES, *([*row[:4], f"Sentence {row[4]}"] for row in ours()[1:])]
    path = table(tmp_path / "t.csv", rows)
    assert command("score", "--responses", path).code == 0
    assert command("responses", "import", path, "--out", "o.csv").code == 0


def test_C50_rows_that_are_there_again_are_said_and_counted_in_the_steps(
    command: Command, tmp_path: Path
) -> None:
    path = table(tmp_path / "t.csv", ours({}, {}))
    said = command("score", "--responses", path)
    assert "2 repeated rows, equal in every column" in said.err
    assert "(lines 26, 27)" in said.err
    flow = said.out[said.out.index("Exclusions") :]
    assert re.search(r"^Second answers to the same story and generator +24 +2 +6 +0 *$", flow, re.M)
    steps = {one["step"]: one for one in command("score", "--responses", path, "--json").json["exclusions"]}
    assert (steps["collected"]["responses"], steps["duplicates"]["responses_out"]) == (26, 2)


def test_nobody_is_incomplete_where_the_file_does_not_say_what_was_shown(
    command: Command, tmp_path: Path
) -> None:
    rows = ours(
        *({"generator": "c", "story": f"c{n}", "worker": f"AWORKER{n}"} for n in range(3)), workers=20
    )
    said = command("score", "--responses", table(tmp_path / "t.csv", rows))
    assert "0 of 20 annotators were excluded" in said.out
    assert "17 of 20 workers judged fewer than the 5 generators" in said.err
    assert "c has 3 responses" in said.err


def test_several_studies_in_one_file_are_not_pooled_by_either_reader(
    command: Command, tmp_path: Path
) -> None:
    rows = [[*row, "study" if n == 0 else f"study{n % 2}"] for n, row in enumerate(ours())]
    path = table(tmp_path / "t.csv", rows)
    for verb in (("score", "--responses", path), ("responses", "import", path, "--out", "o.csv")):
        said = command(*verb)
        assert said.code == 1
        assert "2 studies (study1, study0), and studies are not pooled" in said.err


@pytest.mark.parametrize(("shown", "out"), [("4", 0), ("5", 1), ("", 0)])
def test_a_column_that_says_what_was_shown_is_what_incomplete_goes_by(
    command: Command, tmp_path: Path, shown: str, out: int
) -> None:
    rows = [
        [*row, "row_passages" if n == 0 else shown if row[0] == "AWORKER0" else "4"]
        for n, row in enumerate(ours())
    ]
    path = table(tmp_path / "t.csv", rows)
    said = command("score", "--responses", path)
    assert f"{out} of 6 annotators {'was' if out == 1 else 'were'} excluded" in said.out
    assert ("row_passages is empty for 4 responses" in said.err) == (shown == "")
    kept = command("score", "--responses", path, "--keep-incomplete")
    assert "0 of 6 annotators were excluded" in kept.out
