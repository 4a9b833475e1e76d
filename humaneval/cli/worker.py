"""`worker`: who took part, who may not, and who may again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from humaneval.cli.run import App, acting, console, emit, json_option, say, to_option, with_app

if TYPE_CHECKING:
    from humaneval.crowd.workers import Turned


@click.group()
def worker() -> None:
    """The people of a study. They are named by pseudonym, or by the platform's own id; only pseudonyms are
    printed."""


@worker.command("list")
@click.argument("study")
@to_option
@json_option
@with_app
def list_them(app: App, study: str, endpoint: str, as_json: bool) -> None:
    """List who has opened a form of STUDY, what became of it, and who is kept out.

    "Done" is how many forms somebody has done of those that they may do; "not counted", how many of them the
    study's own rule leaves out of the scores. Who has done all of theirs gets on the study's exclusion list.
    """
    from humaneval.crowd.workers import list_workers

    people = list_workers(app.engine, study, endpoint)
    if as_json:
        emit({"study": study, "endpoint": endpoint, "workers": [one._asdict() for one in people]})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Worker")
    for heading in ("Done", "Approved", "Rejected", "Not counted", "Paid"):
        table.add_column(heading, justify="right")
    table.add_column("Kept out")
    for one in people:
        kept_out = [name for name, on in (("blocked", one.blocked), ("on exclusion list", one.on_list)) if on]
        table.add_row(
            one.worker,
            f"{one.forms} of {one.allowed}",
            str(one.approved),
            str(one.rejected),
            str(one.excluded_forms),
            f"${one.paid}",
            ", ".join(kept_out) or "—",
        )
    if people:
        console().print(table)
    say(f"{len(people)} workers at {endpoint}.")


@worker.command()
@click.argument("study")
@click.argument("workers", nargs=-1, required=True)
@click.option("--reason", required=True, help="For you; the worker does not see it.")
@to_option
@acting
def block(
    app: App, study: str, workers: tuple[str, ...], reason: str, endpoint: str, dry_run: bool, as_json: bool
) -> None:
    """Block WORKERS from everything of this account, not only STUDY. Mechanical Turk may suspend who is
    blocked often.

    To keep people out of a study use `exclude`: it harms nobody.
    """
    from humaneval.crowd.workers import block as turn

    platform = app.platform(endpoint, study)
    done = turn(app.engine, study, platform, workers, reason=reason, dry_run=dry_run)
    _report("blocked", study, endpoint, done, dry_run, as_json)


@worker.command()
@click.argument("study")
@click.argument("workers", nargs=-1, required=True)
@click.option("--reason", default="", help="For you; the worker does not see it.")
@to_option
@acting
def unblock(
    app: App, study: str, workers: tuple[str, ...], reason: str, endpoint: str, dry_run: bool, as_json: bool
) -> None:
    """Let blocked WORKERS in again."""
    from humaneval.crowd.workers import block as turn

    platform = app.platform(endpoint, study)
    done = turn(app.engine, study, platform, workers, reason=reason, on=False, dry_run=dry_run)
    _report("unblocked", study, endpoint, done, dry_run, as_json)


@worker.command()
@click.argument("study")
@click.argument("workers", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help="Take them off the list: they may do as many forms again.")
@to_option
@acting
def exclude(
    app: App, study: str, workers: tuple[str, ...], undo: bool, endpoint: str, dry_run: bool, as_json: bool
) -> None:
    """Put WORKERS on the exclusion list of STUDY: they cannot take it, nor a study that excludes its
    participants.

    Who has done a form is put there by itself. Ids that were never seen here are taken, too: your own lab,
    for example, or the participants of an earlier survey.
    """
    from humaneval.crowd.workers import exclude as turn

    platform = app.platform(endpoint, study)
    done = turn(app.engine, study, platform, workers, on=not undo, dry_run=dry_run)
    _report("readmitted" if undo else "excluded", study, endpoint, done, dry_run, as_json)


def _report(word: str, study: str, endpoint: str, done: Turned, dry_run: bool, as_json: bool) -> None:
    if as_json:
        emit(
            {"study": study, "endpoint": endpoint, "dry_run": dry_run, word: done.now, "before": done.before}
        )
    elif dry_run:
        say(f"{done.now} would be {word} at {endpoint}; {done.before} are so already.")
    else:
        say(f"{done.now} {word} at {endpoint}; {done.before} were so already.")
