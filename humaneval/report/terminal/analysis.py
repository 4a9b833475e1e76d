"""An analysis for the terminal: all sections of the report but scores and comparisons, as plain tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from humaneval.report.chapters import chapters
from humaneval.report.contents import ReportData
from humaneval.report.sections import Cell, Figure, ReportTable
from humaneval.scoring.analysis.analyse import Analysis

MOST = 40
"""The most lines of a table that are printed."""
LONGEST = 24
"""Words longer than this are cut."""
SKIPPED = frozenset({"comparisons"})
"""Already printed with the scores."""


def render_details(analysis: Analysis, console: Console) -> None:
    """Print every section of the report that the analysis fills; a plot as its table."""
    data = ReportData("", analysis.table, analysis)
    for key, section in chapters(data).items():
        if key in SKIPPED:
            continue
        console.print()
        console.print(Text(section.heading, "bold underline"))
        for block in section.blocks:
            if isinstance(block, str):
                console.print(Text(block))
            else:
                _print(block.table if isinstance(block, Figure) else block, console)


def _print(table: ReportTable, console: Console) -> None:
    rows = table.rows[:MOST]
    console.print(Text(table.title, "bold"))
    for number, part in enumerate(_parts(table, rows, console.width)):
        if number:
            console.print()
        lines = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold")
        for at, width in zip(part, _widths(table, rows, part, console.width), strict=True):
            column = table.columns[at]
            justify: Literal["left", "right"] = "right" if column.number else "left"
            lines.add_column(Text(column.head), justify=justify, overflow="fold", width=width)
        for row in rows:
            lines.add_row(*(Text(row[at].text) for at in part))
        console.print(lines)
    if len(table.rows) > MOST:
        console.print(Text(f"The first {MOST} of {len(table.rows):,} lines; --json prints all.", "dim"))
    if table.note:
        console.print(Text(table.note, "dim"))


def _narrowest(table: ReportTable, rows: Sequence[Sequence[Cell]], at: int) -> int:
    """How narrow a column may be: numbers stay whole, words may be on several lines but are not cut."""
    column = table.columns[at]
    cells = [row[at].text for row in rows]
    words = [*column.head.split(" "), *(cells if column.number else " ".join(cells).split(" "))]
    longest = max(1, *map(cell_len, words))
    return longest if column.number else min(longest, LONGEST)


def _widths(table: ReportTable, rows: Sequence[Sequence[Cell]], part: Sequence[int], width: int) -> list[int]:
    """Widths of the columns of a part: as narrow as possible; those that need more get the rest, from the
    left."""
    found = [_narrowest(table, rows, at) for at in part]
    left = width - sum(found) - 2 * (len(part) - 1)
    for place, at in enumerate(part):
        whole = max(map(cell_len, (table.columns[at].head, *(row[at].text for row in rows))))
        more = max(0, min(left, whole - found[place]))
        found[place] += more
        left -= more
    return found


def _parts(table: ReportTable, rows: Sequence[Sequence[Cell]], width: int) -> list[list[int]]:
    """Columns that fit beside each other, by number; the first column, which names the row, starts every
    part."""
    lead = _narrowest(table, rows, 0)
    parts: list[list[int]] = [[0]]
    used = lead
    for at in range(1, len(table.columns)):
        needed = _narrowest(table, rows, at) + 2
        if used + needed > width and len(parts[-1]) > 1:
            parts.append([0])
            used = lead
        parts[-1].append(at)
        used += needed
    return parts
