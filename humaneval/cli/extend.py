"""`extend` and `expire`: how long a study's HITs can be found."""

from __future__ import annotations

import click

from humaneval.cli.run import App, acting, emit, say, to_option


@click.command()
@click.argument("study")
@click.option("--days", type=click.FloatRange(min=0, min_open=True, max=365), required=True, help="From now.")
@to_option
@acting
def extend(app: App, study: str, days: float, endpoint: str, dry_run: bool, as_json: bool) -> None:
    """Let the HITs of STUDY be found for so many days from now."""
    from humaneval.crowd.extend import extend_all

    if dry_run:
        _dry(app, study, endpoint, "extend", as_json)
        return
    changed = extend_all(app.engine, study, app.platform(endpoint, study), days)
    if as_json:
        emit({"study": study, "endpoint": endpoint, "extended": changed})
    else:
        say(f"{changed} HITs at {endpoint} can be found for {days:g} days from now.")


@click.command()
@click.argument("study")
@to_option
@acting
def expire(app: App, study: str, endpoint: str, dry_run: bool, as_json: bool) -> None:
    """Take the HITs of STUDY off the list. Who has accepted one can still finish and is paid."""
    from humaneval.crowd.extend import expire_all

    if dry_run:
        _dry(app, study, endpoint, "expire", as_json)
        return
    expired = expire_all(app.engine, study, app.platform(endpoint, study))
    if as_json:
        emit(
            {
                "study": study,
                "endpoint": endpoint,
                "expired": expired.hits,
                "still_working": expired.still_working,
            }
        )
    else:
        say(
            f"{expired.hits} HITs at {endpoint} taken down; {expired.still_working} people have an open form"
            " and may still submit."
        )


def _dry(app: App, study: str, endpoint: str, verb: str, as_json: bool) -> None:
    from humaneval.crowd.extend import to_change

    hits = len(to_change(app.engine, study, app.platform(endpoint, study), dry_run=True))
    if as_json:
        emit({"study": study, "endpoint": endpoint, f"would_{verb}": hits})
    else:
        say(f"Would {verb} {hits} HITs at {endpoint}. Nothing was done.")
