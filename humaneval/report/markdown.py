"""The report in Markdown."""

from __future__ import annotations

import re

from humaneval.report.chapters import sections
from humaneval.report.conclusion import conclusion
from humaneval.report.contents import ReportData
from humaneval.report.page import warnings
from humaneval.report.phrases import one_line
from humaneval.report.sections import Figure, ReportTable


def render_markdown(data: ReportData) -> str:
    """The report in Markdown with pipe tables; plots are left to the page, their data are here."""
    parts = [f"# {_md(data.title)}"]
    parts += [f"**{warned.heading}.** {_md(warned.text)}" for warned in warnings(data)]
    parts.append(_md(" ".join(conclusion(data.table))))
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
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", one_line(text)).strip()
