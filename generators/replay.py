"""Replay: infills that were made elsewhere, read from a file. This is how people bring the outputs of their
own models.

The file is CSV or JSONL with the columns `story, position, generator, text`, and optionally `sample`; a file
may hold many generators, and each becomes a generator of that name.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from humaneval.csv_text import unguarded
from humaneval.domain import (
    POSITIONS,
    Blank,
    Generator,
    GeneratorRequest,
    Infill,
    InfillStatus,
    Provenance,
    Story,
)
from humaneval.encodings import decode
from humaneval.errors import InputError, UsageError
from humaneval.text import command, is_path, listed, normalise, same_name

COLUMNS = ("story", "position", "generator", "text")
HEADER = 100_000
"""So many characters are searched for the end of the first line."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_UNIX_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class Entry(NamedTuple):
    """One line of the file."""

    line: int
    story: str
    position: int
    generator: str
    sample: int
    text: str


class Line(NamedTuple):
    """The text for a blank, and its line in the file."""

    line: int
    text: str


Key: TypeAlias = tuple[str, int, int]
"""A blank: story, position, sample."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Fills blanks from the lines of one generator; a blank without a line is `missing`."""

    name: str
    path: str
    lines: Mapping[str, Mapping[tuple[int, int], Line]]
    """Story → (position, sample) → line: a file may have millions, and this takes half the memory of one
    mapping."""
    as_written: str
    """The generator's name in the file."""
    sha256: str
    """Of the lines."""

    @property
    def provenance(self) -> Provenance:
        settings = {"sha256": self.sha256, "generator": self.as_written}
        return Provenance(kind="replay", checkpoint=Path(self.path).name, settings=settings)

    def keys(self) -> Iterator[Key]:
        """The blanks of the file, in its order by story."""
        for story, lines in self.lines.items():
            for position, sample in lines:
                yield story, position, sample

    def check(self, stories: Mapping[str, Story], blanks: Sequence[Blank]) -> None:
        """Raise InputError if an entry is about a story that is not in the database, or if there is none for
        any of `blanks`: nothing would be filled, and the name would be used up."""
        strange = {
            line.line: story
            for story, lines in self.lines.items()
            if story not in stories
            for line in lines.values()
        }
        if strange:
            first = min(strange)
            more = f" (and {len(strange) - 1} more lines)" if len(strange) > 1 else ""
            raise InputError(
                f"{self.path}:{first}: story {strange[first]!r} is not in the database{more}."
                f" Stories in the file: {_three(strange[line] for line in sorted(strange))};"
                f" in the database: {_three(stories)}",
                f"Import the stories first, or use the ids that `{command('stories', 'list')}` shows.",
            )
        if not blanks or any(self._line(blank) for blank in blanks):
            return
        wanted = [(blank.story.id, blank.position, blank.sample) for blank in blanks]
        there, asked = set(self.lines), {story for story, _, _ in wanted}
        if there.isdisjoint(asked):
            raise InputError(
                f"{self.path} has no infill by {self.as_written} for any of these stories. Stories in the"
                f" file: {_three(self.lines)};"
                f" to fill: {_three(story for story, _, _ in wanted)}",
                _advice({stories[story].split for story in there}, {blank.story.split for blank in blanks}),
            )
        raise InputError(
            f"{self.path} has no infill by {self.as_written} for any of these blanks."
            f" Story, position, sample in the file: {_three(map(_spoken, self.keys()))};"
            f" to fill: {_three(map(_spoken, wanted))}",
            "Nothing was stored. Name the file's positions with --positions and its samples with --samples.",
        )

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            line = self._line(blank)
            if line is None:
                yield Infill(
                    blank, "", InfillStatus.MISSING, f"{Path(self.path).name} has no line for this blank"
                )
            else:
                yield Infill(blank, line.text, extra={"line": line.line})

    def _line(self, blank: Blank) -> Line | None:
        lines = self.lines.get(blank.story.id)
        return None if lines is None else lines.get((blank.position, blank.sample))


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """`checkpoint` is the file. Option `generator` picks one of several; `--as` renames a single one."""
    request.allow_options("generator")
    if not request.checkpoint:
        raise UsageError(
            "replay needs a file",
            "Name it with --checkpoint FILE (columns: story, position, generator, text).",
        )
    path = Path(request.checkpoint)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "Name a CSV or JSONL file with --checkpoint.") from None
    found = _by_generator(path, _entries(path, decode(content, str(path), what="a table of infills").text))
    del content
    wanted = request.options.get("generator")
    names = list(found.lines)
    chosen = names
    if wanted is not None:
        one = same_name(wanted, names)
        if one is None:
            raise UsageError(f"{path} has no generator {wanted!r}", f"It has: {', '.join(names)}.")
        chosen = [one]
    if request.name and len(chosen) > 1:
        raise UsageError(
            f"{path} has {len(chosen)} generators; --as can rename only one",
            f"Pick one with --option generator=NAME: {', '.join(names)}.",
        )
    if faulty := [found.twice[name] for name in chosen if name in found.twice]:
        raise faulty[0]
    return [
        Replay(request.name or name, str(path), found.lines[name], name, _hash(found.lines[name]))
        for name in chosen
    ]


Lines: TypeAlias = dict[str, dict[tuple[int, int], Line]]


class _Found(NamedTuple):
    """The lines of each generator, and for those that have a blank twice, the error."""

    lines: dict[str, Lines]
    twice: dict[str, InputError]


def _by_generator(path: Path, entries: Iterable[Entry]) -> _Found:
    found = _Found({}, {})
    places: dict[tuple[int, int], tuple[int, int]] = {}  # each (position, sample) once for all lines
    for entry in entries:
        lines = found.lines.setdefault(entry.generator, {}).setdefault(entry.story, {})
        key = (entry.position, entry.sample)
        key = places.setdefault(key, key)
        if key in lines:
            error = InputError(
                f"{path}:{entry.line}: {entry.generator} has story {entry.story!r}, position {entry.position}"
                f" twice (first in line {lines[key].line})",
                "Keep one of them, or number them in a column `sample`.",
            )
            found.twice.setdefault(entry.generator, error)
            continue
        lines[key] = Line(entry.line, entry.text)
    return found


def _hash(lines: Lines) -> str:
    """The hash of these lines alone: another system in the file, or other line ends, do not change it.

    It is that of one JSON list, of which no more than a story is held.
    """
    whole = hashlib.sha256(b"[")
    between = ""
    for story in sorted(lines):
        told = [[story, *key, lines[story][key].text] for key in sorted(lines[story])]
        whole.update((between + json.dumps(told)[1:-1]).encode())
        between = ", "
    whole.update(b"]")
    return whole.hexdigest()


def _entries(path: Path, text: str) -> Iterator[Entry]:
    records = _json_lines(path, text) if text.lstrip().startswith("{") else _csv_lines(path, text)
    empty = True
    for line, record in records:
        empty = False
        yield _entry(path, line, record)
    if empty:
        raise InputError(f"{path} has no lines", f"Columns: {', '.join(COLUMNS)}.")


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    ends = _LINE if "\n" not in text else _UNIX_LINE
    for line, raw in enumerate((match.group() for match in ends.finditer(text)), 1):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{line}: not JSON: {error.msg}", "One JSON object a line.") from None
        if not isinstance(record, dict):
            raise InputError(f"{path}:{line}: not a JSON object", "One JSON object a line.")
        yield line, record


def _csv_lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    header = next(iter(text[:HEADER].splitlines()), "") if text.strip() else ""
    delimiter = max(",;\t", key=header.count)
    # Not StringIO: it takes four bytes a character, and a file may have a hundred megabytes.
    lines = (match.group() for match in _LINE.finditer(text))
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
    reader.fieldnames = [name.strip().casefold() for name in reader.fieldnames or ()]
    missing = [column for column in COLUMNS if column not in reader.fieldnames]
    if missing:
        raise InputError(
            f"{path} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}",
            f"Its header is: {header[:120]}",
        )
    before = reader.line_num
    try:
        for record in reader:
            if None in record:
                raise InputError(
                    f"{path}:{before + 1}: more cells than the header has columns",
                    f"Put quotes around a text that contains {delimiter!r}.",
                )
            yield before + 1, {name: unguarded(cell) if cell else cell for name, cell in record.items()}
            before = reader.line_num
    except csv.Error as error:
        raise InputError(
            f"{path}:{before + 1}: {error}", "Check the quotes from this line onwards."
        ) from None


def _entry(path: Path, line: int, record: Mapping[str, Any]) -> Entry:
    lacking = [column for column in COLUMNS if record.get(column) is None]
    if lacking:
        raise InputError(f"{path}:{line}: no {', '.join(lacking)}", f"Columns: {', '.join(COLUMNS)}.")
    position, sample = _whole(record["position"]), _whole(record.get("sample") or 1)
    if position is None or sample is None:
        raise InputError(
            f"{path}:{line}: position {record['position']!r}, sample {record.get('sample') or 1!r}: not whole"
            " numbers",
            "Positions run from 1 to 5, samples from 1.",
        )
    if position not in POSITIONS or sample < 1:
        raise InputError(
            f"{path}:{line}: position {position}, sample {sample}",
            "Positions run from 1 to 5, samples from 1.",
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
    return Entry(line, str(record["story"]).strip(), position, name, sample, normalise(record["text"]))


def _advice(splits: Set[str], asked: Set[str]) -> str:
    """What to do if a file has infills for stories of `splits`, and none of them is to be filled."""
    if splits & asked:
        return "Nothing was stored. The stories of the file come later: leave out --stories, or name more."
    named = ", ".join(repr(split) for split in sorted(splits))
    flag = f"--split {shlex.quote(min(splits))}"
    return f"Nothing was stored. The stories of the file are of split {named}: {flag}."


def _spoken(key: tuple[str, int, int]) -> str:
    return " ".join(map(str, key))


def _three(names: Iterable[str]) -> str:
    """The first three different names, and how many more there are."""
    return listed([name or "(none)" for name in dict.fromkeys(names)], most=3)


def _whole(value: object) -> int | None:
    """`value` as a whole number, or None; a JSON 1.5 or true is not one."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
