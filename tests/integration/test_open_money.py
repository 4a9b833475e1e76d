"""Nobody is forgotten while money is open for their work, and the command that is printed settles it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlalchemy import Engine, delete
from sqlalchemy.orm import Session

from humaneval.crowd.open_money import open_money
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from tests.answered import answer
from tests.commands import Command

FIRST = 1


def waits(session: Session) -> None:
    session.get_one(AssignmentRow, FIRST).state = "submitted"


def may_come(session: Session) -> None:
    work = session.get_one(AssignmentRow, FIRST)
    work.state, work.lease_until = "answered", now() + timedelta(minutes=9)


def row_went_on(session: Session) -> None:
    may_come(session)
    work = session.get_one(AssignmentRow, FIRST)
    work.state, work.holds_row = "superseded", False


def was_lost(session: Session) -> None:
    session.get_one(AssignmentRow, FIRST).state = "taken in"
    session.execute(delete(PaymentRow))


def due(kind: str) -> Callable[[Session], None]:
    def owe(session: Session) -> None:
        work = session.get_one(AssignmentRow, FIRST)
        session.add(
            PaymentRow(
                study_id=work.study_id,
                endpoint=work.endpoint,
                assignment_id=work.id,
                kind=kind,
                purpose="thanks",
                amount=Decimal("0.50"),
                fee=Decimal("0.10"),
                state="due",
            )
        )

    return owe


def unsure(operation: str) -> Callable[[Session], None]:
    def intend(session: Session) -> None:
        work = session.get_one(AssignmentRow, FIRST)
        session.add(
            OutboxRow(
                study_id=work.study_id,
                endpoint=work.endpoint,
                operation=operation,
                subject=f"assignment {work.external_id} worker {work.worker_id}",
                token="t",
                request={},
                attempts=1,
            )
        )

    return intend


@pytest.mark.parametrize(
    ("opens", "why", "way_out"),
    [
        (waits, "is not approved or rejected yet", "approve study A0 --to production"),
        (may_come, "may still be submitted", "Once the person has sent or returned it, or after 20"),
        (may_come, "may still be submitted", "UTC: `humaneval collect study --to production`"),
        (row_went_on, "may still be submitted", "UTC: `humaneval collect study --to production`"),
        (was_lost, "the platform lost it", "compensate study A0 --to production"),
        (due("bonus"), "a bonus of $0.50", "bonus study A0 --to production"),
        (due("compensation"), "a compensation of $0.50", "compensate study A0 --to production"),
        (unsure("bonus"), "it is not known whether the bonus", "bonus study A0 --to production"),
        (unsure("approve"), "it is not known whether the approve", "approve study A0 --to production"),
        (unsure("reject"), "it is not known whether the reject", "reject study A0 --to production"),
        (unsure("compensate"), "it is not known whether the compensate", "compensate study A0"),
    ],
)
def test_open_money_is_named_with_the_command_that_settles_it(
    command: Command, study: str, sqlite_engine: Engine, opens: Callable, why: str, way_out: str
) -> None:
    answer(sqlite_engine)
    with reading(sqlite_engine) as session:
        assert open_money(session, {FIRST}, now()) == []
    with writing(sqlite_engine) as session:
        opens(session)
    for verb in ("forget AWORKER000 --yes", "purge --before 2026-06-01 --yes"):
        said = command("worker", *verb.split())
        assert said.code == 2
        assert why in said.err
        assert way_out in re.sub(r"\s+", " ", said.err)
    with reading(sqlite_engine) as session:
        assert open_money(session, {2}, now()) == []
