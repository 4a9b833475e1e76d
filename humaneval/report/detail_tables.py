"""What a question computes beside the scores, as tables of a report."""

from __future__ import annotations

from typing import Any

from humaneval.report.score_tables import interval_head
from humaneval.report.sections import (
    Cell,
    Column,
    ReportTable,
    number,
    number_span,
    probability,
    share,
    span,
    text,
    whole,
    why_not,
)
from humaneval.scoring.questions.judging import Detail, DetailColumn
from humaneval.scoring.scores import ScoreTable
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.intervals import Interval


def detail_table(detail: Detail, table: ScoreTable) -> ReportTable:
    """A table of a report: text, counts, shares in percent, p-values, intervals and other numbers."""
    lacking = [
        (f"{column.head} of {row[0]}" if column.head else str(row[0]), value)
        for row in detail.rows
        for column, value in zip(detail.columns, row, strict=True)
    ]
    return ReportTable(
        detail.key,
        detail.title,
        tuple(_column(at, one, detail, table) for at, one in enumerate(detail.columns)),
        tuple(
            tuple(_cell(column, value) for column, value in zip(detail.columns, row, strict=True))
            for row in detail.rows
        ),
        " ".join(filter(None, (detail.note, why_not(lacking)))),
    )


def _column(at: int, one: DetailColumn, detail: Detail, table: ScoreTable) -> Column:
    values = [row[at] for row in detail.rows]
    spans = any(isinstance(value, Interval) for value in values)
    words = all(isinstance(value, str) for value in values)
    head = one.head or (interval_head(table) if spans else "")
    return Column(one.key, head, not words, spans, one.unit)


def _cell(column: DetailColumn, value: Any) -> Cell:
    if value is None or isinstance(value, NotEstimable):
        return number(value)
    if isinstance(value, Interval):
        return span(value) if column.unit == "share" else number_span(value)
    if isinstance(value, str):
        return text(value)
    if column.unit == "p":
        return probability(value)
    if column.unit == "share":
        return share(value)
    return whole(value) if isinstance(value, int) else number(value)
