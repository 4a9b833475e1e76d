"""`responses`: other people's judgments, made a response table, or summed up as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from humaneval import __version__
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.cli.response_options import (
    FILE,
    Source,
    account,
    file_options,
    foreign_responses,
    mapping_options,
    number_range,
    pairs,
    source,
)
from humaneval.cli.run import App, console, emit, json_option, say, with_app
from humaneval.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from humaneval.foreign import Sheet
    from humaneval.foreign.summaries import Summary

FILE_FLAGS = (
    "format_",
    "encoding",
    "worksheet",
    "time_zone",
    "skip_bad",
    "everything",
    "again",
    "items",
    "prolific",
)


@click.group()
def responses() -> None:
    """Other people's judgments: import them as responses, or sum them up."""


@responses.command("import")
@click.argument("file", type=FILE)
@click.option(
    "--out",
    type=OUT_FILE,
    required=True,
    help=(
        "The response table to write: .csv, .tsv or .jsonl. What was read and left out goes to"
        " OUT.manifest.json."
    ),
)
@click.option("--study", help="A name for the judgments; the file's if not given. Studies are never pooled.")
@click.option("--force", is_flag=True, help="Write over a table that is there.")
@mapping_options
@file_options
@json_option
@with_app
def import_(
    app: App, file: Path, out: Path, study: str | None, force: bool, as_json: bool, **flags: Any
) -> None:
    """Turn FILE into a response table, and say what became of every row.

    Reads batch results of Mechanical Turk, Toloka, Qualtrics, JSON by HIT, and any table with names of
    columns, as CSV, TSV, JSON or Excel. Workers become pseudonyms of this database: the same person in two
    files has one name.
    """
    from humaneval.scoring.response_table import JSON_LINES, table_bytes

    manifest_file = out.with_name(out.name + ".manifest.json")
    if out.suffix.lower() not in (".csv", ".tsv", *JSON_LINES):
        raise UsageError(f"{out}: a table of responses ends in .csv, .tsv or .jsonl")
    there = [str(path) for path in (out, manifest_file) if path.exists()]
    if there and not force:
        raise UsageError(f"{' and '.join(there)} is there already", "Name another file, or say --force.")
    name = study or file.stem
    of = source(file, **{flag: flags.pop(flag) for flag in FILE_FLAGS})
    made = foreign_responses(of, partial(_pseudonyms, app, name), study=name, **flags)
    document = {
        "file": file.name,
        "replaced_by": of.again.name if of.again else None,
        "prolific": of.prolific.name if of.prolific else None,
        **made.manifest(),
        "study": name,
        "pseudonyms": "keyed by the database that imported them",
        "humaneval": __version__,
    }
    write_whole(out, table_bytes(made.frame, out))
    text = json.dumps(document, ensure_ascii=False, indent=2, default=str) + "\n"
    write_whole(manifest_file, text.encode())
    if as_json:
        emit({**document, "out": str(out), "manifest": str(manifest_file)})
        return
    account(made.sheet)
    say(
        f"{file.name} ({made.sheet.format}): {document['rows_read']} rows read, {document['rows_used']} used;"
        f" {len(made.frame)} responses by {document['workers']} workers in {out}, the account in"
        f" {manifest_file.name}."
    )


@responses.command()
@click.argument("file", type=FILE)
@click.option(
    "--value",
    "values",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help=(
        "What was judged, answered, measured; {} in it stands for a number, and several columns are put"
        " together."
    ),
)
@click.option(
    "--show",
    type=click.Choice(
        ["means", "counts", "majority", "agreement", "preference", "workload", "workers", "differences"]
    ),
    help="[default: means where all values are numbers, else counts]",
)
@click.option("--by", multiple=True, metavar="COLUMN", help="One line for each of its values.")
@click.option("--where", "conditions", multiple=True, metavar="COLUMN=TEXT", help="Only rows that say this.")
@click.option("--numbers", metavar="A-B", help="Of columns with {}: only these numbers.")
@click.option(
    "--gold",
    type=FILE,
    help=(
        "A table with the right answers, in the order of the HITs and their passages: values become 1 and 0."
    ),
)
@click.option("--gold-column", help="Its column with the right answer.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="ANSWER=COLUMN",
    help="With --show preference: which column names the system that an answer means.",
)
@click.option(
    "--valid",
    multiple=True,
    metavar="ANSWER",
    help="With --show agreement: other answers never agree with the majority.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(["naive", "workers", "cr2", "two-way", "gee", "mixed", "bootstrap"]),
    help="With --show differences: only this one; several times for several.",
)
@click.option("--ignore-case", is_flag=True, help="Answers that differ in case only are the same.")
@click.option("--worker", help="The column that says who answered, where it is not known.")
@file_options
@json_option
def summarise(
    file: Path,
    values: Sequence[str],
    show: str | None,
    by: Sequence[str],
    conditions: Sequence[str],
    numbers: str | None,
    gold: Path | None,
    gold_column: str | None,
    options: Sequence[str],
    valid: Sequence[str],
    methods: Sequence[str],
    ignore_case: bool,
    worker: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Sum up the judgments in FILE: means, counts, majorities, agreement, preferences, who did how much.

    Reads the same formats as `responses import`, and changes nothing. Rejected and unfinished work is left
    out; what was left out is said on stderr.
    """
    from humaneval.foreign import summaries

    of = source(file, **flags)
    sheet, who = _hidden(of, worker)
    sheet = summaries.where(sheet, pairs(conditions, "--where"))
    frame = summaries.judged(
        sheet,
        values,
        items=of.items,
        by=by,
        worker=who,
        numbers=number_range(numbers),
        ignore_case=ignore_case,
    )
    if (gold is None) != (gold_column is None):
        raise UsageError("--gold and --gold-column go together")
    if gold is not None and gold_column is not None:
        frame = summaries.correct(frame, sheet, _gold(gold, gold_column, of))
    kind = show or ("means" if summaries.all_numbers(frame) else "counts")
    chosen = pairs(options, "--option")
    if (kind == "preference") != bool(chosen):
        raise UsageError(
            "--show preference and --option go together",
            "For example --option A=Input.system1 --option B=Input.system2.",
        )
    if methods and kind != "differences":
        raise UsageError("--method goes with --show differences")
    made = _summary(kind, sheet, frame, by, chosen, valid, methods)
    if as_json:
        emit(
            {
                "file": file.name,
                "format": sheet.format,
                "sha256": sheet.sha256,
                "rows": sheet.rows_read,
                "columns": len(sheet.frame.columns),
                "show": kind,
                "table": made.to_json(),
                "left_out": [{"cause": left.cause, "rows": len(left.lines)} for left in sheet.left_out],
                "notes": [*sheet.notes, *made.notes],
            }
        )
        return
    account(sheet)
    say(f"{file.name} ({sheet.format}): {sheet.rows_read} rows, {len(sheet.frame.columns)} columns; {kind}")
    _print(made)
    for note in made.notes:
        say(note)


def _summary(
    kind: str,
    sheet: Sheet,
    frame: pd.DataFrame,
    by: Sequence[str],
    options: dict[str, str],
    valid: Sequence[str],
    methods: Sequence[str],
) -> Summary:
    from humaneval.foreign import summaries
    from humaneval.foreign.differences import differences
    from humaneval.foreign.reliability import reliability

    if by and kind in ("agreement", "preference", "workload", "workers"):
        raise UsageError(
            f"--by does not go with --show {kind}", "Look at one group at a time: --where COLUMN=TEXT."
        )
    made: dict[str, Callable[[], Summary]] = {
        "means": lambda: summaries.means(frame, by),
        "counts": lambda: summaries.counts(frame, by),
        "majority": lambda: summaries.majority(frame, by),
        "agreement": lambda: summaries.agreement(frame, valid),
        "preference": lambda: summaries.preference(sheet, frame, options),
        "workload": lambda: summaries.workload(frame),
        "workers": lambda: reliability(frame),
        "differences": lambda: differences(frame, by, methods),
    }
    return made[kind]()


def _hidden(of: Source, told: str | None) -> tuple[Sheet, str | None]:
    """The sheet with every column that could be of workers' ids hashed, and the one that is."""
    from humaneval.foreign import passing_pseudonyms, pseudonymised
    from humaneval.foreign.header import column
    from humaneval.foreign.mapping import PLACE, likely

    sheet = of.sheet()
    known = column(sheet.frame, told, "--worker") if told else sheet.roles.get("worker")
    possible = [name for name in likely(sheet.frame, "worker") if PLACE not in name]
    known = known or (possible[0] if len(possible) == 1 else None)
    sheet = of.counted(sheet, known)
    rename = passing_pseudonyms()
    for name in dict.fromkeys([*([known] if known else []), *possible]):
        sheet = pseudonymised(sheet, name, rename)
    return sheet, known


def _gold(file: Path, name: str, of: Source) -> list[str | None]:
    from humaneval.foreign import Options, read_sheet
    from humaneval.foreign.header import column

    sheet = read_sheet(file, Options(encoding=of.options.encoding))
    return list(sheet.frame[column(sheet.frame, name, "--gold-column")])


def _print(summary: Summary) -> None:
    from rich.table import Table

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
    if isinstance(cell, float) and digits is not None:
        return f"{cell:.{digits}f}"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() else f"{cell:.4f}" if abs(cell) < 1 else f"{cell:.2f}"
    return str(cell)


def _pseudonyms(app: App, study: str) -> Callable[[str], str]:
    """Pseudonyms under this database's key. A name that one of its studies has is refused."""
    from sqlalchemy import select

    from humaneval.crowd.pseudonyms import pseudonym, stored_secret
    from humaneval.foreign.responses import ENDPOINT
    from humaneval.store.engine import writing
    from humaneval.store.tables import StudyRow

    with writing(app.engine) as session:
        if session.scalar(select(StudyRow.id).where(StudyRow.name == study)) is not None:
            raise UsageError(
                f"there is a study {study!r} in the database already", "Give another name: --study NAME."
            )
        return partial(pseudonym, stored_secret(session, "pseudonym key"), ENDPOINT)
