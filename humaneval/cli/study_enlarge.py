"""`study enlarge`: more rows for a study that is made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from humaneval.cli.run import App, RunOptions, acting, emit, say
from humaneval.errors import UsageError
from humaneval.fees import dollars
from humaneval.text import counted

if TYPE_CHECKING:
    from humaneval.study.enlarge import Proposal


@click.command()
@click.argument("name")
@click.option(
    "--annotators",
    type=click.IntRange(min=1),
    required=True,
    help="How many rows more, counted as `annotators` in the study file.",
)
@click.option(
    "--reason", default="", help="Why, for the report: for example that it was planned so beforehand."
)
@click.option("--yes", is_flag=True, help="Yes, add them: do not ask.")
@acting
def enlarge(app: App, options: RunOptions, name: str, annotators: int, reason: str, yes: bool) -> None:
    """Give the study NAME more rows, also when it is up. Its first rows stay; every report says that it was done.

    Says what they cost and what was added before, and asks. Each call adds anew. The next `publish` puts up
    HITs for the new rows alone.
    """
    from humaneval.study.enlarge import enlarge as add
    from humaneval.study.enlarge import propose

    proposed = propose(app.study(name), annotators)
    if options.dry_run:
        if options.as_json:
            emit({"study": name, **proposed.to_json()})
        else:
            _tell(name, annotators, proposed)
            say("Nothing was added.")
        return
    if not options.as_json:
        _tell(name, annotators, proposed)
    if not yes:
        _confirm(name, annotators, proposed)
    made = add(app.study(name), annotators, reason.strip(), rows_before=proposed.rows_before)
    if options.as_json:
        emit({"study": name, **proposed.to_json(), **made.to_json()})
        return
    say(f"Study {name!r} now has {counted(made.rows_after, 'row')}; it had {made.rows_before:,}.")
    say(f"Next: humaneval publish {name}")


def _tell(name: str, annotators: int, proposed: Proposal) -> None:
    from humaneval.study.enlarge import WARNING

    say(
        f"Study {name!r} has {counted(proposed.rows_before, 'row')}; with {annotators:,} more it has"
        f" {proposed.rows_after:,}."
    )
    for each in proposed.earlier:
        say(each.describe())
    say(
        f"The new rows cost {dollars(proposed.cost)} if all are approved: {dollars(proposed.rewards)} rewards"
        f" and {dollars(proposed.fees)} fees"
    )
    say(f"at Mechanical Turk's rates; {proposed.minutes / 60:,.1f} hours of people's time.")
    if proposed.responses_before:
        say(f"{WARNING} Responses that are in: {proposed.responses_before:,}.", err=True)


def _confirm(name: str, annotators: int, proposed: Proposal) -> None:
    """Ask, with what was added before in the question; without a terminal it is refused, with what to
    type."""
    before = "".join(
        f" on {each.at:%Y-%m-%d} {each.rows_after - each.rows_before:,};" for each in proposed.earlier
    )
    added = f" (added before:{before.removesuffix(';')})" if before else ""
    if not sys.stdin.isatty():
        raise UsageError(
            f"this adds {counted(annotators, 'row')} for {dollars(proposed.cost)} to study {name!r}{added}, "
            "and there is no terminal to ask at",
            "If that is meant: --yes. To see more first: --dry-run.",
        )
    if not click.confirm(
        f"Add {counted(annotators, 'row')} for {dollars(proposed.cost)}{added}?", default=False, err=True
    ):
        raise UsageError("nothing was added", "What it would be: --dry-run.")
