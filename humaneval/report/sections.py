"""A report as values: sections of sentences, tables and figures. Page, Markdown, LaTeX and CSV are made from
them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, isnan
from typing import NamedTuple

from humaneval.report.figures.drawing import Drawing
from humaneval.report.phrases import amount, between, percent
from humaneval.report.verdicts import gap, p_value
from humaneval.scoring.questions.question import Scale
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.intervals import Interval

NOT_ESTIMABLE = "not estimable"

Scalar = str | int | float | None


class Cell(NamedTuple):
    """What a reader sees, and the value behind it. Shares are 0..1, an interval is a pair, None is
    unknown."""

    text: str
    value: Scalar | Interval = None
    strong: bool = False


class Column(NamedTuple):
    """A column: `key` heads it in CSV, `head` for readers. `number`: aligned right. `span`: holds
    intervals."""

    key: str
    head: str
    number: bool = True
    span: bool = False
    unit: str = ""
    """The unit of its values, for the codebook."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table; `key` names its file. The first column names the row. The rows in `apart` have a line
    above."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    apart: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of table {self.key} does not have one cell per column")


@dataclass(frozen=True, slots=True)
class Figure:
    """One or more plots, and the table of what they draw."""

    key: str
    title: str
    drawings: tuple[Drawing, ...]
    caption: str
    table: ReportTable
    """The data, for readers who cannot see the plot."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the sentences, tables and figures below it, in order."""

    key: str
    heading: str
    blocks: tuple[str | ReportTable | Figure, ...]
    about: str = ""
    """What is in it, for the line under which the page folds it; empty if it stays open."""

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """Its tables, including those of its figures."""
        found = (block.table if isinstance(block, Figure) else block for block in self.blocks)
        return tuple(block for block in found if isinstance(block, ReportTable))


def text(value: str) -> Cell:
    """Words."""
    return Cell(value, value)


def whole(value: int) -> Cell:
    """A count: `1,200`."""
    return Cell(f"{value:,}", value)


def share(value: float | NotEstimable | None, *, strong: bool = False) -> Cell:
    """A share in percent, without the sign."""
    if value is None or isinstance(value, NotEstimable):
        return _missing(value)
    shown = percent(value)
    return Cell(shown if value >= 0 else shown.replace("-", "\N{MINUS SIGN}"), value, strong)


def span(value: Interval | NotEstimable | None) -> Cell:
    """An interval of shares in percent; with signs, and in words, if it reaches below 0."""
    if value is None or isinstance(value, NotEstimable):
        return _missing(value)
    if value.low < 0:
        return Cell(f"{_minus(percent(value.low))} to {_minus(percent(value.high))}", value)
    return Cell(between(value), value)


def score_cell(value: float, scale: Scale | None = None, *, strong: bool = False) -> Cell:
    """A score on its scale."""
    return (
        share(value, strong=strong)
        if scale is None or scale.share
        else Cell(amount(value, scale), value, strong)
    )


def score_span(value: Interval, scale: Scale | None = None) -> Cell:
    """The interval of a score on its scale."""
    return span(value) if scale is None or scale.share else Cell(between(value, scale), value)


def points(value: float, scale: Scale | None = None) -> Cell:
    """A difference of scores in points, with its sign."""
    return Cell(gap(value, scale), value)


def points_span(value: Interval, scale: Scale | None = None) -> Cell:
    """An interval of differences."""
    return Cell(f"{gap(value.low, scale)} to {gap(value.high, scale)}", value)


def probability(value: float) -> Cell:
    """A p-value."""
    return Cell(p_value(value), value)


def number(value: float | NotEstimable | None, digits: int = 2) -> Cell:
    """A number with this many digits after the point."""
    if value is None or isinstance(value, NotEstimable):
        return _missing(value)
    if not isfinite(value):
        return Cell(NOT_ESTIMABLE if isnan(value) else "∞" if value > 0 else "\N{MINUS SIGN}∞")
    shown = f"{value:,.{digits}f}"
    return Cell(_minus(shown) if float(shown.replace(",", "")) else shown.removeprefix("-"), value)


def number_span(value: Interval, digits: int = 2) -> Cell:
    """An interval of numbers."""
    return Cell(f"{number(value.low, digits).text} to {number(value.high, digits).text}", value)


def why_not(found: Iterable[tuple[str, object]]) -> str:
    """A sentence for each name whose value is not estimable, with the reason."""
    because: dict[str, list[str]] = {}
    for name, value in found:
        if isinstance(value, NotEstimable):
            because.setdefault(value.because, []).append(name)
    return " ".join(
        f"{', '.join(dict.fromkeys(names))}: {NOT_ESTIMABLE}, because {reason.rstrip('.')}."
        for reason, names in because.items()
    )


def _missing(value: NotEstimable | None) -> Cell:
    return Cell("") if value is None else Cell(NOT_ESTIMABLE)


def _minus(shown: str) -> str:
    return shown.replace("-", "\N{MINUS SIGN}")
