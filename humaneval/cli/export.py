"""`export`: the response table, one line a response, workers as pseudonyms."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.errors import InputError


@click.command()
@click.argument("study")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--excel",
    is_flag=True,
    help="So that Excel shows it right: a byte order mark, and no cell that it would run as a formula.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also forms that were rejected, or by people who had taken part.",
)
@json_option
@with_app
def export(app: App, study: str, file: Path, excel: bool, everything: bool, as_json: bool) -> None:
    """Write the responses of STUDY to FILE: .csv, .tsv or .jsonl by its name."""
    import pandas as pd

    from humaneval.responses_table import write_responses
    from humaneval.store.engine import reading
    from humaneval.store.queries import response_lines
    from humaneval.studies import get_study

    with reading(app.engine) as session:
        lines = response_lines(session, get_study(session, study), everything=everything)
    if not lines:
        raise InputError(
            f"study {study!r} has no responses yet", f"`humaneval collect {study}` fetches submitted work."
        )
    write_responses(pd.DataFrame(lines), file, excel=excel)
    if as_json:
        emit({"study": study, "file": file, "responses": len(lines)})
        return
    say(f"{len(lines)} responses written to {file}.")
