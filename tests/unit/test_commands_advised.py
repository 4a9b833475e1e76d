"""Commands in messages can be pasted into a shell."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from humaneval.text import command, shell_words, use_global_options, without_password
from tests.commands import Command


@pytest.fixture(name="command_line")
def the_command_line(request: pytest.FixtureRequest) -> Command:
    """Runs `humaneval …`: here `command` is the function that words a command."""
    run: Command = request.getfixturevalue("command")
    return run


@pytest.mark.parametrize("name", ["pairs", "my study", "a&b; rm x", "it's", "$HOME", "-x", "Ä"])
def test_X54_a_name_comes_back_from_the_shell_as_it_is(name: str) -> None:
    said = shlex.split(command("publish", name, "--to", "local"))
    last = ["publish", "--to", "local", "--", name]
    assert said == ["humaneval", *(last if name == "-x" else ["publish", name, "--to", "local"])]


@pytest.mark.parametrize(
    "name", ["b\u202eevil", "it's\\a\x1b[2J", "two\nlines\t", "no\udcfftext", "\U000e0001"]
)
def test_a_name_that_cannot_be_printed_comes_back_as_it_is_too(name: str) -> None:
    said = shell_words(f"{name}=system:NAME")
    assert said.isprintable()
    heard = subprocess.run(
        ["bash", "-c", f"printf %s {said}".encode()], capture_output=True, check=True
    ).stdout
    assert heard.decode(errors="surrogateescape") == f"{name}=system:NAME"


def test_X54_the_database_in_force_is_repeated_before_the_verb() -> None:
    use_global_options("--database", "my data.db")
    assert command("status", "pairs") == "humaneval --database 'my data.db' status pairs"


def test_X54_a_password_is_not_repeated() -> None:
    assert without_password("postgres://ann:a:b@db:5432/x") == "postgres://ann:***@db:5432/x"
    assert without_password("postgres://ann@db/x") == "postgres://ann@db/x"


def test_a_command_that_means_the_same_is_named(command_line: Command) -> None:
    said = command_line("study", "list")
    assert (said.code, "`humaneval study show`" in said.err) == (2, True)
