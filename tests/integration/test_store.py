"""The store: money and moments that survive, writers that wait, readers that do not hold them up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from sqlalchemy import Engine, MetaData, Table, func, insert, select
from sqlalchemy.exc import IntegrityError, StatementError
from sqlalchemy.orm import Session

from humaneval.fees import money
from humaneval.store import engine as store
from humaneval.store.engine import reading, writing
from humaneval.store.tables import InfillRow, MetaRow
from humaneval.store.types import Base, Moment, Money, now

Factory = Callable[..., object]


def counts(engine: Engine) -> dict[str, int]:
    """How many lines each table has."""
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def counted(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(MetaRow)) or 0


@pytest.fixture
def scratch(engine: Engine) -> tuple[Engine, Table]:
    """A table with one amount and one moment."""
    from sqlalchemy import Column, Integer

    table = Table(
        "scratch",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("paid", Money()),
        Column("at", Moment()),
    )
    table.create(engine)
    return engine, table


def test_amounts_come_back_to_the_cent_and_sum_exactly(scratch: tuple[Engine, Table]) -> None:
    engine, table = scratch
    amounts = [Decimal("0.10")] * 3 + [Decimal("0.01"), Decimal("9999999.99"), Decimal("0.00")]
    with engine.begin() as connection:
        connection.execute(insert(table), [{"paid": amount} for amount in amounts])
        found = list(connection.scalars(select(table.c.paid).order_by(table.c.id)))
        assert found == amounts
        assert [str(amount) for amount in found] == [str(amount) for amount in amounts]
        small = connection.scalar(select(func.sum(table.c.paid)).where(table.c.paid < Decimal("1.00")))
        assert small == Decimal("0.31")


def test_an_amount_finer_than_a_cent_is_refused(scratch: tuple[Engine, Table]) -> None:
    engine, table = scratch
    for value in (Decimal("0.001"), 0.1 + 0.2):
        with pytest.raises(StatementError, match="finer than a cent"), engine.begin() as connection:
            connection.execute(insert(table), {"paid": value})
    assert money("0.3") == Decimal("0.30")


def test_moments_come_back_in_UTC_to_the_microsecond(scratch: tuple[Engine, Table]) -> None:
    engine, table = scratch
    moment = datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    with engine.begin() as connection:
        connection.execute(insert(table), {"at": moment})
        found = connection.scalar(select(table.c.at))
        assert connection.scalar(select(func.count()).where(table.c.at == moment)) == 1
    assert found == moment
    assert found is not None
    assert found.tzinfo is UTC
    assert found.microsecond == 123456
    assert now().tzinfo is UTC


def test_a_moment_without_a_time_zone_is_refused(scratch: tuple[Engine, Table]) -> None:
    engine, table = scratch
    with pytest.raises(StatementError, match="has no time zone"), engine.begin() as connection:
        connection.execute(insert(table), {"at": datetime(2026, 1, 1)})


def test_writers_that_read_and_then_write_lose_nothing(sqlite_engine: Engine) -> None:
    with writing(sqlite_engine) as session:
        session.add(MetaRow(key="counter", value="0"))

    def add() -> None:
        for _ in range(25):
            with writing(sqlite_engine) as session:
                row = session.get_one(MetaRow, "counter")
                row.value = str(int(row.value) + 1)

    in_threads([add] * 8)
    with reading(sqlite_engine) as session:
        assert session.get_one(MetaRow, "counter").value == "200"


def in_threads(functions: list[Callable[[], None]]) -> None:
    """Run all at once; the first error of any is raised here."""
    errors: list[BaseException] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_reader_that_takes_its_time_sees_one_state_and_does_not_hold_up_a_writer(engine: Engine) -> None:
    with reading(engine) as reader:
        assert counted(reader) == 0
        began = time.monotonic()
        with writing(engine) as session:
            session.add(MetaRow(key="written", value="meanwhile"))
        assert time.monotonic() - began < store.BUSY_SECONDS / 2
        assert counted(reader) == 0
    with reading(engine) as reader:
        assert counted(reader) == 1


def test_what_a_reading_session_changes_is_not_kept(engine: Engine) -> None:
    with reading(engine) as session:
        session.add(MetaRow(key="a", value="b"))
        session.flush()
    assert counts(engine)["meta"] == 0


def test_a_write_that_fails_half_way_leaves_nothing(engine: Engine) -> None:
    def write() -> None:
        with writing(engine) as session:
            session.add(MetaRow(key="a", value="b"))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert counts(engine)["meta"] == 0


def test_the_database_refuses_a_position_that_no_story_has(engine: Engine, study_factory: Factory) -> None:
    study_factory(engine)
    with pytest.raises(IntegrityError, match="ck_infills_position"), writing(engine) as session:
        session.execute(InfillRow.__table__.update().values(position=21))


def test_sqlite_is_set_so_that_an_acknowledged_write_survives_a_power_cut(sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
