"""The sections of a report that an analysis fills, in the order in which a reader meets them."""

from __future__ import annotations

from humaneval.analysis import Analysis
from humaneval.report import verdicts
from humaneval.report.data import ReportData
from humaneval.report.score_tables import comparison_tables, intervals_table, rules_table
from humaneval.report.tables import Section


def chapters(data: ReportData) -> dict[str, Section]:
    """By key: the parts of a report that stand beside scores, exclusions and the design audit. None without an analysis."""
    if data.analysis is None:
        return {}
    found = [comparisons(data.analysis), rules(data.analysis)]
    return {section.key: section for section in found if section.blocks}


def comparisons(analysis: Analysis) -> Section:
    """What can be told apart, and what was done to find out."""
    chosen = analysis.table.comparisons
    families = [[one for one in chosen if one.family == family] for family in ("systems", "below human")]
    sentences = [verdicts.summary(family) for family in families]
    sentences.append(verdicts.any_difference(analysis.omnibus, analysis.table.level))
    sentences.append(verdicts.method(chosen))
    return Section(
        "comparisons",
        "Comparisons",
        (*filter(None, sentences), *comparison_tables(analysis)),
    )


def rules(analysis: Analysis) -> Section:
    """How far the scores hang on what was left out and on how intervals are made."""
    return Section(
        "rules",
        "Scores under other rules",
        (
            "A result that hangs on who was left out should be seen to do so. The first rule is this report’s; its steps are "
            "in the table of exclusions.",
            rules_table(analysis),
            intervals_table(analysis),
        ),
    )
