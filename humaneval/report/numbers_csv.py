"""The numbers of a report as CSV files, and the responses as R wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from humaneval.csv_text import csv_text, type_of
from humaneval.domain import Role
from humaneval.report.chapters import sections
from humaneval.report.contents import ReportData
from humaneval.report.phrases import one_line
from humaneval.report.sections import Cell, Column, Section
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.analysis.for_r import columns_of, rows_for_models, script
from humaneval.statistics.intervals import Interval

WARNING = "warning"
"""The last column, where there is something to warn of."""


def csv_files(data: ReportData) -> Mapping[str, str]:
    """A CSV for each table, by file name, with the numbers behind the digits shown, and a codebook of all
    columns.

    Shares and differences are 0..1 there; an interval has two columns, `…_low` and `…_high`. The codebook
    says which columns are text. Text that a spreadsheet would run as a formula is made harmless. If programs
    answered, or it was a pilot, a last column says so in every line.
    """
    return csv_of(sections(data), data.warning)


def csv_of(sections: Sequence[Section], warning: str = "") -> Mapping[str, str]:
    """The same for the tables of these sections."""
    files, book = {}, []
    last = [Column(WARNING, "what must not be overlooked", number=False)] if warning else []
    for section in sections:
        for table in section.tables:
            if f"{table.key}.csv" in files:
                continue
            columns = [*table.columns, *last]
            names = [name for column in columns for name in _names(column)]
            rows = [
                [
                    value
                    for column, cell in zip(
                        columns, (*row, *(Cell(warning, warning) for _ in last)), strict=True
                    )
                    for value in _values(column, cell.value)
                ]
                for row in table.rows
            ]
            files[f"{table.key}.csv"] = csv_text(names, rows)
            book += [
                (f"{table.key}.csv", name, one_line(head), unit, type_of(row[place] for row in rows))
                for place, (name, head, unit) in enumerate(
                    (name, column.head, column.unit) for column in columns for name in _names(column)
                )
            ]
    files["codebook.csv"] = csv_text(("file", "column", "meaning", "unit", "type"), book)
    return files


def r_files(frame: pd.DataFrame, analysis: Analysis, warning: str = "") -> Mapping[str, str]:
    """The responses that count, as R wants them, what their columns hold, and a script with the question's
    models. A `warning` stands in a column of its own, and above the script."""
    table = analysis.table
    gates = {str(row.role): row.generator for row in table.before_exclusions if row.role is not Role.SYSTEM}
    rows = rows_for_models(
        frame, table.rule, control=gates.get("control"), human=gates.get("human"), told=table.asked
    )
    pairs = "other" in rows.columns
    columns = columns_of(table.asked, pairs=pairs)
    values = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    book = [(name, column.meaning, column.type) for name, column in columns.items()]
    names = list(rows.columns)
    if warning:
        names, values = [*names, WARNING], [[*row, warning] for row in values]
        book.append((WARNING, "what must not be overlooked", "character"))
    return {
        "responses_r.csv": csv_text(names, values),
        "responses_r_codebook.csv": csv_text(("column", "meaning", "type"), book),
        "model.R": (f"# {warning}\n" if warning else "") + script(analysis.seed, table.asked, pairs=pairs),
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
