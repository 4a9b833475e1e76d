"""Infills that were made elsewhere, as a generator.

The file is CSV or JSONL with the columns `story, position, generator, text`, and optionally `sample`; a file
may hold many generators, and each becomes a generator of that name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from generators.replay.lines import Entry, Line, Lines, position_in, story_in
from generators.replay.table import entries
from humaneval.domain import Blank, Generator, GeneratorRequest, Infill, InfillStatus, Provenance, Story
from humaneval.errors import InputError, UsageError
from humaneval.limits import check_systems
from humaneval.text import command, listed, same_name, shell_words

Key: TypeAlias = tuple[str, int, int]
"""A blank: story, position, sample."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Fills blanks from the lines of one generator; a blank without a line is `missing`."""

    name: str
    path: str
    lines: Lines
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
        for story in self.lines.stories():
            for filled in self.lines.of_story(story):
                yield story, filled.position, filled.sample

    def check(self, stories: Mapping[str, Story], blanks: Sequence[Blank]) -> None:
        """Raise InputError if an entry is about a story that is not in the database, or if there is none for
        any of `blanks`: nothing would be filled, and the name would be used up."""
        strange = {
            filled.line.line: story
            for story in self.lines.numbers
            if story not in stories
            for filled in self.lines.of_story(story)
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
        self._refuse_beyond(stories)
        if not blanks or any(self._line(blank) for blank in blanks):
            return
        wanted = [(blank.story.id, blank.position, blank.sample) for blank in blanks]
        there, asked = set(self.lines.stories()), {story for story, _, _ in wanted}
        if there.isdisjoint(asked):
            raise InputError(
                f"{self.path} has no infill by {self.as_written} for any of these stories. Stories in the"
                f" file: {_three(self.lines.stories())};"
                f" to fill: {_three(story for story, _, _ in wanted)}",
                _advice({stories[story].split for story in there}, {blank.story.split for blank in blanks}),
            )
        raise InputError(
            f"{self.path} has no infill by {self.as_written} for any of these blanks."
            f" Story, position, sample in the file: {_three(map(_spoken, self.keys()))};"
            f" to fill: {_three(map(_spoken, wanted))}",
            "Nothing was stored. Name the file's positions with --positions and its samples with --samples.",
        )

    def _refuse_beyond(self, stories: Mapping[str, Story]) -> None:
        """Raise InputError for a position that its story does not have."""
        for name in filter(stories.__contains__, self.lines.numbers):  # all generators of a file share these
            length = len(stories[name].sentences)
            if self.lines.last(name) > length:
                *_, last = self.lines.of_story(name)
                raise InputError(
                    f"{self.path}:{last.line.line}: position {last.position}, and story {name!r} has {length}"
                    " sentences",
                    f"Positions of this story run from 1 to {length}.",
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
        return self.lines.find(blank.story.id, blank.position, blank.sample)


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
        found = _by_generator(path, entries(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "Name a CSV or JSONL file with --checkpoint.") from None
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


class _Found(NamedTuple):
    """The lines of each generator, and for those that have a blank twice, the error."""

    lines: dict[str, Lines]
    twice: dict[str, InputError]


def _by_generator(path: Path, found_there: Iterable[Entry]) -> _Found:
    found = _Found({}, {})
    numbers: dict[str, int] = {}
    for entry in found_there:
        if entry.generator not in found.lines:
            check_systems(len(found.lines) + 1, f"generators in {path}, up to line {entry.line:,}")
            found.lines[entry.generator] = Lines(numbers)
        found.lines[entry.generator].add(entry)
    stories = list(numbers)
    for name, lines in found.lines.items():
        if twice := lines.sort():
            blank = lines.blanks[twice.second]
            found.twice[name] = InputError(
                f"{path}:{lines.places[twice.second]}: {name} has story {stories[story_in(blank)]!r},"
                f" position {position_in(blank)} twice (first in line {lines.places[twice.first]})",
                "Keep one of them, or number them in a column `sample`.",
            )
    return found


def _hash(lines: Lines) -> str:
    """The hash of these lines alone: another system in the file, or other line ends, do not change it.

    It is that of one JSON list, of which no more than a story is held.
    """
    whole = hashlib.sha256(b"[")
    between = ""
    for story in sorted(lines.stories()):
        told = [[story, one.position, one.sample, one.line.text] for one in lines.of_story(story)]
        whole.update((between + json.dumps(told)[1:-1]).encode())
        between = ", "
    whole.update(b"]")
    return whole.hexdigest()


def _advice(splits: Set[str], asked: Set[str]) -> str:
    """What to do if a file has infills for stories of `splits`, and none of them is to be filled."""
    if splits & asked:
        return "Nothing was stored. The stories of the file come later: leave out --stories, or name more."
    named = ", ".join(repr(split) for split in sorted(splits))
    flag = f"--split {shell_words(min(splits))}"
    return f"Nothing was stored. The stories of the file are of split {named}: {flag}."


def _spoken(key: tuple[str, int, int]) -> str:
    return " ".join(map(str, key))


def _three(names: Iterable[str]) -> str:
    """The first three different names, and how many more there are."""
    return listed([name or "(none)" for name in dict.fromkeys(names)], most=3)
