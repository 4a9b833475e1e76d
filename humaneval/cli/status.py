"""`status`: how far a study is, and what it has cost."""

from __future__ import annotations

import click

from humaneval.cli.context import SIMULATED, App, emit, is_simulated, json_option, say, with_app


@click.command()
@click.argument("study")
@json_option
@with_app
def status(app: App, study: str, as_json: bool) -> None:
    """Say for each endpoint of STUDY how many forms are submitted and usable, when the rest will be, and the cost.

    "About done at" is when the rest comes in if it comes as fast as so far, counted from the moment when the first
    form that was submitted was opened. It stands from three submissions on, while something is missing and can come.
    At a marketplace run `collect` first: what was submitted since the last time is not known here.
    """
    from humaneval.crowd.progress import study_status
    from humaneval.store.types import now

    lines = study_status(app.engine, study)
    if as_json:
        emit(
            {
                "study": study,
                "simulated": is_simulated(app, study),
                "endpoints": [line._asdict() for line in lines],
            }
        )
        return
    if is_simulated(app, study):
        say(SIMULATED)
    if not lines:
        say(f"{study} is not published. Next: humaneval publish {study} --to local")
    for line in lines:
        done_at = f"{line.about_done_at:%Y-%m-%d %H:%M} UTC" if line.about_done_at else "—"
        say(
            f"{line.endpoint}: {line.submitted} of {line.planned} submitted, {line.usable} usable; about done at {done_at}; spent ${line.spent}."
        )
        things = "links" if line.endpoint == "link" else "HITs"
        say(
            f"  {line.approved} approved, {line.opened} open now; {line.hits_up} of {line.hits} {things} up; ${line.rewards} paid + ${line.fees} fees."
        )
        if line.next_auto_approval:
            left = max(0.0, (line.next_auto_approval - now()).total_seconds() / 3600)
            say(
                f"  {line.endpoint} approves the first waiting one by itself in {left:.0f} hours: see `humaneval review`."
            )
        if line.answered and line.endpoint == "link":
            say(f"  {line.answered} not collected yet: humaneval collect {study} --to link")
        elif line.answered:
            say(f"  {line.answered} answered on our server and not yet submitted.")
        if line.refused:
            say(f"  {line.refused} writes were refused by {line.endpoint} or never sent: nothing was done.")
        if line.unconfirmed:
            say(
                f"  {line.unconfirmed} writes to {line.endpoint} are not confirmed; run the command again that was interrupted."
            )
