"""`responses summarise`: other people's judgments summed up as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.table import Table

from humaneval.cli.responses.file_options import FILE, Source, account, file_options, pairs
from humaneval.cli.run import console, emit, json_option, say
from humaneval.errors import UsageError
from humaneval.foreign import (
    Options,
    Sheet,
    are_ours,
    file_pseudonyms,
    pseudonymised,
    read_sheet,
    summaries,
)
from humaneval.foreign.differences import differences
from humaneval.foreign.header import column
from humaneval.foreign.judged import ITEM, WORKER, Judged, correct, judged, where
from humaneval.foreign.mapping import PLACE, likely
from humaneval.foreign.reliability import reliability
from humaneval.foreign.summaries import Summary


@click.command()
@file_options
@click.option(
    "--value",
    "values",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="Column with the judgments; {} in its name stands for a number. Repeatable; columns are pooled.",
)
@click.option(
    "--show",
    type=click.Choice(
        ["means", "counts", "majority", "agreement", "preference", "workload", "workers", "differences"]
    ),
    help="Kind of summary. [default: means if all values are numbers, else counts]",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help=(
        "Column to group by: one line for each of its values. {} stands for the number of --value."
        " Repeatable."
    ),
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="COLUMN=TEXT",
    help="Text that a row must have in this column. Repeatable.",
)
@click.option("--numbers", metavar="A-B", help="Numbers to read of columns with {}. [default: all]")
@click.option(
    "--gold",
    type=FILE,
    help="Table with the right answers, in the order of the HITs and their passages: values become 1 or 0.",
)
@click.option("--gold-column", help="Column of --gold with the right answer.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="ANSWER=COLUMN",
    help="Column that names the system of an answer, for --show preference. Repeatable.",
)
@click.option(
    "--valid",
    multiple=True,
    metavar="ANSWER",
    help="Answer that can agree with the majority, for --show agreement. Repeatable. [default: all]",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(["naive", "workers", "cr2", "two-way", "gee", "mixed", "bootstrap"]),
    help="Method to use, for --show differences. Repeatable. [default: all]",
)
@click.option("--ignore-case", is_flag=True, help="Treat answers that differ only in case as the same.")
@click.option("--worker", help="Column that says who answered, if it is not recognised.")
@click.option(
    "--reveal",
    is_flag=True,
    help="Show worker ids as they are in the file, for your own eyes. [default: pseudonyms]",
)
@json_option
def summarise(
    source: Source,
    values: tuple[str, ...],
    show: str | None,
    by: tuple[str, ...],
    conditions: tuple[str, ...],
    numbers: str | None,
    gold: Path | None,
    gold_column: str | None,
    options: tuple[str, ...],
    valid: tuple[str, ...],
    methods: tuple[str, ...],
    ignore_case: bool,
    worker: str | None,
    reveal: bool,
    as_json: bool,
) -> None:
    """Summarise the judgments in FILE: means, counts, majorities, agreement, workload.

    Reads the same formats as `responses import`, and changes nothing. Rejected and unfinished work is left
    out; what was left out is said on stderr.
    """
    sheet, known = _workers(source, worker, reveal)
    sheet = where(sheet, pairs(conditions, "--where"))
    made = judged(
        sheet,
        values,
        items=source.items,
        by=by,
        worker=known,
        numbers=_number_range(numbers),
        ignore_case=ignore_case,
    )
    if (gold is None) != (gold_column is None):
        raise UsageError("--gold and --gold-column go together")
    if gold is not None and gold_column is not None:
        frame = correct(made.frame, sheet, _gold(gold, gold_column, source))
        made = replace(made, frame=frame)
    kind = show or ("means" if summaries.all_numbers(made.frame) else "counts")
    chosen = pairs(options, "--option")
    if ignore_case:
        chosen = dict(zip(made.spelt(list(chosen)), chosen.values(), strict=True))
        valid = tuple(made.spelt(valid))
    _check(kind, by, chosen, methods)
    made = made.complete(*_needed(kind, made.by))
    summary = _summary(kind, made, chosen, valid, methods)
    if reveal:
        say("Worker ids are shown as they are in the file: do not publish this.", err=True)
    if as_json:
        emit(_document(source, made.sheet, kind, summary))
        return
    account(made.sheet)
    say(
        f"{source.file.name} ({sheet.format}): {sheet.rows_read} rows, {len(sheet.frame.columns)} columns;"
        f" {kind}"
    )
    _print(summary)
    for note in summary.notes:
        say(note)


def _check(kind: str, by: Sequence[str], options: dict[str, str], methods: Sequence[str]) -> None:
    if (kind == "preference") != bool(options):
        raise UsageError(
            "--show preference and --option go together",
            "For example --option A=Input.system1 --option B=Input.system2.",
        )
    if methods and kind != "differences":
        raise UsageError("--method goes with --show differences")
    if by and kind in ("agreement", "preference", "workload", "workers"):
        raise UsageError(
            f"--by does not go with --show {kind}", "Look at one group at a time: --where COLUMN=TEXT."
        )


def _document(source: Source, sheet: Sheet, kind: str, made: Summary) -> dict[str, object]:
    return {
        "file": source.file.name,
        "format": sheet.format,
        "sha256": sheet.sha256,
        "rows": sheet.rows_read,
        "columns": len(sheet.frame.columns),
        "show": kind,
        "table": made.to_json(),
        "left_out": [
            {"cause": left.cause, "rows": len(left.lines)} | ({"of": left.of} if left.of is not None else {})
            for left in sheet.left_out
        ],
        "notes": [*sheet.notes, *made.notes],
    }


def _needed(kind: str, by: Sequence[str]) -> tuple[str, ...]:
    """What every judgment has to have for this kind of summary, if the file has it at all."""
    return {
        "majority": (ITEM,),
        "agreement": (ITEM, WORKER),
        "workers": (ITEM, WORKER),
        "workload": (WORKER,),
        "differences": (ITEM, WORKER, *by),
    }.get(kind, ())


def _summary(
    kind: str, judged: Judged, options: dict[str, str], valid: Sequence[str], methods: Sequence[str]
) -> Summary:
    frame, by = judged.frame, judged.by
    made: dict[str, Callable[[], Summary]] = {
        "means": lambda: summaries.means(frame, by),
        "counts": lambda: summaries.counts(frame, by),
        "majority": lambda: summaries.majority(frame, by),
        "agreement": lambda: summaries.agreement(frame, valid),
        "preference": lambda: summaries.preference(judged.sheet, frame, options),
        "workload": lambda: summaries.workload(frame),
        "workers": lambda: reliability(frame),
        "differences": lambda: differences(frame, by, methods),
    }
    return made[kind]()


def _workers(source: Source, told: str | None, reveal: bool) -> tuple[Sheet, str | None]:
    """The sheet, and the column that says who answered. Every column that could hold workers' ids is hashed,
    unless `reveal`, or unless its ids are pseudonyms of ours already."""
    sheet = source.sheet()
    known = column(sheet.frame, told, "--worker") if told else sheet.roles.get("worker")
    possible = [name for name in likely(sheet.frame, "worker") if PLACE not in name]
    known = known or (possible[0] if len(possible) == 1 else None)
    sheet = source.counted(sheet, known)
    for name in dict.fromkeys([*([known] if known else []), *possible]):
        if not reveal and not are_ours(sheet, name):
            sheet = pseudonymised(sheet, name, file_pseudonyms(sheet))
    return sheet, known


def _gold(file: Path, name: str, source: Source) -> list[str | None]:

    sheet = read_sheet(file, Options(encoding=source.options.encoding))
    for left in sheet.left_out:
        say(f"{file.name}: {left}", err=True)
    return list(sheet.frame[column(sheet.frame, name, "--gold-column")])


def _print(summary: Summary) -> None:

    table = Table(box=None, pad_edge=False, header_style="bold")
    words = ("value", "measure", "system", "method", "difference", "scale")
    for name in summary.columns:
        table.add_column(
            name,
            justify="left" if name in words else "right",
            overflow="fold",
            no_wrap=name in ("difference", "scale"),
        )
    for row in summary.rows:
        table.add_row(*(_cell(cell, summary.digits) for cell in row))
    console().print(table)


def _cell(cell: object, digits: int | None) -> str:
    if cell is None:
        return "—"
    if cell == "":
        return "(blank)"
    if isinstance(cell, float) and digits is not None:
        return f"{cell:.{digits}f}"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() else f"{cell:.4f}" if abs(cell) < 1 else f"{cell:.2f}"
    return str(cell)


def _number_range(text: str | None) -> range | None:
    """The numbers of `--numbers 1-5`."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if not found or int(found[2] or found[1]) < int(found[1]):
        raise UsageError(f"{text!r} is not a range of numbers", "Say for example --numbers 1-5.")
    return range(int(found[1]), int(found[2] or found[1]) + 1)
