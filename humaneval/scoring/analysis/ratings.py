"""Ratings beside their means: how often each point was given, an ordinal model, and agreement."""

from __future__ import annotations

from functools import partial

import numpy as np

from humaneval.domain import Role
from humaneval.scoring.analysis.estimable import estimated
from humaneval.scoring.judgments import Judgments
from humaneval.scoring.questions.judging import Detail, DetailColumn
from humaneval.scoring.questions.question import Scale
from humaneval.statistics.agreement import (
    Tally,
    bootstrap_agreement,
    krippendorff_alpha,
    percentage_agreement,
    tally,
)
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.ordinal import Ordinal, cumulative_link


def details(answers: Judgments, kept: Flags, level: float, seed: int) -> tuple[Detail, ...]:
    """The tables of each scale."""
    shown = kept & ~answers.is_role(Role.CONTROL)
    return tuple(
        table
        for scale in answers.scales
        for table in (
            _distribution(answers.on(scale), kept, scale),
            _model(answers.on(scale), shown, scale, level),
            _agreement(answers.on(scale), shown, scale, level, seed),
        )
    )


def named(scale: Scale) -> str:
    """A scale's name for a reader."""
    return scale.name.replace("_", " ")


def _distribution(answers: Judgments, kept: Flags, scale: Scale) -> Detail:
    points = range(int(scale.low), int(scale.high) + 1)
    rows = []
    for code in answers.by_role(kept):
        mine = answers.outcomes[kept & (answers.generator == code)]
        shares = tuple(float((mine == point).mean()) for point in points)
        rows.append((answers.names[code], int(mine.size), float(np.median(mine)), *shares))
    columns = (
        DetailColumn("generator", "Generator"),
        DetailColumn("n", "n", "count"),
        DetailColumn("median", "Median", "points"),
        *(DetailColumn(f"points_{point}", f"{point}, %", "share") for point in points),
    )
    return Detail(
        f"ratings_{scale.name}", f"How often each point was given for {named(scale)}", columns, tuple(rows)
    )


def _model(answers: Judgments, shown: Flags, scale: Scale, level: float) -> Detail:
    at = answers.in_order(shown)
    names = np.array(answers.names, dtype=object)
    model: Ordinal | NotEstimable = estimated(
        lambda: cumulative_link(
            answers.outcomes[at], names[answers.generator[at]], answers.worker[at], answers.story[at]
        )
    )
    title = f"Ordinal model of {named(scale)}: contrasts in log-odds of a higher rating"
    columns = (
        DetailColumn("pair", "Pair"),
        DetailColumn("contrast", "Log-odds", "log-odds"),
        DetailColumn("interval", "", "log-odds"),
        DetailColumn("p", "p, unadjusted", "p"),
    )
    key = f"ordinal_{scale.name}"
    if isinstance(model, NotEstimable):
        return Detail(key, title, columns, (), f"Not estimable, because {model.because}.")
    rows = tuple((f"{one.a} – {one.b}", one.estimate, one.interval, one.p) for one in model.contrasts(level))
    note = (
        f"A cumulative-link mixed model with effects of annotators (sd {model.worker_sd:.2f}) and stories (sd"
        f" {model.story_sd:.2f}). A sensitivity analysis: verdicts come from the declared comparisons."
        f" {model.statement}"
    )
    return Detail(key, title, columns, rows, note)


def _agreement(answers: Judgments, shown: Flags, scale: Scale, level: float, seed: int) -> Detail:
    generators, places = len(answers.names), answers.sentences + 1
    passage = (answers.story * generators + answers.generator) * places + answers.position
    title = f"Whether annotators agree on {named(scale)}"
    columns = (
        DetailColumn("coefficient", "Coefficient"),
        DetailColumn("value", "Value", "coefficient"),
        DetailColumn("interval", "", "coefficient"),
    )
    key = f"agreement_{scale.name}"
    counts: Tally | NotEstimable = estimated(
        lambda: tally(
            passage[shown],
            answers.outcomes[shown].astype(np.int64),
            answers.worker[shown],
            scale=range(int(scale.low), int(scale.high) + 1),
        )
    )
    if isinstance(counts, NotEstimable) or not counts.rated_twice:
        reason = counts.because if isinstance(counts, NotEstimable) else "no passage was judged twice"
        return Detail(key, title, columns, (), f"Not estimable, because {reason}.")

    def ordinal(of: Tally) -> float | NotEstimable:
        return krippendorff_alpha(of, "ordinal")

    rows = []
    for name, of in (("Krippendorff’s α, ordinal", ordinal), ("agreeing pairs", percentage_agreement)):
        found = estimated(partial(bootstrap_agreement, counts, of, seed=seed, level=level))
        interval = found if isinstance(found, NotEstimable) else found.interval
        rows.append((name, of(counts), interval))
    note = f"Over {counts.rated_twice:,} passages with at least two answers, without Control. Seed {seed}."
    return Detail(key, title, columns, tuple(rows), note)
