"""`study enlarge`: more forms for a stored study."""

from __future__ import annotations

import sys

import click

from humaneval.cli.context import App, RunOptions, acting, emit, say
from humaneval.crowd.published_hits import (
    Fees,
    endpoints_of,
    fees_of,
    hits_of,
    more_command,
    refuse_closed_everywhere,
)
from humaneval.errors import DeclinedError, UsageError
from humaneval.fees import shown
from humaneval.store.engine import reading
from humaneval.study.enlarge import WARNING, Proposal, propose
from humaneval.study.enlarge import enlarge as add_rows
from humaneval.study.stored import put_up
from humaneval.text import counted, refused_characters


@click.command()
@click.argument("name")
@click.option(
    "--annotators",
    type=click.IntRange(min=1),
    required=True,
    help="Number of forms to add, counted as `annotators` in the study file.",
)
@click.option(
    "--reason", default="", help="Reason that the report gives, for example that this was planned beforehand."
)
@click.option("--yes", is_flag=True, help="Add the forms without asking.")
@acting
def enlarge(app: App, options: RunOptions, name: str, annotators: int, reason: str, yes: bool) -> None:
    """Add forms to the study NAME, even after it is published.

    Existing forms stay as they are, and every report mentions the addition. Shows the cost and earlier
    additions, then asks. Each call adds new forms, but --yes refuses the last addition a second time.
    The next `publish` puts up HITs for the new forms alone.
    """
    if refused := refused_characters(reason):
        raise UsageError(f"the reason contains {refused}, which cannot be stored or shown", "Type it again.")
    study = app.study(name)
    refuse_closed_everywhere(study)
    proposed, fees, sign = propose(study, annotators), fees_of(study), study.settings.hit.sign
    document = {"study": name, **proposed.to_json()}
    if fees is Fees.PROLIFIC or sign != "$":  # those at Mechanical Turk's rates are of no use then
        document |= {"fees": None, "cost": None}
    if options.dry_run:
        if options.as_json:
            emit(document)
        else:
            _tell(name, annotators, proposed, fees, sign)
            say("Nothing was added.")
        return
    if not options.as_json:
        _tell(name, annotators, proposed, fees, sign)
    if yes:
        _refuse_again(annotators, reason.strip(), proposed)
    else:
        _confirm(name, annotators, proposed, fees, sign)
    made = add_rows(study, annotators, reason.strip(), rows_before=proposed.rows_before)
    if options.as_json:
        emit({**document, **made.to_json()})
        return
    say(f"Study {name!r} now has {counted(made.rows_after, 'form')}; it had {made.rows_before:,}.")
    where = next(iter(endpoints_of(study)), "")
    with reading(study.engine) as session:
        audience = next((hit.audience for hit in reversed(hits_of(session, study, where))), "")
    more = more_command(name, where, audience, made.rows_after) if where else put_up(study)
    say(f"Next: {more}")


def _tell(name: str, annotators: int, proposed: Proposal, fees: Fees, sign: str) -> None:
    say(
        f"Study {name!r} has {counted(proposed.rows_before, 'form')}; with {annotators:,} more it has"
        f" {proposed.rows_after:,}."
    )
    for each in proposed.earlier:
        say(each.describe())
    say(f"People work {proposed.minutes / 60:,.1f} hours on them.")
    if proposed.rewards:
        on_top = fees.on_top(name, proposed.fees, sign)
        say(f"They get {shown(proposed.rewards, sign)} if all are approved{on_top}.")
    if proposed.responses_before:
        say(f"{WARNING} Responses so far: {proposed.responses_before:,}.", err=True)


def _refuse_again(annotators: int, reason: str, proposed: Proposal) -> None:
    """Refuse what is the last addition once more: a command that was cut off may have made it."""
    last = proposed.earlier[-1] if proposed.earlier else None
    if last and (last.rows_after - last.rows_before, last.reason) == (annotators, reason):
        raise UsageError(
            f"these forms were added already. {last.describe()}",
            f"To add {annotators:,} more all the same, give another --reason, or leave --yes out.",
        )


def _confirm(name: str, annotators: int, proposed: Proposal, fees: Fees, sign: str) -> None:
    """Ask, and name earlier additions in the question. Without a terminal, refuse and say what to type."""
    before = "".join(
        f" on {each.at:%Y-%m-%d} {each.rows_after - each.rows_before:,};" for each in proposed.earlier
    )
    amount = proposed.cost if fees is Fees.AMAZON else proposed.rewards
    cost = f" for {shown(amount, sign)}" if amount else ""
    cost += " and Prolific's fees" if cost and fees is Fees.PROLIFIC else ""
    added = f" (added before:{before.removesuffix(';')})" if before else ""
    if not sys.stdin.isatty():
        raise UsageError(
            f"this adds {counted(annotators, 'form')}{cost} to study {name!r}{added}, "
            "and there is no terminal to ask at",
            "To continue, say --yes. To see more first, say --dry-run.",
        )
    if not click.confirm(f"Add {counted(annotators, 'form')}{cost}{added}?", default=False, err=True):
        raise DeclinedError("Nothing was added.", "To see what would be added, say --dry-run.")
