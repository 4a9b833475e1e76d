"""`bonus`: pay on top, once for each purpose."""

from __future__ import annotations

from decimal import Decimal

import click

from humaneval.cli.context import (
    App,
    RunOptions,
    acting,
    confirm_spending,
    emit,
    priced,
    say,
    spending,
    to_option,
)
from humaneval.cli.numbers import Dollars
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.link import NO_BONUS
from humaneval.crowd.lost_work import refuse_by_link
from humaneval.fees import NO_FEES


@click.command()
@click.argument("study")
@click.argument("assignment")
@click.option("--amount", type=Dollars(), required=True, metavar="DOLLARS", help="Bonus, for example 0.50.")
@click.option("--reason", required=True, help="Reason, which the worker reads.")
@click.option(
    "--purpose",
    default="bonus",
    show_default=True,
    help="What the bonus is for. A second bonus for the same work needs another purpose.",
)
@to_option
@spending
@acting
def bonus(
    app: App,
    options: RunOptions,
    study: str,
    assignment: str,
    amount: Decimal,
    reason: str,
    purpose: str,
    endpoint: str,
) -> None:
    """Pay the worker of ASSIGNMENT a bonus. Running the same command again pays nothing more."""
    at = app.study_at(endpoint, study)
    refuse_by_link(at, assignment, NO_BONUS)
    cost = at.platform.bonus_cost(amount)
    if not options.dry_run:
        confirm_spending(at.platform.endpoint, cost.total, options, due=amount > 0)
    paid = pay_bonus(
        at,
        assignment=assignment,
        amount=amount,
        reason=reason,
        purpose=purpose,
        dry_run=options.dry_run,
    )
    facts = {"study": at.name, "endpoint": at.endpoint, "assignment": assignment, "purpose": purpose}
    if options.dry_run:
        would = cost.total if paid.state == "due" else Decimal("0.00")
        if options.as_json:
            emit({**facts, "state": paid.state, "would_cost": str(would)})
        elif paid.state == "due":
            say(
                f"Would give {at.sign}{amount} at {endpoint} for {purpose!r}:"
                f" {priced(endpoint, at.sign, amount, would)}. Nothing was done."
            )
        else:
            say(f"{at.sign}{amount} for {purpose!r}: {paid.state}. Nothing was done.")
    elif options.as_json:
        emit(
            {
                **facts,
                "amount": str(paid.amount),
                "fee": str(paid.fee),
                "paid_now": paid.paid_now,
                "state": paid.state,
            }
        )
    elif paid.paid_now:
        if endpoint in NO_FEES:
            say(f"{at.sign}{paid.amount} approved at {endpoint}: you pay it yourself, and nobody takes fees.")
        else:
            say(f"{at.sign}{paid.amount} paid at {endpoint}, and {at.sign}{paid.fee} in fees.")
    elif paid.state == "paid":
        say(f"{at.sign}{paid.amount} for {purpose!r} was paid before; nothing was paid now.")
    else:
        say(f"{at.sign}0.00: no payment due.")
