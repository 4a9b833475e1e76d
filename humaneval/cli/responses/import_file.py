"""`responses import`: other people's judgments made a response table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from sqlalchemy import select

from humaneval import __version__
from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.cli.responses.file_options import Source, account, file_options, pairs
from humaneval.crowd.pseudonyms import pseudonym
from humaneval.errors import DeclinedError, UsageError
from humaneval.foreign import (
    ColumnMapping,
    Imported,
    Sheet,
    file_pseudonyms,
    propose,
    pseudonymised,
    responses,
)
from humaneval.foreign.other_questions import Answers, Prepared, prepared
from humaneval.foreign.responses import (
    ENDPOINT,
    ROW_AS_WORKER,
    Contradictions,
    the_study,
    with_rows_as_workers,
)
from humaneval.scoring.asked import asked
from humaneval.scoring.questions.question import DETECT
from humaneval.scoring.response_table import JSON_LINES, table_bytes
from humaneval.store.engine import writing
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY
from humaneval.store.meta import stored_secret
from humaneval.store.tables import StudyRow
from humaneval.text import counted


@click.command("import")
@file_options
@click.option(
    "--out",
    type=OUT_FILE,
    required=True,
    help=(
        "Response table to write: .csv, .tsv or .jsonl. OUT.manifest.json says what was read and left out."
    ),
)
@click.option(
    "--study", help="Name for the judgments, which are never pooled with others. [default: the file's name]"
)
@click.option("--force", is_flag=True, help="Replace a table that exists.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help=(
        "Column that holds the worker, story, generator, position, choice, …; {} in its name stands for a"
        " number. Repeatable."
    ),
)
@click.option(
    "--constant",
    "constants",
    multiple=True,
    metavar="ROLE=TEXT",
    help="Value that is the same for all responses, for example generator=ILM. Repeatable.",
)
@click.option(
    "--question",
    metavar="NAME",
    default=DETECT,
    show_default=True,
    help="Question that was answered: detect, prefer, rate or boundary.",
)
@click.option(
    "--map",
    "words",
    multiple=True,
    metavar="ANSWER=TEXT",
    help="What an answer stands for, for example 'Very typical=5'. Repeatable.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="ANSWER=COLUMN",
    help="Column that names the system of an answer, for --question prefer. Twice.",
)
@click.option(
    "--tie",
    "ties",
    multiple=True,
    metavar="ANSWER",
    help="Answer that prefers neither. Repeatable. [default: the usual words, for example tie]",
)
@click.option(
    "--anonymous-workers",
    is_flag=True,
    help="Count every row as another person, if the file does not say who answered.",
)
@click.option("--from-zero", is_flag=True, help="Read sentences as counted from 0.")
@click.option(
    "--contradictions",
    type=click.Choice(["refuse", "first", "last", "keep"]),
    default="refuse",
    show_default=True,
    help="Answer that counts if a worker answered one passage in one form twice, and differently.",
)
@click.option("--yes", is_flag=True, help="Read guessed columns without asking.")
@json_option
@with_app
def import_(
    app: App,
    source: Source,
    out: Path,
    study: str | None,
    force: bool,
    columns: tuple[str, ...],
    constants: tuple[str, ...],
    question: str,
    words: tuple[str, ...],
    options: tuple[str, ...],
    ties: tuple[str, ...],
    anonymous_workers: bool,
    from_zero: bool,
    contradictions: Contradictions,
    yes: bool,
    as_json: bool,
) -> None:
    """Turn FILE into a response table, and say what became of every row.

    Reads batch results of Mechanical Turk, Toloka, Qualtrics, JSON by HIT, and any table with a header, as
    CSV, TSV, JSON or Excel. Workers become pseudonyms of this database, so that one person has the same name
    in two files.
    """
    manifest_file = out.with_name(out.name + ".manifest.json")
    _refuse(out, manifest_file, force)
    name = study or source.file.stem
    sheet = source.sheet()
    the_study(sheet)  # refuses a file with rows of several studies
    answers = Answers(pairs(words, "--map", last=True), pairs(options, "--option"), ties)
    made_ready = prepared(
        sheet, question, pairs(columns, "--column"), pairs(constants, "--constant"), answers
    )
    sheet, mapping = _mapped(made_ready, anonymous_workers, yes)
    sheet = source.counted(sheet, None if anonymous_workers else mapping.columns.get("worker"))

    def table(rename: Callable[[str], str]) -> Imported:
        worker = mapping.columns.get("worker")
        return responses(
            pseudonymised(sheet, worker, rename) if worker else sheet,
            mapping,
            study=name,
            options=source.options,
            from_zero=from_zero,
            contradictions=contradictions,
            asked=made_ready.asked,
        )

    # Whatever is wrong with the file is said before a database is opened.
    notes = asked(table(file_pseudonyms(sheet)).frame).notes
    made = table(_pseudonyms(app, name))
    made = replace(made, sheet=made.sheet.noted(*notes))
    document = _document(source, made, name)
    write_whole(out, table_bytes(made.frame, out))
    text = json.dumps(document, ensure_ascii=False, indent=2, default=str) + "\n"
    write_whole(manifest_file, text.encode())
    if as_json:
        emit({**document, "out": str(out), "manifest": str(manifest_file)})
    else:
        _tell(source, made, document, out, manifest_file)


def _tell(source: Source, made: Imported, document: dict[str, Any], out: Path, manifest_file: Path) -> None:
    account(made.sheet)
    say(
        f"{source.file.name} ({made.sheet.format}): {document['rows_read']} rows read,"
        f" {document['rows_used']} used. {counted(len(made.frame), 'response')} by"
        f" {counted(made.frame['worker'].nunique(), 'worker')} in {out}, the account in {manifest_file.name}."
    )


def _document(source: Source, made: Imported, study: str) -> dict[str, Any]:
    """What was read, how, and what was left out."""
    return {
        "file": source.file.name,
        "replaced_by": source.again.name if source.again else None,
        "prolific": source.prolific.name if source.prolific else None,
        **made.manifest(),
        "study": study,
        "pseudonyms": "keyed by the database that imported them",
        "humaneval": __version__,
    }


def _refuse(out: Path, manifest_file: Path, force: bool) -> None:
    if out.suffix.lower() not in (".csv", ".tsv", *JSON_LINES):
        raise UsageError(f"{out}: a response table ends in .csv, .tsv or .jsonl")
    there = [str(path) for path in (out, manifest_file) if path.exists()]
    if there and not force:
        raise UsageError(
            f"{' and '.join(there)} {'exist' if there[1:] else 'exists'} already",
            "Name another file, or say --force.",
        )


def _mapped(made: Prepared, anonymous_workers: bool, yes: bool) -> tuple[Sheet, ColumnMapping]:
    """Which column holds what. A guess is confirmed first, unless `yes`."""
    sheet, told = made.sheet, made.told
    if anonymous_workers:
        if "worker" in told or "worker" in sheet.roles:
            raise UsageError(
                "--anonymous-workers is for files that do not say who answered, and this one does: "
                f"{told.get('worker') or sheet.roles['worker']}"
            )
        sheet, told["worker"] = with_rows_as_workers(sheet), ROW_AS_WORKER
    mapping = propose(sheet, told, made.constants, made.own)
    if mapping.guessed and not yes:
        _confirm(mapping)
    return sheet, mapping


def _confirm(mapping: ColumnMapping) -> None:
    """Show a guess and ask. Without a terminal, refuse and say what to type."""
    for role in mapping.guessed:
        say(f"{role} is read from the column {mapping.columns[role]}", err=True)
    if not sys.stdin.isatty():
        raise UsageError(
            f"columns were guessed ({', '.join(mapping.guessed)}), and there is no terminal to ask at",
            f"If the guess is right, say --yes, or {mapping.flags}",
        )
    if not click.confirm("Is that right?", default=False, err=True):
        raise DeclinedError("Nothing was read.", f"Say which columns to read, for example {mapping.flags}")


def _pseudonyms(app: App, study: str) -> Callable[[str], str]:
    """Pseudonyms under this database's key. Raises UsageError if it has a study of that name."""
    with writing(app.made_engine) as session:
        if session.scalar(select(StudyRow.id).where(StudyRow.name == study)) is not None:
            raise UsageError(
                f"the database already has a study {study!r}", "Give another name: --study NAME."
            )
        return partial(pseudonym, stored_secret(session, PSEUDONYM_KEY), ENDPOINT)
