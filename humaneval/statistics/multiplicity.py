"""Many tests at once: p-values adjusted within a family that was declared beforehand."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from humaneval.errors import InputError
from humaneval.statistics.arrays import Floats, numbers


def holm(p: ArrayLike) -> Floats:
    """Holm's step-down p-values: the chance of any false finding is at most the level, however the tests hang
    together.

    The i-th smallest of m is multiplied by m − i + 1, and none is below a smaller one's (Holm 1979).

    Takes one-dimensional p-values in 0..1, gives as many in the same order; none give none. Raises InputError
    for anything else, NaN too.

    >>> [round(float(one), 2) for one in holm([0.01, 0.02, 0.03, 0.04, 0.05])]
    [0.05, 0.08, 0.09, 0.09, 0.09]
    """
    values = _p_values(p)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(values.size, 0, -1)
    return _back(order, np.minimum(1.0, np.maximum.accumulate(steps)))


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg's step-up p-values: of the findings at a level, at most that share is false on
    average.

    The i-th smallest of m is multiplied by m/i, and then no result is above that of a larger p (Benjamini and
    Hochberg 1995). The tests must be independent or positively dependent. Arguments and errors as for `holm`.

    >>> [round(float(one), 3) for one in benjamini_hochberg([0.01, 0.02, 0.03, 0.04, 0.2])]
    [0.05, 0.05, 0.05, 0.05, 0.2]
    """
    values = _p_values(p)
    order = np.argsort(values, kind="stable")
    steps = values[order] * values.size / np.arange(1, values.size + 1)
    return _back(order, np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1]))


Adjust: TypeAlias = Literal["holm", "benjamini-hochberg", "none"]


def decisive_p_values(error: float, tests: int, adjust: Adjust) -> tuple[float, ...]:
    """The unadjusted p-values at which a verdict of a family of m `tests` can turn. For i from 1 to m, they
    are `error` / i (Holm) or `error` · i / m (Benjamini and Hochberg). Without adjustment it is `error`.

    >>> [round(one, 4) for one in decisive_p_values(0.06, 3, "holm")]
    [0.06, 0.03, 0.02]
    >>> [round(one, 4) for one in decisive_p_values(0.06, 3, "benjamini-hochberg")]
    [0.02, 0.04, 0.06]
    """
    if adjust == "none":
        return (error,)
    every = range(1, tests + 1)
    return tuple(error / k if adjust == "holm" else error * k / tests for k in every)


def turning_point(low: Floats, high: Floats, error: float, adjust: Adjust) -> float:
    """The unadjusted p-value at which the verdicts of a family turn next, if its p-values lie between two
    bounds. Where none of them has it between its bounds, every p between them gives the same verdicts.

    Holm: if r are rejected by their upper bounds, the next is tested at `error` / (m − r). Benjamini and
    Hochberg: if r are rejected by their lower bounds, all of these are tested at `error` · r / m.
    """
    if adjust == "holm":
        return error / max(1, low.size - int((holm(high) <= error).sum()))
    if adjust == "benjamini-hochberg":
        return error * int((benjamini_hochberg(low) <= error).sum()) / low.size
    return error


def _back(order: NDArray[np.intp], adjusted: Floats) -> Floats:
    result = np.empty_like(adjusted)
    result[order] = adjusted
    return result


def _p_values(p: ArrayLike) -> Floats:
    values = numbers(p, "p-values")
    if values.ndim != 1:
        raise InputError("p-values are adjusted as one column")
    outside = values[(values < 0) | (values > 1)]
    if outside.size:
        raise InputError(f"{outside[0]:g} is not a p-value: it lies outside 0..1")
    return values
