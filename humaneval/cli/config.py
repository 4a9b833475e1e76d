"""`config show`: every setting, and where its value came from."""

from __future__ import annotations

import click
from rich.table import Table

from humaneval.cli.context import App, console, emit, json_option, with_app


@click.group()
def config() -> None:
    """Show every setting and where its value came from."""


@config.command()
@json_option
@with_app
def show(app: App, as_json: bool) -> None:
    """Show every setting with its origin.

    Precedence: flag > environment > humaneval.toml > addresses that `up` keeps in the database > default.
    """
    if as_json:
        emit([{"setting": o.name, "value": o.value, "origin": o.origin} for o in app.loaded.origins])
        return
    table = Table("Setting", "Value", "From", box=None, pad_edge=False, header_style="bold")
    for origin in app.loaded.origins:
        table.add_row(origin.name, origin.value or "—", origin.origin)
    console().print(table)
