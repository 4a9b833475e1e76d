"""`close`: end a study at a platform."""

from __future__ import annotations

from dataclasses import asdict

import click

from humaneval.cli.context import App, RunOptions, acting, emit, say, to_option
from humaneval.cli.numbers import Number
from humaneval.crowd.close import close_all
from humaneval.text import command, counted


@click.command()
@click.argument("study")
@click.option(
    "--wait",
    type=Number(min=0, max=3600),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to wait for workers who are still at work.",
)
@to_option
@acting
def close(app: App, options: RunOptions, study: str, wait: float, endpoint: str) -> None:
    """Take the HITs of STUDY down and delete them at the platform. Everything collected stays here.

    Refused while anything is not collected, or neither approved nor rejected. No worker loses an accepted
    HIT: while somebody is still at work, the HITs are only taken down (exit code 3). Close again when they
    are done.
    """
    done = close_all(app.study_at(endpoint, study), wait=wait, dry_run=options.dry_run)
    if options.as_json:
        emit({"study": study, "endpoint": endpoint, "dry_run": options.dry_run, **asdict(done)})
        return
    hits = counted(done.hits, "HIT")
    if options.dry_run:
        people = counted(done.in_hand, "person", "is", "are", plural="people")
        say(f"Would delete {hits} at {endpoint}; {people} still at work. Nothing was done.")
    else:
        done_there = {"prolific": "stopped at prolific", "csv": "closed here. End the batch at its site, too"}
        say(f"{hits} {done_there.get(endpoint, f'deleted at {endpoint}')}.")
    if done.gone:
        say(f"{counted(done.gone, 'HIT', 'was', 'were')} gone there before: there was nothing to delete.")
    if done.unpaid:
        say(
            f"{counted(done.unpaid, 'form')} answered on our server and never paid."
            f" `{command('collect', study, '--to', endpoint)}` names them."
        )
    if done.lost:
        say(
            f"{counted(done.lost, 'form')} answered on our server, at HITs that {endpoint} does not have. To"
            f" take them in: {command('collect', study, '--to', endpoint, '--accept-lost')}"
        )
    if done.final_rejections:
        say(
            f"{counted(done.final_rejections, 'rejection')} {'could' if options.dry_run else 'can'} then no"
            " longer be undone."
        )
