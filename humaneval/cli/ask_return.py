"""`ask-return`: ask people to return submissions."""

from __future__ import annotations

import click

from humaneval.cli.context import App, RunOptions, acting, emit, say, to_option
from humaneval.crowd.ask_return import ask_returns
from humaneval.text import counted


@click.command("ask-return")
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@click.option("--reason", required=True, help="Reason, which the person reads.")
@to_option
@acting
def ask_return(
    app: App, options: RunOptions, study: str, assignments: tuple[str, ...], reason: str, endpoint: str
) -> None:
    """Ask the people of ASSIGNMENTS to return them, on Prolific.

    A return costs them nothing but the pay, and opens their place again. It takes days: nothing changes until
    they do it. Each person is asked once.
    """
    asked = ask_returns(app.study_at(endpoint, study), assignments, reason, dry_run=options.dry_run)
    if options.as_json:
        emit({"study": study, "endpoint": endpoint, "dry_run": options.dry_run, "asked": asked})
    elif options.dry_run:
        say(f"Would ask {counted(asked, 'person', plural='people')} at {endpoint}. Nothing was sent.")
    else:
        say(f"{counted(asked, 'person', 'was', 'were', plural='people')} asked at {endpoint} now.")
