"""`humaneval market fund` and `earnings`: the marketplace's account, and what its workers earned."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

import click

from humaneval.cli.context import emit, json_option, say
from humaneval.cli.market.options import database_option, existing_market
from humaneval.cli.numbers import Dollars
from humaneval.csv_text import guarded
from humaneval.errors import UsageError
from humaneval.market.panel.earnings import earnings_of_all
from humaneval.market.panel.funds import add_funds

DAY = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.argument("amount", metavar="SUM", type=Dollars())
@database_option
@json_option
def fund(amount: Decimal, database: str, as_json: bool) -> None:
    """Add SUM dollars to the marketplace's account.

    This also works while the marketplace is served. No money moves: only the amount is recorded.
    """
    with existing_market(database) as engine:
        available = add_funds(engine, amount)
    if as_json:
        emit({"added": amount, "available": available})
    else:
        say(f"Added ${amount}. ${available} are available now.")


@click.command()
@click.option("--since", type=DAY, metavar="DAY", help="First day to count, YYYY-MM-DD in UTC.")
@click.option("--before", type=DAY, metavar="DAY", help="Day after the last one to count.")
@database_option
@json_option
def earnings(since: datetime | None, before: datetime | None, database: str, as_json: bool) -> None:
    """Print what each worker earned.

    The columns are the name, the worker id, the number of approved assignments, rewards, bonuses, the sum of
    both, and the rewards that wait for review. The marketplace moves no money: the people who run it pay
    workers by this list. An approval counts on its day, and so does a bonus. What waits for review is
    everything that waits now.
    """
    with existing_market(database) as engine:
        if since and before and since >= before:
            raise UsageError(
                "there is no day from --since to --before", "--before names the day after the last one."
            )
        rows = earnings_of_all(
            engine,
            since=since and since.replace(tzinfo=UTC),
            before=before and before.replace(tzinfo=UTC),
        )
    names = ("name", "worker", "approved", "rewards", "bonuses", "earned", "waiting")
    if as_json:
        emit({"workers": [{name: getattr(row, name) for name in names} for row in rows]})
        return
    say("\t".join(names))
    for row in rows:
        # A name has no tab or line end: else it could feign a column, or a line. Nor is it a formula.
        say("\t".join(guarded(re.sub(r"[\t\n]+", " ", str(getattr(row, name)))) for name in names))
