"""Finds the commands that messages advise, in the source and in what was printed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from humaneval.text import PAYING, WRITING
from tests.conftest import ROOT

ROOMS = ("humaneval", "generators")
MADE_BY = ("command", "to_accept", "to_pay", "pay_by_hand", "fetch_command", "longer_command")
"""Functions that return a command."""
NAMES_ONE = re.compile(rf"(?<![.\w])(?:{'|'.join(MADE_BY)})\b")
PRINTED = re.compile(r"`(humaneval [^`\n]*)`|(?:^|[ (])(humaneval [^`\n]*[^`.\n])$", re.MULTILINE)


class Site(NamedTuple):
    """A place in the source that makes a command."""

    where: str
    words: tuple[str, ...]
    """As they are written; a value that is computed is `x`, or `local` after `--to`."""

    def fits(self, line: str, database: str) -> bool:
        """Whether this place can have printed `line`."""
        words = [word for word in shlex.split(line)[1:] if word not in ("--database", database)]
        pairs = list(zip(words, self.words, strict=False))
        same = all(word == own or own in ("x", "local") or own == "--accept-lost" for word, own in pairs)
        return same and len(words) >= len(self.words) and not words[len(self.words) + 1 :]


def printed_commands(text: str) -> list[str]:
    """Every command of ours in `text`: between backticks, or at the end of a line."""
    return [found[0] or found[1] for found in PRINTED.findall(text)]


def modules(with_commands: bool = False) -> Iterator[tuple[str, ast.Module]]:
    """Every module of the product, or only those that name a function of `MADE_BY`: its path and its tree."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if not with_commands or NAMES_ONE.search(text):
                yield str(path.relative_to(ROOT)), ast.parse(text)


def sites(path: str, tree: ast.Module) -> Iterator[Site]:
    """The places in a module that make a command."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "command":
            yield Site(f"{path}:{node.lineno}", tuple(_words(node.args)))


def _words(arguments: list[ast.expr]) -> Iterator[str]:
    before = ""
    for argument in arguments:
        if isinstance(argument, ast.Starred):
            yield from {"PAYING": PAYING, "WRITING": WRITING}.get(getattr(argument.value, "id", ""), ())
            continue
        if isinstance(argument, ast.Constant):
            before = str(argument.value)
        elif isinstance(argument, ast.Name) and argument.id == "accepting":
            before = "--accept-lost"
        else:
            before = "local" if before == "--to" else "x"
        yield before


def is_command(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression is a command, or a name that holds one."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in MADE_BY
    return isinstance(node, ast.Name) and node.id in names


def names_of_commands(function: ast.AST) -> set[str]:
    """The local names that are bound to a command."""
    found = {"command"}  # a parameter of this name holds one
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = (
                zip(target.elts, node.value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)]
            )
            found |= {to.id for to, value in pairs if isinstance(to, ast.Name) and is_command(value, set())}
    return found
