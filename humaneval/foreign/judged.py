"""The judgments in a sheet, one a row: what was judged, by whom, in which group, and what was left out.

A cell with several judgments gives a row for each. An item is what `--item` names, in one column of
`--value`. With {} the columns are passages of one form, so a file with a column for each passage gives the
same items as one with a row for each passage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.header import column
from humaneval.foreign.mapping import PLACE, numbered
from humaneval.foreign.sheet import Left, Sheet, at
from humaneval.foreign.splitting import Parts, number_of, parts_of, people_in
from humaneval.text import counted, listed

LINE, COLUMN, NUMBER, VALUE, WORKER, ITEM = "(line)", "(column)", "(number)", "(value)", "(worker)", "(item)"
PERSON = "(person)"
"""Who counts as one person if the worker is not known: a row of the file, or a place in its cell."""
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
    """A column of judgments, or a part of its cells: what `--value` called it, and the number in place of
    {}."""

    column: str
    flag: str
    number: int | None
    source: str
    """The column of the sheet."""
    part: str | None = None
    """Which part of a cell that was split."""


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
    split: str | None = None,
) -> Judged:
    """One row for each judgment in the columns `values`, in the order of the file.

    {} stands for a number (in `numbers`, if given), and * for any text; in `items`, `by` and `worker` {}
    stands for the same number. `split` says how a cell holds several judgments (`foreign.splitting`); the
    number is then the place in the cell. They are by different people about one item if the cell of `worker`
    splits into as many parts, or if nobody is named; else they are about different items. Blank cells are not
    judgments, and are counted. Values that are the same number (3 and 3.0), or with `ignore_case` differ only
    in case, become the most common one. Raises UsageError for unknown columns.
    """
    questions = _questions(sheet.frame, values, numbers)
    groups = {_label(sheet.frame, name): name for name in by}
    if split is None:
        parts = [_part(sheet, one, _cells(sheet, one.source), items, groups, worker) for one in questions]
    else:
        parts, told = _split(sheet, questions, split, numbers, items, groups, worker)
        sheet = sheet.noted(*told)
    frame = pd.concat(parts, ignore_index=True)
    # Row by row, as a file with a row for each passage has them: draws and numbering follow this order.
    row = np.concatenate([np.asarray(part.index) for part in parts])
    frame = frame.iloc[np.argsort(row, kind="stable")]
    made = Judged(frame.reset_index(drop=True), sheet, tuple(groups))
    if not any(frame[VALUE]):
        raise InputError(f"all cells are empty in {listed([one.source for one in questions])}")
    made = made.complete(VALUE)
    if all(as_number(text) is not None for text in made.frame[VALUE]):
        made = _one_spelling(made, as_number, "numbers written differently")
    elif commas := decimal_commas(made.frame[VALUE].unique().tolist()):
        made = replace(made, sheet=made.sheet.noted(commas))
    return _one_spelling(made, str.casefold, "") if ignore_case else made


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


def _part(
    sheet: Sheet,
    one: _Question,
    texts: Sequence[str],
    items: Sequence[str],
    groups: Mapping[str, str],
    worker: str | None,
    *,
    people: bool = False,
) -> pd.DataFrame:
    """The judgments `texts` of one question, a row for each row of the sheet; by different `people` the
    question is the same for all parts of a cell."""
    frame, size = sheet.frame, len(sheet.frame)
    keys = list(zip(*(_named(frame, name, one, "--item") for name in items), strict=True))
    own_items = any(PLACE in name for name in items)
    question = one.flag if own_items else one.source if people else one.column
    workers: list[str | None]
    if worker is None:
        workers = [None] * size
    elif worker in (COLUMN, NUMBER):
        # The columns, or the places in a cell, are the people who judge one item.
        question, workers = one.flag if one.number is not None else worker, [_place(one, worker)] * size
    else:
        workers = [text or None for text in _texts(frame, worker, one, "--worker")]
    cells: dict[str, list[Any]] = {
        LINE: list(frame.index),
        COLUMN: [one.column] * size,
        NUMBER: [one.number] * size,
        **{label: _named(frame, name, one, "--by") for label, name in groups.items()},
        WORKER: workers,
        PERSON: [(line, one.part if people else None) for line in frame.index],
        ITEM: [(*key, question) if any(key) else None for key in keys] if items else [None] * size,
        VALUE: [text or None for text in texts],
    }
    return pd.DataFrame({name: pd.Series(found, dtype=object) for name, found in cells.items()})


def _place(one: _Question, worker: str) -> str | None:
    if worker == COLUMN:
        return one.column
    if one.number is None:
        raise UsageError(f"--worker {NUMBER} needs a --value with {{}}", f"Or say --worker {COLUMN}.")
    return str(one.number)


def _split(
    sheet: Sheet,
    questions: Sequence[_Question],
    how: str,
    numbers: range | None,
    items: Sequence[str],
    groups: Mapping[str, str],
    worker: str | None,
) -> tuple[list[pd.DataFrame], list[str]]:
    """The judgments of all parts of all cells, and notes on how they were split."""
    made, notes = [], []
    for one in questions:
        found = parts_of(_cells(sheet, one.source), list(sheet.frame.index), how, one.source)
        beside = _beside(sheet, one, (*items, *groups.values()), worker, found, how)
        named = worker is not None and worker not in (COLUMN, NUMBER)
        by_worker = named and column_at(sheet.frame, worker or "", one.number, "--worker") in beside
        people = by_worker or (worker is None and found.places and not beside)
        for name in found.names:
            number = number_of(name) if one.number is None else one.number
            if numbers is not None and one.number is None and number not in numbers:
                continue
            part = replace(one, column=f"{one.source}.{name}", number=number, part=name)
            texts = [cell.get(name) or "" for cell in found.cells]
            at_part = {
                side: pd.Series(
                    [
                        mine[list(cell).index(name)] if name in cell else None
                        for mine, cell in zip(lists, found.cells, strict=True)
                    ],
                    index=sheet.frame.index,
                    dtype=object,
                )
                for side, lists in beside.items()
            }
            here = replace(sheet, frame=sheet.frame.assign(**at_part))
            frame = _part(here, part, texts, items, groups, worker, people=people)
            # A cell with fewer parts has no blank judgment.
            made.append(frame[[name in cell or not cell for cell in found.cells]])
        notes.append(_told(one, found, people))
    if not made:
        raise UsageError("--numbers leaves no part of a cell", "Widen the range.")
    return made, notes


def _told(one: _Question, found: Parts, people: bool) -> str:
    sizes = sorted({len(cell) for cell in found.cells if cell}) or [0]
    span = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    where = f"separated by {found.separator!r}" if found.separator else "as JSON"
    whose = "answers by different people" if people else "answers about different items"
    return f"{one.source} holds {span} judgments in a cell, {where}; taken as {whose}"


def _beside(
    sheet: Sheet, one: _Question, names: Sequence[str], worker: str | None, found: Parts, how: str
) -> dict[str, list[list[str]]]:
    """Columns whose cells split into as many parts as those of the judgments: the parts of each cell.

    Raises InputError for workers if only some cells do.
    """
    made = {}
    plain = {column_at(sheet.frame, name, one.number, "") for name in names if not _special(name)}
    workers = None if worker is None or _special(worker) else column_at(sheet.frame, worker, one.number, "")
    for name in dict.fromkeys([*plain, *([workers] if workers else [])]):
        lists = [people_in(cell, how) if cell else [] for cell in _cells(sheet, name)]
        uneven = [
            line
            for line, mine, theirs in zip(sheet.frame.index, lists, found.cells, strict=True)
            if theirs and len(mine) != len(theirs)
        ]
        if all(len(cell) <= 1 for cell in lists) or (uneven and name != workers):
            continue
        if uneven:
            raise InputError(
                f"{name} names another number of workers than {one.source} has judgments: {at(uneven)}",
                "Correct these cells, or leave their rows out.",
            )
        made[name] = lists
    return made


def _special(name: str) -> bool:
    """Whether a name stands for no column of its own, or for one that the place in a cell chooses."""
    return PLACE in name or name.strip() in (COLUMN, NUMBER)


def _cells(sheet: Sheet, name: str) -> list[str]:
    return [cell_text(cell) for cell in sheet.frame[name]]


def _questions(frame: pd.DataFrame, values: Sequence[str], numbers: range | None) -> list[_Question]:
    found: dict[str, _Question] = {}
    for flag in values:
        matching = [] if flag in frame.columns else _matching(frame, flag)
        for name in matching:
            found.setdefault(name, _Question(name, flag, None, name))
        if matching:
            continue
        if PLACE not in flag:
            name = column(frame, flag, "--value")
            found.setdefault(name, _Question(name, name, None, name))
            continue
        for number, name in numbered(frame, flag).items():
            if numbers is None or number in numbers:
                found.setdefault(name, _Question(name, flag, number, name))
    if not found:
        raise UsageError("--numbers leaves no column", "Widen the range.")
    return list(found.values())


def _matching(frame: pd.DataFrame, flag: str) -> list[str]:
    """The columns that fit a name with *, which stands for any text."""
    pattern = flag.strip().casefold()
    names = [str(name) for name in frame.columns]
    return [name for name in names if fnmatchcase(name.casefold(), pattern)] if "*" in flag else []


def _label(frame: pd.DataFrame, name: str) -> str:
    return name.strip() if PLACE in name or name.strip() == COLUMN else column(frame, name, "--by")


def _named(frame: pd.DataFrame, name: str, one: _Question, flag: str) -> list[str]:
    """The cells of a column, or the name of the column of the judgments themselves."""
    if name.strip() == COLUMN and COLUMN not in frame.columns:
        return [one.column] * len(frame)
    return _texts(frame, name, one, flag)


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


def as_number(text: str) -> float | None:
    """The finite number that a value is, if it is one."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def decimal_commas(texts: Sequence[str]) -> str:
    """A note if all values would be numbers with a point in place of a comma; empty otherwise."""
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    if not commas or any(as_number(text.replace(",", ".")) is None for text in texts):
        return ""
    return (
        f"values with a comma, as {listed(commas, 3)}, are read as words; if they are numbers, write them"
        " with a point"
    )


def _same_number(text: str, wanted: str) -> bool:
    try:
        return float(text) == float(wanted)
    except ValueError:
        return False
