"""`study delete`: removes a study that nobody has seen."""

from __future__ import annotations

import sys

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.errors import DeclinedError, UsageError
from humaneval.study.delete import delete_study, refuse_deletion
from humaneval.text import counted


@click.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@json_option
@with_app
def delete(app: App, name: str, yes: bool, as_json: bool) -> None:
    """Delete the study NAME, unless it was published or used.

    The sentences of its table that no other study shows go with it. A corrected table can then be used under
    the same name. Stories stay.
    """
    refuse_deletion(app.engine, name)
    if not yes:
        _ask(name)
    deleted = delete_study(app.engine, name)
    if as_json:
        emit({"study": name, "infills": deleted.infills})
        return
    table = f" and {counted(deleted.infills, 'sentence')} of its table" if deleted.infills else ""
    say(f"Study {name!r}{table} {'are' if table else 'is'} deleted.")


def _ask(name: str) -> None:
    """Ask once whether the study is to go."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"deleting study {name!r} must be confirmed, and there is no terminal to ask on",
            "To go on, say --yes.",
        )
    if not click.confirm(f"Delete study {name!r} and what its table brought?", default=False, err=True):
        raise DeclinedError("Nothing was deleted.")
