"""`report`: one self-contained HTML file about a study, or the same in Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from humaneval.cli.output_files import refuse_missing_folder, write_whole
from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.errors import UsageError

if TYPE_CHECKING:
    from humaneval.report.contents import ReportData
    from humaneval.study.scores import Collected

ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex", ".json": "json"}
FILES = {"html": "report.html", "markdown": "report.md", "latex": "tables.tex", "json": "report.json"}


@click.command()
@click.argument("study")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help=(
        "A file, whose ending says the form (.html, .md, .tex, .json), or a folder for all of them and the"
        " CSV files. [default: STUDY-report.html]"
    ),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "latex", "csv", "json", "all"]),
    help="Instead of what the ending of --out says; csv and all make a folder.",
)
@click.option("--title", default="", help="Instead of the study's name.")
@click.option("--tests", is_flag=True, help="Report pilots and sandbox answers alone.")
@json_option
@with_app
def report(
    app: App, study: str, out: Path | None, form: str | None, title: str, tests: bool, as_json: bool
) -> None:
    """Write the report of STUDY: scores, comparisons, plots, design, exclusions, and everything needed to
    repeat it."""
    form = form or _form(out)
    if out is not None and form in FILES:
        refuse_missing_folder(out)
    if form == "html":
        path = write_report(app, study, out or Path(f"{study}-report.html"), title=title, tests=tests)
    else:
        data, source = _gathered(app, study, title=title, tests=tests)
        files = _files(app, study, data, source, form)
        if form in FILES:
            path = out or Path(f"{study}-report{Path(FILES[form]).suffix}")
            _write(path, next(iter(files.values())))
        else:
            path = out or Path(f"{study}-report")
            if path.is_file():
                raise UsageError(f"{path} is a file", "csv and all make a folder: name one.")
            path.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                _write(path / name, text)
    if as_json:
        emit({"study": study, "report": path.resolve()})
        return
    say(f"Report written to {path.resolve()}")


def _form(out: Path | None) -> str:
    """By the ending of `out`; a path without one is a folder."""
    if out is None:
        return "html"
    if out.is_dir() or not out.suffix:
        return "all"
    if out.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{out.name} does not say which form the report should have",
            f"End it in {', '.join(ENDINGS)}, or say --format.",
        )
    return ENDINGS[out.suffix.lower()]


def _gathered(
    app: App,
    study: str,
    *,
    title: str = "",
    summary: str = "",
    tests: bool = False,
    commands: tuple[str, ...] = (),
) -> tuple[ReportData, Collected]:
    from humaneval.report.from_study import study_report
    from humaneval.study.scores import collected

    source = collected(app.study(study), tests=tests)
    analysis = source.analysis()
    data = study_report(
        app.engine, study, analysis.table, title=title, analysis=analysis, summary=summary, commands=commands
    )
    return data, source


def _files(app: App, study: str, data: ReportData, source: Collected, form: str) -> Mapping[str, str]:
    """The files of a form, by name."""
    from humaneval.cli.score import study_facts
    from humaneval.report.formats import csv_files, r_files, render_latex, render_markdown
    from humaneval.report.page import render_report

    assert data.analysis is not None
    files: dict[str, str] = {}
    if form in ("html", "all"):
        files[FILES["html"]] = render_report(data)
    if form in ("markdown", "all"):
        files[FILES["markdown"]] = render_markdown(data)
    if form in ("latex", "all"):
        files[FILES["latex"]] = render_latex(data)
    if form in ("json", "all"):
        document = {**data.analysis.to_json(), **study_facts(app, study)}
        files[FILES["json"]] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if form in ("csv", "all"):
        files |= csv_files(data)
        files |= r_files(source.frame, data.analysis)
    return files


def write_report(
    app: App,
    study: str,
    out: Path,
    *,
    title: str = "",
    summary: str = "",
    tests: bool = False,
    commands: tuple[str, ...] = (),
) -> Path:
    """Write the report to `out`, whole or not at all."""
    from humaneval.report.page import render_report

    data, _ = _gathered(app, study, title=title, summary=summary, tests=tests, commands=commands)
    _write(out, render_report(data))
    return out


def _write(out: Path, text: str) -> None:
    write_whole(out, text.encode())
