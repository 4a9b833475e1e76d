"""Groups of commands. A command's module is imported only when the command is called; `--help` reads its
source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click

from humaneval.errors import InputError, UsageError
from humaneval.plugins import FAULT, calling, typed

SYNONYMS = {"list": "show", "ls": "show", "new": "create", "start": "up", "results": "score"}
"""What people type from habit → the command here."""


class Target(NamedTuple):
    """Where a command's code is, as `module:function`, and the section of `--help` that lists it."""

    code: str
    section: str = "Commands"

    @property
    def module(self) -> str:
        return self.code.partition(":")[0]

    @property
    def function(self) -> str:
        return self.code.partition(":")[2]


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is called."""

    def __init__(self, *args: Any, targets: Mapping[str, Target], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._targets = targets

    def targets(self) -> Mapping[str, Target]:
        """Every command by its name, in the order of `--help`."""
        return self._targets

    def find(self, name: str) -> Target | None:
        """The command called `name`, if there is one."""
        return self._targets.get(name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.targets())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = self.find(cmd_name)
        if target is None:
            return None
        with calling(f"the verb {cmd_name!r}", target.module):
            command = getattr(import_module(target.module), target.function)
        if not isinstance(command, click.Command):
            raise InputError(f"the verb {cmd_name!r}: {target.code} is {typed(command)}, no command", FAULT)
        _take_text_only(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, which names a command that is spelt alike; here also one that means the same."""
        meant = SYNONYMS.get(args[0])
        if meant and self.find(args[0]) is None and self.find(meant):
            raise UsageError(
                f"{ctx.command_path} has no command {args[0]!r}",
                f"Its name here is `{ctx.command_path} {meant}`.",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        targets = self.targets()
        width = max(map(len, targets))
        for section in dict.fromkeys(target.section for target in targets.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(width), summary(target) or f"See {ctx.command_path} {name} --help.")
                        for name, target in targets.items()
                        if target.section == section
                    ]
                )


class _Text(click.types.StringParamType):
    """Text, and not bytes of another encoding: no database takes halves of a character."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"{text!r} is not UTF-8.", param, ctx)
        return text


_TEXT = _Text()


def _take_text_only(command: click.Command) -> None:
    """Refuse what is no text in each option of a command that takes any text. File names are no text."""
    for param in command.params:
        if param.type is click.STRING:
            param.type = _TEXT
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _take_text_only(each)


def summary(target: Target) -> str:
    """The first sentence of a command's docstring, read from its source without importing the module.

    Empty if there is none. Only the function's head is parsed: to parse every verb's file would take longer
    than the rest of `--help`.
    """
    pattern = rf'^def {target.function}\(.*?""".*?"""'
    head = re.search(pattern, _source(target.module), re.MULTILINE | re.DOTALL)
    try:
        function = ast.parse(head[0]).body[0] if head else None
    except SyntaxError:  # the function has no docstring, and the text ends inside another one
        return ""
    docstring = ast.get_docstring(function) if isinstance(function, ast.FunctionDef) else None
    return first_sentence(docstring or "")


def first_sentence(text: str) -> str:
    """The text up to the first full stop that ends a word.

    >>> first_sentence("Write a\\nhumaneval.toml. Existing files stay.")
    'Write a humaneval.toml.'
    """
    words = " ".join(text.split())
    return re.split(r"(?<=[.!?])\s", words, maxsplit=1)[0]


def _source(module: str) -> str:
    """The text of a module's file; empty if there is none.

    Only the top package is looked up, which imports nothing. To look up a module below would import its
    parents.
    """
    package, *below = module.split(".")
    spec = find_spec(package)
    roots: Iterable[str] = spec.submodule_search_locations or () if spec else ()
    for root in roots:
        path = Path(root, *below)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file.read_text(encoding="utf-8", errors="replace")
    if spec and spec.origin and not below:
        return Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    return ""
