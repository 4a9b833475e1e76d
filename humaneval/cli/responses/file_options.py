"""Options that say how to read a file of other people's judgments, and what was read and left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from humaneval.cli.context import say
from humaneval.errors import UsageError
from humaneval.foreign import Options, Sheet, only_counted, read_sheet, replaced
from humaneval.foreign.times import zone
from humaneval.text import counted

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class Source:
    """A file, how to read it, and other files that replace or leave out some of its answers."""

    file: Path
    options: Options
    again: Path | None
    items: tuple[str, ...]
    prolific: Path | None

    def sheet(self) -> Sheet:
        """The rows that count, with worker ids as they are in the file."""
        sheet = read_sheet(self.file, self.options)
        if self.again is None:
            return sheet
        if not self.items:
            raise UsageError(
                "--replaced-by needs the column that says what was judged: --item COLUMN",
                f"The columns: {', '.join(map(str, sheet.frame.columns))[:400]}.",
            )
        return replaced(sheet, read_sheet(self.again, self.options), self.again, self.items)

    def counted(self, sheet: Sheet, worker: str | None) -> Sheet:
        """The sheet without the people whose submission does not count, as Prolific's export says, if there
        is one."""
        if self.prolific is None:
            return sheet
        if worker is None:
            raise UsageError(
                "--prolific needs the column with Prolific's ids of people",
                "Name that column as the worker.",
            )
        return only_counted(sheet, worker, self.prolific, self.options)


OPTIONS = (
    click.option(
        "--format",
        "format_",
        metavar="NAME",
        help=(
            "Format, if the file could be several: mturk, toloka, prolific, appraise, qualtrics, hits-json or"
            " table."
        ),
    ),
    click.option("--encoding", help="Encoding of the file, if it is not recognised."),
    click.option("--worksheet", help="Worksheet of an Excel workbook. [default: the first one]"),
    click.option(
        "--time-zone", metavar="ZONE", help="Time zone of times that name none, for example Europe/Berlin."
    ),
    click.option(
        "--skip-bad", is_flag=True, help="Leave out and count rows that cannot be read, instead of stopping."
    ),
    click.option(
        "--replaced-by",
        "again",
        type=FILE,
        help="Batch that was posted again: its answers replace those to the same items.",
    ),
    click.option(
        "--item",
        "items",
        multiple=True,
        metavar="COLUMN",
        help=(
            "Column that says what was judged; (column) for the column of --value itself. Repeatable, if it"
            " takes several columns."
        ),
    ),
    click.option(
        "--prolific",
        type=FILE,
        help="Prolific's export of submissions: leave out people who returned, timed out or were rejected.",
    ),
    click.option("--all", "everything", is_flag=True, help="Also count work that was rejected."),
)


def file_options(function: F) -> F:
    """Give a verb the argument FILE and the options about it, which it gets as one Source: `source`."""

    @wraps(function)
    def call(
        *args: Any,
        file: Path,
        format_: str | None,
        encoding: str | None,
        worksheet: str | None,
        time_zone: str | None,
        skip_bad: bool,
        again: Path | None,
        items: tuple[str, ...],
        prolific: Path | None,
        everything: bool,
        **kwargs: Any,
    ) -> Any:
        zone(time_zone)  # refuses an unknown one before the file is read
        options = Options(format_, encoding, worksheet, time_zone, skip_bad, everything)
        return function(*args, source=Source(file, options, again, items, prolific), **kwargs)

    decorated: Any = call
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    with_file: F = click.argument("file", type=FILE)(decorated)
    return with_file


def pairs(given: tuple[str, ...], flag: str, *, last: bool = False) -> dict[str, str]:
    """NAME=TEXT, several times; with `last` NAME may have a = itself. Raises UsageError for one without =, or
    a name given twice."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, text = one.rpartition("=") if last else one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {one!r} has to be NAME=TEXT")
        if name.strip() in found:
            raise UsageError(f"{flag} says twice what {name.strip()} is")
        found[name.strip()] = text.strip()
    return found


def account(sheet: Sheet) -> None:
    """Say on stderr what was left out, and what else there is to know."""
    for left in sheet.left_out:
        say(str(left), err=True)
    for note in sheet.notes[:MOST_NOTES]:
        say(f"Note: {note}", err=True)
    if len(sheet.notes) > MOST_NOTES:
        say(f"Note: {counted(len(sheet.notes) - MOST_NOTES, 'more note')}; --json lists all.", err=True)
