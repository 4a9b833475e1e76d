"""One table that sums up a response file: means, counts, majorities, agreement, preferences or workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.clusters import SHARES, Clusters, Estimate, clusters, of_mean, of_share, scale_of
from humaneval.foreign.judged import (
    ITEM,
    VALUE,
    WORKER,
    decimal_commas,
)
from humaneval.limits import VALUES
from humaneval.statistics.agreement import (
    Coefficient,
    Metric,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percentage_agreement,
    tally,
)
from humaneval.statistics.arrays import Floats, encoded
from humaneval.text import counted, listed

TIE = "(tie)"
ORDERED = (
    "All values are numbers, so alpha is given three times: for names of kinds (nominal), for a scale whose"
    " values have an order (ordinal), and for one with equal steps (interval)."
)


@dataclass(frozen=True, slots=True)
class Summary:
    """A table: column names, rows of text and numbers (None for what cannot be computed), and notes."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    digits: int | None = None
    """Decimal places for display; None chooses them by the size of a figure."""

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def all_numbers(frame: pd.DataFrame) -> bool:
    """Whether every value is a number."""
    return bool(_numbers(frame).notna().all())


def _numbers(frame: pd.DataFrame) -> pd.Series[float]:
    """The values as numbers; NaN for those that are not finite numbers."""
    found = pd.to_numeric(frame[VALUE], errors="coerce").astype(float)
    return found.where(np.isfinite(found))


def numeric(frame: pd.DataFrame) -> pd.Series[float]:
    """The values as numbers. Raises InputError if some are not."""
    numbers = _numbers(frame)
    if numbers.isna().any():
        words = list(dict.fromkeys(frame.loc[numbers.isna(), VALUE]))
        raise InputError(
            f"{int(numbers.isna().sum())} of {len(frame)} values are not numbers: {listed(words)}",
            "Write numbers with a point." if decimal_commas(words) else "Count them instead: --show counts.",
        )
    return numbers


def means(frame: pd.DataFrame, by: Sequence[str]) -> Summary:
    """Number, mean, standard deviation (n − 1), median and range of numeric values, by group, and the
    standard error and interval of the mean (`foreign.clusters`)."""
    numbers = numeric(frame)
    rows = []
    who = clusters(frame)
    everything: Floats = np.asarray(numbers, dtype=np.float64)
    scale, least, most = scale_of(everything), everything.min(), everything.max()
    if np.isin(everything, SHARES).all():
        least, most = SHARES
    outside = 0
    for key, part, mine in _grouped(frame.assign(**{VALUE: numbers}), by, who):
        values = part[VALUE].to_numpy(dtype=float)
        sure = of_mean(values, mine, scale)
        if sure.low is not None and sure.high is not None and not least <= sure.low <= sure.high <= most:
            outside, sure = outside + 1, Estimate(sure.error, None, None)
        rows.append(
            (
                *key,
                len(values),
                values.mean(),
                values.std(ddof=1) if len(values) > 1 else None,
                float(np.median(values)),
                values.min(),
                values.max(),
                sure.error,
                sure.low,
                sure.high,
            )
        )
    names = _named(by, "n", "mean", "sd", "median", "min", "max", "se", "low", "high")
    notes = [who.note]
    if scale is not None and scale != SHARES:
        notes.append(
            f"Intervals lie on the scale from {scale.low:g} to {scale.high:g}, the lowest and the highest"
            " value of all."
        )
    if outside:
        notes.append(
            f"{counted(outside, 'mean')} without an interval: it would leave the range of all values, because"
            " there are too few of them."
        )
    return Summary(names, _plain(rows), tuple(notes))


def counts(frame: pd.DataFrame, by: Sequence[str]) -> Summary:
    """How often each value was given, by group, the most common first, and the standard error and interval
    of its share (`foreign.clusters`), unless there are more values than anybody chooses from."""
    rows, notes = [], []
    who = clusters(frame)
    for key, part, mine in _grouped(frame, by, who):
        found = Counter(part[VALUE])
        for value, n in sorted(found.items(), key=lambda one: (-one[1], one[0])):
            sure = Estimate(None, None, None)
            if len(found) <= VALUES:
                sure = of_share((part[VALUE] == value).to_numpy(dtype=float), mine)
            rows.append((*key, value, n, n / len(part), sure.error, sure.low, sure.high))
        if len(found) > VALUES:
            notes = [f"With more than {VALUES} different values, no errors and intervals are given."]
    names = _named(by, "value", "n", "share", "se", "low", "high")
    return Summary(names, _plain(rows), (who.note, *notes))


def majority(frame: pd.DataFrame, by: Sequence[str]) -> Summary:
    """The majority value of each item, and how many items have it. Two equally frequent values are a tie."""
    need_items(frame)
    rows, sizes = [], []
    for key, part in groups(frame, by):
        votes: Counter[str] = Counter()
        for _, answers in part.groupby(ITEM, sort=False)[VALUE]:
            (first, most), *others = Counter(answers).most_common(2)
            votes[TIE if others and others[0][1] == most else str(first)] += 1
            sizes.append(len(answers))
        rows += [
            (*key, value, n, n / votes.total())
            for value, n in sorted(votes.items(), key=lambda one: (one[0] == TIE, -one[1]))
        ]
    return Summary(_named(by, "value", "items", "share"), _plain(rows), (_sizes(sizes),))


def workload(frame: pd.DataFrame) -> Summary:
    """How many workers there were, and how many judgments each gave."""
    need_workers(frame)
    n = frame.groupby(WORKER)[VALUE].size().to_numpy()
    row = (
        len(n),
        int(n.sum()),
        int(n.min()),
        float(np.median(n)),
        n.mean(),
        n.std(ddof=1) if len(n) > 1 else None,
        int(n.max()),
    )
    return Summary(("workers", "judgments", "min", "median", "mean", "sd", "max"), _plain([row]))


def agreement(frame: pd.DataFrame, valid: Sequence[str]) -> Summary:
    """How far answers to the same item agree: coefficients, and the share of answers with the majority.

    Krippendorff's α is nominal and, for more than two values that are all numbers, ordinal and interval too.
    A majority is more than half of an item's answers; with `valid`, other answers are never in it. The mean
    over workers weighs each worker equally. A worker's second answer to an item is left out and counted: it
    is not agreement between workers.
    """
    need_items(frame)
    notes = []
    item = frame[ITEM]
    known = bool(frame[WORKER].notna().all())
    if known:
        again = pd.DataFrame({"item": item, "worker": frame[WORKER]}).duplicated()
        notes += (
            [f"{counted(int(again.sum()), 'repeated answer')} by the same worker to the same item: left out"]
            if again.any()
            else []
        )
        frame, item = frame[~again], item[~again]
    if valid and not set(valid) & set(frame[VALUE]):
        raise InputError(
            f"nobody answered {listed(list(valid))}, named by --valid; the answers are"
            f" {listed(sorted(set(frame[VALUE])))}",
            "Name answers as they are in the file.",
        )
    absent = [answer for answer in valid if answer not in set(frame[VALUE])]
    notes += [f"nobody answered {listed(absent)}, named by --valid"] if absent else []
    ordered = all_numbers(frame) and frame[VALUE].nunique() > 2
    notes += [ORDERED] if ordered else []
    codes = pd.Series(encoded(item).codes, index=frame.index)
    votes = pd.crosstab(codes, frame[VALUE])
    own = pd.Series(
        votes.to_numpy()[codes.to_numpy(), votes.columns.get_indexer(pd.Index(frame[VALUE]))],
        index=frame.index,
    )
    with_most = 2 * own > codes.map(votes.sum(axis=1))
    if valid:
        with_most &= frame[VALUE].isin(list(valid))
    rows: list[tuple[Any, ...]] = [
        *_coefficients(codes, frame[VALUE], ordered),
        ("answers with the majority", len(frame), float(with_most.mean())),
    ]
    if known:
        people = with_most.groupby(frame[WORKER]).mean()
        rows.append(("answers with the majority, mean over workers", len(people), float(people.mean())))
    return Summary(("measure", "n", "value"), _plain(rows), (*notes, _sizes(list(votes.sum(axis=1)))))


def _coefficients(
    items: pd.Series[Any], values: pd.Series[Any], ordered: bool
) -> list[tuple[str, int, float | str]]:
    counts = tally(items.to_numpy(), values.to_numpy(dtype=object))
    metrics: tuple[Metric, ...] = ("nominal", "ordinal", "interval") if ordered else ("nominal",)
    wanted: dict[str, Coefficient] = {
        "agreeing pairs": percentage_agreement,
        "Fleiss' kappa": fleiss_kappa,
        **{
            f"Krippendorff's alpha ({metric})": partial(krippendorff_alpha, metric=metric)
            for metric in metrics
        },
        "Gwet's AC1": gwet_ac1,
    }
    found = []
    for name, coefficient in wanted.items():
        value = coefficient(counts)
        found.append((name, counts.rated_twice, value if isinstance(value, float) else str(value)))
    return found


def _named(by: Sequence[str], *own: str) -> tuple[str, ...]:
    """The names of a table's columns. A column of the file with a name of ours gets another."""
    return (*(f"{name} (group)" if name in own else name for name in by), *own)


class Group(NamedTuple):
    """Some of the judgments, and the values of the columns that they have in common."""

    key: tuple[Any, ...]
    frame: pd.DataFrame


def groups(frame: pd.DataFrame, by: Sequence[str]) -> list[Group]:
    """The groups of judgments, in order of their keys."""
    if not by:
        return [Group((), frame)]
    return [Group(tuple(key), part) for key, part in frame.groupby(list(by), sort=True)]


def _grouped(
    frame: pd.DataFrame, by: Sequence[str], who: Clusters
) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame, Clusters]]:
    places = pd.Series(np.arange(len(frame)), index=frame.index)
    for key, part in groups(frame, by):
        yield key, part, who.at(places[part.index].to_numpy())


def need_items(frame: pd.DataFrame) -> None:
    """Raise UsageError if it is not known what was judged."""
    if frame[ITEM].isna().any():
        raise UsageError("the file does not say what was judged", "Name the column: --item COLUMN.")


def need_workers(frame: pd.DataFrame) -> None:
    """Raise UsageError if it is not known who answered."""
    if frame[WORKER].isna().any():
        raise UsageError("the file does not say who answered", "Name the column: --worker COLUMN.")


def _sizes(sizes: Sequence[int]) -> str:
    found = sorted(Counter(sizes).items())
    return "; ".join(f"{counted(n, 'item')} with {counted(size, 'answer')}" for size, n in found)


def _plain(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(cell.item() if hasattr(cell, "item") else cell for cell in row) for row in rows)
