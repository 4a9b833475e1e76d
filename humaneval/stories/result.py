"""What reading a story file gives: the sound stories, the trouble with the others, and what there is to
say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from humaneval.domain import Story


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one story of a file cannot be taken. `line` (from 1) is the line of the file where its record
    begins."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A story file as read. `format` is said for people; `delimiter` is empty where the format has none."""

    path: Path
    format: str
    encoding: str
    delimiter: str
    stories: tuple[Story, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class Record:
    """One story as the file has it, unchecked. `id` is None where the file has no ids; `trouble` ends it."""

    line: int
    sentences: Sequence[str] = ()
    id: str | None = None
    title: str = ""
    split: str = ""
    source: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a file in their order, with what their format is called and what was left out."""

    format: str
    records: Iterable[Record]
    delimiter: str = ""
    notes: tuple[str, ...] = ()
