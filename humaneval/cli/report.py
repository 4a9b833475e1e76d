"""`report`: a page about a study, the same in Markdown, LaTeX, CSV and JSON, and its plots as PDF and SVG."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from humaneval.cli.output_files import refuse_missing_folder, write_whole
from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.cli.score import study_facts
from humaneval.errors import UsageError
from humaneval.report.contents import ReportData
from humaneval.report.figures.files import figure_files, figures_pdf
from humaneval.report.from_study import study_report
from humaneval.report.latex import render_latex
from humaneval.report.markdown import render_markdown
from humaneval.report.numbers_csv import csv_files, r_files
from humaneval.report.page import render_report
from humaneval.study.scores import Collected, collected
from humaneval.study.stored import Study

ENDINGS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".tex": "latex",
    ".json": "json",
    ".pdf": "pdf",
}
FILES = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "tables.tex",
    "json": "report.json",
    "pdf": "figures.pdf",
}


@click.command()
@click.argument("study")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
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
@click.option("--title", default="", help="Title of the report. [default: the study's name]")
@click.option("--tests", is_flag=True, help="Report only pilots and answers from the sandbox.")
@json_option
@with_app
def report(
    app: App, study: str, out: Path | None, form: str | None, title: str, tests: bool, as_json: bool
) -> None:
    """Write the report of STUDY: HTML, Markdown, LaTeX, CSV, JSON, PDF.

    The HTML page is one file with all that a reader needs: scores, comparisons, plots, design, exclusions,
    and what it takes to repeat the study. Markdown and LaTeX hold the same tables, CSV the numbers behind
    them with a codebook, JSON what `score --details --json` prints. A PDF holds the plots, one figure a page.
    """
    form = form or _form(out)
    if out is not None and form in FILES:
        refuse_missing_folder(out)
    opened = app.study(study)
    source = collected(opened, tests=tests)
    analysis = source.analysis()
    data = study_report(opened, analysis.table, title=title, analysis=analysis)
    files = _files(opened, data, source, form)
    if form in FILES:
        path = out or Path(f"{study}-report{Path(FILES[form]).suffix}")
        write_whole(path, next(iter(files.values())))
    else:
        path = out or Path(f"{study}-report")
        if path.is_file():
            raise UsageError(f"{path} is a file", f"The form {form} writes a folder: name one.")
        path.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_whole(path / name, content)
    if as_json:
        emit({"study": study, "report": path.resolve()})
        return
    say(f"Report written to {path.resolve()}")


def _form(out: Path | None) -> str:
    """By the ending of `out`; a path without an ending is a folder."""
    if out is None:
        return "html"
    if out.is_dir() or not out.suffix:
        return "all"
    if out.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"the ending of {out.name} does not name a form of the report",
            f"End the name in {', '.join(ENDINGS)}, or give --format.",
        )
    return ENDINGS[out.suffix.lower()]


def _files(study: Study, data: ReportData, source: Collected, form: str) -> Mapping[str, bytes]:
    """The files of a form, by name."""
    assert data.analysis is not None
    texts: dict[str, str] = {}
    files: dict[str, bytes] = {}
    if form in ("html", "all"):
        texts[FILES["html"]] = render_report(data)
    if form in ("markdown", "all"):
        texts[FILES["markdown"]] = render_markdown(data)
    if form in ("latex", "all"):
        texts[FILES["latex"]] = render_latex(data)
    if form in ("json", "all"):
        document = {**data.analysis.to_json(), **study_facts(study)}
        texts[FILES["json"]] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if form in ("csv", "all"):
        texts |= csv_files(data)
        texts |= r_files(source.frame, data.analysis)
    if form == "pdf":
        files[FILES["pdf"]] = figures_pdf(data)
    if form in ("figures", "all"):
        files |= figure_files(data)
    return {name: text.encode() for name, text in texts.items()} | files
