"""A batch that was posted again: its answers replace those to the same items in the first batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from humaneval.errors import InputError
from humaneval.foreign.header import column
from humaneval.foreign.sheet import Left, Sheet
from humaneval.text import counted, listed


def replaced(first: Sheet, again: Sheet, name: str | Path, items: Sequence[str]) -> Sheet:
    """`first` with all rows of `again`, and without its own rows for the same items (equal `items` columns).

    `name` is the second file's. Notes count what is replaced and what is new. Raises UsageError for an
    unknown column, and InputError if the formats differ or nothing would be replaced.
    """
    if first.format != again.format:
        raise InputError(f"{name} has the format {again.format}, and the first file has {first.format}")
    keys = [
        _keys(sheet.frame, [column(sheet.frame, one, "--item") for one in items]) for sheet in (first, again)
    ]
    common = set(keys[0]) & set(keys[1])
    if not common:
        raise InputError(
            f"{name} and the first file have no common value in {', '.join(items)}: nothing would be"
            f" replaced. In {name}: {_three(keys[1])}; in the first file: {_three(keys[0])}",
            "Name the columns that say what was judged, in both files: --item COLUMN.",
        )
    sheet = first.without(
        f"asked again in {Path(name).name}", [line for line, key in keys[0].items() if key in common]
    )
    label = Path(name).name
    added = again.frame.set_axis([f"{label}:{line}" for line in again.frame.index], axis=0)
    fresh = len(set(keys[1]) - common)
    return replace(
        sheet,
        frame=pd.concat([sheet.frame, added]).astype(object).where(lambda cells: cells.notna(), None),
        left_out=sheet.left_out
        + tuple(Left(left.cause, tuple(f"{label}:{line}" for line in left.lines)) for left in again.left_out),
    ).noted(
        *(f"{label}: {note}" for note in again.notes),
        f"{label}: {counted(len(common), 'item', 'replaces', 'replace')} those of the first file"
        + (f", {fresh} {'is' if fresh == 1 else 'are'} new" if fresh else ""),
    )


def _three(keys: pd.Series[Any]) -> str:
    """The first three items."""
    return listed([" ".join(key) for key in dict.fromkeys(keys)], most=3)


def _keys(frame: pd.DataFrame, names: list[str]) -> pd.Series[Any]:
    cells = frame[names].map(lambda cell: "" if cell is None else str(cell).strip())
    return pd.Series(list(cells.itertuples(index=False, name=None)), index=frame.index, dtype=object)
