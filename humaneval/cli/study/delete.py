"""`study delete`: removes a study that nobody has seen."""

from __future__ import annotations

import click

from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.study.delete import delete_study
from humaneval.text import counted


@click.command()
@click.argument("name")
@json_option
@with_app
def delete(app: App, name: str, as_json: bool) -> None:
    """Delete the study NAME, unless it was published or used.

    The sentences of its table that no other study shows go with it. A corrected table can then be used under
    the same name. Stories stay.
    """
    deleted = delete_study(app.engine, name)
    if as_json:
        emit({"study": name, "infills": deleted.infills})
        return
    table = f" and {counted(deleted.infills, 'sentence')} of its table" if deleted.infills else ""
    say(f"Study {name!r}{table} {'are' if table else 'is'} deleted.")
