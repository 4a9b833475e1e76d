"""The report in other forms: Markdown, LaTeX tables, CSV files. All are written from the tables of the
page."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pandas as pd

from humaneval.csv_text import csv_text
from humaneval.errors import UsageError
from humaneval.report import phrases as words
from humaneval.report.chapters import chapters
from humaneval.report.contents import ReportData
from humaneval.report.page import warnings
from humaneval.report.score_tables import exclusion_table, main_table, provenance
from humaneval.report.sections import Column, Figure, ReportTable, Section
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.analysis.for_r import COLUMNS, rows_for_models, script
from humaneval.statistics.intervals import Interval

LONG = 40
"""Rows from which on a LaTeX table may break over pages."""


def sections(data: ReportData) -> tuple[Section, ...]:
    """Scores and exclusions, then everything that an analysis fills. Raises UsageError without an
    analysis."""
    if data.analysis is None:
        raise UsageError("a report in this form needs an analysis", "Give ReportData one.")
    table = data.table
    below = (words.excluded(table), words.chance(table), words.method(table.scores))
    rest = chapters(data)
    return (
        Section("scores", "Scores", (main_table(data.analysis), *below)),
        *(rest[key] for key in ("comparisons", "ranks") if key in rest),
        Section("exclusions", "Exclusions", (table.rule.describe(), exclusion_table(table))),
        *(section for key, section in rest.items() if key not in ("comparisons", "ranks")),
    )


def render_markdown(data: ReportData) -> str:
    """The report in Markdown with pipe tables; plots are left to the page, their data are here."""
    parts = [f"# {_md(data.title)}"]
    parts += [f"**{heading}.** {_md(sentence)}" for heading, sentence in warnings(data)]
    parts += [_md(data.summary)] if data.summary else []
    for section in sections(data):
        parts.append(f"## {_md(section.heading)}")
        for block in section.blocks:
            if isinstance(block, str):
                parts.append(_md(block))
                continue
            table = block.table if isinstance(block, Figure) else block
            parts.append(f"**{_md(table.title)}**")
            parts.append(_md_table(table))
            parts += [_md(table.note)] if table.note else []
    return "\n\n".join(parts) + "\n"


def _md_table(table: ReportTable) -> str:
    lines = [
        [column.head for column in table.columns],
        *([cell.text for cell in row] for row in table.rows),
    ]
    text = [f"| {' | '.join(map(_md, line))} |" for line in lines]
    rule = " | ".join("---:" if column.number else ":---" for column in table.columns)
    return "\n".join([text[0], f"| {rule} |", *text[1:]])


def _md(text: str) -> str:
    """Text in which nothing is markup, on one line."""
    flat = re.sub(r"\s+", " ", text)
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", flat).strip()


def render_latex(data: ReportData) -> str:
    """The tables for a paper: `\\input` it; needs booktabs, graphicx, and longtable for long ones."""
    parts = [
        "% Needs \\usepackage{booktabs,graphicx,longtable}; compile with UTF-8.",
        f"% {_one_line(data.title)}",
        FITTED,
    ]
    for section in sections(data):
        parts.append(f"% {_one_line(section.heading)}")
        parts += [_latex_table(table, _origin(table, data)) for table in section.tables]
    return "\n\n".join(parts) + "\n"


def _origin(table: ReportTable, data: ReportData) -> str:
    """Rule, n and seed for a caption, where the note below the table has them not."""
    origin = provenance(data.analysis) if data.analysis else ""
    return "" if origin in table.note else origin


def _latex_table(table: ReportTable, origin: str = "") -> str:
    kinds = "".join("r" if column.number else "l" for column in table.columns)
    head = " & ".join(_latex(column.head) for column in table.columns) + r" \\"
    body = []
    for at, row in enumerate(table.rows):
        if at in table.apart:
            body.append(r"\midrule")
        body.append(" & ".join(_latex(cell.text) for cell in row) + r" \\")
    caption = _latex(f"{table.title}. {origin}" if origin else table.title)
    label = f"\\label{{tab:{table.key.replace('_', '-')}}}"
    note = [f"{{\\par\\smallskip\\footnotesize {_latex(table.note)}\\par}}"] if table.note else []
    if len(table.rows) > LONG:
        head = " & ".join(_stacked(column) for column in table.columns) + r" \\"
        size = r"\tiny" if _characters(table) > SCRIPT_LINE else r"\scriptsize"
        lines = [
            rf"\begingroup{size}\setlength{{\tabcolsep}}{{2pt}}",
            f"\\begin{{longtable}}{{{kinds}}}",
            f"\\caption{{{caption}}}{label}\\\\",
            r"\toprule",
            head,
            r"\midrule",
            r"\endhead",
            *body,
            r"\bottomrule",
            r"\end{longtable}",
            r"\endgroup",
            *note,
        ]
    else:
        lines = [
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{caption}}}",
            label,
            r"\tablefitted{%",
            f"\\begin{{tabular}}{{{kinds}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            *note,
            r"\end{table}",
        ]
    return "\n".join(lines)


def _characters(table: ReportTable) -> int:
    """Of the longest line, about, where the words of a head stand below each other."""
    cells = zip(*([cell.text for cell in row] for row in table.rows), strict=True)
    return sum(
        1 + max(map(len, (*column.head.split(" "), *of)))
        for column, of in zip(table.columns, cells, strict=True)
    )


SCRIPT_LINE = 85
"""Characters that fit beside each other in LaTeX's scriptsize, where the text is as wide as in `article`."""


def _stacked(column: Column) -> str:
    """A head whose words stand below each other."""
    lines = r"\\".join(map(_latex, column.head.split(" ")))
    return rf"\shortstack[{'r' if column.number else 'l'}]{{{lines}}}" if r"\\" in lines else lines


FITTED = (
    "\\providecommand{\\tablefitted}[1]{\\sbox0{#1}\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}"
    "\\else\\usebox0\\fi}"
)
"""A table that is wider than the text is made as wide as it."""

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "\N{NO-BREAK SPACE}": "~",
    "…": r"\ldots{}",
    "′": "$'$",
    "’": "'",
    "±": r"$\pm$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "∞": r"$\infty$",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    '"': r"\textquotedbl{}",
}


def _latex(text: str) -> str:
    """Text in which nothing is a command."""
    return "".join(LATEX.get(character, character) for character in re.sub(r"[\t\r\n]+", " ", text))


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def csv_files(data: ReportData) -> Mapping[str, str]:
    """A CSV for each table, by file name, with the numbers behind the digits shown, and a codebook of all
    columns.

    Shares and differences are 0..1 there; an interval has two columns, `…_low` and `…_high`. Text that a
    spreadsheet would run as a formula is made harmless.
    """
    files, book = {}, []
    for section in sections(data):
        for table in section.tables:
            if f"{table.key}.csv" in files:
                continue
            names = [name for column in table.columns for name in _names(column)]
            rows = [
                [
                    value
                    for column, cell in zip(table.columns, row, strict=True)
                    for value in _values(column, cell.value)
                ]
                for row in table.rows
            ]
            files[f"{table.key}.csv"] = csv_text(names, rows, excel=True)
            book += [
                (f"{table.key}.csv", name, _one_line(column.head), column.unit)
                for column in table.columns
                for name in _names(column)
            ]
    files["codebook.csv"] = csv_text(("file", "column", "meaning", "unit"), book, excel=True)
    return files


def r_files(frame: pd.DataFrame, analysis: Analysis) -> Mapping[str, str]:
    """The responses that count, as R wants them, what their columns hold, and a script with the model's
    formula."""
    rows = rows_for_models(frame, analysis.table.rule)
    values = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    return {
        "responses_r.csv": csv_text(list(rows.columns), values, excel=True),
        "responses_r_codebook.csv": csv_text(("column", "meaning"), list(COLUMNS.items()), excel=True),
        "model.R": script(analysis.seed),
    }


def _names(column: Column) -> tuple[str, ...]:
    return (f"{column.key}_low", f"{column.key}_high") if column.span else (column.key,)


def _values(column: Column, value: object) -> tuple[object, ...]:
    if not column.span:
        return (_rounded(value),)
    return tuple(map(_rounded, value)) if isinstance(value, Interval) else (None, None)


def _rounded(value: object) -> object:
    """Floats to 10 significant digits: the last of 16 are rounding errors, as in 0.7999999999999999."""
    return float(f"{value:.10g}") if isinstance(value, float) else value
