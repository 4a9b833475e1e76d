"""Adding money to a marketplace that ran out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.market import MarketServer, Mode, open_account
from humaneval.market.tables.account import Entry
from tests.commands import Command


def test_money_that_is_added_while_the_marketplace_runs_can_be_spent_at_once(
    command: Command, engine: Engine, mturk: Any, new_hit: Callable[..., Any]
) -> None:
    spend_all = {"Reward": "500.00", "MaxAssignments": 16}  # with the fee of 40 % that is 11200.00
    with pytest.raises(mturk.exceptions.RequestError, match="insufficient funds"):
        new_hit(**spend_all)
    said = command("market", "fund", "1200.5")
    assert said.out == "Added $1200.50. $11200.50 are available now.\n"
    assert mturk.get_account_balance()["AvailableBalance"] == "11200.50"
    new_hit(**spend_all)
    assert command("market", "fund", "0.01", "--json").json == {"added": "0.01", "available": "0.51"}
    assert mturk.get_account_balance() | {"ResponseMetadata": {}} == {
        "AvailableBalance": "0.51",
        "OnHoldBalance": "11200.00",
        "ResponseMetadata": {},
    }
    with Session(engine) as session:
        lines = session.scalars(select(Entry).where(Entry.kind == "deposit")).all()
        assert [line.available for line in lines] == [120050, 1]


def test_money_can_be_added_while_nobody_serves(command: Command, engine: Engine) -> None:
    open_account(engine, Mode.LOCAL)
    engine.dispose()
    assert command("market", "fund", "5", "--json").json == {"added": "5.00", "available": "10005.00"}


@pytest.mark.parametrize("amount", ["0", "0.00", "0.001", "1e9", "NaN", "inf", "five", ""])
def test_a_sum_that_is_none_adds_nothing(
    command: Command, server: MarketServer, mturk: Any, amount: str
) -> None:
    for given in ((amount,), ("--", f"-{amount}")):
        said = command("market", "fund", *given)
        assert said.code == 2
        assert said.err.startswith("Error: ")
        assert len(said.err.splitlines()) == 2
    assert mturk.get_account_balance()["AvailableBalance"] == "10000.00"


@pytest.mark.parametrize("mode", [Mode.SANDBOX])
def test_a_sandbox_needs_no_money(command: Command, server: MarketServer) -> None:
    said = command("market", "fund", "5")
    assert (said.code, said.out) == (2, "")
    assert "its balance never falls" in said.err


def test_a_marketplace_that_is_not_there_or_was_never_served_gets_none(
    command: Command, engine: Engine
) -> None:
    assert "Start it once" in command("market", "fund", "5").err
    said = command("market", "fund", "5", "--database", "none.db")
    assert (said.code, said.err.splitlines()[0]) == (1, "Error: none.db does not exist")
