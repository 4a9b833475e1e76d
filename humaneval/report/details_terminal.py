"""An analysis for the terminal: the sections of the report beside scores and comparisons, as plain tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from humaneval.analysis import Analysis
from humaneval.report.chapters import chapters
from humaneval.report.data import ReportData
from humaneval.report.tables import Figure, ReportTable

MOST = 40
"""So many lines of a table are printed."""
SKIPPED = frozenset({"comparisons"})
"""Already printed with the scores."""


def render_details(analysis: Analysis, console: Console) -> None:
    """Print every section of the report that the analysis fills; plots as the tables behind them."""
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
    lines = Table(
        box=None, padding=(0, 1), pad_edge=False, header_style="bold", title=Text(table.title, "bold"), title_justify="left"
    )  # fmt: skip
    for column in table.columns:
        lines.add_column(Text(column.head), justify="right" if column.number else "left", overflow="fold")
    for row in table.rows[:MOST]:
        lines.add_row(*(Text(cell.text) for cell in row))
    console.print(lines)
    if len(table.rows) > MOST:
        console.print(Text(f"The first {MOST} of {len(table.rows):,}; --json gives all.", "dim"))
    if table.note:
        console.print(Text(table.note, "dim"))
