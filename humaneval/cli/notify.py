"""`notify`: write to workers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from humaneval.cli.context import App, RunOptions, acting, emit, say, to_option
from humaneval.crowd.notify import Notified, notify_workers
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import InputError, PartialError, UsageError
from humaneval.limits import read_whole
from humaneval.text import command


@click.command()
@click.argument("study")
@click.argument("workers", nargs=-1)
@click.option("--subject", required=True, help="Subject, at most 200 characters.")
@click.option("--text", help="Message, at most 4,096 characters.")
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File that holds the message, instead of --text.",
)
@click.option("--again", is_flag=True, help="Also write to workers who may already have the message.")
@to_option
@acting
def notify(
    app: App,
    options: RunOptions,
    study: str,
    workers: tuple[str, ...],
    subject: str,
    text: str | None,
    path: Path | None,
    again: bool,
    endpoint: str,
) -> None:
    """Write to workers of STUDY.

    Name WORKERS by pseudonym or platform id. Without names, the message goes to all workers whose work was
    approved or rejected.

    The same message goes to the same worker once, however often this runs.
    """
    letter = _letter(text, path)
    at = app.study_at(endpoint, study)
    done = notify_workers(
        at, subject=subject, text=letter, workers=workers, again=again, dry_run=options.dry_run
    )
    if options.as_json:
        emit({"study": at.name, "endpoint": at.endpoint, "dry_run": options.dry_run, **asdict(done)})
    else:
        _tell(at, done, options.dry_run, named=bool(workers))
    if done.undelivered or done.unsure:
        raise PartialError(
            f"{len(done.undelivered) + len(done.unsure)} may not have the message", "See the lines above."
        )


def _letter(text: str | None, path: Path | None) -> str:
    if (text is None) == (path is None):
        raise UsageError("give the message with --text or with --file")
    try:
        return read_whole(path) if path else text or ""
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8", "Save the message as UTF-8.") from None


def _tell(at: StudyAtPlatform, done: Notified, dry_run: bool, *, named: bool) -> None:
    say(
        f"Would write to {done.sent} at {at.endpoint}; {done.before} had it before. Nothing was sent."
        if dry_run
        else f"Written to {done.sent} at {at.endpoint}; {done.before} had it before."
    )
    if not (named or done.sent or done.before or done.unsure or done.undelivered):
        say(f"No work is approved or rejected yet. Name the workers: {command('worker', 'list', at.name)}")
    for worker, reason in done.undelivered.items():
        say(f"Not delivered to {worker}: {reason}")
    if done.unsure:
        say(f"It is not known whether {', '.join(done.unsure)} have it; --again writes to them once more.")
