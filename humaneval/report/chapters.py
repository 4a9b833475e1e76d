"""The sections of a report, in the order in which a reader meets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from humaneval.domain import Role
from humaneval.errors import UsageError
from humaneval.report import contradictions, phrases, verdicts
from humaneval.report.contents import ReportData
from humaneval.report.detail_tables import detail_table
from humaneval.report.effect_tables import (
    agreement_table,
    cues_table,
    effect_sentences,
    model_tables,
    pay_table,
    workers_table,
)
from humaneval.report.figures.annotators import worker_figure
from humaneval.report.figures.heat_maps import heat_maps
from humaneval.report.figures.order import order_figure
from humaneval.report.figures.outlying_stories import story_figure
from humaneval.report.figures.power_curve import power_figure
from humaneval.report.figures.ranks import ranks_figure
from humaneval.report.methods import methods_paragraph
from humaneval.report.plan_table import plan_table
from humaneval.report.score_tables import (
    comparison_tables,
    exclusion_table,
    intervals_table,
    main_tables,
    provenance,
    rules_table,
)
from humaneval.report.sections import Section
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.scores import ScoreTable
from humaneval.statistics.arrays import NotEstimable

ABOUT = {
    "testing": "Tests, intervals and adjustment, and what makes a verdict.",
    "ranks": "How certain the order of the systems is.",
    "beside": "What else the question tells: by its own models and measures.",
    "rules": "The scores if others were excluded, and by other intervals.",
    "plan": "What the study was planned to find out, and what it can.",
    "cues": "The scores if annotators went by one cue alone.",
    "picks": "Which positions were favoured, and where sentences were found.",
    "order": "Whether the place of a passage in its form matters.",
    "model": "Scores and contrasts of a mixed model, as a check.",
    "annotators": "Whether annotators agree, and how each of them answered.",
    "hourly": "What annotators earned, by three ways of counting time.",
    "methods": "What was done, in a paragraph to paste into a paper.",
}
"""What is in each section that the page folds."""
NO_SPREAD = "By the model, stories do not differ, so none of them stands out."


def chapters(data: ReportData) -> dict[str, Section]:
    """The sections that an analysis fills, by key: all but scores, exclusions and the design audit. Empty
    without an analysis."""
    if data.analysis is None:
        return {}
    analysis = data.analysis
    found = [
        comparisons(analysis),
        testing(analysis),
        ranks(analysis),
        beside(analysis),
        rules(analysis),
        plan(data, analysis),
        cues(data, analysis),
        picks(analysis),
        order(analysis),
        model(analysis, data.story_titles),
        annotators(analysis),
        hourly(data),
        Section("methods", "Methods paragraph", (methods_paragraph(data),)),
    ]
    return {
        section.key: replace(section, about=ABOUT.get(section.key, "")) for section in found if section.blocks
    }


def sections(data: ReportData) -> tuple[Section, ...]:
    """Scores and exclusions, and the sections that an analysis fills. Raises UsageError without an
    analysis."""
    if data.analysis is None:
        raise UsageError("a report in this form needs an analysis", "Give `ReportData` an `analysis`.")
    table = data.table
    below = filter(None, (phrases.chance(table), phrases.method(table.scores)))
    rest = chapters(data)
    return (
        Section("scores", "Scores", (table.words.higher, *main_tables(data.analysis), *below)),
        *(rest[key] for key in ("comparisons",) if key in rest),
        Section(
            "exclusions",
            "Exclusions",
            (phrases.excluded(table), table.rule.describe(), exclusion_table(table)),
        ),
        *(section for key, section in rest.items() if key != "comparisons"),
    )


def comparisons(analysis: Analysis) -> Section:
    """Which generators were told apart."""
    sentences = [_summary(table) for table in analysis.table.all_scales]
    if analysis.table.detects:
        table = analysis.table
        sentences.append(contradictions.any_difference(analysis.omnibus, table.comparisons, table.level))
    whole = " ".join(filter(None, sentences))
    tables = [
        found for one in analysis.table.all_scales for found in comparison_tables(one, provenance(analysis))
    ]
    return Section("comparisons", "Comparisons", (*([whole] if whole else []), *tables))


def _summary(table: ScoreTable) -> str:
    """What its comparisons show, after the name of the scale if there are several."""
    families = (
        [one for one in table.comparisons if one.family == name] for name in ("systems", "below human")
    )
    said = " ".join(filter(None, (verdicts.summary(one, table.level) for one in families)))
    named = table.scale.name.replace("_", " ")
    return f"{named[:1].upper()}{named[1:]}: {phrases.within(said)}" if named and said else said


def testing(analysis: Analysis) -> Section:
    """How differences were tested."""
    table = analysis.table
    words = verdicts.method(table.comparisons, table.level, table.words.compared)
    return Section("testing", "How differences were tested", (words,) if words else ())


def beside(analysis: Analysis) -> Section:
    """What the question computes beside the scores."""
    tables = tuple(detail_table(one, analysis.table) for one in analysis.beside)
    return Section("beside", "Beside the scores", tables)


def rules(analysis: Analysis) -> Section:
    """How far the scores depend on the exclusions and on the method of the intervals."""
    return Section(
        "rules",
        "Scores under other rules",
        (
            (
                "These tables show how far a result depends on the exclusions. The first rule is the one of"
                " this"
                " report; its steps are in the table of exclusions."
            ),
            rules_table(analysis),
            *([intervals_table(analysis)] if analysis.table.detects else []),
        ),
    )


def ranks(analysis: Analysis) -> Section:
    """How certain the order of the systems is."""
    figure = ranks_figure(analysis)
    if figure is None or isinstance(analysis.standings, NotEstimable):
        return Section("ranks", "Ranks", ())
    words = contradictions.beside_ranks(analysis.standings, analysis.table.comparisons)
    return Section("ranks", "Ranks", (*filter(None, [words]), figure))


def plan(data: ReportData, analysis: Analysis) -> Section:
    """What the study was planned to find out, and what it can."""
    if data.plan is None or not any(row.role is Role.SYSTEM for row in analysis.table.scores):
        return Section("plan", "Plan", ())
    figure = power_figure(data.plan, analysis)
    table = plan_table(data.plan, analysis)
    return Section("plan", "Plan against achieved", (table, figure) if figure else (table,))


def cues(data: ReportData, analysis: Analysis) -> Section:
    """The scores if annotators understood nothing."""
    if not analysis.table.detects:
        return Section("cues", "Cues", ())
    words = "The scores on these passages if annotators understood nothing and went by one cue alone."
    return Section("cues", "Cues", (words, cues_table(data.cues, analysis)) if data.cues else ())


def picks(analysis: Analysis) -> Section:
    """Which sentences were marked, and where they stood."""
    if not analysis.table.detects:
        return Section("picks", "Positions and picks", ())
    return Section("picks", "Positions and picks", (*effect_sentences(analysis)[:2], heat_maps(analysis)))


def order(analysis: Analysis) -> Section:
    """Whether the place of a passage in its form matters."""
    if not analysis.table.detects:
        return Section("order", "Order and learning", ())
    figure = order_figure(analysis)
    return Section(
        "order", "Order and learning", (*effect_sentences(analysis)[2:], *([figure] if figure else []))
    )


def model(analysis: Analysis, titles: Mapping[str, str]) -> Section:
    """The mixed model as a check on the scores."""
    if not analysis.table.detects:
        return Section("model", "Mixed model", ())
    figure = story_figure(analysis, titles)
    nothing = "" if figure or isinstance(analysis.model, NotEstimable) else NO_SPREAD
    return Section(
        "model",
        "Mixed model",
        (*model_tables(analysis), *([figure] if figure else []), *filter(None, [nothing])),
    )


def annotators(analysis: Analysis) -> Section:
    """How each annotator answered, and whether they agree."""
    if not analysis.table.detects:
        return Section("annotators", "Annotators", (workers_table(analysis),))
    figure = worker_figure(analysis)
    return Section(
        "annotators",
        "Annotators",
        (agreement_table(analysis), *([figure] if figure else []), workers_table(analysis)),
    )


def hourly(data: ReportData) -> Section:
    """What annotators earned, three ways."""
    money = data.money
    if data.hourly is None:
        return Section("hourly", "Pay per hour", ())
    return Section(
        "hourly",
        "Pay per hour",
        pay_table(
            data.hourly,
            money.hourly_target if money else None,
            money.currency if money else "USD",
            simulated=data.answerers.programs > 0,
        ),
    )
