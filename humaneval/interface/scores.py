"""Scores of responses: `he.score(frame)`, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.interface.errors import in_python, refuse_level
from humaneval.interface.shown import scores_html, scores_text
from humaneval.interface.tables import Table, table_of
from humaneval.report.conclusion import conclusion
from humaneval.report.contents import RepeatFacts, ReportData
from humaneval.report.figures.forest import score_plot
from humaneval.report.formats import FILES, form_files, form_of
from humaneval.report.from_study import software
from humaneval.report.phrases import mark, warned
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.asked import TableQuestion, asked
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import ScoreTable
from humaneval.scoring.scores import score as compute
from humaneval.store.written_files import write_whole
from humaneval.text import Answerers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORE_FIELDS = (
    "generator",
    "role",
    "n",
    "not_identified",
    "score",
    "interval",
    "interval_method",
    "level",
    "design_effect",
    "effective_n",
    "workers",
    "stories",
    "note",
)
"""The columns of `Scores.frame`: the fields of `scores` in `score --json`."""
COMPARISON_FIELDS = (
    "a",
    "b",
    "family",
    "difference",
    "interval",
    "interval_method",
    "test",
    "p",
    "p_adjusted",
    "adjust",
    "verdict",
    "pairs",
    "note",
    "bound",
    "p_error",
    "margin",
)
"""The columns of `Scores.comparisons`."""


@dataclass(frozen=True, slots=True)
class Source:
    """What scores are computed from, and what a report says beside them."""

    frame: pd.DataFrame
    rule: Rule
    declared: Declared
    level: float
    page: Callable[[Analysis, str], ReportData]
    """The report of an analysis under a title; an empty title means the source's own."""
    facts: Callable[[], Mapping[str, Any]]
    """The fields of `score --json` beside the scores."""
    answerers: Answerers | None = None
    """How many annotators are programs; None if none is."""
    early: str = ""
    """That not all forms of the design are in; empty if they are."""
    control: str | None = None
    human: str | None = None
    told: TableQuestion | None = None
    """What was asked; None leaves it to the table."""
    also: Mapping[str, Rule] = field(default_factory=dict)
    seed: int = 0
    advising: Callable[[], AbstractContextManager[None]] = nullcontext
    """Words errors for this source."""


class Scores:
    """The scores of a study or a response table, computed once and never edited.

    Shares are 0..1. A higher score is better: fewer annotators marked the machine's sentence. A notebook
    shows the table with its conclusion.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def table(self) -> ScoreTable:
        """The scores as values of the toolkit. Raises the errors of `humaneval.scoring.scores.score`."""
        source = self._source
        if "analysis" in self.__dict__:
            return self.analysis.table
        with source.advising():
            return compute(
                source.frame,
                source.rule,
                control=source.control,
                human=source.human,
                level=source.level,
                declared=source.declared,
                told=source.told,
            )

    @cached_property
    def analysis(self) -> Analysis:
        """All that a report computes: other rules, other intervals, ranks, the mixed model, annotators."""
        source = self._source
        with source.advising():
            return analyse(
                source.frame,
                source.rule,
                also=source.also,
                declared=source.declared,
                control=source.control,
                human=source.human,
                level=source.level,
                seed=source.seed,
                told=source.told,
            )

    def computed(self) -> Self:
        """The same, after its table was computed: an error shows at once, and not when the table is shown.
        A database may be closed afterwards."""
        self.table, self.facts  # noqa: B018  computes what is derived
        return self

    @property
    def frame(self) -> pd.DataFrame:
        """One row a generator: Control, systems by ascending score, Human.

        The columns are `SCORE_FIELDS`: `score` is a share in 0..1, `interval` a pair (low, high) of shares,
        or None for Control, `n` and `not_identified` count passages. Of another question than `detect` scores
        are in the unit of its scale, and nothing is `not_identified`. Several scales are below each other,
        with a column `scale` before the others.
        """
        return _frame(self.table, [one.to_json()["scores"] for one in self.table.all_scales], SCORE_FIELDS)

    @property
    def comparisons(self) -> pd.DataFrame:
        """One row a comparison; empty if nothing was compared.

        The columns are `COMPARISON_FIELDS`: `difference` is score of `a` minus score of `b`, in −1..1, with
        its `interval`, a pair. `verdict` is a_higher, b_higher, equivalent or inconclusive.
        """
        rows = [[one.to_json() for one in table.comparisons] for table in self.table.all_scales]
        return _frame(self.table, rows, COMPARISON_FIELDS)

    @property
    def conclusion(self) -> str:
        """In short: what the data show, what they cannot tell, how many people answered.

        If programs answered, if it was a pilot, or if not all forms are in, that comes first.
        """
        warning = warned(self._who, tests=self._is_test)
        return " ".join(filter(None, (warning, self._source.early, *conclusion(self.table))))

    def plot(self, scale: str = "") -> Figure:
        """The report's plot of scores and intervals, as a matplotlib figure of 9.2 inches; of several scales
        the first, or the one called `scale`. Raises UsageError for another name."""
        tables = {one.scale.name: one for one in self.table.all_scales}
        if scale and scale not in tables:
            raise UsageError(f"there is no scale {scale!r}", f"Scales: {', '.join(tables) or 'none'}.")
        table = tables.get(scale, self.table)
        return replace(score_plot(table), mark=mark(self._who, tests=self._is_test)).figure()

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be supposed, because a table does not say it."""
        return () if self._source.told is None else self._source.told.notes

    @property
    def early(self) -> str:
        """That not all forms of the study's design are in; empty if they are, and for a table."""
        return self._source.early

    @property
    def _who(self) -> Answerers:
        return self._source.answerers or Answerers(0, 0)

    @property
    def _is_test(self) -> bool:
        return self.table.rule.tests == "only"

    def report(self, path: str | PathLike[str], *, title: str = "") -> Path:
        """Write what the verb `report` writes. Returns the path.

        The ending chooses the form: .html, .md, .tex, .json or .pdf; a folder gets all forms. Raises
        UsageError for another ending, and InputError if nothing can be written there.
        """
        out = Path(path)
        with in_python():
            form = form_of(out)
            files = self.files(form, title=title)
            try:
                if form not in FILES:
                    out.mkdir(parents=True, exist_ok=True)
                for name, content in files.items():
                    write_whole(out if form in FILES else out / name, content)
            except OSError as error:
                raise InputError(
                    f"{error.filename or out}: {error.strerror or error}", "Choose another path."
                ) from None
        return out

    def files(self, form: str, *, title: str = "") -> Mapping[str, bytes]:
        """The files of a form of the report, by name."""
        data = self._source.page(self.analysis, title)
        document = self.json(details=True) if form in ("json", "all") else {}
        return form_files(data, self._source.frame, document, form)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What the document of `score --json` has beside the scores."""
        return self._source.facts()

    def json(self, *, details: bool = False) -> dict[str, Any]:
        """The document of `score --json`; with `details` that of `score --json --details`. Plain values."""
        scored = self.analysis if details else self.table
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {**scored.to_json(), **self.facts, **notes}

    def __repr__(self) -> str:
        return scores_text(self.table, self._source.answerers, self._source.early)

    def _repr_html_(self) -> str:
        return scores_html(self.table, self._source.answerers, self._source.early)


def score(
    responses: pd.DataFrame | str | PathLike[str],
    *,
    control: str | None = None,
    human: str | None = None,
    missed_control: Literal["annotator", "row", "none"] = "annotator",
    keep_incomplete: bool = False,
    tests: bool = False,
    margin: float = 0.0,
    level: float = 0.95,
    question: str | None = None,
) -> Scores:
    """Score a response table, as `humaneval score --responses` does.

    `responses` is a frame with one row for each answer to a passage, or the path of such a table (.csv, .tsv
    or .jsonl). It has the columns worker, story, generator, position and choice; `position` is where the
    machine's sentence stood, `choice` what the annotator marked, both from 1 to 5. Others are used if they
    are there: see `docs/responses.md`. The frame is not changed.

    `control` and `human` name the generators of these roles; without them, generators called control and
    human have them. `missed_control` is what a missed Control passage excludes. `keep_incomplete` counts
    annotators who left out a passage, `tests` scores pilots alone. Two scores are called equivalent if their
    difference is shown to lie within `margin`, a share of the scale. `level` is that of the intervals.
    `question` is what was asked, if the table has no column `question`: `detect` by default.

    Raises InputError if the table cannot be scored, and UsageError for an argument that does not fit it.
    """
    with in_python():
        refuse_level(level)
        rule = Rule(
            control=missed_control,
            incomplete=not keep_incomplete,
            tests="only" if tests else "leave out",
        )
        found = scores_of_table(
            table_of(responses, question),
            rule,
            control=control,
            human=human,
            margin=margin,
            level=level,
            question=question,
        )
        return found.computed()


def scores_of_table(
    table: Table,
    rule: Rule,
    *,
    control: str | None = None,
    human: str | None = None,
    margin: float = 0.0,
    level: float = 0.95,
    question: str | None = None,
) -> Scores:
    """The scores of a response table under a rule. Raises the errors of `humaneval.scoring.scores.score`."""

    def page(analysis: Analysis, title: str) -> ReportData:
        return ReportData(
            title=title or table.title or "Scores",
            table=analysis.table,
            analysis=analysis,
            simulated=table.answerers.programs if table.answerers else 0,
            repeat=RepeatFacts(responses_hash=table.hash, software=software()),
        )

    return Scores(
        Source(
            table.frame,
            rule,
            Declared(margin=margin),
            level,
            page,
            table.facts,
            table.answerers,
            control=control,
            human=human,
            told=asked(table.frame, question),
        )
    )


def _frame(table: ScoreTable, by_scale: list[list[dict[str, Any]]], fields: tuple[str, ...]) -> pd.DataFrame:
    """Rows of a document as a frame; pairs stay pairs."""
    rows = [row for rows in by_scale for row in rows]
    if not table.detects:
        fields = tuple(name for name in fields if name != "not_identified")
    if table.others:
        fields = ("scale", *fields)
        named = zip(table.all_scales, by_scale, strict=True)
        rows = [{"scale": one.scale.name, **row} for one, rows in named for row in rows]
    columns = {
        name: [tuple(row[name]) if isinstance(row[name], list) else row[name] for row in rows]
        for name in fields
    }
    return pd.DataFrame(columns, columns=list(fields))
