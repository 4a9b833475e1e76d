"""Answers in the shapes that forms leave behind: JSON in a cell, a column for each option, Python's b'…'."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from humaneval.foreign.sheet import Sheet, at
from humaneval.text import counted

LEAVES = 60
"""A JSON cell with more values than this is a log (of clicks, say), not an answer. It stays as it is."""
DEEP = 4
"""How many levels of JSON inside JSON text are unfolded."""
JOINED = "|"
"""Between several chosen options, as in Mechanical Turk's own files."""


class Unfolded(NamedTuple):
    """A frame with more columns, and notes on what was and was not understood."""

    frame: pd.DataFrame
    notes: list[str]


def as_text(value: object) -> str | None:
    """A JSON value as a cell: booleans as true and false, nothing as None, lists and objects as JSON."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def leaves(value: object, name: str, depth: int = 0) -> Iterator[tuple[str, str | None]]:
    """The answers in a JSON value, each with its dotted name.

    A choice among options ({"yes": false, "no": true}) becomes the chosen option; several are joined by |. A
    list of one becomes its element, and a list of {"name", "value"} becomes named answers.

    >>> list(leaves([{"category": {"label": "no"}, "q": {"a": False, "b": True}}], "Answer"))
    [('Answer.category.label', 'no'), ('Answer.q', 'b')]
    """
    if isinstance(value, str) and depth < DEEP and value.lstrip()[:1] in ("[", "{"):
        inner = _loaded(value)
        if inner is not None:
            yield from leaves(inner, name, depth + 1)
            return
    if isinstance(value, dict) and value:
        if all(isinstance(one, bool) for one in value.values()):
            yield name, JOINED.join(str(key) for key, chosen in value.items() if chosen) or None
            return
        for key, one in value.items():
            yield from leaves(one, f"{name}.{key}", depth)
        return
    if isinstance(value, list) and value:
        if all(isinstance(one, dict) and set(one) == {"name", "value"} for one in value):
            for one in value:
                yield from leaves(one["value"], f"{name}.{one['name']}", depth)
        elif len(value) == 1:
            yield from leaves(value[0], name, depth)
        elif not any(isinstance(one, (dict, list)) for one in value):
            yield name, JOINED.join(as_text(one) or "" for one in value)
        else:
            for number, one in enumerate(value, 1):
                yield from leaves(one, f"{name}.{number}", depth)
        return
    yield name, as_text(value if value not in ([], {}) else None)


def unfolded(frame: pd.DataFrame, names: list[str], whole: str = "taskAnswers") -> Unfolded:
    """`frame` with the JSON in the columns `names` as columns of their own, called `COLUMN.key.key`.

    Mechanical Turk puts a whole form into a column that ends in `whole`; its answers get the name without
    that ending. Only JSON cells are unfolded. Other cells stay in their column; a column that is left empty
    is dropped. Cells that begin like JSON and cannot be read are counted in a note.
    """
    notes: list[str] = []
    for name in names:
        cells = frame[name]
        looks = cells.map(lambda cell: isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"))
        if not looks.any():
            continue
        base = name.removesuffix(f".{whole}") if name.endswith(f".{whole}") else name
        found = [
            dict(leaves(value, base)) if yes and (value := _loaded(cell)) is not None else None
            for cell, yes in zip(cells, looks, strict=True)
        ]
        is_json = pd.Series([one is not None for one in found], index=frame.index)
        broken = list(frame.index[looks & ~is_json])
        if broken:
            notes.append(
                f"{name}: {counted(len(broken), 'cell', 'begins', 'begin')} like JSON but cannot be read, and"
                f" {'stays' if len(broken) == 1 else 'stay'} text: {at(broken)}"
            )
        if not is_json.any():
            continue
        if any(one is not None and len(one) > LEAVES for one in found):
            notes.append(f"{name} holds long JSON, perhaps a log: it is left as it is")
            continue
        frame, more = _with_answers(frame, name, found, is_json)
        notes += more
    return Unfolded(frame, notes)


def with_json(sheet: Sheet, names: Iterable[str]) -> Sheet:
    """The sheet with the JSON of a column unfolded, where one of `names` is COLUMN.KEY and no column has that
    name. Formats that define JSON have unfolded it already."""
    known = {str(one).casefold(): str(one) for one in sheet.frame.columns}
    for name in names:
        told = name.strip().casefold()
        starts = [known[one] for one in known if told.startswith(f"{one}.")]
        if told in known or not starts or max(starts, key=len) not in sheet.frame.columns:
            continue
        base = max(starts, key=len)
        made = unfolded(sheet.frame, [base])
        frame = (
            _numbered(made.frame.astype(object), base)
            if told.startswith(f"{base.casefold()}.{{}}.")
            else made.frame
        )
        sheet = replace(sheet, frame=frame.astype(object)).noted(*made.notes)
    return sheet


def _numbered(frame: pd.DataFrame, base: str) -> pd.DataFrame:
    """A list of one object was taken as the object: its keys get the number 1, as in longer lists."""
    for name in [str(one) for one in frame.columns if str(one).startswith(f"{base}.")]:
        key = name.removeprefix(f"{base}.")
        first = f"{base}.1.{key}"
        if key.partition(".")[0].isdecimal():
            continue
        cells = frame.pop(name)
        frame[first] = frame[first].where(frame[first].notna(), cells) if first in frame.columns else cells
    return frame


def _with_answers(
    frame: pd.DataFrame, name: str, found: list[dict[str, str | None] | None], is_json: pd.Series[bool]
) -> tuple[pd.DataFrame, list[str]]:
    """`frame` with the answers `found` in the JSON cells of the column `name`; cells that exist are kept."""
    notes: list[str] = []
    plain = frame[name].where(~is_json, None)
    keys = list(dict.fromkeys(key for one in found if one for key in one))
    new: dict[str, pd.Series[Any]] = {}
    for key in dict.fromkeys([*([name] if plain.notna().any() or name in keys else []), *keys]):
        answers = pd.Series([(one or {}).get(key) for one in found], index=frame.index, dtype=object)
        there = plain if key == name else frame[key] if key in frame.columns else None
        if there is None:
            new[key] = answers
            continue
        lost = answers.notna() & there.notna() & answers.ne(there)
        if lost.any():
            notes.append(
                f"{name} has an answer for {key}, a column that exists already and is kept:"
                f" {at(list(frame.index[lost]))}"
            )
        new[key] = there.astype(object).where(there.notna(), answers)
    if keys != [name]:
        notes.append(f"{name} holds JSON: {', '.join(keys[:8])}{' …' if len(keys) > 8 else ''}")
    others = int(plain.notna().sum())
    if others:
        lines = list(frame.index[is_json])
        notes.append(
            f"{name}: {counted(len(lines), 'cell')} of JSON ({at(lines)});"
            f" {counted(others, 'other cell', 'stays', 'stay')} text"
        )
    place = list(frame.columns).index(name)
    old = frame.drop(columns=[one for one in new if one in frame.columns] + ([] if name in new else [name]))
    kept = [column for column in frame.columns[:place] if column in old.columns]
    made = pd.concat([old, pd.DataFrame(new, index=frame.index, dtype=object)], axis=1)
    after = [column for column in old.columns if column not in kept]
    return made[[*kept, *new, *after]], notes


def chosen(frame: pd.DataFrame, names: list[str]) -> Unfolded:
    """`frame` with a column for each question whose options have columns of their own (`Answer.q.a`: true).

    This needs at most one true option in every row. The options' own columns stay.
    """
    notes: list[str] = []
    groups: dict[str, list[str]] = {}
    for name in names:
        question, _, option = name.rpartition(".")
        words = {str(cell).strip().casefold() for cell in frame[name].dropna()}
        if "." in question and option and words and words <= {"true", "false"}:
            groups.setdefault(question, []).append(name)
    for question, columns in groups.items():
        if len(columns) < 2 or question in frame.columns:
            continue
        true = frame[columns].map(lambda cell: str(cell).strip().casefold() == "true")
        if (true.sum(axis=1) > 1).any():
            continue
        options = {name: name.rpartition(".")[2] for name in columns}
        answer = true.idxmax(axis=1).map(options).astype(object).where(true.any(axis=1), None)
        frame = pd.concat([frame, answer.rename(question)], axis=1)
        notes.append(f"{question} is the chosen option of {', '.join(options.values())}")
    return Unfolded(frame, notes)


def from_python(cell: object) -> object:
    """The text behind Python's notation for bytes; anything else unchanged.

    >>> from_python("b'caf\\\\xc3\\\\xa9'")
    'café'
    """
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if text[:2] not in ("b'", 'b"') or text[-1:] != text[1]:
        return cell
    try:
        value: Any = ast.literal_eval(text)
        return value.decode("utf-8") if isinstance(value, bytes) else cell
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # a UnicodeDecodeError is a ValueError
        return cell


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
