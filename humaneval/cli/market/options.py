"""What the commands of `humaneval market` share: faults, and the marketplace's own file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from sqlalchemy import Engine

from humaneval.cli.context import SEED, warn_if_open
from humaneval.cli.output_files import NamedPath
from humaneval.errors import StoreError
from humaneval.market import open_market

DEFAULT_FILE = "market.db"

database_option = click.option(
    "--database",
    type=NamedPath(dir_okay=False, path_type=str),
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
    """Raises StoreError if the marketplace's file does not exist, or has nothing in it."""
    file = Path(database)
    if not file.is_file() or not file.stat().st_size:
        what = "is empty" if file.is_file() else "does not exist"
        raise StoreError(f"{database} {what}", "Name the marketplace's file with --database.")
