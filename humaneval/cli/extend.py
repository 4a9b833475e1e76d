"""`extend` and `expire`: how long a study's HITs can be found."""

from __future__ import annotations

import click

from humaneval.cli.context import App, RunOptions, acting, emit, say, to_option
from humaneval.cli.numbers import Number
from humaneval.crowd.extend import expire_all, extend_all, to_change
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.text import counted


@click.command()
@click.argument("study")
@click.option(
    "--days",
    type=Number(min=0, min_open=True, max=365),
    required=True,
    help="Days from now.",
)
@to_option
@acting
def extend(app: App, options: RunOptions, study: str, days: float, endpoint: str) -> None:
    """Keep the HITs of STUDY on the list for some days from now."""
    at = app.study_at(endpoint, study)
    if options.dry_run:
        _tell_plan(at, "extend", options)
        return
    changed = extend_all(at, days)
    if options.as_json:
        emit({"study": study, "endpoint": endpoint, "extended": changed})
    else:
        time = "1 day" if days == 1 else f"{days:g} days"
        say(f"{counted(changed, 'HIT')} at {endpoint} can be found for {time} from now.")


@click.command()
@click.argument("study")
@to_option
@acting
def expire(app: App, options: RunOptions, study: str, endpoint: str) -> None:
    """Take the HITs of STUDY off the list. A worker who has accepted one can still finish and is paid."""
    at = app.study_at(endpoint, study)
    if options.dry_run:
        _tell_plan(at, "expire", options)
        return
    expired = expire_all(at)
    if options.as_json:
        emit(
            {
                "study": study,
                "endpoint": endpoint,
                "expired": expired.hits,
                "still_working": expired.still_working,
            }
        )
    else:
        people = counted(expired.still_working, "person", "has", "have", plural="people")
        say(
            f"{counted(expired.hits, 'HIT')} at {endpoint} taken down; {people} an open form and may still"
            " submit."
        )


def _tell_plan(at: StudyAtPlatform, verb: str, options: RunOptions) -> None:
    hits = len(to_change(at, dry_run=True))
    if options.as_json:
        emit({"study": at.name, "endpoint": at.endpoint, f"would_{verb}": hits})
    else:
        say(f"Would {verb} {counted(hits, 'HIT')} at {at.endpoint}. Nothing was done.")
