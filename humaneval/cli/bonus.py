"""`bonus`: pay on top, once for each purpose."""

from __future__ import annotations

from decimal import Decimal

import click

from humaneval.cli.run import App, acting, confirm_spending, emit, say, spending, to_option


@click.command()
@click.argument("study")
@click.argument("assignment")
@click.option("--amount", required=True, metavar="DOLLARS", help="For example 0.50.")
@click.option("--reason", required=True, help="The worker reads it.")
@click.option(
    "--purpose",
    default="bonus",
    show_default=True,
    help="A second bonus for the same work needs a purpose of its own.",
)
@to_option
@spending
@acting
def bonus(
    app: App,
    study: str,
    assignment: str,
    amount: str,
    reason: str,
    purpose: str,
    endpoint: str,
    live: bool,
    spend: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Pay the worker of ASSIGNMENT a bonus. Running the same command again pays nothing more."""
    from humaneval.crowd.bonus import pay_bonus
    from humaneval.fees import money

    platform = app.platform(endpoint, study)
    dollars = money(amount)
    cost = platform.bonus_cost(dollars)
    if dry_run:
        found = pay_bonus(
            app.engine,
            study,
            platform,
            assignment=assignment,
            amount=dollars,
            reason=reason,
            purpose=purpose,
            dry_run=True,
        )
        would = cost.total if found.state == "due" else Decimal("0.00")
        if as_json:
            emit(
                {
                    "study": study,
                    "endpoint": endpoint,
                    "assignment": assignment,
                    "purpose": purpose,
                    "state": found.state,
                    "would_cost": str(would),
                }
            )
        elif found.state == "due":
            say(f"Would pay ${dollars} at {endpoint} for {purpose!r}: ${would} with fees. Nothing was done.")
        else:
            say(f"${dollars} for {purpose!r}: {found.state}. Nothing was done.")
        return
    confirm_spending(
        platform.endpoint.spends_money and dollars > 0, endpoint, cost.total, live=live, spend=spend
    )
    paid = pay_bonus(
        app.engine, study, platform, assignment=assignment, amount=dollars, reason=reason, purpose=purpose
    )
    if as_json:
        emit(
            {
                "study": study,
                "endpoint": endpoint,
                "assignment": assignment,
                "purpose": purpose,
                "amount": str(paid.amount),
                "fee": str(paid.fee),
                "paid_now": paid.paid_now,
                "state": paid.state,
            }
        )
    elif paid.paid_now:
        say(f"${paid.amount} paid at {endpoint}, and ${paid.fee} in fees.")
    elif paid.state == "paid":
        say(f"${paid.amount} for {purpose!r} was paid before; nothing was paid now.")
    else:
        say("$0.00: no payment due.")
