"""Stories as JSON: one object a line, or one array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from humaneval.domain import SENTENCES
from humaneval.encodings import why_not_json
from humaneval.errors import InputError
from humaneval.limits import check_stories
from humaneval.stories.delimited import check_columns
from humaneval.stories.fields import kind_of, one_too_many, record_of
from humaneval.stories.headings import Columns, known_names, resolve
from humaneval.stories.result import Record, Records
from humaneval.text import clear_sentences, language_of, listed, repeated, split_into

ANSWERED = frozenset({"ending1", "ending2", "answer"})
"""Fields of a story with two endings, of which none may be guessed."""

MOST_BROKEN = 10_000
"""So many lines that are not JSON are told, if they are most of the file. Each may be read a thousand objects
deep."""
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


def read_json(
    text: str,
    name: str,
    mapping: Mapping[str, str] | None = None,
    wanted: int = SENTENCES,
    most: int | None = None,
) -> Records:
    """The records of JSONL or of a JSON array, of `wanted` sentences each; of its first values, with `most`.
    Each object is read by its own fields."""
    opened = _opened(list(islice(_values(text, name), most)), text, mapping, wanted)
    values = [_as_object(found) for found in opened[:most]]
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
            columns = kinds[names] = _columns(found.value, mapping, wanted)
            unused.update(dict.fromkeys(columns.ignored))
        first = first or columns
        if isinstance(found.value, _Repeated):
            record.trouble = f"the field {found.value.twice!r} occurs twice"
        elif not columns.shape:
            record.trouble = f"missing: {listed(columns.unknown or columns.missing, 8)}"
        else:
            usable = True
            records[-1] = _record(found, columns, wanted)
    if first is not None and (not usable or first.shape == "text"):
        check_columns(first, next(iter(kinds)), name)
    if first is None:
        raise InputError(
            f"{name} begins like JSON but contains no object:"
            f" {records[0].trouble if records else 'it is empty'}",
            'Write one object a line: {"id": "…", "sentences": ["…", "…", "…", "…", "…"]}.',
        )
    guessed = {
        columns.of[field]: None
        for columns in kinds.values()
        for field in ("sentences", "text")
        if field in columns.of and not mapping and not known_names([columns.of[field]])
    }
    notes = [f"read as the story: {listed(list(guessed), 8)}"] if guessed else []
    notes += [f"fields not used: {listed(list(unused), 8)}"] if unused else []
    return Records("JSONL", records, notes=tuple(notes))


def _opened(values: list[_Value], text: str, mapping: Mapping[str, str] | None, wanted: int) -> list[_Value]:
    """The values of the file; for a single object without a story's fields, what it holds under each id."""
    if len(values) == wanted and all(_is_sentence(each.value) for each in values):
        return [_Value(values[0].line, [each.value for each in values])]  # an array that is one story
    first = values[0].value if len(values) == 1 else None
    if not isinstance(first, dict) or isinstance(first, _Repeated) or resolve(tuple(first), mapping).shape:
        return values
    if len(first) == 1:  # {"stories": [{…}, {…}]}
        (inside,) = first.values()
        if isinstance(inside, list) and inside and all(isinstance(each, dict) for each in inside):
            return [_Value(values[0].line, each) for each in inside]
    stories = sum(_holds_a_story(each, mapping, wanted) for each in first.values())
    objects = all(isinstance(each, dict) for each in first.values())
    if not stories or not (objects or 2 * stories > len(first)):
        return values
    found, at, line = [], 0, values[0].line
    for key, value in first.items():
        there = text.find(json.dumps(key, ensure_ascii=False), at)
        if there >= 0:
            line += _line_ends(text, at, there)
            at = there
        inner = _as_object(_Value(line, value)).value
        if isinstance(inner, _Repeated):
            found.append(_Value(line, inner))
        else:
            found.append(_Value(line, {"id": key, **inner} if isinstance(inner, dict) else inner))
    return found


def _as_object(found: _Value) -> _Value:
    """A value that is a text, or a list with one or with the sentences, as an object with that field."""
    value = found.value
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        value = {"text": value}
    elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        titled = len(value) == 2 and not _is_sentence(value[1])
        value = {"title": value[0], "text": value[1]} if titled else {"sentences": value}
    return replace(found, value=value)


def _holds_a_story(value: object, mapping: Mapping[str, str] | None, wanted: int) -> bool:
    """Whether a value is an object with a story's fields, its sentences, or a text that has as many."""
    inner = _as_object(_Value(1, value)).value
    if not isinstance(inner, dict) or not _columns(inner, mapping, wanted).shape:
        return False
    text = inner.get("text")
    if inner is value or not isinstance(text, str):
        return True
    return len(split_into(wanted, text, language_of(text)).sentences) == wanted


def _is_sentence(value: object) -> bool:
    """Whether a value is a text with at most one sentence."""
    return isinstance(value, str) and _clear(value) == 1


def _clear(text: str) -> int:
    """How many sentences a text surely has."""
    return len(clear_sentences(text, language_of(text)))


def _columns(value: Mapping[str, Any], mapping: Mapping[str, str] | None, wanted: int) -> Columns:
    """What each field holds: by name, or, if the names say nothing, the only field that can hold a story."""
    columns = resolve(tuple(value), mapping, wanted)
    if columns.shape or columns.unknown or ANSWERED & columns.of.keys():
        return columns
    lists = [name for name in columns.ignored if isinstance(value[name], list) and len(value[name]) > 1]
    lists = [name for name in lists if all(map(_is_sentence, value[name]))]
    whole = [name for name in lists if len(value[name]) == wanted]
    texts = [
        name for name in columns.ignored if isinstance(value[name], str) and _clear(value[name]) >= wanted - 1
    ]
    field, names = ("text", texts) if texts and not whole else ("sentences", whole or lists)
    if len(names) != 1:
        return columns
    return resolve(tuple(value), {**(mapping or {}), field: names[0]}, wanted)


def _record(found: _Value, columns: Columns, wanted: int) -> Record:
    value: dict[str, Any] = found.value
    fields = {field: value[column] for field, column in columns.of.items()}
    written_one = columns.of.get("answer", "").lower() == "answerrightending"
    record = record_of(found.line, fields, columns.shape, from_zero=not written_one, wanted=wanted)
    if any(value[column] for column in columns.surplus):
        record.trouble = record.trouble or one_too_many(wanted)
    return record


def _values(text: str, name: str) -> Iterator[_Value]:
    """Each value with the line on which it begins. After a line that is not JSON, reading continues."""
    decode = json.JSONDecoder(object_pairs_hook=_object).raw_decode
    at = _end(_SPACE, text, 0)
    array = text[at] == "[" and not _goes_on(text, at)
    if array:
        at = _end(_SPACE, text, at + 1)
    line, counted, number, broken = 1, 0, 0, 0
    between = _COMMA if array else _SPACE
    while at < len(text) and not (array and text[at] == "]"):
        line += _line_ends(text, counted, at)
        counted = at
        number += 1
        check_stories(name, number)
        try:
            value, after = decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = why_not_json(error)
            if array:
                raise InputError(
                    f"{name}, line {line}: not JSON: {reason}", "Correct the array on that line."
                ) from None
            broken += 1
            if broken > MOST_BROKEN and 2 * broken > number:
                raise InputError(
                    f"{name}, line {line}: not JSON: {reason}; nor were {broken - 1:,} lines before it",
                    "Give one object on each line.",
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


def _goes_on(text: str, at: int) -> bool:
    """Whether more follows the array that begins at `at`: then it is one of several, a line each."""
    try:
        _, after = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return False
    return _end(_SPACE, text, after) < len(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    found = _Repeated(value)
    found.twice = repeated(name for name, _ in pairs)[0]
    return found


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _line_ends(text: str, start: int, end: int) -> int:
    feeds = text.count("\n", start, end)
    return feeds if feeds else text.count("\r", start, end)
