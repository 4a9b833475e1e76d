"""Stories as JSON: one object a line, or one array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from humaneval.errors import InputError
from humaneval.stories.delimited import check_columns
from humaneval.stories.fields import kind_of, record_of
from humaneval.stories.headings import Columns, resolve
from humaneval.stories.result import Record, Records
from humaneval.text import listed

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n,]*")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class _Value:
    line: int
    value: Any
    trouble: str = ""


class _Repeated(dict[str, Any]):
    """An object that has a field twice. JSON would silently keep the last value."""

    twice = ""


def looks_like_json(text: str) -> bool:
    """Whether `text` begins like an object or an array, and not like a sentence in brackets."""
    head = text.lstrip(" \t\r\n")
    return head.startswith("{") or (
        head.startswith("[") and head[1:].lstrip(" \t\r\n")[:1] in ("{", "[", '"', "]")
    )


def read_json(text: str, name: str, mapping: Mapping[str, str] | None = None) -> Records:
    """The records of JSONL or of a JSON array. Each object is read by its own fields."""
    values = list(_values(text, name))
    kinds: dict[tuple[str, ...], Columns] = {}
    records: list[Record] = []
    unused: dict[str, None] = {}
    first: Columns | None = None
    usable = False
    for found in values:
        record = Record(found.line, trouble=found.trouble)
        records.append(record)
        if found.trouble:
            continue
        if not isinstance(found.value, dict):
            record.trouble = f"{kind_of(found.value)}, not an object with the fields of a story"
            continue
        names = tuple(found.value)
        columns = kinds.get(names)
        if columns is None:
            columns = kinds[names] = resolve(names, mapping)
            unused.update(dict.fromkeys(columns.ignored))
        first = first or columns
        if isinstance(found.value, _Repeated):
            record.trouble = f"the field {found.value.twice!r} occurs twice"
        elif not columns.shape:
            record.trouble = f"missing: {listed(columns.unknown or columns.missing, 8)}"
        else:
            usable = True
            records[-1] = _record(found, columns)
    if first is not None and (not usable or first.shape == "text"):
        check_columns(first, next(iter(kinds)), name)
    if first is None:
        raise InputError(
            f"{name} begins like JSON but contains no object:"
            f" {records[0].trouble if records else 'it is empty'}",
            'Write one object a line: {"id": "…", "sentences": ["…", "…", "…", "…", "…"]}.',
        )
    notes = (f"fields not used: {listed(list(unused), 8)}",) if unused else ()
    return Records("JSONL", records, notes=notes)


def _record(found: _Value, columns: Columns) -> Record:
    value: dict[str, Any] = found.value
    fields = {field: value[column] for field, column in columns.of.items()}
    written_one = columns.of.get("answer", "").lower() == "answerrightending"
    record = record_of(found.line, fields, columns.shape, from_zero=not written_one)
    if any(value[column] for column in columns.surplus):
        record.trouble = record.trouble or "a sixth sentence"
    return record


def _values(text: str, name: str) -> Iterator[_Value]:
    """Each value with the line on which it begins. After a line that is not JSON, reading goes on."""
    decode = json.JSONDecoder(object_pairs_hook=_object).raw_decode
    at = _end(_SPACE, text, 0)
    array = text[at] == "["
    if array:
        at = _end(_SPACE, text, at + 1)
    line, counted = 1, 0
    between = _COMMA if array else _SPACE
    while at < len(text) and not (array and text[at] == "]"):
        line += _line_ends(text, counted, at)
        counted = at
        try:
            value, after = decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
            if array:
                raise InputError(
                    f"{name}, line {line}: not JSON: {reason}", "Correct the array on that line."
                ) from None
            yield _Value(line, None, f"not JSON: {reason}")
            end = _LINE_END.search(text, at)
            after = end.end() if end else len(text)
        else:
            yield _Value(line, value)
        at = _end(between, text, after)
    if array and at >= len(text):
        raise InputError(
            f"{name}: the JSON array is not closed, so the file is incomplete", "Get the whole file."
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = _Repeated(value)
    names = [name for name, _ in pairs]
    repeated.twice = next(name for name in names if names.count(name) > 1)
    return repeated


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line_ends(text: str, start: int, end: int) -> int:
    feeds = text.count("\n", start, end)
    return feeds if feeds else text.count("\r", start, end)
