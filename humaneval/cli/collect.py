"""`collect`: bring submitted work home. Any time, any number of times."""

from __future__ import annotations

from dataclasses import asdict

import click

from humaneval.cli.context import App, emit, json_option, say, to_option, with_app


@click.command()
@click.argument("study")
@to_option
@json_option
@with_app
def collect(app: App, study: str, endpoint: str, as_json: bool) -> None:
    """Fetch all submitted work of STUDY, compare it with our server's copy, and store the responses."""
    from humaneval.crowd.collecting import collect as fetch
    from humaneval.progress import progress

    with progress(f"Collecting from {endpoint}", None, unit="HITs") as advance:
        found = fetch(app.engine, study, app.platform(endpoint, study), advance)
    if as_json:
        emit({"study": study, "endpoint": endpoint, **asdict(found)})
        return
    say(f"{found.submissions} submitted, {found.new} of them new; {found.responses} responses in all.")
    if found.rebuilt:
        say(f"{found.rebuilt} never reached our server and were taken from {endpoint}'s answers.")
    if found.not_handed_over:
        say(
            f"{found.not_handed_over} answered on our server but not submitted at {endpoint}: kept, not scored."
        )
    if found.strays:
        say(f"{found.strays} submissions match no form of this study: kept apart, neither paid nor refused.")
    for difference in found.differences:
        say(f"Differs: {difference}")
