"""`worker show`, `export`, `forget` and `purge`: what is kept about people, and its deletion."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.table import Table

from humaneval.cli.context import App, console, emit, json_option, say, with_app
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.crowd.forget import ELSEWHERE, Forgotten
from humaneval.crowd.forget import forget as forget_person
from humaneval.crowd.personal_data_export import NOT_HERE, kept_about
from humaneval.crowd.purge import Purged
from humaneval.crowd.purge import purge as purge_work
from humaneval.errors import DeclinedError, UsageError
from humaneval.store.types import now
from humaneval.text import command, counted

yes_option = click.option("--yes", is_flag=True, help="Do not ask: delete it.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")


@click.command()
@click.argument("worker")
@json_option
@with_app
def show(app: App, worker: str, as_json: bool) -> None:
    """Show how much is kept about one WORKER, and under which names. `worker export` writes all of it."""
    kept = kept_about(app.engine, worker)
    if as_json:
        emit(
            {
                "worker": kept.worker,
                "endpoint": kept.endpoint,
                "named_in_exports": kept.names,
                "rows": kept.counts,
                "first": kept.first,
                "last": kept.last,
                "exports": kept.exports,
            }
        )
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Table")
    table.add_column("Rows", justify="right")
    for name, rows in kept.counts.items():
        table.add_row(name, str(rows))
    console().print(table)
    days = list(dict.fromkeys(f"{each:%Y-%m-%d}" for each in (kept.first, kept.last) if each))
    between = f", {'on' if len(days) == 1 else 'from'} {' to '.join(days)}" if days else ""
    say(f"{kept.worker} at {kept.endpoint}{between}.")
    for study, name in kept.names.items():
        say(f"In exports of {study!r}: {name}.")
    for one in kept.exports:
        say(f"Written before: {one}")
    say(NOT_HERE)


@click.command()
@click.argument("worker")
@click.option("--out", type=OUT_FILE, help="File to write, for its owner alone. [default: PSEUDONYM.json]")
@with_app
def export(app: App, worker: str, out: Path | None) -> None:
    """Write all that is kept about one WORKER to a JSON file, for them: every row of every table, with the
    platform's own id."""
    kept = kept_about(app.engine, worker)
    path = out or Path(f"{kept.worker}.json")
    text = json.dumps(kept.to_json(), ensure_ascii=False, indent=2) + "\n"
    write_whole(path, text.encode(), private=True)
    say(f"{counted(sum(kept.counts.values()), 'row')} about {kept.worker} written to {path.resolve()}.")
    say(NOT_HERE)


@click.command()
@click.argument("worker")
@yes_option
@dry_run_option
@json_option
@with_app
def forget(app: App, worker: str, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete all that is kept about one WORKER. This cannot be undone.

    Answers, times, comments, messages and ids go. The books keep amounts without a person, and one keyed hash
    keeps the worker out of all studies of this database. Scores and reports say how many forms were deleted.
    Refuses while money is open.
    """
    planned = forget_person(app.engine, worker, dry_run=True)
    if not dry_run:
        _confirm(yes, f"{planned.worker} at {planned.endpoint}: {_rows(planned)}. Delete them for ever?")
    done = planned if dry_run else forget_person(app.engine, worker)
    if as_json:
        emit(
            {
                "worker": done.worker,
                "endpoint": done.endpoint,
                "dry_run": dry_run,
                "deleted": done.deleted,
                "payments_kept": done.payments,
                "studies": [asdict(one) for one in done.studies],
                "backups": done.backups,
                "not_cleaned": done.not_cleaned,
                "elsewhere": ELSEWHERE,
            }
        )
        return
    say(f"{done.worker} {'would be' if dry_run else 'is'} forgotten: {_rows(done)}.")
    for one in done.studies:
        say(f"Study {one.study!r} loses {counted(one.forms, 'form')} ({counted(one.responses, 'response')}).")
    if done.payments:
        say(f"The books keep {counted(done.payments, 'payment')} without a person.")
    exports = [one for lost in done.studies for one in lost.exports]
    for line in _still_there(done.backups, done.not_cleaned, exports):
        say(line)
    say(ELSEWHERE)


@click.command()
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Purge work from before this day (UTC). [default: older than retention_days of its study's file]",
)
@yes_option
@dry_run_option
@json_option
@with_app
def purge(app: App, before: datetime | None, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete platforms' ids and free texts of old work, and forms that were opened and never answered.

    Answers, times and amounts stay, under pseudonyms. Refuses while money is open for such work.
    """
    moment, limit = now(), None if before is None else before.replace(tzinfo=UTC)
    if limit is not None and limit > moment:
        raise UsageError(f"{before:%Y-%m-%d} is in the future", "Give a day of the past with --before.")
    done = purge_work(app.engine, moment, limit, dry_run=True)
    if not dry_run and not done.nothing:
        _confirm(yes, f"{_purged(done)}. Delete them for ever?")
        done = purge_work(app.engine, moment, limit)
    if as_json:
        emit(
            {
                "dry_run": dry_run,
                "ids": done.ids,
                "comments": done.comments,
                "texts": done.texts,
                "unanswered_forms": done.unanswered,
                "backups": done.backups,
                "not_cleaned": done.not_cleaned,
            }
        )
        return
    if done.nothing:
        say("There is nothing to delete.")
    else:
        say(f"{'Would be deleted' if dry_run else 'Deleted'}: {_purged(done)}.")
    for line in _still_there(done.backups, done.not_cleaned, []):
        say(line)


def _confirm(yes: bool, question: str) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("this deletes for ever, and there is no terminal to ask on", "Add --yes.")
    if not click.confirm(question, default=False, err=True):
        raise DeclinedError("Nothing was deleted.", f"To look first: {command('worker', 'show', 'WORKER')}")


def _rows(done: Forgotten) -> str:
    rows = sum(done.deleted.values())
    return f"{counted(rows, 'row')} of {counted(len(done.deleted), 'table')}"


def _purged(done: Purged) -> str:
    parts = [
        (done.ids, counted(done.ids, "id")),
        (done.comments, counted(done.comments, "comment")),
        (done.texts, counted(done.texts, "reason or message", plural="reasons or messages")),
        (done.unanswered, counted(done.unanswered, "form") + " that nobody answered"),
    ]
    return ", ".join(text for number, text in parts if number)


def _still_there(backups: tuple[str, ...], not_cleaned: tuple[str, ...], exports: list[str]) -> Iterator[str]:
    """Where deleted rows may still be read."""
    yield from not_cleaned
    for one in exports:
        yield f"May hold these answers: {one}"
    for path in backups:
        yield f"A backup may still hold everything: {path}"
    if not backups:
        yield "Backups that lie elsewhere may still hold everything."
