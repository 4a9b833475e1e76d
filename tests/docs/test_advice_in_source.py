"""Commands in messages are made by `command`, can be found in the line, and would be accepted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from humaneval.cli.main import VERBS, cli
from tests.advice import is_command, modules, names_of_commands, printed_commands, sites

TEXTS_OF_THEIR_OWN = {
    "humaneval/settings.py": "descriptions of settings, which `init` writes into a file",
    "humaneval/report/archive.py": "the page of an archive, for people elsewhere",
    "humaneval/report/codebook.py": "the code book of an archive or a release",
    "humaneval/report/heds_answers.py": "answers of the datasheet",
    "humaneval/report/infill_release.py": "the page of a release",
}
"""Modules whose texts are read elsewhere, where no database of ours is."""
NOT_COMMANDS = {
    "humaneval/running/amazon/certificates.py": "the name of a certificate",
    "humaneval/resources.py": "the package by its name",
    "humaneval/store/migrate.py": "the package by its name",
    "humaneval/running/demo.py": "the mark that the demo leaves in its folder",
    "humaneval/interface/errors.py": "what errors say, to be said anew for Python",
    "humaneval/cli/study/audit.py": "the verb that an audit asks about",
}
NAMED = re.compile(rf"humaneval (?=[a-z])|`(?:{'|'.join(sorted(VERBS))})[ `]")
VALUES = {"NUMBER": "5", "SUM": "5.00", "x": "5"}


def _messages(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts that are no documentation: neither docstrings nor help."""
    apart = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            apart.add(id(node.value))
        if isinstance(node, ast.keyword) and node.arg == "help":
            apart |= {id(part) for part in ast.walk(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node


def test_X54_messages_make_every_command_by_the_one_function() -> None:
    found, seen = [], set()
    for path, tree in modules():
        for text in _messages(tree):
            if NAMED.search(str(text.value)):
                seen.add(path)
                if path not in {**TEXTS_OF_THEIR_OWN, **NOT_COMMANDS}:
                    found.append(f"{path}:{text.lineno}: {text.value!r}")
    assert not found, "\n".join(found)
    assert {*TEXTS_OF_THEIR_OWN, *NOT_COMMANDS} - seen == set(), "these exceptions are not needed"


def test_X54_a_command_in_a_message_stands_in_backticks_or_ends_its_line() -> None:
    found = []
    for path, tree in modules(with_commands=True):
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            names = names_of_commands(function)
            goes_on = {
                id(part)
                for node in ast.walk(function)
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
                for part in ast.walk(node.left)
            }
            for text in (node for node in ast.walk(function) if isinstance(node, ast.JoinedStr)):
                found += [f"{path}:{text.lineno}" for _ in _lost(text, names, last=id(text) not in goes_on)]
    assert not sorted(set(found)), "a person cannot tell where these commands end"


def _lost(text: ast.JoinedStr, names: set[str], *, last: bool) -> Iterator[ast.AST]:
    """The commands in `text` that neither stand in backticks nor end their line."""
    for number, part in enumerate(text.values):
        if not (isinstance(part, ast.FormattedValue) and is_command(part.value, names)):
            continue
        before, after = (_constant(text.values, number - 1), _constant(text.values, number + 1))
        quoted = before.endswith("`") and "`" in after
        ends = re.match(r"(?: --[a-z-]+)*(?:\n|$)", after) and (number + 2 >= len(text.values)) and last
        if not (quoted or ends):
            yield part


def _constant(parts: list[ast.expr], number: int) -> str:
    part = parts[number] if 0 <= number < len(parts) else None
    return str(part.value) if isinstance(part, ast.Constant) else ""


def test_X54_every_advised_command_would_be_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FILE", "5"):
        (tmp_path / name).touch()
    refused, seen = [], 0
    for path, tree in modules(with_commands=True):
        for site in sites(path, tree):
            seen += 1
            words = [VALUES.get(word, word) for word in site.words]
            if words[:1] == ["train"]:
                words[1] = "ilm"
            try:
                _parse(words)
            except click.UsageError as error:
                refused.append(f"{site.where}: humaneval {' '.join(words)}: {error.format_message()}")
    assert not refused, "\n".join(refused)
    assert seen > 80


def _parse(words: list[str]) -> None:
    """Read a command line as the program would, without running it. Raises click's UsageError."""
    command: click.Command = cli
    context = click.Context(cli, info_name="humaneval", help_option_names=["-h", "--help"])
    while isinstance(command, click.Group):
        name = words.pop(0) if words else ""
        below = command.get_command(context, name)
        if below is None:
            raise click.UsageError(f"there is no verb {name!r}")
        context = click.Context(below, parent=context, info_name=name)
        command = below
    if "--help" not in words:
        command.parse_args(context, words)


def test_X54_commands_are_found_in_what_is_printed() -> None:
    said = "Run `humaneval collect 'a b'` first.\nNext: humaneval status x --json\nhumaneval is here."
    assert printed_commands(said) == ["humaneval collect 'a b'", "humaneval status x --json"]
