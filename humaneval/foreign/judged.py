"""The judgments in a sheet, one a row: what was judged, by whom, in which group, and what was left out.

An item is what `--item` names, in one column of `--value`. With {} the columns are passages of one form, so a
file with a column for each passage gives the same items as one with a row for each passage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.header import column
from humaneval.foreign.mapping import PLACE, numbered
from humaneval.foreign.sheet import Left, Sheet, at
from humaneval.text import counted, listed

LINE, COLUMN, NUMBER, VALUE, WORKER, ITEM = "(line)", "(column)", "(number)", "(value)", "(worker)", "(item)"
_COMMA = re.compile(r"[+-]?\d+,\d+")
LACKING = {VALUE: "a value", ITEM: "an item", WORKER: "a worker"}


@dataclass(frozen=True, slots=True)
class Judged:
    """One row of `frame` for each judgment, the sheet with an account of the rows that gave none, and the
    columns of `frame` that name the groups."""

    frame: pd.DataFrame
    sheet: Sheet
    by: tuple[str, ...] = ()

    def complete(self, *needed: str) -> Judged:
        """The judgments whose cells in these columns are not blank. The others are counted. A column that is
        blank throughout is not known, and nothing is left out for it."""
        made = self
        for name in needed:
            there = made.frame[name].map(lambda cell: cell is not None and cell != "")
            if there.any():
                made = _without(made, ~there, LACKING.get(name, f"{name}"))
        return made

    def spelt(self, answers: Sequence[str]) -> list[str]:
        """Answers in the spelling of the file, if they differ from it only in case or blanks around them."""
        known = {text.casefold(): text for text in reversed(self.frame[VALUE].unique().tolist())}
        values = set(known.values())
        return [one if one in values else known.get(one.strip().casefold(), one.strip()) for one in answers]


@dataclass(frozen=True, slots=True)
class _Question:
    """A column of judgments: what `--value` called it, and the number in place of {}."""

    column: str
    flag: str
    number: int | None


def where(sheet: Sheet, conditions: Mapping[str, str]) -> Sheet:
    """The rows whose columns equal `conditions`; the others are counted.

    Text must be the same. Only if no row has this text, the same number counts: `0.10` for 0.1. So the ids
    007 and 7 stay apart.
    """
    for name, wanted in conditions.items():
        cells = sheet.frame[column(sheet.frame, name, "--where")].map(cell_text)
        same = cells == wanted.strip()
        other = ~(same if same.any() else cells.map(lambda text, wanted=wanted: _same_number(text, wanted)))
        sheet = sheet.without(f"{name} is not {wanted}", list(cells.index[other]))
    if sheet.frame.empty:
        raise InputError("no rows are left: " + "; ".join(str(left) for left in sheet.left_out))
    return sheet


def judged(
    sheet: Sheet,
    values: Sequence[str],
    *,
    items: Sequence[str] = (),
    by: Sequence[str] = (),
    worker: str | None = None,
    numbers: range | None = None,
    ignore_case: bool = False,
) -> Judged:
    """One row for each judgment in the columns `values`, in the order of the file.

    {} stands for a number (in `numbers`, if given); in `items` and `by` it stands for the same number. Blank
    cells are not judgments, and are counted. Values that are the same number (3 and 3.0), or with
    `ignore_case` differ only in case, become the most common one. Raises UsageError for unknown columns.
    """
    questions = _questions(sheet.frame, values, numbers)
    own_items = any(PLACE in name for name in items)
    groups = {_label(sheet.frame, name): name for name in by}
    size = len(sheet.frame)
    parts = []
    for one in questions:
        keys = list(zip(*(_texts(sheet.frame, name, one, "--item") for name in items), strict=True))
        question = one.flag if own_items else one.column
        cells: dict[str, list[Any]] = {
            LINE: list(sheet.frame.index),
            COLUMN: [one.column] * size,
            NUMBER: [one.number] * size,
            **{label: _texts(sheet.frame, name, one, "--by") for label, name in groups.items()},
            WORKER: [cell_text(cell) or None for cell in sheet.frame[worker]] if worker else [None] * size,
            ITEM: [(*key, question) if any(key) else None for key in keys] if items else [None] * size,
            VALUE: [cell_text(cell) or None for cell in sheet.frame[one.column]],
        }
        parts.append(pd.DataFrame({name: pd.Series(found, dtype=object) for name, found in cells.items()}))
    frame = pd.concat(parts, ignore_index=True)
    # Row by row, as a file with a row for each passage has them: draws and numbering follow this order.
    frame = frame.iloc[np.argsort(np.tile(np.arange(size), len(parts)), kind="stable")]
    made = Judged(frame.reset_index(drop=True), sheet, tuple(groups))
    if not any(frame[VALUE]):
        raise InputError(f"all cells are empty in {listed([one.column for one in questions])}")
    made = made.complete(VALUE)
    if all(_number(text) is not None for text in made.frame[VALUE]):
        made = _one_spelling(made, _number, "numbers written differently")
    elif commas := decimal_commas(made.frame[VALUE].unique().tolist()):
        made = replace(made, sheet=made.sheet.noted(commas))
    return _one_spelling(made, str.casefold, "") if ignore_case else made


def correct(frame: pd.DataFrame, sheet: Sheet, gold: Sequence[str | None]) -> pd.DataFrame:
    """The same judgments as 1 if they equal the right answer in `gold`, else 0.

    `gold` has an entry for each HIT and number (1-2-3… of the file's first HIT, then of its second), like
    forms whose passages follow the order of a file. Text with one number is compared by that number
    (Paragraph 2 equals paragraph_2), other text in any case. Raises InputError if the counts differ or a
    right answer is blank.
    """
    if "hit_number" not in sheet.frame.columns or frame[NUMBER].isna().any():
        raise UsageError("--gold needs a file in the format hits-json and a --value with {}")
    places = sorted(set(frame[NUMBER]))
    hits = sheet.frame["hit_number"].astype(int)
    expected = int(hits.max()) * len(places)
    if expected != len(gold):
        raise InputError(
            f"{int(hits.max())} HITs with {len(places)} passages each need {expected} right answers; the file"
            f" has {len(gold)}",
            "Choose the passages to compare, for example --numbers 1-5.",
        )
    blank = [place for place, answer in enumerate(gold, 1) if not cell_text(answer)]
    if blank:
        raise InputError(
            f"{len(blank)} of {len(gold)} right answers are blank: {listed(blank)} (counted from 1)",
            "Fill them in: an answer cannot be compared with nothing.",
        )
    rank = {number: place for place, number in enumerate(places)}
    right = [
        _key(value) == _key(gold[(int(hits[line]) - 1) * len(places) + rank[number]] or "")
        for line, number, value in zip(frame[LINE], frame[NUMBER], frame[VALUE], strict=True)
    ]
    return frame.assign(**{VALUE: [str(int(one)) for one in right]})


def column_at(frame: pd.DataFrame, name: str, number: int | None, flag: str) -> str:
    """The column that `name` stands for: {} in it is the `number` of the judgment. Raises UsageError."""
    if PLACE not in name:
        return column(frame, name, flag)
    if number is None:
        raise UsageError(
            f"{flag} {name!r} has {{}}, but the column of --value has no number",
            "Use {} in --value, too: it stands for the same number in both.",
        )
    found = numbered(frame, name)
    if number not in found:
        raise UsageError(
            f"{flag} {name!r} has no column for the number {number}",
            f"Its columns: {listed(list(found.values()))}. Choose numbers with --numbers A-B.",
        )
    return found[number]


def _questions(frame: pd.DataFrame, values: Sequence[str], numbers: range | None) -> list[_Question]:
    found: dict[str, _Question] = {}
    for flag in values:
        if PLACE not in flag:
            name = column(frame, flag, "--value")
            found.setdefault(name, _Question(name, name, None))
            continue
        for number, name in numbered(frame, flag).items():
            if numbers is None or number in numbers:
                found.setdefault(name, _Question(name, flag, number))
    if not found:
        raise UsageError("--numbers leaves no column", "Widen the range.")
    return list(found.values())


def _label(frame: pd.DataFrame, name: str) -> str:
    return name.strip() if PLACE in name else column(frame, name, "--by")


def _texts(frame: pd.DataFrame, name: str, one: _Question, flag: str) -> list[str]:
    return [cell_text(cell) for cell in frame[column_at(frame, name, one.number, flag)]]


def _without(made: Judged, gone: pd.Series[bool], what: str) -> Judged:
    """The judgments that are not `gone`: rows of the file that have no other are counted as rows."""
    if not gone.any():
        return made
    frame, sheet = made.frame, made.sheet
    staying = set(frame.loc[~gone, LINE])
    lines: list[Hashable] = list(dict.fromkeys(frame.loc[gone, LINE]))
    whole = [line for line in lines if line not in staying]
    part = frame.loc[gone & frame[LINE].isin(staying), LINE]
    if whole:
        kept = tuple(line if isinstance(line, str) else int(str(line)) for line in whole)
        left = Left(f"without {what}", kept, of=len(sheet.frame))
        sheet = replace(sheet, frame=sheet.frame.drop(index=whole), left_out=(*sheet.left_out, left))
    if len(part):
        told = (
            f"{len(part):,} of {counted(len(frame), 'judgment')} without {what} left out ({at(list(part))})"
        )
        sheet = sheet.noted(told)
    return Judged(frame[~gone], sheet, made.by)


def _one_spelling(made: Judged, key: Callable[[str], Any], what: str) -> Judged:
    """The values with the most common spelling of each; a note lists what was put together, if named."""
    texts = made.frame[VALUE].value_counts().index.tolist()
    first = {key(text): text for text in reversed(texts)}
    merged = [text for text in texts if first[key(text)] != text]
    frame = made.frame.assign(**{VALUE: made.frame[VALUE].map(lambda text: first[key(text)])})
    note = f"{what} are one value: {', '.join(f'{one} is {first[key(one)]}' for one in merged[:5])}"
    return Judged(frame, made.sheet.noted(note if merged and what else ""), made.by)


def cell_text(cell: object) -> str:
    """The cell as text without blanks around it; empty for a blank cell."""
    return "" if cell is None or cell != cell else str(cell).strip()


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def decimal_commas(texts: Sequence[str]) -> str:
    """A note if all values would be numbers with a point in place of a comma; empty otherwise."""
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    if not commas or any(_number(text.replace(",", ".")) is None for text in texts):
        return ""
    return (
        f"values with a comma, as {listed(commas, 3)}, are read as words; if they are numbers, write them"
        " with a point"
    )


def _key(text: str) -> str:
    digits = "".join(one if one.isdigit() else " " for one in text).split()
    return str(int(digits[0])) if len(digits) == 1 else text.strip().casefold()


def _same_number(text: str, wanted: str) -> bool:
    try:
        return float(text) == float(wanted)
    except ValueError:
        return False
