"""`worker`: a study's workers, who are kept out or let in, and what is kept about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.table import Table

from humaneval.cli.context import (
    App,
    RunOptions,
    acting,
    console,
    emit,
    json_option,
    say,
    to_option,
    with_app,
)
from humaneval.cli.worker.personal_data import export, forget, purge, show
from humaneval.crowd.workers import Turned, block_workers, exclude_workers, list_workers
from humaneval.fees import NO_FEES
from humaneval.text import counted


@click.group()
def worker() -> None:
    """Manage the people of a study. Name them by pseudonym, or by the platform's own id; only pseudonyms are
    printed."""


for one in (show, export, forget, purge):
    worker.add_command(one)


@worker.command("list")
@click.argument("study")
@to_option
@json_option
@with_app
def list_them(app: App, study: str, endpoint: str, as_json: bool) -> None:
    """List the workers of STUDY, with what became of their forms and whether they are kept out.

    "Done" counts the forms that a worker has done, of those that the worker may do. "Not counted" counts the
    forms that the study's own rule leaves out of the scores. Workers who have done all their forms get no
    more; "excluded" are those whom `worker exclude` keeps out before that. --json also shows their names in
    exports.
    """
    people = list_workers(app.study(study), endpoint)
    if as_json:
        emit({"study": study, "endpoint": endpoint, "workers": [one._asdict() for one in people]})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Worker")
    for heading in (
        "Done",
        "Approved",
        "Rejected",
        "Not counted",
        "Earned" if endpoint in NO_FEES else "Paid",
    ):
        table.add_column(heading, justify="right")
    table.add_column("Kept out")
    sign = app.study(study).settings.hit.sign
    for one in people:
        excluded = one.on_list and one.forms < one.allowed
        kept_out = [name for name, on in (("blocked", one.blocked), ("excluded", excluded)) if on]
        table.add_row(
            one.worker,
            f"{one.forms} of {one.allowed}",
            str(one.approved),
            str(one.rejected),
            str(one.excluded_forms),
            f"{sign}{one.paid}",
            ", ".join(kept_out) or "—",
        )
    if people:
        console().print(table)
    say(f"{counted(len(people), 'worker')} at {endpoint}.")


def changing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb that changes what workers may do STUDY, WORKERS, --to, --dry-run and --json."""
    workers = click.argument("workers", nargs=-1, required=True)
    return click.argument("study")(workers(to_option(acting(function))))


def reason_option(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--reason of a block."""
    return click.option(
        "--reason",
        default=None if required else "",
        required=required,
        help="Reason, for your records; the worker does not see it.",
    )


@worker.command()
@reason_option(required=True)
@changing
def block(
    app: App, options: RunOptions, study: str, workers: tuple[str, ...], reason: str, endpoint: str
) -> None:
    """Block WORKERS from all work of this account, not only STUDY.

    Mechanical Turk may suspend workers who are blocked often. To keep people out of one study, use `exclude`,
    which does not affect their standing.
    """
    done = block_workers(app.study_at(endpoint, study), workers, reason=reason, dry_run=options.dry_run)
    _report("blocked", study, endpoint, done, options)


@worker.command()
@reason_option(required=False)
@changing
def unblock(
    app: App, options: RunOptions, study: str, workers: tuple[str, ...], reason: str, endpoint: str
) -> None:
    """Let blocked WORKERS in again."""
    at = app.study_at(endpoint, study)
    done = block_workers(at, workers, reason=reason, on=False, dry_run=options.dry_run)
    _report("unblocked", study, endpoint, done, options)


@worker.command()
@changing
def exclude(app: App, options: RunOptions, study: str, workers: tuple[str, ...], endpoint: str) -> None:
    """Put WORKERS on the exclusion list of STUDY: they cannot take it, nor a study that excludes its
    participants.

    A worker who has done a form is put there automatically. Ids that are new here are accepted, too: your own
    lab, for example, or the participants of an earlier survey.
    """
    done = exclude_workers(app.study_at(endpoint, study), workers, dry_run=options.dry_run)
    _report("excluded", study, endpoint, done, options)


@worker.command()
@changing
def include(app: App, options: RunOptions, study: str, workers: tuple[str, ...], endpoint: str) -> None:
    """Take WORKERS off the exclusion list of STUDY.

    Workers who have done all their forms may do as many again, with stories that are new to them.
    """
    done = exclude_workers(app.study_at(endpoint, study), workers, on=False, dry_run=options.dry_run)
    _report("readmitted", study, endpoint, done, options)


def _report(word: str, study: str, endpoint: str, done: Turned, options: RunOptions) -> None:
    if options.as_json:
        emit(
            {
                "study": study,
                "endpoint": endpoint,
                "dry_run": options.dry_run,
                word: done.now,
                "before": done.before,
            }
        )
    elif options.dry_run:
        say(f"{done.now} would be {word} at {endpoint}; {done.before} are so already.")
    else:
        say(f"{done.now} {word} at {endpoint}; {done.before} were so already.")
