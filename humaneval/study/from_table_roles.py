"""What the columns of a table can be taken for, how `--map COLUMN=ROLE` says it, and which must be there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from humaneval.domain import MOST_SENTENCES, SENTENCES
from humaneval.errors import InputError, UsageError
from humaneval.study.from_table_file import TableFile
from humaneval.text import counted, listed, not_among, same_name, shell_words


class Kind(StrEnum):
    """What a column holds."""

    ID = "id"
    TITLE = "title"
    SENTENCE = "sentence"
    STORY = "story"
    BEFORE = "before"
    AFTER = "after"
    POSITION = "position"
    ORIGINAL = "original"
    SYSTEM = "system"
    GENERATOR = "generator"
    TEXT = "text"
    SAMPLE = "sample"
    IGNORE = "ignore"


MEANINGS: Mapping[Kind, str] = {
    Kind.ID: "the story's id",
    Kind.TITLE: "the story's title",
    Kind.STORY: "the whole story",
    Kind.BEFORE: "the story before the blank",
    Kind.AFTER: "the story after the blank",
    Kind.POSITION: "which sentence was taken out",
    Kind.ORIGINAL: "the original sentence",
    Kind.GENERATOR: "the system's name",
    Kind.TEXT: "the system's sentence",
    Kind.SAMPLE: "the number of the sample",
}
ROLES = (
    "id, title, sentence1 to sentence5, story, before, after, position (position0 if it counts from 0),"
    " original, system, system:NAME, generator, text, sample, ignore"
)
"""What `--map` can say."""
_ALSO = {"human": Kind.ORIGINAL, "gold": Kind.ORIGINAL, "infill": Kind.SYSTEM, "none": Kind.IGNORE}
_SEVERAL = (Kind.SENTENCE, Kind.SYSTEM, Kind.IGNORE)
"""Kinds of which a table may have several columns."""


@dataclass(frozen=True, slots=True)
class Role:
    """What one column holds. `number` is a sentence's, or the position of a system's column."""

    kind: Kind
    number: int = 0
    system: str = ""
    why: str = ""
    """Why a column is ignored."""
    from_zero: bool = False
    """Whether the positions in it are counted from 0."""

    def __str__(self) -> str:
        """In words, as a person is asked.

        >>> str(Role(Kind.SENTENCE, 2)), str(Role(Kind.SYSTEM, system="ilm"))
        ('sentence 2 of the story', 'system ilm')
        """
        if self.kind is Kind.SENTENCE:
            return f"sentence {self.number} of the story"
        if self.kind is Kind.SYSTEM:
            return f"system {self.system}" + (f", sentence {self.number}" if self.number else "")
        if self.kind is Kind.IGNORE:
            return "not used" + (f": {self.why}" if self.why else "")
        return MEANINGS[self.kind] + (" (it counts from 0)" if self.from_zero else "")


@dataclass(frozen=True, slots=True)
class Layout:
    """The roles of a table's columns, in order."""

    columns: tuple[str, ...]
    roles: tuple[Role, ...]
    length: int = SENTENCES
    """How many sentences each story of the table has."""

    @property
    def positions(self) -> range:
        """The numbers of a story's sentences."""
        return range(1, self.length + 1)

    def at(self, kind: Kind) -> int | None:
        """The place of the column of this kind."""
        return next((place for place, role in enumerate(self.roles) if role.kind is kind), None)

    def all(self, kind: Kind) -> list[int]:
        """The places of all columns of this kind."""
        return [place for place, role in enumerate(self.roles) if role.kind is kind]

    @property
    def sentences(self) -> dict[int, int]:
        """The place of the column with each sentence."""
        return {self.roles[at].number: at for at in self.all(Kind.SENTENCE)}

    @property
    def is_long(self) -> bool:
        """Whether each line has one system's sentence."""
        return self.at(Kind.GENERATOR) is not None

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that have columns, each once."""
        return tuple(dict.fromkeys(self.roles[at].system for at in self.all(Kind.SYSTEM)))

    @property
    def brings_stories(self) -> bool:
        """Whether stories, or parts of them, stand in the table itself."""
        return any(role.kind in (Kind.SENTENCE, Kind.STORY, Kind.BEFORE) for role in self.roles)


def map_option(column: str, role: str) -> str:
    """The option that gives a column its role, as a shell takes it.

    >>> map_option("Line A", "sentence1")
    "--map 'Line A=sentence1'"
    """
    return f"--map {shell_words(f'{column}={role}')}"


def refuse_layout(table: TableFile, layout: Layout) -> None:
    """Raise InputError if a column is lacking without which no row can be read."""
    there = f"its columns are {listed(table.columns, 25)}"
    if not layout.systems and not layout.is_long:
        raise InputError(
            f"{table.name} has no column with a system's sentences; {there}",
            "Name one, for example --map 'model A'=system.",
        )
    if layout.is_long and layout.at(Kind.TEXT) is None:
        raise InputError(
            f"{table.name} names systems, but no column has their sentences; {there}",
            "Add --map COLUMN=text.",
        )
    numbers, named = set(layout.sentences), listed([table.columns[at] for at in layout.sentences.values()])
    four = len(numbers) == SENTENCES - 1 and layout.at(Kind.ORIGINAL) is not None
    if numbers and numbers != set(layout.positions) and not four:
        raise InputError(
            f"{table.name} has {counted(len(numbers), 'sentence')} of each story ({named}), and a story has"
            f" five; {there}",
            "Name the column with the original sentence (--map COLUMN=original), or those of all five.",
        )
    if not numbers and not layout.brings_stories and layout.at(Kind.ID) is None:
        raise InputError(
            f"{table.name} has no column with the story; {there}",
            f"Give five columns sentence1 to sentence5, or one with the whole story: --map COLUMN=story."
            f"{sentences_hint(layout)}",
        )


def sentences_hint(layout: Layout) -> str:
    """How to say that columns which were taken for systems hold the story's sentences; empty if they are too
    few for that."""
    columns = [layout.columns[at] for at in layout.all(Kind.SYSTEM)]
    if len(columns) < SENTENCES - 1:
        return ""
    maps = [map_option(column, f"sentence{at}") for at, column in enumerate(columns[:2], 1)]
    return f" If some of these columns hold the five sentences, say which: {' '.join(maps)} and so on."


def parse_roles(pairs: Sequence[str], columns: Sequence[str]) -> dict[int, Role]:
    """The values of `--map`, such as `Out A=system:model-a`, by the place of their column.

    >>> parse_roles(["a=system:B", "c=ignore"], ["a", "c"])[0].system
    'B'
    """
    found: dict[int, Role] = {}
    for pair in pairs:
        column, equals, said = pair.rpartition("=")
        if not equals or not column.strip() or not said.strip():
            raise UsageError(f"--map {pair!r} is not COLUMN=ROLE", f"Roles: {ROLES}.")
        name = same_name(column, columns)
        if name is None:
            raise UsageError(
                f"--map: {not_among('column', column, columns)}", f"Columns: {listed(columns, 40)}."
            )
        at = columns.index(name)
        if at in found:
            raise UsageError(f"--map names the column {name!r} twice", "Name each column once.")
        found[at] = _role(said.strip(), name)
    for kind in Kind:
        same = [columns[at] for at, role in found.items() if role.kind is kind]
        if kind not in _SEVERAL and len(same) > 1:
            raise UsageError(f"--map makes two columns the {kind}: {listed(same)}", "Name one of them.")
    return found


def _role(said: str, column: str) -> Role:
    word, _, name = said.partition(":")
    word = word.strip().casefold()
    if match := re.fullmatch(r"sentence ?(\d{1,2})", word):
        number = int(match[1])
        if not 1 <= number <= MOST_SENTENCES:
            raise UsageError(
                f"--map: {said!r}: a story has at most {MOST_SENTENCES} sentences", f"Roles: {ROLES}."
            )
        return Role(Kind.SENTENCE, number)
    if word == "position0":
        return Role(Kind.POSITION, from_zero=True)
    kind = _ALSO.get(word) or next((one for one in Kind if one == word and one is not Kind.SENTENCE), None)
    if kind is None or (name and kind is not Kind.SYSTEM):
        raise UsageError(f"--map: {said!r} is not what a column can hold", f"Roles: {ROLES}.")
    return Role(kind, system=(name.strip() or column) if kind is Kind.SYSTEM else "")
