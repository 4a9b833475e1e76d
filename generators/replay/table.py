"""Reads a file of infills, CSV or JSONL, a line at a time."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from generators.replay.lines import MOST_SAMPLES, Entry
from humaneval.csv_text import csv_records, lines_of, unguarded
from humaneval.domain import MOST_SENTENCES
from humaneval.encodings import NOT_TEXT, decode, why_not_json
from humaneval.errors import InputError
from humaneval.limits import FILE, parts, read_rows
from humaneval.text import is_path, normalise

COLUMNS = ("story", "position", "generator", "text")
HEADER = 100_000
"""So many characters are searched for the end of the first line."""
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNIX_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def entries(path: Path) -> Iterator[Entry]:
    """The lines of the file at `path`. Raises InputError, with the line, at the first that cannot be read."""
    source = _source(path)
    records = (_json_lines if source.head.lstrip().startswith("{") else _csv_lines)(path, source)
    empty = True
    for line, record in records:
        empty = False
        yield _entry(path, line, record)
    if empty:
        raise InputError(f"{path} has no lines", f"Columns: {', '.join(COLUMNS)}.")


def _json_lines(path: Path, source: _Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, raw in enumerate(source.lines(source.ends), 1):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}:{line}: not JSON: {why_not_json(error)}", "One JSON object a line."
            ) from None
        if not isinstance(record, dict):
            raise InputError(f"{path}:{line}: not a JSON object", "One JSON object a line.")
        yield line, record


def _csv_lines(path: Path, source: _Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    header = next(iter(source.head.splitlines()), "") if source.head.strip() else ""
    delimiter = max(",;\t", key=header.count)
    records = csv_records(source.lines(""), delimiter, f"{path}:")
    names = [name.strip().casefold() for name in next((cells for _, cells in records if cells), ())]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        raise InputError(
            f"{path} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}",
            f"Its header is: {header[:120]}",
        )
    for line, cells in records:
        if len(cells) > len(names):
            raise InputError(
                f"{path}:{line}: more cells than the header has columns",
                f"Put quotes around a text that contains {delimiter!r}.",
            )
        if cells:
            yield line, dict(zip(names, map(unguarded, cells), strict=False))


def _entry(path: Path, line: int, record: Mapping[str, Any]) -> Entry:
    lacking = [column for column in COLUMNS if record.get(column) is None]
    if lacking:
        raise InputError(f"{path}:{line}: no {', '.join(lacking)}", f"Columns: {', '.join(COLUMNS)}.")
    position, sample = _whole(record["position"]), _whole(record.get("sample") or 1)
    if position is None or sample is None:
        raise InputError(
            f"{path}:{line}: position {record['position']!r:.60}, sample {record.get('sample') or 1!r:.60}:"
            " not whole numbers",
            f"Positions run from 1 to {MOST_SENTENCES}, samples from 1.",
        )
    if not 1 <= position <= MOST_SENTENCES or not 1 <= sample <= MOST_SAMPLES:
        raise InputError(
            f"{path}:{line}: position {position}, sample {sample}",
            f"Positions run from 1 to {MOST_SENTENCES}, samples from 1 to {MOST_SAMPLES:,}.",
        )
    name = str(record["generator"]).strip()
    if not name:
        raise InputError(f"{path}:{line}: no generator", "Name the system that wrote the text.")
    if is_path(name):
        raise InputError(
            f"{path}:{line}: {name!r} cannot be a generator's name", "Use letters, digits and hyphens."
        )
    if not isinstance(record["text"], str):
        raise InputError(f"{path}:{line}: text {record['text']!r} is not a string", "Put it in quotes.")
    return Entry(line, str(record["story"]).strip(), position, name, sample, _text(record["text"]))


def _text(text: str) -> str:
    """A sentence, or the rest of a story with a sentence on each line."""
    return "\n".join(filter(None, map(normalise, text.splitlines())))


def _whole(value: object) -> int | None:
    """`value` as a whole number, or None; a JSON 1.5 or true is not one."""
    text = value.strip() if isinstance(value, str) else ""
    if text.isdecimal() and len(text) < 10:
        return int(text)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class _Source(NamedTuple):
    """The text of a file, a line at a time."""

    head: str
    """Its first characters."""
    ends: str
    """How lines of JSON end: with a line feed, or with anything if there is none."""
    lines: Callable[[str], Iterator[str]]
    """The lines that end so, as `open` takes it."""


def _source(path: Path) -> _Source:
    """A file is not held as a whole if it is plain UTF-8, as almost all are."""
    if (ends := _ends_if_plain(path)) is None:
        text = decode(read_rows(path, lines=FILE), str(path), what="a table of infills").text
        return _Source(
            text[:HEADER],
            "\n" if "\n" in text else "",
            lambda newline: (match[0] for match in _UNIX_LINE.finditer(text)) if newline else lines_of(text),
        )
    with path.open(encoding="utf-8", newline="") as file:
        head = file.read(HEADER)
    return _Source(head, ends, lambda newline: _read(path, newline))


def _read(path: Path, newline: str) -> Iterator[str]:
    with path.open(encoding="utf-8", newline=newline) as file:
        yield from file


def _ends_if_plain(path: Path) -> str | None:
    """How lines of JSON end in a file of UTF-8 without a mark; None if it is anything else, or can be read
    only once."""
    if not path.is_file():
        return None
    decoder, ends = codecs.getincrementaldecoder("utf-8")(), ""
    try:
        for at, part in enumerate(parts(path, lines=FILE)):
            if not at and (b"\0" in part or part.startswith((*MARKS, *(magic for magic, *_ in NOT_TEXT)))):
                return None
            decoder.decode(part)
            ends = "\n" if b"\n" in part else ends
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return None
    return ends
