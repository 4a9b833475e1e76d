"""`export`: the response table, one line a response, workers as pseudonyms; or the infills and passages, to
publish."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.errors import InputError, UsageError


@click.command()
@click.argument("study", required=False, default="")
@click.argument("file", required=False, type=OUT_FILE)
@click.option(
    "--infills",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help=(
        "Instead of responses: every infill and passage (of STUDY, or of all) and a codebook, to a new"
        " folder."
    ),
)
@click.option(
    "--comments",
    metavar="FILE",
    type=OUT_FILE,
    help="Instead of responses: what annotators of STUDY wrote into the comment box, as CSV.",
)
@click.option(
    "--with-stories",
    is_flag=True,
    help="With --infills: the stories' own sentences, too. Only if you may give them away.",
)
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
def export(
    app: App,
    study: str,
    file: Path | None,
    folder: Path | None,
    comments: Path | None,
    with_stories: bool,
    excel: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Write the responses of STUDY to FILE (.csv, .tsv or .jsonl by its name), or infills to a FOLDER to
    publish."""
    if comments is not None:
        if file is not None or folder is not None or not study:
            raise UsageError(
                "--comments needs a study, and goes alone", "`humaneval export STUDY --comments FILE.csv`."
            )
        _comments(app, study, comments, excel, as_json)
        return
    if folder is not None:
        if file is not None:
            raise UsageError(
                "FILE is for responses, --infills for infills", "Export the one, then the other."
            )
        _infills(app, study, folder, with_stories, excel, as_json)
        return
    if with_stories:
        raise UsageError("--with-stories goes with --infills", "Say --infills FOLDER.")
    if not study or file is None:
        raise UsageError(
            "`export` needs a study and a file",
            "`humaneval export STUDY responses.csv`, or `humaneval export --infills FOLDER`.",
        )
    _responses(app, study, file, excel, everything, as_json)


def _responses(app: App, study: str, file: Path, excel: bool, everything: bool, as_json: bool) -> None:
    import pandas as pd

    from humaneval.scoring.response_table import write_responses
    from humaneval.store.engine import reading
    from humaneval.store.queries import response_lines
    from humaneval.study.scores import no_responses
    from humaneval.study.stored import get_study

    with reading(app.engine) as session:
        row = get_study(session, study)
        lines = response_lines(session, row, everything=everything)
        if not lines:
            raise no_responses(session, row)
    write_responses(pd.DataFrame(lines), file, excel=excel)
    if as_json:
        emit({"study": study, "file": file, "responses": len(lines)})
        return
    say(f"{len(lines)} responses written to {file}.")


def _comments(app: App, study: str, file: Path, excel: bool, as_json: bool) -> None:
    from humaneval.csv_text import csv_bytes, csv_text
    from humaneval.store.engine import reading
    from humaneval.store.queries import comment_lines
    from humaneval.study.stored import get_study

    with reading(app.engine) as session:
        lines = comment_lines(session, get_study(session, study))
    if not lines:
        raise InputError(f"nobody has written a comment in study {study!r} yet")
    names = list(lines[0])
    text = csv_text(names, ([line[name] for name in names] for line in lines), excel=excel)
    write_whole(file, csv_bytes(text, excel=excel))
    if as_json:
        emit({"study": study, "file": file, "comments": len(lines)})
        return
    say(f"{len(lines)} comments written to {file}.")


def _infills(app: App, study: str, folder: Path, with_stories: bool, excel: bool, as_json: bool) -> None:
    from humaneval.report.infill_release import write_release

    counts = write_release(app.engine, folder, study=study, stories=with_stories, excel=excel)
    if as_json:
        emit({"study": study or None, "folder": folder, **counts._asdict()})
        return
    say(
        f"{counts.infills} infills of {counts.generators} generators and {counts.passages} passages written"
        f" to {folder}, with a codebook."
    )
    if not with_stories:
        say("The stories' own sentences are left out; with --with-stories they are there, too.")
