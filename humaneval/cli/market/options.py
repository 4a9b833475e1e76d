"""What the commands of `humaneval market` share: amounts of money, faults, and the marketplace's own file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import click
from sqlalchemy import Engine

from humaneval.cli.context import SEED, warn_if_open
from humaneval.errors import StoreError
from humaneval.fees import money
from humaneval.market import open_market


class Dollars(click.ParamType[Decimal]):
    """An amount of money in whole cents."""

    name = "dollars"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """`value` as an amount. The error says what is wrong with it."""
        return money(str(value))


DEFAULT_FILE = "market.db"

database_option = click.option(
    "--database",
    type=click.Path(dir_okay=False),
    default=DEFAULT_FILE,
    show_default=True,
    help="File of the marketplace.",
)


def fault_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb that serves --faults and --fault-seed."""
    seed = click.option(
        "--fault-seed", type=SEED, default=0, show_default=True, help="Random seed of the faults."
    )
    plan = click.option(
        "--faults",
        metavar="FILE|FAULTS",
        help="Faults to inject, to test programs: a plan or a file with one. `none` starts without any and"
        " lets you change them while it runs.",
    )
    return plan(seed(verb))


@contextmanager
def existing_market(database: str) -> Iterator[Engine]:
    """The marketplace in this file. Raises StoreError if there is no such file, and makes none."""
    refuse_missing(database)
    warn_if_open(database)
    engine = open_market(database)
    try:
        yield engine
    finally:
        engine.dispose()


def refuse_missing(database: str) -> None:
    """Raises StoreError if the marketplace's file does not exist."""
    if not Path(database).is_file():
        raise StoreError(f"{database} does not exist", "Name the marketplace's file with --database.")
