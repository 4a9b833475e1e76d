"""What is typed wrong is one clear line, exit code 1 or 2, and nothing is changed, in whichever verb."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from humaneval.web_server import listen
from tests.commands import Command, program
from tests.integration.crowd.test_verbs import everything

BROKEN = "\udce9"
"""How Python reads a byte that is not UTF-8."""
HUGE, LONG = "9" * 30, "9" * 5000
TWO = ("--generators", "control,human", "--annotators", "4")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "deep.json").write_text("[" * 100_000)
    (here / "list.json").write_text("[{}]")
    (here / "deep.toml").write_text("x = " + "[" * 100_000)
    (here / "many.toml").write_text(f"[design]\nstories = {HUGE}\n")
    (here / "split.toml").write_text('[design]\nsplit = "a\\u0000"\n')
    (here / "many.csv").write_text(f"generator,not_identified,n\ncontrol,0,{HUGE}\n")
    (here / "file").touch()
    (here / "ck").mkdir()
    (here / "ck" / "config.json").write_text("[" * 200_000)
    before = sorted(here.iterdir())
    yield here
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("publish", "study", "--spend", "4.48."), "'4.48.' is not an amount of money"),
        (("publish", "study", "--spend", "4_48"), "'4_48' is not an amount of money"),
        (("publish", "study", "--to", "link", "--places", HUGE), "is not in the range"),
        (("publish", "study", "--to", "csv", "--out", "file/x"), "file is no folder"),
        (("publish", BROKEN), "'\\udce9' is not UTF-8"),
        (("worker", "show", BROKEN), "'\\udce9' is not UTF-8"),
        (("bonus", "study", "A", "--amount", "$0.5.", "--reason", "r"), "is not an amount of money"),
        (("extend", "study", "--days", "nan"), "'nan' is not a number"),
        (("simulate", "study", "--annotators", HUGE), "is not in the range"),
        (("simulate", "study", "--key", "deep.json"), "is not a key: nested too deeply"),
        (("simulate", "study", "--key", "list.json"), "is not a key"),
        (("worker", "block", "study", "nobody", "--reason", "r"), "no worker 'nobody' is known"),
        (("study", "create", "x" * 300), "cannot be the name of a study"),
        (("study", "create", "new", "--file", "deep.toml"), "deep.toml is not valid TOML: nested too deeply"),
        (
            ("study", "create", "new", "--file", "deep.toml", "--preset", "acl2020"),
            "deep.toml is not valid TOML: nested too deeply",
        ),
        (("study", "create", "new", "--file", "many.toml", *TWO), "design.stories: must be less than"),
        (("study", "create", "new", "--file", "split.toml", *TWO), "design.split: contains U+0000"),
        (("study", "enlarge", "study", "--annotators", "8", "--reason", "a\x01", "--yes"), "contains U+0001"),
        (("stories", "list", "--first", HUGE), "is not in the range"),
        (("generate", "--generator", "human", "--as", "x", "--stories", HUGE), "is not in the range"),
        (("generate", "--generator", "human", "--as", "x", "--samples", HUGE), "is not in the range"),
        (("generate", "--generator", "human", "--as", "x", "--positions", "9"), "no story has a sentence"),
        (("generate", "--generator", "human", "--as", "x", "--shard", f"1/{LONG}"), "is not a shard"),
        (("responses", "summarise", "file", "--value", "x", "--numbers", LONG), "is not a range of numbers"),
        (("market", "serve", "--faults", "deep.toml"), "deep.toml is not valid TOML: nested too deeply"),
        (("infill", "--checkpoint", "ck", "Hello ____ there."), "ck"),
        (("generate", "--generator", "human", "--as", "x" * 300), "cannot be a generator's name"),
        (("questions", "check", "rate", "--answers", f"x = {'[' * 9999}"), "is not TOML: nested too deeply"),
        (("market", "serve", "--public-url", "http://["), "cannot be reached at 'http://['"),
        (("market", "serve", "--host", "203.0.113.9"), "the marketplace cannot listen on 203.0.113.9"),
        (("market", "serve", "--public-url", "http://a.example"), "other machines can reach a.example"),
        (("market", "serve", "--balance", "-5"), "an account cannot open with -5.00"),
        (("market", "run", "no-such-program"), "there is no program 'no-such-program'"),
        (("score", "--counts", "many.csv"), "many.csv, line 2: nobody has shown so many passages"),
        (("prolific", "serve", "--clock", "9999-12-31T23:59:59"), "is too far away"),
        (("prolific", "serve", "--host", "127.0.0.9x"), "127.0.0.9x is not this machine"),
        (("prolific", "serve", "--balance", "-5"), "an account cannot open with -5.00"),
        (
            ("--database", "postgresql://host:abc/x", "status", "study"),
            "setting 'database' (from flag): Port",
        ),
        (("--database", "postgresql://[::1/x", "status", "study"), "from flag): Invalid"),
        (
            ("--database", "postgresql://h/x?connect_timeout=a", "status", "study"),
            "bad value for connect_timeout",
        ),
        (("market", "fund", "5", "--database", "file"), "file is empty"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_is_typed_wrong_is_told_in_a_line_and_changes_nothing(
    sqlite_engine: Engine, study: str, folder: Path, command: Command, words: tuple[str, ...], says: str
) -> None:
    before = everything(sqlite_engine)
    said = command(*words)
    assert said.code in (1, 2), said
    (line,) = (each for each in said.err.splitlines() if each.startswith("Error: "))
    assert says in line
    assert everything(sqlite_engine) == before


@pytest.mark.parametrize("server", [("market", "serve"), ("prolific", "serve")], ids=" ".join)
def test_where_another_program_listens_no_database_is_made(
    folder: Path, command: Command, server: tuple[str, str]
) -> None:
    with listen("127.0.0.1", 0, "another program") as other:
        said = command(*server, "--port", str(other.getsockname()[1]))
    assert (said.code, "cannot listen on 127.0.0.1" in said.err) == (1, True)
    assert not list(folder.glob("*.db*"))


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits the memory of a process as Linux does"
)
def test_a_file_without_an_end_is_told_in_a_line() -> None:
    done = program("stories", "import", "/dev/zero", memory=2, HUMANEVAL_DATABASE="own.db")
    said = done.stderr.decode().splitlines()
    assert (done.returncode, said[0]) == (1, "Error: /dev/zero, line 1 is longer than 16 MiB")


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits the memory of a process as Linux does"
)
@pytest.mark.parametrize(
    ("verb", "name", "text", "says"),
    [
        (("stories", "import"), "one.csv", "abc def " * 15_000_000, "line 1 is longer than 16 MiB"),
        (("stories", "import"), "many.txt", "1\n" * 5_000_002, "has more than 5,000,000 lines"),
        (("score", "--responses"), "one.csv", "abc def " * 15_000_000, "line 1 is longer than 16 MiB"),
        (
            ("score", "--responses"),
            "open.csv",
            'a,b\n1,2\n"2\n","' + "x\n" * 900_000,
            "line 4: a cell has more",
        ),
        (("score", "--responses"), "wide.csv", "a," * 10_000 + "\n", "10,001 columns; at most 10,000"),
        (("study", "create", "x", "--from"), "one.csv", "abc def " * 15_000_000, "is longer than 16 MiB"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else value[0],
)
def test_a_file_that_no_honest_program_wrote_is_refused_before_it_is_in_memory(
    tmp_path: Path, verb: tuple[str, ...], name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    done = program(*verb, name, memory=3, HUMANEVAL_DATABASE="own.db")
    said = done.stderr.decode()
    assert done.returncode == 1, said
    assert said.startswith(f"Error: {name}"), said[:300]
    assert says in said.splitlines()[0]
