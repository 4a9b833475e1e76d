"""`responses summarise`: other people's judgments summed up as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
from rich.table import Table

from humaneval.cli.context import console, emit, json_option, say
from humaneval.cli.responses.file_options import Source, account, file_options
from humaneval.cli.responses.summary_options import Asked, summary_options
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
from humaneval.foreign.answers import as_numbers, mapped, without_no_answers
from humaneval.foreign.comparisons import comparisons
from humaneval.foreign.differences import differences
from humaneval.foreign.header import column
from humaneval.foreign.judged import COLUMN, ITEM, NUMBER, WORKER, Judged, cell_text, judged, where
from humaneval.foreign.mapping import PLACE, likely, numbered
from humaneval.foreign.ordinal_scales import ordinal
from humaneval.foreign.preferences import preference, ranking, sign_tests
from humaneval.foreign.reliability import reliability
from humaneval.foreign.right_answers import correct, correct_by_row
from humaneval.foreign.splitting import people_in
from humaneval.foreign.summaries import Summary
from humaneval.foreign.unfold import with_json


@click.command()
@file_options
@summary_options
@click.option(
    "--reveal",
    is_flag=True,
    help="Show worker ids as they are in the file, for your own eyes. [default: pseudonyms]",
)
@json_option
def summarise(source: Source, asked: Asked, reveal: bool, as_json: bool) -> None:
    """Summarise the judgments in FILE: means, counts, majorities, agreement, preferences, models.

    Reads the same formats as `responses import`, and changes nothing. Rejected and unfinished work is left
    out; what was left out is said on stderr.
    """
    kind, made = _judged(source, asked, reveal)
    summary = _summary(kind, made, asked)
    if reveal:
        say("Worker ids are shown as they are in the file: do not publish this.", err=True)
    if as_json:
        emit(_document(source, made.sheet, kind, summary))
        return
    account(made.sheet)
    say(
        f"{source.file.name} ({made.sheet.format}): {made.sheet.rows_read} rows,"
        f" {len(made.sheet.frame.columns)} columns; {kind}"
    )
    _print(summary)
    for note in summary.notes:
        say(note)


class _Made(NamedTuple):
    """The kind of summary, and the judgments that it needs."""

    kind: str
    judged: Judged


def _judged(source: Source, asked: Asked, reveal: bool) -> _Made:
    sheet, known, told = _workers(source, asked, reveal)
    sheet = where(sheet, told)
    made = judged(
        sheet,
        asked.values,
        items=source.items,
        by=asked.by,
        worker=known,
        numbers=asked.numbers,
        ignore_case=asked.ignore_case,
        split=asked.separator,
    )
    made = mapped(made, asked.words, ignore_case=asked.ignore_case)
    if asked.gold is not None and asked.gold_column is None:
        raise UsageError("--gold and --gold-column go together")
    if asked.gold_column is not None:
        frame = (
            correct_by_row(made.frame, sheet, asked.gold_column)
            if asked.gold is None
            else correct(made.frame, sheet, _gold(asked.gold, asked.gold_column, source))
        )
        made = replace(made, frame=frame)
    if asked.show in (None, "means", "ordinal"):
        made = as_numbers(made) if asked.show else without_no_answers(made)
    kind = asked.show or ("means" if summaries.all_numbers(made.frame) else "counts")
    asked.check(kind)
    return _Made(kind, made.complete(*_needed(kind, made.by)))


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
        "ordinal": tuple(by),
    }.get(kind, ())


def _summary(kind: str, made: Judged, asked: Asked) -> Summary:
    frame, by, options, valid = made.frame, made.by, asked.options, list(asked.valid)
    if asked.ignore_case:
        options = dict(zip(made.spelt(list(options)), options.values(), strict=True))
        valid = made.spelt(valid)
    compared = partial(comparisons, made.sheet, frame, options, asked.tie_answers)
    kinds: dict[str, Callable[[], Summary]] = {
        "means": lambda: summaries.means(frame, by),
        "counts": lambda: summaries.counts(frame, by),
        "majority": lambda: summaries.majority(frame, by),
        "agreement": lambda: summaries.agreement(frame, valid),
        "preference": lambda: preference(made.sheet, frame, options),
        "sign-test": lambda: sign_tests(compared(), by, asked.ties or "left-out", asked.reference),
        "bradley-terry": lambda: ranking(compared(), asked.ties or "davidson", asked.reference),
        "ordinal": lambda: ordinal(frame, by, asked.reference),
        "workload": lambda: summaries.workload(frame),
        "workers": lambda: reliability(frame),
        "differences": lambda: differences(frame, by, asked.methods),
    }
    return kinds[kind]()


class _Read(NamedTuple):
    """The sheet, the column that says who answered, and the conditions in the ids that the sheet has."""

    sheet: Sheet
    worker: str | None
    conditions: dict[str, str]


def _workers(source: Source, asked: Asked, reveal: bool) -> _Read:
    """Every column that could hold workers' ids is hashed, unless `reveal`, or unless its ids are pseudonyms
    of ours already. A condition may name a worker by the id of the file or by its pseudonym."""
    sheet, conditions = source.sheet(), asked.conditions
    sheet = with_json(sheet, (*asked.values, *asked.by, *asked.options.values(), *source.items))
    known = _worker_column(sheet, asked.worker)
    possible = [name for name in likely(sheet.frame, "worker") if PLACE not in name]
    known = known or (possible[0] if len(possible) == 1 else None)
    own: list[str] = []
    if known is not None and known not in (COLUMN, NUMBER):
        own = list(numbered(sheet.frame, known).values()) if PLACE in known else [known]
    sheet = source.counted(sheet, own[0] if len(own) == 1 else None)
    rename = file_pseudonyms(sheet)
    hashed = [name for name in dict.fromkeys([*own, *possible]) if not are_ours(sheet, name)]
    for given, wanted in conditions.items():
        if (name := column(sheet.frame, given, "--where")) in hashed:
            ids = {one for one in map(cell_text, sheet.frame[name]) if one}
            names = {rename(one): one for one in ids} if reveal else {one: rename(one) for one in ids}
            conditions = {**conditions, given: names.get(wanted, wanted)}
    ids_in = partial(people_in, how=asked.separator) if asked.separator else None
    for name in hashed if not reveal else ():
        sheet = pseudonymised(sheet, name, rename, ids_in)
    return _Read(sheet, known, conditions)


def _worker_column(sheet: Sheet, told: str | None) -> str | None:
    if told is None:
        return sheet.roles.get("worker")
    if PLACE in told or told.strip() in (COLUMN, NUMBER):
        return told.strip()
    return column(sheet.frame, told, "--worker")


def _gold(file: Path, name: str, source: Source) -> list[str | None]:

    sheet = read_sheet(file, Options(encoding=source.options.encoding))
    for left in sheet.left_out:
        say(f"{file.name}: {left}", err=True)
    return list(sheet.frame[column(sheet.frame, name, "--gold-column")])


def _print(summary: Summary) -> None:

    table = Table(box=None, pad_edge=False, header_style="bold")
    words = ("value", "measure", "system", "method", "difference", "scale", "first", "second", "ranks")
    for name in summary.columns:
        table.add_column(
            name,
            justify="left" if name in words else "right",
            overflow="fold",
            no_wrap=name in ("difference", "scale"),
        )
    for row in summary.rows:
        table.add_row(
            *(
                _cell(cell, summary.digits, tiny=name in ("p", "Holm"))
                for name, cell in zip(summary.columns, row, strict=True)
            )
        )
    console().print(table)


def _cell(cell: object, digits: int | None, *, tiny: bool = False) -> str:
    if cell is None:
        return "—"
    if cell == "":
        return "(blank)"
    if tiny and isinstance(cell, float) and 0.0 < cell < 0.00005:
        return f"{cell:.0e}"
    if isinstance(cell, float) and digits is not None:
        return f"{cell:.{digits}f}"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() else f"{cell:.4f}" if abs(cell) < 1 else f"{cell:.2f}"
    return str(cell)
