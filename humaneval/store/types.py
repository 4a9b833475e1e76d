"""What tables are built from: the base class, money in exact cents, moments in UTC, named constraints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    Index,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    text,
)
from sqlalchemy.orm import DeclarativeBase

from humaneval.fees import money

T = TypeVar("T")


def table(of: type[DeclarativeBase]) -> Table:
    """The table of a class of rows: statements about it are made faster than those about the class."""
    found = of.__table__
    assert isinstance(found, Table)
    return found


def padded(values: Sequence[T]) -> list[T]:
    """The values to look up, the last one repeated up to a power of two.

    A server that asked for as many as happen to come would send ever new statements, and could never use a
    prepared one again.

    >>> padded([7, 8, 9]), padded([])
    ([7, 8, 9, 9], [])
    """
    found = list(values)
    return found + found[-1:] * ((1 << (len(found) - 1).bit_length()) - len(found))


def index_where(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index of those rows only for which `where` holds."""
    return Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


NEVER_AGAIN = {"sqlite_autoincrement": True}
"""The id of a row that is deleted is never another's. Programs keep ids from one transaction to the next, and
addresses that we have signed hold them. PostgreSQL never gives one again."""


def index_known(table: str, column: str) -> Index:
    """An index of those rows only that have a value in `column`: the others are never looked for by it."""
    return index_where(f"ix_{table}_{column}", column, where=f"{column} IS NOT NULL")


NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""Every constraint has a name: a migration on SQLite cannot change a constraint without one."""


def now() -> datetime:
    """The current time in UTC, to the microsecond."""
    return datetime.now(UTC)


class Money(TypeDecorator[Decimal]):
    """US dollars as Decimal in Python, whole cents in the database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return None if value is None else int(money(value) * 100)

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value).scaleb(-2)


class Moment(TypeDecorator[datetime]):
    """A datetime with a time zone, kept in UTC. One without a zone is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """What every table is made from: the types of its columns and the names of its constraints."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - the name and form are SQLAlchemy's
        str: Text(),
        datetime: Moment(),
        Decimal: Money(),
        dict[str, Any]: JSON(),
        list[str]: JSON(),
    }


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    """A constraint: `column` holds one of `values`."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def between(column: str, low: int, high: int) -> CheckConstraint:
    """A constraint: `column` holds a number from `low` to `high`."""
    return CheckConstraint(f"{column} BETWEEN {low} AND {high}", name=column)
