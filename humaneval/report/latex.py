"""The tables of a report in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from humaneval.report.chapters import sections
from humaneval.report.contents import ReportData
from humaneval.report.latex_text import latex_escaped
from humaneval.report.phrases import one_line
from humaneval.report.score_tables import provenance
from humaneval.report.sections import Column, ReportTable, Section

LONG = 40
"""A table with more rows than this may break over pages."""


def render_latex(data: ReportData) -> str:
    """The tables for a paper: `\\input` it; needs booktabs, graphicx, and longtable for long ones."""
    return latex_of(
        data.title, sections(data), provenance(data.analysis) if data.analysis else "", data.warning
    )


def latex_of(title: str, sections: Sequence[Section], origin: str, warning: str = "") -> str:
    """The tables of these sections; `origin` ends the captions of those that do not say it below. `warning`
    stands below each, because a paper takes single ones."""
    parts = [
        "% Needs \\usepackage{booktabs,graphicx,longtable}; compile with UTF-8.",
        f"% {one_line(title)}",
        FITTED,
    ]
    for section in sections:
        parts.append(f"% {one_line(section.heading)}")
        parts += [
            _latex_table(
                replace(one, note=" ".join(filter(None, (one.note, warning)))),
                "" if origin in one.note else origin,
            )
            for one in section.tables
        ]
    return "\n\n".join(parts) + "\n"


def _latex_table(table: ReportTable, origin: str = "") -> str:
    kinds = "".join("r" if column.number else "l" for column in table.columns)
    head = " & ".join(latex_escaped(column.head) for column in table.columns) + r" \\"
    body = []
    for at, row in enumerate(table.rows):
        if at in table.apart:
            body.append(r"\midrule")
        body.append(" & ".join(latex_escaped(cell.text) for cell in row) + r" \\")
    caption = latex_escaped(f"{table.title}. {origin}" if origin else table.title)
    label = f"\\label{{tab:{table.key.replace('_', '-')}}}"
    note = [f"{{\\par\\smallskip\\footnotesize {latex_escaped(table.note)}\\par}}"] if table.note else []
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
    lines = r"\\".join(map(latex_escaped, column.head.split(" ")))
    return rf"\shortstack[{'r' if column.number else 'l'}]{{{lines}}}" if r"\\" in lines else lines


FITTED = (
    "\\providecommand{\\tablefitted}[1]{\\sbox0{#1}\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}"
    "\\else\\usebox0\\fi}"
)
"""A table that is wider than the text is made as wide as it."""
