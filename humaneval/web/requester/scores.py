"""The scores of a study, and whether it is too early to look at them."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

from markupsafe import Markup

from humaneval.errors import HumanEvalError
from humaneval.report.figures.forest import score_plot
from humaneval.report.phrases import chance, control, excluded, few, method, sentence
from humaneval.report.score_tables import score_head
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.scores import GeneratorScore, ScoreTable, score
from humaneval.store.engine import reading
from humaneval.store.responses import forms_set_aside
from humaneval.store.tables import StudyRow
from humaneval.study.enlarge import additions_of
from humaneval.study.scores import collected, own_rules
from humaneval.study.stored import Study

_NONE = Declared((), below_human=False)
"""No comparison: they take most of the time, and the page has none."""
_one_at_a_time = Lock()
"""Scores and plots take the processor, and people who answer come first."""


class Row(NamedTuple):
    """A generator's score, and the same before exclusions."""

    score: GeneratorScore
    before: GeneratorScore


class OnScale(NamedTuple):
    """The scores on one scale, and the head of their column."""

    table: ScoreTable
    head: str
    rows: tuple[Row, ...]


class Shown(NamedTuple):
    """The scores as a page shows them, or why there are none."""

    table: ScoreTable | None = None
    scales: tuple[OnScale, ...] = ()
    wide: Markup = Markup()
    narrow: Markup = Markup()
    words: tuple[str, ...] = ()
    """The plot in words."""
    notes: tuple[str, ...] = ()
    additions: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""


def _on_scale(table: ScoreTable) -> OnScale:
    before = {one.generator: one for one in table.before_exclusions}
    head = "Score, %" if table.detects else score_head(table.scale)
    return OnScale(table, head, tuple(Row(one, before[one.generator]) for one in table.scores))


def shown(study: Study) -> Shown:
    """The scores of `score`, of a pilot those of `score --tests`, with table and plot as in the report."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        is_test, aside = row.is_test, forms_set_aside(session, row)
    with _one_at_a_time:
        try:
            found = collected(study, tests=is_test)
            with own_rules(study.name):
                table = score(
                    found.frame,
                    found.rule,
                    **found.gates._asdict(),
                    level=study.settings.analysis.level,
                    declared=_NONE,
                    told=found.told,
                )
        except HumanEvalError as error:
            return Shown(error=error.message, hint=error.hint)
        notes = [excluded(table), control(table), chance(table), method(table.scores), few(table)]
        if aside:
            notes.append(f"Forms left out, rejected or by people who had taken part before: {aside}.")
        return Shown(
            table,
            tuple(map(_on_scale, table.all_scales)),
            Markup("".join(score_plot(one).svg() for one in table.all_scales)),
            Markup("".join(score_plot(one, narrow=True).svg() for one in table.all_scales)),
            tuple(sentence(row, one.level, one.scale) for one in table.all_scales for row in one.scores),
            tuple(note for note in notes if note),
            tuple(each.describe() for each in additions_of(study)),
        )
