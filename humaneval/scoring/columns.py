"""Columns of a response table as arrays, each checked: an error names the first line that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Flags, Floats, Labels, encoded

REQUIRED = ("worker", "story", "generator", "position", "choice")

YES = frozenset({"1", "1.0", "true", "yes", "test", "pilot", "simulated"})
NO = frozenset({"", "0", "0.0", "false", "no", "nan", "none", "<na>"})


def of_ratings(missing: Sequence[str]) -> str:
    """What to say beside if the choice alone is missing: tables of ratings may have scales only."""
    return (
        " If they are ratings, the choice is that on the first scale." if list(missing) == ["choice"] else ""
    )


def labelled(column: pd.Series[Any]) -> Labels:
    """Labels in their order, none of them empty."""
    # Ordered: the order of a table's lines must change nothing that is computed from the codes.
    found = encoded(column, ordered=True)
    blank = np.array([str(label).strip() == "" for label in found.names], dtype=np.bool_)
    refuse(column, found.missing | blank[found.codes], "is empty")
    return found


def numbered(column: pd.Series[Any], most: int) -> Codes:
    """Whole numbers from 1 to `most`."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        good = (numbers >= 1) & (numbers <= most) & (numbers == np.floor(numbers))
    refuse(column, ~good, f"is not a whole number from 1 to {most}")
    return numbers.astype(np.int64)


def flags(column: pd.Series[Any]) -> Flags:
    """Words of truth, as `YES` and `NO` have them."""
    found = encoded(column)
    words = [str(label).strip().casefold() for label in found.names]
    known = np.array([word in YES or word in NO for word in words])
    refuse(column, ~known[found.codes], "is neither true nor false")
    told: Flags = np.array([word in YES for word in words])[found.codes]
    return told


def refuse(column: pd.Series[Any], bad: Flags, what: str) -> None:
    """Raise InputError about the first `bad` line, if there is one."""
    if bad.any():
        at = int(np.argmax(bad))
        value = column.iloc[at]
        shown = "" if what == "is empty" else f" {value!r}" if isinstance(value, str) else f" {value}"
        others = f" (and {int(bad.sum()) - 1} more like it)" if bad.sum() > 1 else ""
        raise InputError(f"line {at + 1} of the responses: {column.name}{shown} {what}{others}")


def measured(frame: pd.DataFrame, name: str) -> Floats | None:
    """A column of numbers, NaN if empty; None if it is missing or holds nothing."""
    if name not in frame.columns or frame[name].isna().all():
        return None
    numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        wrong = np.isnan(numbers) & frame[name].notna().to_numpy() | (numbers < 0)
    refuse(frame[name], wrong, "is not a number from 0")
    return numbers


def study_of(frame: pd.DataFrame) -> str:
    """The only study of the table, or nothing."""
    if "study" not in frame.columns:
        return ""
    studies = [str(name) for name in frame["study"].dropna().unique() if str(name).strip()]
    if len(studies) > 1:
        raise InputError(
            f"the table holds {len(studies)} studies ({', '.join(studies[:5])}), and studies are not pooled",
            "Score one study at a time.",
        )
    return studies[0] if studies else ""


def rows_of(frame: pd.DataFrame, worker: Codes) -> Codes | None:
    """Which form of which worker each answer is on, if the table says so."""
    for name in ("row", "assignment"):
        if name in frame.columns and frame[name].notna().all():
            form = encoded(frame[name])
            return encoded(worker * form.number + form.codes).codes
    return None


def passages_of(frame: pd.DataFrame) -> Codes | None:
    """How many passages each answer's form showed, if the table says so."""
    if "row_passages" not in frame.columns or frame["row_passages"].isna().any():
        return None
    numbers = pd.to_numeric(frame["row_passages"], errors="coerce").to_numpy(
        dtype=np.float64, na_value=np.nan
    )
    with np.errstate(invalid="ignore"):
        good = (numbers >= 1) & (numbers == np.floor(numbers))
    refuse(frame["row_passages"], ~good, "is not a whole number from 1")
    return numbers.astype(np.int64)


def answered_order(frame: pd.DataFrame) -> Codes:
    """The answers' ranks in time."""
    place = np.arange(len(frame), dtype=np.int64)
    if "submitted_at" not in frame.columns or frame["submitted_at"].isna().all():
        return place
    times = pd.to_datetime(frame["submitted_at"], errors="coerce", utc=True, format="ISO8601")
    # An answer without a time comes after the last one with a time.
    order = np.lexsort((place, times.isna().to_numpy(), times.fillna(times.max()).to_numpy()))
    ranks = np.empty_like(place)
    ranks[order] = place
    return ranks
