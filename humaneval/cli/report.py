"""`report`: a page about a study, the same in Markdown, LaTeX, CSV and JSON, and its plots as PDF and SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.output_files import NamedPath, refuse_place, write_whole
from humaneval.cli.score import LEVEL, Elsewhere, from_elsewhere
from humaneval.errors import UsageError
from humaneval.interface.database import scores_of_study
from humaneval.report.counts import CountsReport, counts_files
from humaneval.report.formats import FILES, form_of, refuse_no_name


@click.command()
@click.argument("study", required=False)
@click.option(
    "--out",
    type=NamedPath(),
    help=(
        "File to write, in the form of its ending (.html, .md, .tex, .json, .pdf), or a folder for all forms."
        " [default: STUDY-report.html]"
    ),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "latex", "json", "pdf", "csv", "figures", "all"]),
    help="Form to write, instead of the one --out names; csv, figures and all write a folder.",
)
@click.option("--title", default="", help="Title of the report. [default: the name of the study or the file]")
@from_elsewhere
@click.option("--tests", is_flag=True, help="Report only pilots and answers from the sandbox.")
@click.option(
    "--level", type=LEVEL, help="Confidence level of the intervals. [default: the study's, or 0.95]"
)
@json_option
@with_app
def report(
    app: App,
    study: str | None,
    out: Path | None,
    form: str | None,
    title: str,
    elsewhere: Elsewhere,
    tests: bool,
    level: float | None,
    as_json: bool,
) -> None:
    """Write the report of STUDY or of a table: HTML, Markdown, LaTeX, CSV, JSON, PDF.

    --responses takes a response table, --counts published counts, as `score` does. The HTML page is one file
    with all that a reader needs: a conclusion, scores, comparisons, plots, design, exclusions, and what it
    takes to repeat the study. Markdown and LaTeX hold the same tables, CSV the numbers behind them with a
    codebook, JSON what `score --details --json` prints. A PDF holds the plots, one figure a page. Counts have
    no such details.
    """
    elsewhere.refuse_other(study)
    refuse_no_name(out)
    form = form or form_of(out, otherwise=", or give --format")
    if out is not None and form in FILES:
        refuse_place(out)
    name = study or (elsewhere.responses or elsewhere.counts or Path("counts")).stem
    files = _files(app, study, elsewhere, form, title, tests, level)
    path = out or Path(f"{name}-report{Path(FILES[form]).suffix if form in FILES else ''}")
    if form in FILES:
        write_whole(path, next(iter(files.values())))
    else:
        if path.is_file():
            raise UsageError(f"{path} is a file", f"The form {form} writes a folder: name one.")
        path.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            write_whole(path / file, content)
    if as_json:
        emit({"study": study, "report": path.resolve()})
        return
    say(f"Report written to {path.resolve()}")


def _files(
    app: App,
    study: str | None,
    elsewhere: Elsewhere,
    form: str,
    title: str,
    tests: bool,
    level: float | None,
) -> Mapping[str, bytes]:
    """The files of the form, by name."""
    if elsewhere.counts is not None:
        if tests:
            raise UsageError("--tests does not go with --counts", "Counts do not say what a test was.")
        table = elsewhere.count_table(level)
        return counts_files(CountsReport(title or elsewhere.counts.stem, table), form)
    if study is None:
        scores = elsewhere.scores(elsewhere.table(), tests=tests, level=level)
    else:
        scores = scores_of_study(app.study(study), tests=tests, level=level)
    return scores.files(form, title=title)
