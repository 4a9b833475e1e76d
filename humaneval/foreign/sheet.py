"""A file of judgments as a table of text: what every format is turned into, and what was left out on the
way."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

SHOWN = 5
"""Lines that are named where many are meant."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a file is to be read, where it does not say so itself."""

    format: str | None = None
    """The name of a format, where a file could be several."""
    encoding: str | None = None
    worksheet: str | None = None
    """Of an Excel workbook; the first one if not given."""
    time_zone: str | None = None
    """For times that name none, for example Europe/Berlin."""
    skip_bad: bool = False
    """Leave out rows that cannot be read, counted, instead of refusing the file."""
    rejected: bool = False
    """Keep rejected work too. Work that was never submitted is always left out."""


@dataclass(frozen=True, slots=True)
class Left:
    """Rows that were left out for one cause; `lines` are those of the file, the header being line 1.

    Those of a second file bear its name: `again.csv:7`.
    """

    cause: str
    lines: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{len(self.lines)} left out: {self.cause} ({at(self.lines)})"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file, cells as text or None, and what is known about them.

    `frame`'s index is the line of the file (or the number of the record), its columns the file's, made
    different where two had one name. `roles` says which column holds what the format itself defines: worker,
    hit, assignment, status, submitted_at and so on.
    """

    format: str
    frame: pd.DataFrame
    roles: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[Left, ...] = ()
    sha256: str = ""
    """Of the file's bytes, in hex."""
    time_zone: str = ""
    """In which the format's times are that name none; empty where that is not known."""

    @property
    def rows_read(self) -> int:
        """Rows of the file below its header, those that were left out among them."""
        return len(self.frame) + sum(len(left.lines) for left in self.left_out)

    def noted(self, *notes: str) -> Sheet:
        """The same sheet with remarks added; empty ones are not."""
        return replace(self, notes=self.notes + tuple(note for note in notes if note))

    def without(self, cause: str, lines: Iterable[Hashable]) -> Sheet:
        """The same sheet without the rows at these lines, which are counted under `cause`."""
        gone = tuple(line if isinstance(line, str) else int(str(line)) for line in lines)
        if not gone:
            return self
        frame = self.frame.drop(index=list(gone))
        return replace(self, frame=frame, left_out=(*self.left_out, Left(cause, gone)))


def listed(values: Sequence[object], shown: int = SHOWN) -> str:
    """The first few of `values`, and how many more there are.

    >>> listed([1, 2, 3], shown=2)
    '1, 2 and 1 more'
    """
    text = ", ".join(str(value) for value in values[:shown])
    return text if len(values) <= shown else f"{text} and {len(values) - shown} more"


def many(number: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """A number with its noun, and the verb that goes with it.

    >>> many(1, "row"), many(2, "row"), many(1, "row", "is", "are")
    ('1 row', '2 rows', '1 row is')
    """
    said = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{said} {verb if number == 1 else verbs}".strip()


def at(lines: Sequence[object], shown: int = SHOWN) -> str:
    """The lines of the file that are meant, each once.

    >>> at([3]), at([3, 9, 3])
    ('line 3', 'lines 3, 9')
    """
    different = list(dict.fromkeys(lines))
    return f"line{'s' * (len(different) > 1)} {listed(different, shown)}"
