"""The formats of a report: a page, Markdown, LaTeX, JSON, a PDF of plots, or a folder with all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from humaneval.errors import UsageError
from humaneval.report.contents import ReportData
from humaneval.report.figures.files import figure_files, figures_pdf
from humaneval.report.latex import render_latex
from humaneval.report.markdown import render_markdown
from humaneval.report.numbers_csv import csv_files, r_files
from humaneval.report.page import render_report

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
"""The forms that are one file, and its name in a folder of all forms."""


def form_of(path: Path | None, *, otherwise: str = "") -> str:
    """By the ending of `path`; a path without an ending is a folder of all forms, and no path a page.

    Raises UsageError for another ending, or no name; `otherwise` ends the hint about endings.
    """
    refuse_no_name(path)
    if path is None:
        return "html"
    if path.is_dir() or not path.suffix:
        return "all"
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"the ending of {path.name} does not name a form of the report",
            f"End the name in {', '.join(ENDINGS)}{otherwise}.",
        )
    return ENDINGS[path.suffix.lower()]


def refuse_no_name(path: Path | None) -> None:
    """Raise UsageError for an empty path, which means the working folder: a report would fill it."""
    if path == Path():
        raise UsageError(
            "the report has no name of its own",
            "Name a file such as report.html, or a folder such as report.",
        )


def form_files(
    data: ReportData, frame: pd.DataFrame, document: Mapping[str, Any], form: str
) -> Mapping[str, bytes]:
    """The files of a form, by name. `frame` holds the responses, `document` is the one of `score --json`."""
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
        texts[FILES["json"]] = json_text(document)
    if form in ("csv", "all"):
        texts |= csv_files(data)
        texts |= r_files(frame, data.analysis, data.warning)
    if form == "pdf":
        files[FILES["pdf"]] = figures_pdf(data)
    if form in ("figures", "all"):
        files |= figure_files(data)
    return {name: text.encode() for name, text in texts.items()} | files


def json_text(document: Mapping[str, Any]) -> str:
    """A document as a file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
