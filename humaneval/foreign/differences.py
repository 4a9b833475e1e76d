"""A binary judgment compared between groups, by each method that allows for repeated workers and items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.judged import ITEM, VALUE, WORKER
from humaneval.foreign.summaries import Summary
from humaneval.statistics.arrays import Codes, Floats, encoded
from humaneval.statistics.bootstrap import By, bootstrap
from humaneval.statistics.mixed_model import mixed_model
from humaneval.statistics.regression import (
    Correction,
    DesignMatrix,
    cluster_covariance,
    cr2_covariance,
    design_matrix,
    gee,
    logistic,
    two_way_covariance,
)
from humaneval.text import listed

COLUMNS = ("method", "difference", "scale", "estimate", "se", "low", "high")
DIGITS = 6
REPLICATES = 2000
CORRECTIONS: dict[Correction, str] = {
    "none": "none",
    "clusters": "G",
    "clusters and rows": "G, n",
}
CORRECTED = "Corrections: G multiplies by G/(G-1), as R's vcovCL; G, n also by (n-1)/(n-p), as statsmodels."


class _Data(NamedTuple):
    """One entry a judgment. Workers and items are numbered in file order: pseudonyms change nothing."""

    y: Floats
    group: list[str]
    worker: Codes
    item: Codes
    reference: str
    others: tuple[str, ...]


Made = tuple[list[tuple[Any, ...]], list[str]]


def differences(frame: pd.DataFrame, by: Sequence[str], methods: Sequence[str] = ()) -> Summary:
    """How much more often each group has the value 1 than the first group by name, by each of `methods`.

    No `methods` stands for all. `frame` is from `humaneval.foreign.judged.judged`, with its workers and
    items. On the logit scale:
    logistic regression with naive, one-way and two-way clustered and CR2 standard errors, exchangeable GEE,
    and the mixed model with crossed workers and items. On the scale of shares: 95 % percentile intervals of
    four bootstraps. Raises UsageError if group, worker or item are not named, and InputError if a value is
    neither 0 nor 1 or there is only one group.
    """
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise UsageError(f"there is no method {unknown[0]!r}", f"Methods: {', '.join(METHODS)}.")
    data = _data(frame, by)
    rows: list[tuple[Any, ...]] = []
    notes: list[str] = []
    for name in dict.fromkeys(methods or METHODS):
        try:
            found, said = METHODS[name](data)
        except InputError as error:
            found, said = [(name, *[None] * (len(COLUMNS) - 1))], [f"{name}: not estimable: {error.message}"]
        rows += found
        notes += said
    return Summary(COLUMNS, tuple(rows), tuple(dict.fromkeys(notes)), DIGITS)


def _data(frame: pd.DataFrame, by: Sequence[str]) -> _Data:
    if len(by) != 1:
        raise UsageError("--show differences compares the groups of one column", "Name it: --by COLUMN.")
    if frame[ITEM].isna().any():
        raise UsageError(
            "--show differences needs the column that says what was judged", "Name the column: --item COLUMN."
        )
    if frame[WORKER].isna().any():
        raise UsageError(
            "--show differences needs the column that says who answered", "Name the column: --worker COLUMN."
        )
    numbers = pd.to_numeric(frame[VALUE].replace({"true": "1", "false": "0"}), errors="coerce")
    odd = frame.loc[~numbers.isin([0, 1]), VALUE]
    if len(odd):
        raise InputError(
            f"{len(odd)} of {len(frame)} values are neither 0 nor 1: {listed(list(odd.unique()))}",
            "--show differences is for answers that are right or wrong, as 1 or 0.",
        )
    group = frame[by[0]].astype(str)
    first, *others = sorted(group.unique())
    if not others:
        raise InputError(f"{by[0]} has only one group: {first}")
    worker, item = (encoded(frame[name]).codes for name in (WORKER, ITEM))
    return _Data(numbers.to_numpy(dtype=np.float64), list(group), worker, item, first, tuple(others))


def _of(data: _Data, other: str) -> str:
    return f"{other} - {data.reference}"


def _design(data: _Data) -> DesignMatrix:
    return design_matrix(data.group, data.reference)


def _coefficients(data: _Data, method: str, beta: Floats, covariance: Floats) -> list[tuple[Any, ...]]:
    """A line for each group. The first coefficient is the intercept, which stands for the reference group."""
    errors = np.sqrt(np.diag(covariance))
    names = _design(data).others
    return [
        (method, _of(data, name), "logit", float(beta[place]), float(errors[place]), None, None)
        for place, name in enumerate(names, 1)
    ]


def _naive(data: _Data) -> Made:
    fit = logistic(data.y, _design(data).columns)
    return _coefficients(data, "naive", fit.coefficients, fit.covariance), []


def _workers(data: _Data) -> Made:
    x = _design(data).columns
    fit = logistic(data.y, x)
    rows = []
    for correction, told in CORRECTIONS.items():
        covariance = cluster_covariance(fit, data.y, x, data.worker, correction)
        rows += _coefficients(data, f"workers, {told}", fit.coefficients, covariance)
    return rows, [CORRECTED]


def _cr2(data: _Data) -> Made:
    x = _design(data).columns
    fit = logistic(data.y, x)
    return (
        _coefficients(data, "workers, CR2", fit.coefficients, cr2_covariance(fit, data.y, x, data.worker)),
        [],
    )


def _two_way(data: _Data) -> Made:
    x = _design(data).columns
    fit = logistic(data.y, x)
    rows = []
    for correction, told in CORRECTIONS.items():
        covariance = two_way_covariance(fit, data.y, x, data.worker, data.item, correction)
        rows += _coefficients(data, f"two-way, {told}", fit.coefficients, covariance)
    return rows, [CORRECTED]


def _gee(data: _Data) -> Made:
    x = _design(data).columns
    rows: list[tuple[Any, ...]] = []
    notes: list[str] = []
    for adjust, told in ((True, "n-p"), (False, "n")):
        fit = gee(data.y, x, data.worker, adjust=adjust)
        rows += _coefficients(data, f"GEE, over {told}", fit.coefficients, fit.covariance)
        notes.append(f"GEE, over {told}: correlation within a worker {fit.correlation:.5f}.")
    return rows, notes


def _mixed(data: _Data) -> Made:
    fit = mixed_model(data.y, data.worker, data.item, data.group)
    pairs = [fit.contrast(other, data.reference) for other in data.others]
    rows = [
        ("mixed model", _of(data, one.a), "logit", one.estimate, one.standard_error, *one.interval)
        for one in pairs
    ]
    return rows, [
        f"Mixed model: sd of workers {fit.worker_sd:.5f}, of items {fit.story_sd:.5f}; log-likelihood "
        f"{fit.log_likelihood:.4f}." + ("" if fit.converged else f" {fit.statement}")
    ]


def _bootstraps(data: _Data) -> Made:
    rows: list[tuple[Any, ...]] = []
    group = np.array(data.group)
    for by in get_args(By):
        drawn = bootstrap(data.y, data.worker, data.item, data.group, by, replicates=REPLICATES)
        for other in data.others:
            found = float(data.y[group == other].mean() - data.y[group == data.reference].mean())
            low, high = drawn.difference(other, data.reference)
            what = "items" if by == "stories" else by
            rows.append((f"bootstrap, {what}", _of(data, other), "share", found, None, low, high))
    return rows, [f"Bootstraps: {REPLICATES:,} replicates, seed 0, percentiles for 95 %."]


METHODS: dict[str, Callable[[_Data], Made]] = {
    "naive": _naive,
    "workers": _workers,
    "cr2": _cr2,
    "two-way": _two_way,
    "gee": _gee,
    "mixed": _mixed,
    "bootstrap": _bootstraps,
}
