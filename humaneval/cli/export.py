"""`export`: a study's responses, its comments, or infills and passages, as files to publish."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.output_files import NamedPath, refuse_place, write_whole
from humaneval.csv_text import csv_bytes, csv_text
from humaneval.errors import InputError, UsageError
from humaneval.report.infill_release import write_release
from humaneval.scoring.response_table import table_bytes
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import published_columns, published_comments
from humaneval.store.exports import note_export
from humaneval.store.responses import forms_set_aside
from humaneval.study.asked import with_settings
from humaneval.study.scores import no_responses
from humaneval.study.stored import get_study, settings_of
from humaneval.text import command, counted


@click.command()
@click.argument("study", required=False, default="")
@click.option(
    "--out",
    type=NamedPath(),
    required=True,
    help="File to write: .csv, .tsv or .jsonl; .csv for comments. With --infills, a new folder.",
)
@click.option(
    "--infills",
    is_flag=True,
    help="Export every infill and passage of STUDY, or of all studies, and a codebook, instead of responses.",
)
@click.option(
    "--comments",
    is_flag=True,
    help="Export what annotators of STUDY wrote into the comment box, instead of responses.",
)
@click.option(
    "--with-stories",
    is_flag=True,
    help="Also export the stories' own sentences with --infills, if you may give them away.",
)
@click.option(
    "--excel",
    is_flag=True,
    help="Write for Excel, with a byte order mark.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also export forms that were rejected, or by people who had taken part before.",
)
@click.option(
    "--platform-ids",
    "ids",
    is_flag=True,
    help="Name HITs and assignments as the platform does, with times to the microsecond: for your own eyes.",
)
@json_option
@with_app
def export(
    app: App,
    study: str,
    out: Path,
    infills: bool,
    comments: bool,
    with_stories: bool,
    excel: bool,
    everything: bool,
    ids: bool,
    as_json: bool,
) -> None:
    """Write the responses, comments or infills of STUDY to files.

    Workers, HITs and assignments are named by pseudonyms of this study: no other study's export has them.
    `worker list --json` shows which worker is meant. `score --responses` reads the table of responses.
    """
    if infills and comments:
        raise UsageError("--infills and --comments do not go together", "Export the one, then the other.")
    if with_stories and not infills:
        raise UsageError("--with-stories goes with --infills", "Say --infills --out FOLDER.")
    if ids and infills:
        raise UsageError("--platform-ids does not go with --infills", "Infills have no such ids.")
    if infills:
        _infills(app, study, out, with_stories, excel, as_json)
        return
    if not study:
        raise UsageError("name a study", f"`{command('export', 'STUDY', '--out', 'responses.csv')}`.")
    refuse_place(out)
    if comments:
        _comments(app, study, out, excel=excel, ids=ids, as_json=as_json)
    else:
        _responses(app, study, out, excel=excel, everything=everything, ids=ids, as_json=as_json)


def _responses(
    app: App, study: str, out: Path, *, excel: bool, everything: bool, ids: bool, as_json: bool
) -> None:
    with reading(app.engine) as session:
        row = get_study(session, study)
        columns = published_columns(session, row, everything=everything, ids=ids)
        columns = with_settings(columns, settings_of(row))
        if not columns["worker"]:
            raise no_responses(session, row)
        aside = 0 if everything else forms_set_aside(session, row)
        study_id = row.id
    write_whole(out, table_bytes(pd.DataFrame(columns), out, excel=excel), private=ids)
    note_export(app.engine, study_id, "responses", out)
    if as_json:
        emit({"study": study, "file": out, "responses": len(columns["worker"]), "forms_set_aside": aside})
        return
    say(f"{counted(len(columns['worker']), 'response')} written to {out}.")
    if aside:
        say(
            f"{counted(aside, 'form')} left out: rejected, or by people who had taken part before. --all"
            " exports them."
        )


def _comments(app: App, study: str, out: Path, *, excel: bool, ids: bool, as_json: bool) -> None:
    with reading(app.engine) as session:
        row = get_study(session, study)
        lines, study_id = published_comments(session, row, ids=ids), row.id
    if not lines:
        raise InputError(f"nobody has written a comment in study {study!r} yet")
    names = list(lines[0])
    text = csv_text(names, ([line[name] for name in names] for line in lines))
    write_whole(out, csv_bytes(text, excel=excel), private=ids)
    note_export(app.engine, study_id, "comments", out)
    if as_json:
        emit({"study": study, "file": out, "comments": len(lines)})
        return
    say(
        f"{counted(len(lines), 'comment')} written to {out}."
        " Read them before you publish them: people may name themselves."
    )


def _infills(app: App, study: str, folder: Path, with_stories: bool, excel: bool, as_json: bool) -> None:
    opened = app.study(study) if study else None
    counts = write_release(app.engine, folder, study=opened, stories=with_stories, excel=excel)
    if as_json:
        emit({"study": study or None, "folder": folder, **counts._asdict()})
        return
    say(
        f"{counted(counts.infills, 'infill')} of {counted(counts.generators, 'generator')} and"
        f" {counted(counts.passages, 'passage')} written to {folder}, with a codebook."
    )
    if not with_stories:
        say("The stories' own sentences are left out; --with-stories includes them.")
