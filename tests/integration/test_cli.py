"""The command line as such: help, exit codes, errors, --json, and what is not loaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from humaneval import __version__
from humaneval.cli import main as command_line
from humaneval.cli.context import emit, json_option
from humaneval.cli.main import VERBS, cli
from humaneval.errors import PartialError
from tests.commands import Command, Said, program
from tests.conftest import ROOT

HEADER = "storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5\n"
GOOD = "g1,“Curly”,It’s Ann’s cake.,It rose.,She let it cool.,Her son came.,They ate it – all of it.\n"
BAD = "b1,Short,Only one sentence.,,,,\n"


def verbs(group: click.Command, *path: str) -> list[tuple[str, ...]]:
    """Every verb and every group, by the words that call it."""
    if not isinstance(group, click.Group):
        return [path]
    context = click.Context(group)
    found = [path] if path else []
    for name in group.list_commands(context):
        below = group.get_command(context, name)
        assert below is not None
        found += verbs(below, *path, name)
    return found


# Help


@pytest.mark.parametrize("path", verbs(cli), ids=" ".join)
def test_every_verb_explains_itself(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*path, "--help"])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: cli {' '.join(path)} ")
    assert re.search(r"^  [A-Z][^.]+\.", result.stdout, re.M), "no sentence says what it does"


def test_the_list_of_verbs_says_what_each_does_without_loading_it() -> None:
    done = program("--help")
    assert done.returncode == 0
    for verb, (_, line) in VERBS.items():
        assert re.search(rf"^  {verb} +\S", done.stdout.decode(), re.M)
        assert line.endswith(".")


def test_help_loads_no_library_but_click() -> None:
    source = """
import sys
from humaneval.cli.main import _run
assert _run(["--help"]) == 0
heavy = ["pydantic", "sqlalchemy", "pandas", "numpy", "boto3", "flask", "rich", "jinja2", "torch", "generators"]
print("loaded:", [name for name in heavy if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_no_verb_that_needs_no_model_loads_torch(tmp_path: Path) -> None:
    for name in ("torch", "transformers"):  # stand-ins that leave a trace when they are loaded
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'loaded')!r}, 'w').close()\nraise ImportError\n", encoding="utf-8"
        )
    source = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from humaneval.cli.main import _run
for line in (
    "stories import --bundled", "stories list", "stories show he-145", "generators list", "generators check control",
    "generate --generator control", "generate --generator human", "study create s --generators control,human",
    "study show s", "study audit s", "study preview s", "status s", "config show", "db check", "doctor --help",
):
    assert _run(line.split()) == 0, line
from humaneval.cli import main
from importlib import import_module
for target, _ in main.VERBS.values():
    import_module(target.partition(":")[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "loaded").exists()


# Exit codes and errors


def test_the_exit_codes_are_0_done_1_error_2_usage_3_in_part(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("--version") == Said(0, f"humaneval, version {__version__}\n", "")
    assert command("db", "check").code == 1
    assert command("study", "show", "nobody").code == 2
    assert command("no-such-verb").code == 2
    assert command("stories", "list", "--first", "none").code == 2

    @click.command()
    def half() -> None:
        raise PartialError("2 of 5 are up", "Run it again.")

    monkeypatch.setitem(VERBS, "half", (f"{__name__}:half", "Does half of it."))
    monkeypatch.setattr(command_line, "import_module", lambda name: type("Module", (), {"half": half}))
    assert command("half") == Said(3, "", "Error: 2 of 5 are up\n  Run it again.\n")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("study show nobody", 2),
        ("stories show nobody", 2),
        ("generate --generator nobody", 2),
        ("generate --generator control", 2),
        ("generate --generator control --positions 0-9", 2),
        ("generate --generator control --shard 3/2", 2),
        ("generate --generator control --option nonsense", 2),
        ("study create s --preset nobody", 2),
        ("study create s", 1),
        ("score", 2),
        ("score nobody", 2),
        ("--database /nowhere/at/all.db stories list", 1),
        ("--database mysql://host/db stories list", 2),
        ("db backup", 1),
        ("init --folder nowhere", 2),
    ],
)
def test_an_error_is_one_line_and_a_hint_on_stderr_and_nothing_on_stdout(
    command: Command, line: str, code: int
) -> None:
    said = command(*line.split())
    assert said.code == code
    assert said.out == ""
    assert "Traceback" not in said.err
    first, *hint = said.err.splitlines()
    assert re.match(r"Error: \S.*[^.]$", first), "one line without a full stop"
    assert len(hint) <= 1
    assert all(text.startswith("  ") for text in hint)


def test_a_file_that_cannot_be_written_is_named_without_a_traceback(command: Command, study: str) -> None:
    said = command("study", "preview", study, "--html", "nowhere/page.html")
    assert said == Said(1, "", "Error: nowhere/page.html: No such file or directory\n")


def test_a_fault_of_the_code_keeps_its_traceback() -> None:
    source = """
from humaneval.cli import main
main.VERBS["faulty"] = ("humaneval.cli.main:no_such_thing", "Faulty.")
main.main(["faulty"])
"""
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "AttributeError" in done.stderr


def test_a_reader_that_goes_away_early_gets_no_complaint(study: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "humaneval", "study", "show", study, "--key"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) in (0, 1)  # all written before it went, or not


def test_C78_a_bad_setting_ends_every_verb_with_its_name_and_origin(command: Command) -> None:
    Path("humaneval.toml").write_text('port = "eighty"\n', encoding="utf-8")
    for line in ("config show", "doctor", "stories list", "serve"):
        said = command(*line.split())
        assert said.code == 2
        assert said.err.startswith("Error: setting 'port' (from file humaneval.toml): ")


# --json


def test_json_is_one_document_on_stdout_and_nothing_else(command: Command, study: str) -> None:
    for line in (
        "config show", "stories import --bundled", "stories list", "stories show he-145", "generators list",
        "generators check control", "generate --generator control", "study create other", "study show", "study show study",
        "study show study --key", "study audit study", "study preview study", "status study", "db check", "db backup copy.db",
        "db upgrade", "init", "doctor",
    ):  # fmt: skip
        said = command(*line.split(), *([] if "--key" in line else ["--json"]))
        assert said.code == 0, (line, said)
        assert isinstance(said.json, list | dict), line
        assert said.err == "", line


@pytest.mark.parametrize(
    ("line", "code", "kind"),
    [
        ("study show nobody --json", 2, "UsageError"),
        ("--database /nowhere/at/all.db stories list --json", 1, "StoreError"),
        ("init --folder nowhere --json", 2, "UsageError"),
        ("stories list --first none --json", 2, "UsageError"),
        ("status study --no-such-option --json", 2, "UsageError"),
        ("approve study --json", 2, "UsageError"),
        ("no-such-verb --json", 2, "UsageError"),
        ("study preview study --html nowhere/page.html --json", 1, "FileNotFoundError"),
    ],
)
def test_an_error_is_a_document_with_json(
    command: Command, study: str, line: str, code: int, kind: str
) -> None:
    without = command(*line.removesuffix(" --json").split())
    said = command(*line.split())
    assert (said.code, said.err) == (code, without.err), "people read the same line"
    assert said.err
    error = said.json["error"]
    assert set(said.json) == {"error"}
    assert set(error) == {"kind", "message", "hint", "exit_code"}
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert error["message"] in said.err


def _ends_with(error: BaseException, monkeypatch: pytest.MonkeyPatch, *, document: bool) -> None:
    """Add a verb `half` that ends with `error`, after printing its document or before."""

    @click.command()
    @json_option
    def half(as_json: bool) -> None:
        if document:
            emit({"done": 2})
        raise error

    monkeypatch.setitem(VERBS, "half", (f"{__name__}:half", "Does half of it."))
    monkeypatch.setattr(command_line, "import_module", lambda name: type("Module", (), {"half": half}))


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [(PartialError("2 of 5", "Again."), 3, "PartialError"), (KeyboardInterrupt(), 130, "Stopped")],
)
def test_there_is_one_document_whatever_happens_after_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, kind: str
) -> None:
    _ends_with(error, monkeypatch, document=True)
    assert (command("half", "--json").code, command("half", "--json").json) == (code, {"done": 2})
    _ends_with(error, monkeypatch, document=False)
    said = command("half", "--json")
    assert (said.code, said.json["error"]["kind"], said.json["error"]["exit_code"]) == (code, kind, code)


def test_a_fault_of_the_code_is_a_document_too_and_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _ends_with(ZeroDivisionError("never"), monkeypatch, document=False)
    with pytest.raises(ZeroDivisionError):
        command_line.main(["half", "--json"])
    assert json.loads(capsys.readouterr().out)["error"]["message"] == "never"


def test_a_program_of_its_own_prints_the_document_too() -> None:
    done = program("study", "show", "nobody", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "UsageError"
