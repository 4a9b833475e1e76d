"""The sentences of a page or a help text, with their lines, as a reader counts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import click


class Sentence(NamedTuple):
    """One sentence: where it is (a file and line, or a command and option) and its words."""

    place: str
    text: str

    @property
    def length(self) -> int:
        """Words. What stands between backticks is one word, a path or URL too; a dash alone is none."""
        return sum(1 for word in self.text.split() if re.search(r"\w", word))


_FENCE = re.compile(r"^\s*(```|~~~)")
_HEADING = re.compile(r"^#{1,6} ")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_TABLE_RULE = re.compile(r"^[|\s:-]+$")
_NOT_PROSE = re.compile(r"^\s*>|^( {4}|\t)\S|^\s*<[^>]*>\s*$")
"""Formulas (quoted lines), indented code, and lines of nothing but markup."""

_ABBREVIATIONS = re.compile(
    r"\b(e\.g|i\.e|cf|vs|etc|approx|no|vol|pp|fig|sec|al|dr|mr|ms|st)\.", re.IGNORECASE
)
_HIDDEN = "\u2024"
"""A dot that ends nothing."""

_END = re.compile(r"(?<=[.!?])[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_`]*(?:[A-Z0-9À-Þ`]|\$))")
"""A sentence ends at . ! or ? before white space and the beginning of another; never at a semicolon."""


def sentences(text: str, place: str) -> list[Sentence]:
    """The sentences of one paragraph, list item or cell."""
    plain = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    plain = re.sub(r"`[^`]*`", "`code`", plain)
    plain = re.sub(r"https?://\S+", "URL", plain)
    plain = re.sub(r"\*\*|<br>", " ", plain)
    plain = _ABBREVIATIONS.sub(lambda found: found.group().replace(".", _HIDDEN), plain)
    return [Sentence(place, part.strip()) for part in _END.split(" ".join(plain.split())) if part.strip()]


def of_markdown(text: str, name: str) -> Iterator[Sentence]:
    """The sentences of a Markdown page. Code, formulas and headings are left out; each cell is read alone."""
    paragraph: list[str] = []
    begin, fenced = 0, False

    def close() -> Iterator[Sentence]:
        yield from sentences(" ".join(paragraph), f"{name}:{begin}")
        paragraph.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
            yield from close()
        elif fenced:
            continue
        elif not line.strip() or _HEADING.match(line):
            yield from close()
        elif line.lstrip().startswith("|"):
            yield from close()
            if not _TABLE_RULE.match(line):
                for cell in re.split(r"(?<!\\)\|", line):
                    yield from sentences(cell, f"{name}:{number}")
        elif not paragraph and _NOT_PROSE.match(line):
            continue
        else:
            if _ITEM.match(line):
                yield from close()
            if not paragraph:
                begin = number
            paragraph.append(_ITEM.sub("", line))
    yield from close()


def of_help(command: click.Command, context: click.Context) -> Iterator[Sentence]:
    """The sentences of a command's help and of each of its options, and of every command below it."""
    for paragraph in re.split(r"\n\s*\n", command.help or ""):
        if not paragraph.lstrip().startswith("\b"):
            yield from sentences(paragraph, context.command_path)
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from sentences(parameter.help or "", f"{context.command_path} {parameter.opts[0]}")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from of_help(below, click.Context(below, parent=context, info_name=name))
