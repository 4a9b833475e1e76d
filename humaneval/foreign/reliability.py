"""How reliable each worker is if nobody knows the right answers: judged by the other workers' answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from humaneval.foreign.judged import ITEM, VALUE, WORKER
from humaneval.foreign.summaries import Summary, need_items, need_workers
from humaneval.statistics.aggregation import Aggregate, dawid_skene, mace, majority_vote
from humaneval.statistics.arrays import encoded
from humaneval.text import counted, listed

COLUMNS = ("worker", "answers", "with the majority", "right, by Dawid-Skene", "knows, by MACE")
SMOOTHING = 0.1
"""Added to every expected count: the error rates of workers with few answers stay off 0 and 1."""


def reliability(frame: pd.DataFrame) -> Summary:
    """A line for each worker: how many answers, and how far they agree with what is probably right.

    `frame` is from `humaneval.foreign.judged.judged`, with its workers and items. The columns
    are shares, 0..1: of answers that are the item's majority (each of k tied values counts 1/k), and of
    answers that are right by Dawid and Skene's model. The last one is the probability by MACE that the worker
    knows the answer. Raises UsageError if worker or item are not named.
    """
    need_items(frame)
    need_workers(frame)
    items = encoded(frame[ITEM]).codes
    workers, values = frame[WORKER].to_numpy(dtype=object), frame[VALUE].to_numpy(dtype=object)
    skene = dawid_skene(items, workers, values, smoothing=SMOOTHING)
    spams = mace(items, workers, values)
    shares = [_right(one, items, values) for one in (majority_vote(items, workers, values), skene)]
    lines = pd.DataFrame({"worker": workers, "majority": shares[0], "skene": shares[1]})
    people = lines.groupby("worker", sort=True).agg(["mean", "size"])
    knows = dict(zip(spams.aggregate.workers, spams.knows, strict=True))
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (
            name,
            int(one["majority", "size"]),
            float(one["majority", "mean"]),
            float(one["skene", "mean"]),
            float(knows[name]),
        )
        for name, one in people.iterrows()
    )
    slow = [name for name, fit in (("Dawid-Skene", skene), ("MACE", spams.aggregate)) if not fit.converged]
    notes = [
        "The right answers are not known: a worker who alone is right looks like one who alone is wrong."
    ]
    if slow:
        notes.append(f"{listed(slow)} did not converge.")
    single = int((np.bincount(items) == 1).sum())
    if single:
        notes.append(f"{counted(single, 'item')} with a single answer: it counts as right.")
    return Summary(COLUMNS, rows, tuple(notes), digits=3)


def _right(fit: Aggregate, items: Any, values: Any) -> Any:
    """The probability that each answer is the true value of its item."""
    line = {name: at for at, name in enumerate(fit.stimuli)}
    place = {name: at for at, name in enumerate(fit.values)}
    return fit.posterior[[line[item] for item in items], [place[value] for value in values]]
