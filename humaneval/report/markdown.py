"""The report in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from humaneval.report.chapters import sections
from humaneval.report.conclusion import conclusion
from humaneval.report.contents import ReportData
from humaneval.report.page import warnings
from humaneval.report.phrases import one_line
from humaneval.report.sections import Figure, ReportTable, Section


def render_markdown(data: ReportData) -> str:
    """The report in Markdown with pipe tables; plots are left to the page, their data are here."""
    return markdown_of(
        data.title,
        (
            *(f"**{warned.heading}.** {markdown_text(warned.text)}" for warned in warnings(data)),
            markdown_text(" ".join(conclusion(data.table))),
            markdown_text(data.summary),
        ),
        sections(data),
    )


def markdown_of(title: str, above: Sequence[str], sections: Sequence[Section]) -> str:
    """A document of these sections, below paragraphs that are Markdown already; empty ones are left out."""
    parts = [f"# {markdown_text(title)}", *filter(None, above)]
    for section in sections:
        parts.append(f"## {markdown_text(section.heading)}")
        for block in section.blocks:
            if isinstance(block, str):
                parts.append(markdown_text(block))
                continue
            table = block.table if isinstance(block, Figure) else block
            parts.append(f"**{markdown_text(table.title)}**")
            parts.append(_md_table(table))
            parts += [markdown_text(table.note)] if table.note else []
    return "\n\n".join(parts) + "\n"


def _md_table(table: ReportTable) -> str:
    lines = [
        [column.head for column in table.columns],
        *([cell.text for cell in row] for row in table.rows),
    ]
    text = [f"| {' | '.join(map(markdown_text, line))} |" for line in lines]
    rule = " | ".join("---:" if column.number else ":---" for column in table.columns)
    return "\n".join([text[0], f"| {rule} |", *text[1:]])


def markdown_text(text: str) -> str:
    """Text in which nothing is markup, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", one_line(text)).strip()
