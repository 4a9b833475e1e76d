"""Every command that a page shows is there, with the options that it is shown with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from humaneval.cli.main import cli
from tests.conftest import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in ("cli.md", "cases.md")),
]
MODELS = ("train", "perplexity")
"""Commands of `generators`, which are there only where it is installed; of these the name is checked."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def shown(text: str) -> Iterator[str]:
    """Commands in blocks of code, and between backticks. There the first word may be the verb itself."""
    text = text.replace("\\\n", " ")
    yield from re.findall(r"^ *(?:\./|\.venv/bin/)?(humaneval [^#\n]*)", text, re.MULTILINE)
    yield from re.findall(r"\$\((humaneval [^|)]*)", text)
    verbs = set(cli.list_commands(click.Context(cli)))
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
        first = code.split()[0]
        if first == "humaneval":
            yield code
        elif first in verbs:
            yield f"humaneval {code}"


def unknown(line: str) -> str:
    """What of a command line is not there; empty if all of it is."""
    words = [word.strip("[]") for word in shlex.split(re.sub(r"[’“”…]|(?<=\w)'(?=\w)", "", line))[1:]]
    command: click.Command = cli
    context = click.Context(cli, info_name="humaneval", help_option_names=["-h", "--help"])
    while (
        isinstance(command, click.Group) and words and not words[0].startswith("-") and words[0] not in MODELS
    ):
        name = words.pop(0)
        if name.isupper():
            return ""
        below = command.get_command(context, name)
        if below is None:
            return f"command {name}"
        command, context = below, click.Context(below, parent=context, info_name=name)
    if words and words[0] in MODELS and command is cli:
        return ""
    known = {
        option
        for parameter in command.get_params(context)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    options = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
    return " ".join(f"{context.command_path} {option}" for option in options if option not in known)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_that_a_page_shows_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert {line: found for line in shown(text) if (found := unknown(line))} == {}


def test_commands_are_found_and_looked_up() -> None:
    assert sum(len(list(shown(page.read_text(encoding="utf-8")))) for page in PAGES) > 200
    assert unknown("humaneval publish STUDY --to link [--places 30]") == ""
    assert unknown("humaneval publish STUDY --gratis") == "humaneval publish --gratis"
    assert unknown("humaneval worker applaud STUDY") == "command applaud"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_X57_no_page_installs_a_package_that_is_on_no_index(page: Path) -> None:
    installs = re.findall(r"pip3? install [^`\n]*", page.read_text(encoding="utf-8"))
    assert [line for line in installs if "humaneval-toolkit" in line] == []


def test_X57_a_message_names_only_extras_of_what_is_installed() -> None:
    """pip adds an extra to a distribution that it finds installed. The bare name it would look up."""
    for room in ("humaneval", "generators"):
        for path in sorted((ROOT / room).rglob("*.py")):
            installs = re.findall(
                r"pip3? install [^\n]*?humaneval-toolkit(.)", path.read_text(encoding="utf-8")
            )
            assert set(installs) <= {"["}, path
