"""The people who run a panel pay workers by hand, by a list of earnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from humaneval.market import MarketServer
from humaneval.market.tables.workers import Worker
from tests.commands import Command
from tests.integration.market.conftest import Person, TestClock


def test_earnings_are_by_name_and_by_day_and_agree_with_what_workers_read(
    command: Command,
    mturk: Any,
    new_hit: Callable[..., Any],
    person: Callable[..., Person],
    clock: TestClock,
    server: MarketServer,
) -> None:
    ada, ben = person("Ada"), person("Ben")
    person("Coco Ö.")
    first = new_hit(Reward="0.50")["HITId"]
    works = [ada.do(first), ben.do(first)]
    mturk.approve_assignment(AssignmentId=works[0])
    mturk.reject_assignment(AssignmentId=works[1], RequesterFeedback="No.")
    clock.pass_time(days=1)
    later = ada.do(new_hit(Reward="0.25")["HITId"])
    ben.do(new_hit(Reward="1.00")["HITId"])
    mturk.approve_assignment(AssignmentId=later)
    mturk.send_bonus(
        WorkerId=ada.id, AssignmentId=later, BonusAmount="2.00", Reason="More.", UniqueRequestToken="a"
    )

    def rows(*options: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = command("market", "earnings", *options, "--json").json["workers"]
        return found

    assert rows("--before", "2026-11-30")[0] == {
        "name": "Ada",
        "worker": ada.id,
        "approved": 2,
        "rewards": "0.75",
        "bonuses": "2.00",
        "earned": "2.75",
        "waiting": "0.00",
    }
    assert [row["earned"] for row in rows("--before", "2026-11-03")] == ["0.50", "0.00", "0.00"]
    assert [row["earned"] for row in rows("--since", "2026-11-03", "--before", "2026-11-04")] == [
        "2.25",
        "0.00",
        "0.00",
    ]
    assert command("market", "earnings", "--since", "2026-11-03", "--before", "2026-11-03").code == 2
    assert "<dd>$2.75</dd>" in ada.get("/my-work").text
    clock.pass_time(days=8)  # waiting work is approved automatically
    ben.get("/hits")
    said = command("market", "earnings").out.splitlines()
    assert said[0] == "name\tworker\tapproved\trewards\tbonuses\tearned\twaiting"
    assert said[2] == f"Ben\t{ben.id}\t1\t1.00\t0.00\t1.00\t0.00"
    assert said[3].startswith("Coco Ö.\t")


def test_a_name_commands_no_terminal_and_feigns_no_line(
    command: Command, person: Callable[..., Person], engine: Engine
) -> None:
    person("Ada")
    with Session(engine) as session, session.begin():  # as an older version may have stored it
        session.execute(update(Worker).values(name="Ada\x1b[2J\x9b1m\u202e\nBen\tA1"))
    for options in ((), ("--json",)):
        said = command("market", "earnings", *options).out
        assert said.replace("\n", "").replace("\t", "").isprintable()
    assert len(command("market", "earnings").out.splitlines()) == 2


def test_a_name_that_a_spreadsheet_would_run_is_guarded(
    command: Command, person: Callable[..., Person]
) -> None:
    person("=1+cmd|'/C'!A0")
    assert command("market", "earnings").out.splitlines()[1].startswith("'=1+cmd")
    (whose,) = command("market", "earnings", "--json").json["workers"]
    assert whose["name"].startswith("=1+cmd")


def test_what_waited_too_long_is_approved_before_it_is_counted_though_nobody_serves(
    command: Command, new_hit: Callable[..., Any], person: Callable[..., Person], clock: TestClock
) -> None:
    clock.pass_time(days=-3000)
    person("Ada").do(new_hit(Reward="0.50")["HITId"])
    assert command("market", "earnings", "--json").json["workers"][0]["earned"] == "0.50"
