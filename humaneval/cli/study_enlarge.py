"""`study enlarge`: more rows for a study that is made."""

from __future__ import annotations

import click

from humaneval.cli.context import App, emit, json_option, say, with_app


@click.command()
@click.argument("name")
@click.option(
    "--annotators",
    type=click.IntRange(min=1, max=100_000),
    required=True,
    help="How many rows more, counted as `annotators` in the study file.",
)
@click.option(
    "--reason", default="", help="Why, for the report: for example that it was planned so beforehand."
)
@json_option
@with_app
def enlarge(app: App, name: str, annotators: int, reason: str, as_json: bool) -> None:
    """Give the study NAME more rows, also when it is up. Its first rows stay; every report says that it was done.

    The next `publish` puts up HITs for the new rows alone.
    """
    from humaneval.additions import WARNING
    from humaneval.additions import enlarge as add

    made = add(app.engine, name, annotators, reason.strip())
    if as_json:
        emit({"study": name, **made.to_json()})
        return
    say(f"Study {name!r} now has {made.rows_after} rows; it had {made.rows_before}.")
    say(f"{WARNING} {made.responses_before} responses were in.", err=True)
    say(f"Next: humaneval publish {name}")
