"""The result of reading a story file: the good stories, the problems of the others, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from humaneval.domain import Story


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one story of a file cannot be used. `line` (from 1) is the line on which its record begins."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A story file as read. `format` is for display; `delimiter` is empty if the format has none.

    `doubtful` are stories whose running text may be cut into other sentences, for a person to look at.
    """

    path: Path
    format: str
    encoding: str
    delimiter: str
    stories: tuple[Story, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    doubtful: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Record:
    """One unchecked story of a file. `id` is None if the file has no ids; `trouble` says what is wrong."""

    line: int
    sentences: Sequence[str] = ()
    id: str | None = None
    title: str = ""
    split: str = ""
    source: str = ""
    trouble: str = ""
    doubts: Sequence[str] = ()
    """The words around each place of a running text where it was unclear whether a sentence ends."""


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a file in order, with the name of their format and notes on what was left out."""

    format: str
    records: Iterable[Record]
    delimiter: str = ""
    notes: tuple[str, ...] = ()
    columns: int = 0
    """How many columns of a table are called as sentences; 0 in other files."""
