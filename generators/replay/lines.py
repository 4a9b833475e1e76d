"""The lines of a file of infills, kept small: a file may have millions."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MOST_SAMPLES = 2**24 - 1
"""The database has room for no more."""


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


class Filled(NamedTuple):
    """A blank of a story, and its line."""

    position: int
    sample: int
    line: Line


class Twice(NamedTuple):
    """Two places in the order with the same blank."""

    first: int
    second: int


@dataclass(slots=True)
class Lines:
    """The lines of one generator, sorted by blank. Each takes its text in UTF-8 and 24 bytes."""

    numbers: dict[str, int]
    """A number for each story, in the order of the file. All generators of a file share them."""
    blanks: array[int] = field(default_factory=lambda: array("Q"))
    """Story number, position and sample in one number: see `_number`."""
    starts: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("I"))
    places: array[int] = field(default_factory=lambda: array("I"))
    """The line of the file."""
    texts: bytearray = field(default_factory=bytearray)

    def add(self, entry: Entry) -> None:
        """Keep one more; `sort` comes after the last."""
        number = self.numbers.setdefault(entry.story, len(self.numbers))
        text = entry.text.encode("utf-8", "surrogatepass")
        self.blanks.append(_number(number, entry.position, entry.sample))
        self.starts.append(len(self.texts))
        self.sizes.append(len(text))
        self.places.append(entry.line)
        self.texts += text

    def sort(self) -> Twice | None:
        """Sort by blank. Returns the first blank that comes twice; None if none does."""
        order = sorted(range(len(self.blanks)), key=self.blanks.__getitem__)
        for name in ("blanks", "starts", "sizes", "places"):
            kept = getattr(self, name)
            setattr(self, name, array(kept.typecode, map(kept.__getitem__, order)))
        twice = [at for at in range(1, len(order)) if self.blanks[at] == self.blanks[at - 1]]
        second = min(twice, key=self.places.__getitem__, default=None)
        return None if second is None else Twice(second - 1, second)

    def find(self, story: str, position: int, sample: int) -> Line | None:
        """The line for a blank."""
        number = self.numbers.get(story)
        if number is None or sample > MOST_SAMPLES:
            return None
        wanted = _number(number, position, sample)
        at = bisect_left(self.blanks, wanted)
        if at == len(self.blanks) or self.blanks[at] != wanted:
            return None
        return Line(self.places[at], self._text(at))

    def of_story(self, story: str) -> Iterator[Filled]:
        """The blanks of a story that have a line, sorted."""
        number = self.numbers[story]
        first, end = (bisect_left(self.blanks, _number(each, 0, 0)) for each in (number, number + 1))
        for at in range(first, end):
            blank = self.blanks[at]
            yield Filled(position_in(blank), blank & MOST_SAMPLES, Line(self.places[at], self._text(at)))

    def last(self, story: str) -> int:
        """The largest position that a story has a line for; 0 if it has none."""
        number = self.numbers[story]
        at = bisect_left(self.blanks, _number(number + 1, 0, 0)) - 1
        there = at >= 0 and story_in(self.blanks[at]) == number
        return position_in(self.blanks[at]) if there else 0

    def stories(self) -> list[str]:
        """The stories that have a line, in the order of the file."""
        there = {story_in(blank) for blank in self.blanks}
        return [story for story, number in self.numbers.items() if number in there]

    def _text(self, at: int) -> str:
        start = self.starts[at]
        return self.texts[start : start + self.sizes[at]].decode("utf-8", "surrogatepass")


def _number(story: int, position: int, sample: int) -> int:
    return (story << 5 | position) << 24 | sample


def story_in(blank: int) -> int:
    """The number of a blank's story."""
    return blank >> 29


def position_in(blank: int) -> int:
    """The position of a blank."""
    return blank >> 24 & 31
