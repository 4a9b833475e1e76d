"""Figures that the data may not give: an error of the statistics becomes "not estimable, because …"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from humaneval.errors import InputError
from humaneval.statistics.arrays import NotEstimable

T = TypeVar("T")


def estimated(compute: Callable[[], T]) -> T | NotEstimable:
    """The result of `compute`, or why there is none: an InputError about the data is not one of the
    analysis."""
    try:
        return compute()
    except InputError as error:
        # Of a message that says "not estimable" itself, only the reason is kept.
        reason = error.message.rpartition(" not estimable, because ")[2]
        return NotEstimable(reason[:1].lower() + reason[1:])


def plain(value: Any) -> Any:
    """`value` as JSON can carry it: tuples as lists, records as objects, NaN and infinity as null."""
    if isinstance(value, NotEstimable):
        return {"not_estimable": value.because}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        # An interval is a pair of numbers everywhere else in the document, too.
        fields = value._asdict()
        return plain(list(value) if set(fields) == {"low", "high"} else fields)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
