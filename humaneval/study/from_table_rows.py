"""From the rows of a table to stories and systems' sentences, or to the lines and columns that are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from humaneval.domain import SENTENCES, Blank, Story
from humaneval.stories import Problem, Record, checked
from humaneval.study.from_table_file import TableFile
from humaneval.study.from_table_headers import place_in
from humaneval.study.from_table_known import Known
from humaneval.study.from_table_roles import Kind, Layout, map_option, refuse_layout
from humaneval.study.from_table_text import MISSING, Told, told_by_sentences, told_by_text, without_story
from humaneval.text import as_read, listed, normalise

OF_A_SYSTEM = "it is no sentence of the story, but the position is"
"""What is said of a column with originals that are none, as if a system had written them."""
NOT_THE_ORIGINAL = "is not sentence"
"""What is said of a line of a long table under a person's name, as if a system had written it."""
NO_STORY = "there is no story"
NO_POSITION = "nothing says which sentence was taken out"
HUMANS = frozenset(("human", "original", "gold", "reference", "ground truth", "person"))
"""Names, in small letters, under which a long table has the original sentence."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A system's sentence for a blank, and where it stands in the table."""

    blank: Blank
    text: str
    line: int
    column: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a table holds: stories in order, each once, and the sentences of each system."""

    stories: tuple[Story, ...]
    systems: Mapping[str, tuple[Entry, ...]]
    blanks: tuple[Blank, ...]
    """Each blank of the table once, whichever systems filled it."""
    problems: tuple[Problem, ...] = ()
    doubtful: tuple[Problem, ...] = ()
    empty: tuple[Problem, ...] = ()
    """The cells in which a system has no sentence."""
    notes: tuple[str, ...] = ()
    long: bool = False
    """Whether each line named its system."""


def another_name(contents: Contents, system: str, new: str = "") -> str:
    """How to call a system of the table something else: `new`, or by a number after its name."""
    name, entries = new or f"{system}-2", contents.systems[system]
    if contents.long or not entries:
        return f"write {name} in the file"
    return map_option(entries[0].column, f"system:{name}")


def contents_of(
    table: TableFile,
    layout: Layout,
    known: Sequence[Story] = (),
    *,
    split: str = "",
    rest: bool = False,
) -> Contents:
    """The stories and sentences of a table. `known` are stories that it may name by id or by text. With
    `rest`, a system's text is the rest of the story, and its lines are kept.

    New stories get the split. Raises InputError if the columns cannot make a study, whatever the rows are.
    """
    refuse_layout(table, layout)
    if not layout.brings_stories and known:
        layout = replace(layout, length=max(len(story.sentences) for story in known))
    reader = _Reader(table, layout, Known(known), split, rest)
    for number in range(len(table.rows)):
        reader.read(number)
    return reader.contents()


class _Reader:
    """Reads row after row, and keeps what was found."""

    def __init__(self, table: TableFile, layout: Layout, known: Known, split: str, rest: bool) -> None:
        self.table, self.layout, self.known = table, layout, known
        self.split, self.rest = split, rest
        self.stories: dict[tuple[str, ...], Story] = {}
        self.ids: dict[str, tuple[Story, int]] = {}
        self.entries: dict[str, dict[Blank, Entry]] = {name: {} for name in layout.systems}
        self.blanks: dict[Blank, int] = {}
        self.problems: list[Problem] = []
        self.doubtful: dict[int, Problem] = {}
        self.empty: list[Problem] = []
        self.twice: list[tuple[int, int]] = []
        self.counts: Counter[str] = Counter()
        self.originals = self._originals() if layout.is_long else {}

    def contents(self) -> Contents:
        notes = [text.format(n) for text, n in self.counts.items()]
        if self.twice:
            twice = f"{len(self.twice):,} ({_pairs(self.twice)})"
            notes.append(f"sentences that are in the table twice: {twice}; each is used once")
        if self.layout.at(Kind.POSITION) is None and not self.problems:
            places = Counter(blank.position for blank in self.blanks)
            told = ", ".join(f"{at}: {places[at]:,}" for at in sorted(places))
            notes.append(f"the table names no positions; they follow from the stories ({told})")
        if self._may_count_from_zero():
            column = self.table.columns[self.layout.all(Kind.POSITION)[0]]
            notes.append(
                f"positions are counted from 1, and no line has 0 or {self.layout.length}. If yours"
                f" count from 0, add {map_option(column, 'position0')}"
            )
        return Contents(
            tuple(self.stories.values()),
            {name: tuple(found.values()) for name, found in self.entries.items()},
            tuple(self.blanks),
            tuple(self.problems),
            tuple(self.doubtful.values()),
            tuple(self.empty),
            (*self.table.notes, *notes),
            self.layout.is_long,
        )

    def _may_count_from_zero(self) -> bool:
        """Whether nothing in the table shows from where its positions are counted."""
        at = self.layout.at(Kind.POSITION)
        if at is None or self.layout.roles[at].from_zero or self.layout.at(Kind.ORIGINAL) is not None:
            return False
        shown = self.originals or self._told(self.table.rows[0], 0).position
        last = self.layout.length
        return not shown and bool(self.blanks) and all(blank.position < last for blank in self.blanks)

    def read(self, number: int) -> None:
        row, line = self.table.rows[number], self.table.lines[number]
        try:
            for at, blank in self._blanks(row, line):
                self._take(at, blank, row, line)
        except _RowError as wrong:
            self.problems.append(Problem(self.table.name, line, str(wrong)))

    # The cells of a row

    def _cell(self, row: Sequence[str], kind: Kind) -> str:
        at = self.layout.at(kind)
        return "" if at is None else row[at]

    def _named(self, kind: Kind) -> str:
        at = self.layout.at(kind)
        return "" if at is None else f"column {self.table.columns[at]}: "

    def _position(self, row: Sequence[str]) -> int:
        """The position that the row names, from 1; 0 if the table has no column for it."""
        at = self.layout.at(Kind.POSITION)
        if at is None:
            return 0
        place = place_in(row[at])
        found = place + self.layout.roles[at].from_zero if place is not None else None
        if found is None or found not in self.layout.positions:
            last = self.layout.length
            said = (
                f"{row[at]!r} is no position from 1 to {last}"
                if row[at]
                else f"the cell is empty: a position is a number from 1 to {last}"
            )
            raise _RowError(f"{self._named(Kind.POSITION)}{said}")
        if row[at].isalpha():  # one of a few words
            self.counts[f"positions in words: {{:,}} ({row[at]!r} is read as {found})"] += 1
        return found

    def _blanks(self, row: Sequence[str], line: int) -> Iterator[tuple[int, Blank]]:
        """The places of the columns with sentences, and the blank that each of them fills."""
        at = self.layout.at(Kind.TEXT) if self.layout.is_long else None
        sample = self._sample(row)
        columns = self.layout.all(Kind.SYSTEM) if at is None else [at]
        numbers = {self.layout.roles[place].number for place in columns}
        if numbers == {0}:
            story, position = self._story(row, line, self._position(row))
            blank = Blank(story, position, sample)
            yield from ((place, blank) for place in columns)
            return
        stories = {number: self._story(row, line, number) for number in numbers}
        for place in columns:
            story, position = stories[self.layout.roles[place].number]
            yield place, Blank(story, position, sample)

    def _sample(self, row: Sequence[str]) -> int:
        text = self._cell(row, Kind.SAMPLE)
        if text and not (text.isdecimal() and len(text) < 10 and int(text)):
            raise _RowError(f"{self._named(Kind.SAMPLE)}{text!r:.60} is no number from 1")
        return int(text or 1)

    # The story of a row

    def _story(self, row: Sequence[str], line: int, position: int) -> _Place:
        told = self._told(row, position)
        if told.trouble:
            raise _RowError(f"{self._named(Kind.STORY)}{told.trouble}")
        if not told.sentences:
            return _Place(self._by_name(row), self._known_position(row, position))
        if position and told.position and position != told.position:
            self._refuse_empty(row, told.position, position)
            raise _RowError(
                f"the blank is at sentence {told.position}, but the position is {position}"
                f" ({self._named(Kind.POSITION).removesuffix(': ') or 'of its column'})"
            )
        position = position or told.position
        original = self._original(row)
        sentences = [normalise(one) for one in told.sentences]
        if not position:
            position = self._where(sentences, self._taken_out(row))
        if not sentences[position - 1]:
            if not (original := self._taken_out(row)):
                story = self.known.around(sentences, position)
                if story is None:
                    raise _RowError(f"the original of sentence {position} is missing")
                return _Place(self._kept(row, line, story), position)
            sentences[position - 1] = normalise(original)
        elif original and as_read([original]) != as_read([sentences[position - 1]]):
            raise _RowError(self._other_original(sentences, original, position))
        return _Place(self._made(row, line, sentences, told.doubts), position)

    def _refuse_empty(self, row: Sequence[str], empty: int, position: int) -> None:
        """An empty cell is a blank only at the position that was taken out. Elsewhere it is a fault."""
        at = self.layout.sentences.get(empty)
        if at is not None and row[at].casefold() in MISSING:
            what = f"{row[at]!r} is no sentence" if row[at] else "the cell is empty"
            raise _RowError(
                f"column {self.table.columns[at]}: {what}, and sentence {position} was taken out, not {empty}"
            )

    def _told(self, row: Sequence[str], position: int) -> Told:
        """What the row itself says about its story; without sentences if it only names one."""
        columns = self.layout.sentences
        if len(columns) == self.layout.length:
            cells = [row[columns[at]] for at in self.layout.positions]
            return told_by_sentences(cells, position) if any(cells) else Told()
        if columns:
            four = [row[columns[at]] for at in sorted(columns)]
            lacking = next(at for at in self.layout.positions if at not in columns)
            # Numbered 1 to 4, they may also be those that are left around any blank.
            at = position if lacking == SENTENCES and position else lacking
            return Told((*four[: at - 1], self._taken_out(row), *four[at - 1 :]), at) if any(four) else Told()
        length = self.layout.length
        if self.layout.at(Kind.BEFORE) is not None:
            before, after = self._cell(row, Kind.BEFORE), self._cell(row, Kind.AFTER)
            return told_by_text(f"{before} ____ {after}", position, length) if before or after else Told()
        text = self._cell(row, Kind.STORY)
        return told_by_text(text, position, length) if text else Told()

    def _by_name(self, row: Sequence[str]) -> Story:
        """The story that a row names by its id, which is in another row, or was imported before."""
        name = self._cell(row, Kind.ID)
        if name in self.ids:
            return self.ids[name][0]
        story = self.known.named(name)
        if story is None:
            if not name:
                raise _RowError(NO_STORY)
            raise _RowError(f"{self._named(Kind.ID)}{NO_STORY} {name!r}{self.known.examples()}")
        return self.stories.setdefault(story.sentences, story)

    def _known_position(self, row: Sequence[str], position: int) -> int:
        if position:
            return position
        return self._where(self._by_name(row).sentences, self._taken_out(row))

    def _where(self, sentences: Sequence[str], original: str) -> int:
        """The position of the original among the sentences, if nothing else says which was taken out."""
        same = [
            at for at, one in enumerate(sentences, 1) if original and as_read([one]) == as_read([original])
        ]
        if len(same) == 1:
            return same[0]
        if original:
            raise _RowError(f"{self._named(Kind.ORIGINAL)}it is no sentence of the story, or several")
        raise _RowError(NO_POSITION)

    def _other_original(self, sentences: Sequence[str], original: str, position: int) -> str:
        same = [at for at, one in enumerate(sentences, 1) if as_read([one]) == as_read([original])]
        if not same:
            return f"{self._named(Kind.ORIGINAL)}{OF_A_SYSTEM} {position}"
        zero = "; perhaps the table counts from 0" if same == [position + 1] else ""
        return f"{self._named(Kind.ORIGINAL)}it is sentence {same[0]}, but the position is {position}{zero}"

    def _made(self, row: Sequence[str], line: int, sentences: Sequence[str], doubts: Sequence[str]) -> Story:
        name = self._cell(row, Kind.ID)
        other = self.known.named(name)
        if other is not None and other.sentences != tuple(sentences):
            self.counts["ids that other stories have: {:,} lines; ids are made from the texts"] += 1
            name = ""
        title = self._cell(row, Kind.TITLE)
        record = Record(line, sentences, name or None, title, split=self.split)
        found = checked(record, source=Path(self.table.name).name)
        if found.story is None:
            raise _RowError(found.reason)
        if doubts:
            self.doubtful[line] = Problem(self.table.name, line, f"one sentence or two at: {listed(doubts)}")
        return self._kept(row, line, found.story)

    def _kept(self, row: Sequence[str], line: int, story: Story) -> Story:
        """The one story of this text: that of an earlier row, or of the database, or a new one."""
        name = self._cell(row, Kind.ID)
        kept = self.stories.setdefault(story.sentences, self.known.same(story) or story)
        if name and name in self.ids and self.ids[name][0] != kept:
            raise _RowError(f"{self._named(Kind.ID)}{name!r} has other sentences on line {self.ids[name][1]}")
        self.ids.setdefault(name, (kept, line))
        return kept

    # The sentences of systems

    def _original(self, row: Sequence[str]) -> str:
        cell = self._cell(row, Kind.ORIGINAL)
        return "" if cell.casefold() in MISSING else cell

    def _taken_out(self, row: Sequence[str]) -> str:
        """The original sentence, from the row itself or from a person's line of a long table."""
        return self._original(row) or self.originals.get(self._key(row), "")

    def _key(self, row: Sequence[str]) -> tuple[str, ...]:
        """What is the same in all lines of a long table about one blank."""
        columns = self.layout.sentences
        told = [row[columns[at]] for at in sorted(columns)]
        kinds = (Kind.STORY, Kind.BEFORE, Kind.AFTER, Kind.POSITION)
        return (
            *told,
            *(self._cell(row, kind) for kind in kinds),
            self._cell(row, Kind.ID) if not told else "",
        )

    def _originals(self) -> dict[tuple[str, ...], str]:
        """The sentences that a long table has under the name of a person, by blank."""
        return {
            self._key(row): self._cell(row, Kind.TEXT)
            for row in self.table.rows
            if self._cell(row, Kind.GENERATOR).casefold() in HUMANS
        }

    def _take(self, at: int, blank: Blank, row: Sequence[str], line: int) -> None:
        """The sentence in column `at` as that of its system, unless there is none."""
        column, text = self.table.columns[at], row[at]
        system = self._cell(row, Kind.GENERATOR) if self.layout.is_long else self.layout.roles[at].system
        if self.layout.is_long and self._not_of_a_system(system, blank, text):
            return
        entries = self.entries.setdefault(system, {})
        self.blanks.setdefault(blank, line)
        if text.casefold() in MISSING:
            what = f"{text!r} is read as no sentence" if text else "the cell is empty"
            self.empty.append(Problem(self.table.name, line, f"column {column}: {what}"))
            return
        alone = text if self.rest else without_story(text, blank.story.sentences, blank.position)
        if alone != text:
            self.counts["sentences that stood inside the whole story: {:,}; only they are used"] += 1
        kept = "\n".join(map(normalise, alone.strip().splitlines())) if self.rest else normalise(alone)
        entry = Entry(blank, kept, line, column)
        first = entries.setdefault(blank, entry)
        if first.line == line:
            return
        if first.text != entry.text:
            raise _RowError(
                f"column {column}: {system} has another sentence for this blank on line {first.line}"
            )
        self.twice.append((line, first.line))

    def _not_of_a_system(self, name: str, blank: Blank, text: str) -> bool:
        """Whether a line of a long table is that of the person or of a control. Its text must then agree."""
        if not name:
            raise _RowError(f"{self._named(Kind.GENERATOR)}the system's name is missing")
        if name.casefold() == "control":
            self.counts["lines of a control: {:,}; the study makes its own"] += 1
            return True
        if name.casefold() not in HUMANS:
            return False
        if as_read([text]) != as_read([blank.original]):
            raise _RowError(f"{self._named(Kind.TEXT)}the text of {name} {NOT_THE_ORIGINAL} {blank.position}")
        return True


def _pairs(twice: Sequence[tuple[int, int]]) -> str:
    """Which lines have the same: `line 7 as line 2`."""
    return listed([f"line {line} as line {first}" for line, first in dict.fromkeys(twice)])


class _Place(NamedTuple):
    """A story and the position that was taken out."""

    story: Story
    position: int


class _RowError(Exception):
    """Why a row cannot be used."""
