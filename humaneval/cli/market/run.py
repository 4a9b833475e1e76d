"""`humaneval market run`: run a program with Amazon's address in it against the marketplace."""

from __future__ import annotations

import logging

import click

from humaneval.cli.context import say, warn_if_open
from humaneval.cli.market.options import database_option
from humaneval.market import MarketServer, Mode, open_market
from humaneval.running.amazon.program import refuse_unknown, run_program


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--market", metavar="URL", help="Marketplace that runs already. [default: one for this run]")
@database_option
def run(command: tuple[str, ...], market: str | None, database: str) -> int:
    """Run COMMAND with the marketplace in Amazon's place.

    COMMAND is a program that was written for Mechanical Turk, with its arguments. It needs no change, even if
    it holds Amazon's address: `humaneval market run -- python publish.py`. Its calls reach the marketplace,
    and nothing reaches Amazon. The exit status is the program's.
    """
    refuse_unknown(command)
    if market is not None:
        return run_program(command, market.rstrip("/"), _tell)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # what the program prints is there, too
    warn_if_open(database)
    engine = open_market(database)
    try:
        with MarketServer(engine, mode=Mode.LOCAL) as server:
            _tell(f"{server.url}/ stands in for Mechanical Turk. It is the worker site, too.")
            return run_program(command, server.url, _tell)
    finally:
        engine.dispose()


def _tell(message: str) -> None:
    """To stderr: stdout belongs to the program."""
    say(f"market run: {message}", err=True)
