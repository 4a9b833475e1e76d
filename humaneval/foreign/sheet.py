"""A response file as a table of text: what every format is turned into, and which rows were left out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from humaneval.text import counted, listed


@dataclass(frozen=True, slots=True)
class Options:
    """How to read a file, for what the file does not say itself."""

    format: str | None = None
    """The name of a format, if a file could have several."""
    encoding: str | None = None
    worksheet: str | None = None
    """Of an Excel workbook; by default the first."""
    time_zone: str | None = None
    """Of times that name none, for example Europe/Berlin."""
    skip_bad: bool = False
    """Leave out and count the rows that cannot be read, instead of refusing the file."""
    rejected: bool = False
    """Keep rejected work as well. Work that was never submitted is always left out."""


@dataclass(frozen=True, slots=True)
class Left:
    """Rows that were left out for one cause. `lines` counts from 1, the header of the file.

    Lines of a second file carry its name: `again.csv:7`.
    """

    cause: str
    lines: tuple[int | str, ...]
    of: int | None = None
    """How many rows there were, if the cause is what they lack: 2 of 5 rows "without a value"."""

    def __str__(self) -> str:
        if self.of is not None:
            return (
                f"{len(self.lines):,} of {counted(self.of, 'row')} {self.cause} left out ({at(self.lines)})"
            )
        return f"{len(self.lines)} left out: {self.cause} ({at(self.lines)})"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file, cells as text or None, and what is known about them.

    The index of `frame` is the line of the file (or the number of the record). Its columns are the file's;
    two of the same name are told apart. `roles` names the columns that the format itself defines: worker,
    hit, assignment, status, submitted_at and so on.
    """

    format: str
    frame: pd.DataFrame
    roles: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[Left, ...] = ()
    sha256: str = ""
    """Hash of the file's bytes, in hex."""
    time_zone: str = ""
    """Of the format's times that name none; empty if it is not known."""
    key: bytes = field(default=b"", repr=False)
    """Of pseudonyms that hold for this file. It comes from its bytes, and not from the hash above."""

    @property
    def rows_read(self) -> int:
        """Rows of the file below its header, including those that were left out."""
        return len(self.frame) + sum(len(left.lines) for left in self.left_out)

    def noted(self, *notes: str) -> Sheet:
        """The same sheet with more notes. Empty ones are ignored."""
        return replace(self, notes=self.notes + tuple(note for note in notes if note))

    def without(self, cause: str, lines: Iterable[Hashable]) -> Sheet:
        """The same sheet without the rows on these lines, which are counted under `cause`."""
        gone = tuple(line if isinstance(line, str) else int(str(line)) for line in lines)
        if not gone:
            return self
        frame = self.frame.drop(index=list(gone))
        return replace(self, frame=frame, left_out=(*self.left_out, Left(cause, gone)))


def at(lines: Sequence[object], most: int = 5) -> str:
    """Line numbers for a message, each once.

    >>> at([3]), at([3, 9, 3])
    ('line 3', 'lines 3, 9')
    """
    different = list(dict.fromkeys(lines))
    return f"line{'s' * (len(different) > 1)} {listed(different, most)}"
