"""Array types, labels as codes, checked columns of numbers, and "not estimable" as a value."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from humaneval.errors import InputError, UsageError

Codes: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.integer[Any]]
"""Places in another array: 32 bits each where there may be millions."""
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NotEstimable:
    """What the data cannot tell, and why; it takes the place of a number.

    >>> print(NotEstimable("there is one worker"))
    not estimable, because there is one worker
    """

    because: str

    def __str__(self) -> str:
        return f"not estimable, because {self.because}"


def check_level(level: float) -> None:
    """Raise UsageError unless 0 < level < 1."""
    if not 0.0 < level < 1.0:
        raise UsageError(
            f"{level} is not a level of confidence", "Give a share between 0 and 1, for example 0.95."
        )


def check_share(x: float, n: float) -> None:
    """Raise InputError unless n > 0 and 0 <= x <= n."""
    if not (isfinite(n) and n > 0):
        raise InputError(f"an interval needs at least one response, not {n:g}")
    if not 0 <= x <= n:
        raise InputError(f"{x:g} of {n:g} is not a share: it lies outside 0..1")


def check_counts(**counts: float) -> None:
    """Raise InputError unless every count is a whole number from 0; the keywords name them in the message."""
    for name, count in counts.items():
        if not (isfinite(count) and count >= 0 and count == int(count)):
            raise InputError(f"{name} = {count:g} is not a count, which is a whole number from 0")


def check_probability(**shares: float) -> None:
    """Raise UsageError unless every value lies in 0..1; the keywords name them in the message."""
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise UsageError(f"{name.replace('_', ' ')} {share:g} is not a probability", "Give one in 0..1.")


def same_length(**columns: NDArray[Any]) -> int:
    """How many entries the columns have. Raises InputError if they differ or are empty."""
    lengths = {name: column.size for name, column in columns.items()}
    if len(set(lengths.values())) != 1 or any(column.ndim != 1 for column in columns.values()):
        named = ", ".join(f"{size} {name}" for name, size in lengths.items())
        raise InputError(f"the columns have different lengths: {named}")
    n = next(iter(lengths.values()))
    if not n:
        raise InputError(f"there is nothing to compute from: no {' and no '.join(lengths)}")
    return n


@dataclass(frozen=True, slots=True)
class Labels:
    """A column of labels: each entry's code, in 0..number−1, and the distinct labels by code."""

    codes: Codes
    names: tuple[Any, ...]

    @property
    def number(self) -> int:
        """How many distinct labels there are."""
        return len(self.names)

    @property
    def missing(self) -> Flags:
        """Which entries have no label (None, NaN, NaT)."""
        import pandas as pd

        return np.array([bool(pd.isna(name)) for name in self.names] + [False])[self.codes]


def encoded(column: Any, *, ordered: bool = False) -> Labels:
    """Labels of any kind as codes; a missing label (None, NaN, NaT) is a label too.

    The codes follow the first appearance of the labels. With `ordered` they follow the labels themselves, so
    that no order of lines changes them: what draws at random needs that.
    """
    import pandas as pd

    values = column if isinstance(column, pd.Series | pd.Index) else np.asarray(column)
    if isinstance(values, np.ndarray) and values.dtype.kind in "US":
        values = values.astype(object)
    codes, names = pd.factorize(values, use_na_sentinel=False, sort=ordered)
    return Labels(np.asarray(codes, dtype=np.int64), tuple(names.tolist()))


def distinct(numbers: Indices) -> Indices:
    """The numbers in their order, each once. Sorting takes a fifth of the time that np.unique needs to hash
    them.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    there = np.sort(numbers)
    new = np.ones(there.size, dtype=np.bool_)
    np.not_equal(there[1:], there[:-1], out=new[1:])
    return there[new]


def places(codes: Codes) -> dict[int, Codes]:
    """Where each code stands, from the least code on: found together, as a mask for each takes a look at all
    of them again.

    >>> {code: found.tolist() for code, found in places(np.array([3, 1, 3])).items()}
    {1: [1], 3: [0, 2]}
    """
    order = np.argsort(codes, kind="stable")
    kinds, starts = np.unique(codes[order], return_index=True)
    return dict(zip(kinds.tolist(), np.split(order, starts[1:]), strict=False))


def labels(column: ArrayLike, name: str) -> Labels:
    """As `encoded`, in order of appearance. Raises InputError if a label is missing (None, NaN, NaT)."""
    if np.ndim(column) != 1:
        raise InputError(f"the {name} are not one column of labels")
    found = encoded(column)
    bad = found.missing
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {bad.size} {name} are missing, the first is entry {_first(bad)}"
        )
    return found


def numbers(column: ArrayLike, name: str) -> Floats:
    """A column of finite numbers. Raises InputError if one is missing, infinite or not a number."""
    values = _as_numbers(column, name)
    bad = ~np.isfinite(values)
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {values.size} {name} are not finite numbers, the first is entry"
            f" {_first(bad)}"
        )
    return values


def numbers_or_missing(column: ArrayLike, name: str) -> Floats:
    """A column of numbers from 0 up where NaN stands for "not known". Raises InputError for others."""
    values = _as_numbers(column, name)
    with np.errstate(invalid="ignore"):
        bad = (values < 0) | np.isinf(values)
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {values.size} {name} are below 0 or infinite, the first is entry"
            f" {_first(bad)}"
        )
    return values


def zeros_and_ones(column: ArrayLike, name: str) -> Floats:
    """A column of outcomes. Raises InputError if one is neither 0 nor 1 (False nor True)."""
    values = numbers(column, name)
    bad = (values != 0) & (values != 1)
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {values.size} {name} are neither 0 nor 1, the first is entry {_first(bad)}"
        )
    return values


def whole_numbers(column: ArrayLike, name: str, low: int, high: int) -> Codes:
    """A column of whole numbers in low..high. Raises InputError for others."""
    values = numbers(column, name)
    bad = (values < low) | (values > high) | (values != np.floor(values))
    if bad.any():
        raise InputError(
            f"{int(bad.sum())} of {values.size} {name} are not whole numbers from {low} to {high}, "
            f"the first is entry {_first(bad)}"
        )
    return values.astype(np.int64)


def _as_numbers(column: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the {name} are not numbers") from error


def _first(bad: Flags) -> int:
    return int(np.argmax(bad)) + 1
