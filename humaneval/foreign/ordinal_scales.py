"""Ratings on an ordered scale compared between groups, by the cumulative-link mixed model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.clusters import clusters
from humaneval.foreign.summaries import Summary, numeric
from humaneval.limits import check_systems
from humaneval.statistics.multiplicity import holm
from humaneval.statistics.ordinal import cumulative_link, ordinal_omnibus
from humaneval.text import listed

COLUMNS = ("difference", "estimate", "se", "low", "high", "p")


def ordinal(frame: pd.DataFrame, by: Sequence[str], reference: str | None = None) -> Summary:
    """Differences of the groups of `by` on the logit scale, with standard errors, p and intervals, and the
    test that no group differs (`statistics.ordinal`).

    All pairs, with Holm's p if there are several; with a `reference` each other group against it. Raises
    UsageError if no group is named, InputError for values that are not numbers, for a single group, and where
    the model is not estimable.
    """
    if not by:
        raise UsageError("--show ordinal compares groups", "Name their column: --by COLUMN.")
    values = numeric(frame).to_numpy(dtype=float)
    group = [" | ".join(str(cell) for cell in key) for key in zip(*(frame[name] for name in by), strict=True)]
    names = sorted(set(group))
    check_systems(len(names), f"groups of {listed(list(by))}")
    if len(names) < 2:
        raise InputError(f"{listed(list(by))} has only one group: {names[0]}")
    if reference is not None and reference not in names:
        raise UsageError(f"no group is called {reference!r}", f"There are: {listed(names, 40)}.")
    who = clusters(frame)
    order = np.argsort(group, kind="stable")  # the first group by name has the effect 0
    columns = (values[order], np.array(group, dtype=object)[order], who.worker[order], who.item[order])
    fit, test = cumulative_link(*columns), ordinal_omnibus(*columns)
    pairs = (
        [(b, a) for a, b in combinations(names, 2)]
        if reference is None
        else [(name, reference) for name in names if name != reference]
    )
    found = [fit.contrast(a, b) for a, b in pairs]
    adjusted = holm([one.p for one in found])
    rows: list[tuple[Any, ...]] = []
    for place, one in enumerate(found):
        more = (float(adjusted[place]),) if len(found) > 1 else ()
        figures = (one.estimate, one.standard_error, *one.interval, one.p)
        rows.append((f"{one.a} - {one.b}", *map(float, figures), *more))
    cuts = [
        f"{low:g}|{high:g} {cut:.4f}"
        for low, high, cut in zip(fit.ratings, fit.ratings[1:], fit.thresholds, strict=False)
    ]
    statement = fit.statement.replace("story", "item")
    notes = (
        "Differences on the logit scale: above 0, the first has higher values. Cumulative-link mixed model,"
        " Laplace's approximation, Wald intervals of 95 %.",
        f"No group differs: chi-squared {test.statistic:.4f}, {test.degrees} df, p {test.p:.4g}.",
        f"sd of workers {fit.worker_sd:.5f}, of items {fit.story_sd:.5f}; log-likelihood"
        f" {fit.log_likelihood:.4f}. {statement}",
        f"Thresholds for {fit.names[0]}: {', '.join(cuts)}.",
        *(() if who.workers else ("If a person rated several times, name the people: --worker COLUMN.",)),
        *(() if who.items else ("If an item was rated several times, name the items: --item COLUMN.",)),
    )
    return Summary((*COLUMNS, *(("Holm",) if len(found) > 1 else ())), tuple(rows), notes, 4)
