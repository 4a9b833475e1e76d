"""`humaneval market`: run the self-hosted marketplace. Each file holds one kind of command."""

from __future__ import annotations

import click

from humaneval.cli.market.account import earnings, fund
from humaneval.cli.market.invite import invite
from humaneval.cli.market.run import run
from humaneval.cli.market.serve import key, serve
from humaneval.cli.market.upkeep import backup, events, upgrade


@click.group()
def market() -> None:
    """Run the self-hosted marketplace.

    It speaks MTurk's protocol to programs, and has a worker site for people.
    """


for command in (serve, run, invite, key, fund, earnings, backup, upgrade, events):
    market.add_command(command)
