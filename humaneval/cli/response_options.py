"""Flags about a file of other people's judgments, and the way from the file to its rows and its responses."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from humaneval.cli.run import say
from humaneval.errors import UsageError

if TYPE_CHECKING:
    from humaneval.foreign import Imported, Mapping, Options, Sheet

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@dataclass(frozen=True, slots=True)
class Source:
    """A file, how to read it, and a second one whose answers replace some of it."""

    file: Path
    options: Options
    again: Path | None
    items: tuple[str, ...]
    prolific: Path | None

    def sheet(self) -> Sheet:
        """The rows that count, with worker ids as they are in the file."""
        from humaneval.foreign import read_sheet, replaced

        sheet = read_sheet(self.file, self.options)
        if self.again is not None:
            if not self.items:
                raise UsageError(
                    "--replaced-by needs to know what was judged: --item COLUMN",
                    f"The columns: {', '.join(map(str, sheet.frame.columns))[:400]}.",
                )
            sheet = replaced(sheet, read_sheet(self.again, self.options), self.again, self.items)
        return sheet

    def counted(self, sheet: Sheet, worker: str | None) -> Sheet:
        """The sheet without people whose submission does not count, as Prolific's export says, if there
        is one."""
        from humaneval.foreign import only_counted

        if self.prolific is None:
            return sheet
        if worker is None:
            raise UsageError(
                "--prolific needs to know which column holds Prolific's ids of people",
                "Name it as the worker.",
            )
        return only_counted(sheet, worker, self.prolific, self.options)


def file_options(function: F) -> F:
    """Give a verb the flags that say how a file is to be read, and which work counts."""
    everything = click.option("--all", "everything", is_flag=True, help="Count also work that was rejected.")
    return everything(reading_options(function))


def reading_options(function: F) -> F:
    """Give a verb the flags that say how a file is to be read."""
    for option in reversed(
        (
            click.option(
                "--format",
                "format_",
                metavar="NAME",
                help=(
                    "mturk, toloka, prolific, appraise, qualtrics, hits-json or table, where the file could"
                    " be several."
                ),
            ),
            click.option("--encoding", help="The file's encoding, where it is not recognised."),
            click.option("--worksheet", help="Of an Excel workbook; the first one if not given."),
            click.option(
                "--time-zone", metavar="ZONE", help="Of times that name none, for example Europe/Berlin."
            ),
            click.option(
                "--skip-bad",
                is_flag=True,
                help="Leave out rows that cannot be read, counted, instead of refusing the file.",
            ),
            click.option(
                "--replaced-by",
                "again",
                type=FILE,
                help="A batch that was posted again: its answers replace those to the same items.",
            ),
            click.option(
                "--item",
                "items",
                multiple=True,
                metavar="COLUMN",
                help="What was judged; several times where it takes several columns.",
            ),
            click.option(
                "--prolific",
                type=FILE,
                help=(
                    "Prolific's export of submissions: people who returned, timed out or were rejected there"
                    " are left out."
                ),
            ),
        )
    ):
        function = option(function)
    return function


def mapping_options(function: F) -> F:
    """Give a verb the flags that say which column holds what."""
    for option in reversed(
        (
            click.option(
                "--column",
                "columns",
                multiple=True,
                metavar="ROLE=NAME",
                help=(
                    "Which column is the worker, story, generator, position, choice, …; {} in it stands for a"
                    " number."
                ),
            ),
            click.option(
                "--constant",
                "constants",
                multiple=True,
                metavar="ROLE=TEXT",
                help="What is the same for all responses, for example generator=ILM.",
            ),
            click.option(
                "--anonymous-workers",
                is_flag=True,
                help="The file does not say who answered: count every row as another person.",
            ),
            click.option("--from-zero", is_flag=True, help="Sentences are counted from 0 in the file."),
            click.option(
                "--contradictions",
                type=click.Choice(["refuse", "first", "last", "keep"]),
                default="refuse",
                show_default=True,
                help=(
                    "Which counts, in the order of the file, of two different answers by one worker to one"
                    " passage in one form."
                ),
            ),
            click.option("--yes", is_flag=True, help="Yes, the columns are guessed right."),
        )
    ):
        function = option(function)
    return function


def source(
    file: Path,
    *,
    format_: str | None = None,
    encoding: str | None = None,
    worksheet: str | None = None,
    time_zone: str | None = None,
    skip_bad: bool = False,
    everything: bool = False,
    again: Path | None = None,
    items: Sequence[str] = (),
    prolific: Path | None = None,
) -> Source:
    """What the flags of `file_options` say."""
    from humaneval.foreign import Options
    from humaneval.foreign.times import zone

    zone(time_zone)
    options = Options(format_, encoding, worksheet, time_zone, skip_bad, everything)
    return Source(file, options, again, tuple(items), prolific)


def pairs(given: Sequence[str], flag: str) -> dict[str, str]:
    """NAME=TEXT, several times. Raises UsageError for one without =, or a name given twice."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {one!r} has to be NAME=TEXT")
        if name.strip() in found:
            raise UsageError(f"{flag} says twice what {name.strip()} is")
        found[name.strip()] = text.strip()
    return found


def number_range(text: str | None) -> range | None:
    """The numbers of `--numbers 1-5`."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if not found or int(found[2] or found[1]) < int(found[1]):
        raise UsageError(f"{text!r} is no range of numbers", "Say for example --numbers 1-5.")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def foreign_responses(
    of: Source,
    rename: Callable[[], Callable[[str], str]] | None = None,
    *,
    columns: Sequence[str],
    constants: Sequence[str],
    anonymous_workers: bool,
    from_zero: bool,
    contradictions: Literal["refuse", "first", "last", "keep"],
    yes: bool,
    study: str | None,
) -> Imported:
    """The responses in a file, under pseudonyms of this run, or those of `rename`; those of our own tables
    stay without it.

    `rename` is asked for (and may open a database) only when all else is in order. Without a `study` the name
    is the one that the file says, or the file's.
    """
    from humaneval.foreign import are_ours, passing_pseudonyms, propose, pseudonymised, responses
    from humaneval.foreign.responses import ROW_AS_WORKER, the_study, with_rows_as_workers

    sheet = of.sheet()
    named = the_study(sheet)
    told = pairs(columns, "--column")
    if anonymous_workers:
        if "worker" in told or "worker" in sheet.roles:
            raise UsageError(
                "--anonymous-workers is for files that do not say who answered, and this one does: "
                f"{told.get('worker') or sheet.roles['worker']}"
            )
        sheet, told["worker"] = with_rows_as_workers(sheet), ROW_AS_WORKER
    mapping = propose(sheet, told, pairs(constants, "--constant"))
    if mapping.guessed and not yes:
        _confirm(mapping)
    worker = mapping.columns.get("worker")
    sheet = of.counted(sheet, None if anonymous_workers else worker)
    made = None
    stays = rename is None and worker is not None and are_ours(sheet, worker)
    for pseudonyms in (passing_pseudonyms, rename):
        if pseudonyms is not None:
            made = responses(
                pseudonymised(sheet, worker, pseudonyms()) if worker and not stays else sheet,
                mapping,
                study=study or named or of.file.stem,
                options=of.options,
                from_zero=from_zero,
                contradictions=contradictions,
                same_rows=rename is None,
            )
    assert made is not None
    return made


def _confirm(mapping: Mapping) -> None:
    """Show a guess, and ask; without a terminal it is refused, with what to type."""
    for role in mapping.guessed:
        say(f"{role} is read from the column {mapping.columns[role]}", err=True)
    if not sys.stdin.isatty():
        raise UsageError(
            f"columns were guessed ({', '.join(mapping.guessed)}), and there is no terminal to ask at",
            f"If the guess is right: --yes, or {mapping.flags}",
        )
    if not click.confirm("Read it so?", default=False, err=True):
        raise UsageError("nothing was read", f"Say which columns to read, for example {mapping.flags}")


def account(sheet: Sheet, shown: int = 20) -> None:
    """Say on stderr what was left out, and what else there is to know."""
    for left in sheet.left_out:
        say(str(left), err=True)
    for note in sheet.notes[:shown]:
        say(f"Note: {note}", err=True)
    if len(sheet.notes) > shown:
        say(f"Note: {len(sheet.notes) - shown} notes more; --json gives all.", err=True)
