"""The tables and sentences beside the scores: cues, positions and order, agreement, the mixed model,
annotators, pay."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from humaneval.planning.cues import CueScore
from humaneval.report.contradictions import beside_model
from humaneval.report.phrases import short_pseudonym
from humaneval.report.score_tables import NBSP, drawn, interval_head, provenance
from humaneval.report.sections import (
    NOT_ESTIMABLE,
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
from humaneval.report.verdicts import p_equals
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.mixed_model import MixedModel
from humaneval.statistics.pay import HourlyPay, Pay

CONTRASTS = 60
"""The most contrasts that a page shows; the JSON has all of them."""


def cues_table(cues: tuple[CueScore, ...], analysis: Analysis) -> ReportTable:
    """What each generator would score with annotators who go by one cue."""
    names = list(dict.fromkeys(one.cue for one in cues))
    by = {(one.generator, one.cue): one for one in cues}
    there = {one.generator for one in cues}
    rows = tuple(
        (
            text(row.generator),
            *(
                share(by[row.generator, cue].score) if (row.generator, cue) in by else Cell("")
                for cue in names
            ),
            share(row.score),
        )
        for row in analysis.table.scores
        if row.generator in there
    )
    return ReportTable(
        "cues",
        "Score, %, if annotators went by one cue alone",
        (
            Column("generator", "Generator", False),
            *(
                Column(f"cue_{cue.replace(' ', '_')}", cue[:1].upper() + cue[1:], unit="share")
                for cue in names
            ),
            Column("score", "In this study", unit="share"),
        ),
        rows,
        "In each column, annotators would mark a sentence by that cue alone, for example the longest of the"
        " five. A value far below chance means that the sentences can be told without being understood.",
    )


def agreement_table(analysis: Analysis) -> ReportTable | str:
    """Coefficients, or why there are none."""
    found = analysis.effects.agreement
    if isinstance(found, NotEstimable):
        return f"Agreement between annotators: not estimable, because {found.because}."
    rows = []
    for one in found.coefficients:
        interval = (
            Cell(NOT_ESTIMABLE) if isinstance(one.interval, NotEstimable) else number_span(one.interval, 3)
        )
        rows.append((text(one.name), number(one.value, 3), interval))
    reasons = why_not(
        [(one.name, one.value) for one in found.coefficients]
        + [(f"interval of {one.name}", one.interval) for one in found.coefficients]
    )
    return ReportTable(
        "agreement",
        "Whether annotators mark the same sentence of a passage",
        (
            Column("coefficient", "Coefficient", False),
            Column("value", "Value"),
            Column("interval", interval_head(analysis.table), span=True),
        ),
        tuple(rows),
        f"Over {found.passages:,} passages with at least two answers, without Control. {drawn(analysis)}"
        f" {reasons}".strip(),
    )


def effect_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Favoured positions, positions of the sentence, learning: a sentence each."""
    effects = analysis.effects
    sentences = []
    if isinstance(effects.picking, NotEstimable):
        sentences.append(f"Favoured positions: not estimable, because {effects.picking.because}.")
    else:
        test = effects.picking.significance
        few = (
            " Fewer than five per position are expected, so this test is rough."
            if effects.picking.few
            else ""
        )
        sentences.append(
            "Favoured positions: on Human passages, positions 1 to 5 were marked"
            f" {', '.join(map(str, effects.picking.picks))} times (test of equal shares: χ²({test.degrees}) ="
            f" {test.statistic:.2f}, p{NBSP}{p_equals(test.p)}).{few}"
        )
    position = effects.position
    if isinstance(position, NotEstimable):
        sentences.append(f"Position of the systems’ sentences: not estimable, because {position.because}.")
    elif isinstance(position.significance, NotEstimable):
        sentences.append(
            f"Position of the systems’ sentences: not estimable, because {position.significance.because}."
        )
    else:
        test = position.significance
        shares = ", ".join(
            f"{100 * hit / n:.0f}" for hit, n in zip(position.detected, position.responses, strict=True)
        )
        sentences.append(
            f"Position: the systems’ sentences were detected in {shares}{NBSP}% at positions"
            f" {', '.join(map(str, position.positions))} (test of equal detection, within generators:"
            f" χ²({test.degrees}) = {test.statistic:.2f}, p{NBSP}{p_equals(test.p)})."
        )
    trend = effects.learning
    if isinstance(trend, NotEstimable):
        sentences.append(f"Learning: not estimable, because {trend.because}.")
    else:
        low, high = (float(np.exp(at)) for at in trend.interval)
        sentences.append(
            "Learning: from one passage of a form to the next, the odds of detection change by a factor of"
            f" {trend.odds_ratio:.2f} ({interval_head(analysis.table)} {low:.2f} to {high:.2f},"
            f" p{NBSP}{p_equals(trend.p)})."
        )
    return tuple(sentences)


def model_tables(analysis: Analysis) -> tuple[str | ReportTable, ...]:
    """The mixed model: how the fit ended, its standard deviations, its scores and contrasts."""
    model = analysis.model
    if not isinstance(model, MixedModel):
        return (f"The mixed model is not estimable, because {model.because}.",)
    level = analysis.table.level
    words = (
        "Logistic, with crossed random effects of annotators and stories, fitted to"
        f" {model.responses:,} responses on systems and Human. {model.statement} Standard deviations on the"
        " logit: annotators"
        f" {model.worker_sd:.2f}, stories {model.story_sd:.2f}. Log likelihood"
        f" {number(model.log_likelihood).text}."
    )
    order = {row.generator: at for at, row in enumerate(analysis.table.scores)}
    scores = {row.generator: row for row in analysis.table.scores}
    marginals = sorted(model.marginals(level), key=lambda one: order[one.name])
    contrasts = model.contrasts(level)
    head = interval_head(analysis.table)
    first = ReportTable(
        "model_marginals",
        "Scores by the mixed model, %",
        (
            Column("generator", "Generator", False),
            Column("probability", "By the model", unit="share"),
            Column("interval", head, span=True, unit="share"),
            Column("score", "Score", unit="share"),
        ),
        tuple(
            (text(str(one.name)), share(one.probability), span(one.interval), share(scores[one.name].score))
            for one in marginals
        ),
        "Probabilities over all annotators and stories; the intervals take the standard deviations as known."
        f" {provenance(analysis)}",
    )
    second = ReportTable(
        "model_contrasts",
        "Contrasts by the mixed model on the log odds, unadjusted",
        (
            Column("pair", "Pair", False),
            Column("estimate", "Estimate", unit="log odds"),
            Column("standard_error", "Standard error", unit="log odds"),
            Column("z", "z"),
            Column("p", "p"),
            Column("interval", head, span=True, unit="log odds"),
        ),
        tuple(
            (
                Cell(f"{one.a} – {one.b}", f"{one.a} - {one.b}"),
                number(one.estimate),
                number(one.standard_error),
                number(one.z),
                probability(one.p),
                number_span(one.interval),
            )
            for one in contrasts[:CONTRASTS]
        ),
        "A sensitivity analysis: verdicts come from the declared comparisons, not from these p-values."
        + (f" These are the first {CONTRASTS} of {len(contrasts)}." if len(contrasts) > CONTRASTS else ""),
    )
    aside = beside_model(contrasts, analysis.table.comparisons, level)
    return (words, *filter(None, [aside]), first, second)


def workers_table(analysis: Analysis) -> ReportTable:
    """One row for each annotator."""
    marks = analysis.table.detects
    head, often = ("One position", "mark one position") if marks else ("One answer", "give one answer")
    straight = analysis.table.asked.question.straight_lines
    rows = []
    for one in analysis.workers:
        rows.append(
            (
                Cell(short_pseudonym(one.worker), one.worker),
                Cell("yes" if one.counted else "no", int(one.counted)),
                whole(one.responses),
                Cell(f"{one.noticed} / {one.controls}", one.noticed),
                *([Cell(f"{one.detected} / {one.systems}", one.detected)] if marks else []),
                Cell("", None) if one.spam is None else probability(one.spam),
                *([probability(one.straight)] if straight else []),
                number(one.median_seconds, 1),
                number(one.words_per_second, 1),
                text("; ".join(one.flags)),
            )
        )
    return ReportTable(
        "workers",
        "Annotators one by one",
        (
            Column("annotator", "Annotator", False),
            Column("counted", "Counted", False),
            Column("responses", "Responses"),
            Column("control_noticed", "Control noticed"),
            *([Column("detected", "Systems detected")] if marks else []),
            Column("spam", "Not reading", unit="probability"),
            *([Column("straight", head, unit="probability")] if straight else []),
            Column("median_seconds", "Seconds", unit="seconds a passage"),
            Column("words_per_second", "Words a second"),
            Column("flags", "Flags", False),
        ),
        tuple(rows),
        "Pseudonyms are shortened. Not reading: its probability, given the Control passages."
        + (f" {head}: how often chance would {often} as much as this annotator did." if straight else "")
        + " Seconds and words: medians over passages. Flags exclude nobody; only the rule does.",
    )


def pay_table(
    pay: Pay | NotEstimable, target: Decimal | None, currency: str, *, simulated: bool = False
) -> tuple[str | ReportTable, ...]:
    """What annotators earned per hour, by three ways of counting time."""
    if isinstance(pay, NotEstimable):
        return (f"Pay per hour: not estimable, because {pay.because}.",)
    ways = {
        "Opened to submitted": pay.work_time,
        "The same, overlaps counted once": pay.union,
        "Page’s timers": pay.in_page,
    }
    rows = []
    for name, one in ways.items():
        if not isinstance(one, HourlyPay):
            rows.append((text(name), Cell(NOT_ESTIMABLE), *[Cell("")] * 5))
            continue
        known = one.by_worker[~np.isnan(one.by_worker)]
        under = None if target is None else float((known < float(target)).mean())
        rows.append(
            (
                text(name),
                number(one.median),
                number(one.overall),
                share(under),
                number(one.seconds / 3600, 1),
                whole(one.workers),
                whole(one.unknown),
            )
        )
    aim = f" Target: {target:.2f} per hour." if target is not None else ""
    return (
        ReportTable(
            "hourly_pay",
            f"Pay per hour{' (simulated)' * simulated}, {currency}, by three ways of counting time",
            (
                Column("time", "Time", False),
                Column("median", "Median", unit=f"{currency} per hour"),
                Column("overall", "Overall", unit=f"{currency} per hour"),
                Column("under_target", "Under target, %", unit="share of annotators"),
                Column("hours", "Hours", unit="hours"),
                Column("annotators", "Annotators"),
                Column("unknown", "Forms without time"),
            ),
            tuple(rows),
            "Rewards and bonuses, divided by time. Median: over annotators. Overall: all pay over all hours."
            f"{aim} “Opened to submitted” counts overlapping forms several times; the page’s timers leave out"
            " the search for work. " + why_not(ways.items()),
        ),
    )
