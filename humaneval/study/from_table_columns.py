"""Recognises what each column of a table holds: by its header, and by what stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES, POSITIONS, SENTENCES
from humaneval.errors import HumanEvalError, InputError
from humaneval.study.from_table_file import TableFile, read_table_file
from humaneval.study.from_table_headers import (
    ENDINGS,
    NAMES,
    NOT_SENTENCES,
    ROW_NUMBERS,
    place_in,
    plain,
    sentence_number,
)
from humaneval.study.from_table_roles import Kind, Layout, Role, map_option
from humaneval.study.from_table_text import MISSING, has_mark, is_gap, told_by_text
from humaneval.text import has_words, listed

_CONTROL = "control"
_ENDS = re.compile(r"[.!?…][\"'”’»)]*(?=\s|$)|[。！？।؟]")
_END = re.compile(r"[.!?…][\"'”’»]*$|[。！？।؟]")
_VALUE = re.compile(r"[-+\d\s.,:/%]+|https?://\S+|\S+@\S+|\d{4}-\d\d-\d\d.*")
_AT_POSITION = re.compile(
    r"(.+?)[ _.:-]*(?:pos|position|sentence|sent|s|blank)?[ _.:-]?(\d{1,2})", re.IGNORECASE
)

FEW_STORIES = 3
"""Fewer stories do not show how many sentences a table's stories have."""
LOOKED_AT = 200
"""So many stories of a column are counted."""
_Fits = Callable[[int], bool]
_Test = Callable[[str], bool]


def recognise(table: TableFile, given: Mapping[int, Role]) -> Layout:
    """What each column holds. `given` are the roles that a person named, which are kept.

    Raises InputError for a table without a header line, or with fewer or more sentences than a story has.
    """
    return _Recognition(table, given).layout()


def taken_out(layout: Layout, row: Sequence[str]) -> int | None:
    """The column with the sentence that a row's position takes out; None if sentences have no columns."""
    at = layout.at(Kind.POSITION)
    place = None if at is None else place_in(row[at])
    if at is None or place is None or len(layout.sentences) < layout.length:
        return None
    return layout.sentences.get(place + layout.roles[at].from_zero)


def story_columns(path: Path) -> Mapping[str, str] | None:
    """The columns of a story file that hold the id, the title and the sentences, as `read_stories` takes
    them. None if one of them is not found, or if the file is no table."""
    try:
        table = read_table_file(path)
        layout = recognise(table, {})
    except HumanEvalError:
        return None
    found = {f"sentence{number}": table.columns[at] for number, at in layout.sentences.items()}
    named = {kind: layout.at(kind) for kind in (Kind.ID, Kind.TITLE)}
    if len(found) < layout.length or named[Kind.ID] is None:
        return None
    return found | {str(kind): table.columns[at] for kind, at in named.items() if at is not None}


class _Recognition:
    """The columns of one table, and the roles that were found so far."""

    def __init__(self, table: TableFile, given: Mapping[int, Role]) -> None:
        self.table = table
        self.roles: dict[int, Role] = dict(given)
        self.plain = [plain(name) for name in table.columns]
        self.all_cells = [table.cells(at) for at in range(len(table.columns))]
        self.length = 0
        """How many sentences a story has; 0 while that is not known."""

    def layout(self) -> Layout:
        self._refuse_no_header()
        self._refuse_numbers()
        self._drop_empty()
        self._sentences()
        self._one(Kind.POSITION, self._are_places)
        self._ending()
        self._row_numbers()
        self._long()
        self._one(Kind.ID, self._are_short)
        self._one(Kind.TITLE, self._any)
        self._one(Kind.SAMPLE, self._are_numbers)
        self._stories()
        self._one(Kind.ORIGINAL, self._are_sentences)
        self._others()
        return Layout(
            self.table.columns,
            tuple(self._with_zero(self.roles[at]) for at in range(len(self.plain))),
            self.length or SENTENCES,
        )

    def _with_zero(self, role: Role) -> Role:
        """The role, counting from 0 if it is that of positions among which there is a 0 and not the last."""
        if role.kind is not Kind.POSITION or role.from_zero:
            return role
        at = next(place for place, one in self.roles.items() if one is role)
        found = {place_in(cell) for cell in self.all_cells[at]}
        return Role(Kind.POSITION, from_zero=0 in found and (self.length or SENTENCES) not in found)

    def _free(self) -> list[int]:
        return [at for at in range(len(self.plain)) if at not in self.roles]

    def _has(self, kind: Kind) -> bool:
        return any(role.kind is kind for role in self.roles.values())

    def _one(self, kind: Kind, fits: _Fits) -> None:
        """Give the role to the free column that is usually called so and fits; nothing if there is one."""
        if self._has(kind):
            return
        order = NAMES[kind]
        named = [at for at in self._free() if self.plain[at] in NAMES[kind] and fits(at)]
        if named:
            self.roles[min(named, key=lambda at: order.index(self.plain[at]))] = Role(kind)

    # What stands in a column

    def _any(self, at: int) -> bool:
        return bool(self.all_cells[at])

    def _share(self, at: int, test: _Test) -> float:
        cells = self.all_cells[at]
        return sum(map(test, cells)) / len(cells) if cells else 0.0

    def _are_places(self, at: int) -> bool:
        places = range((self.length or MOST_SENTENCES) + 1)
        return self._share(at, lambda cell: place_in(cell) in places) > 0.5

    def _are_numbers(self, at: int) -> bool:
        return self._share(at, str.isdecimal) > 0.9

    def _are_short(self, at: int) -> bool:
        return self._share(at, lambda cell: len(cell.split()) <= 3) > 0.9

    def _are_sentences(self, at: int) -> bool:
        return self._share(at, _is_sentence) > 0.6 and not self._are_stories(at)

    def _are_stories(self, at: int) -> bool:
        return self._share(at, _is_story) > 0.5

    def _differ(self, at: int) -> bool:
        """Whether a column is no category: that has few different values."""
        cells = [cell for cell in self.all_cells[at] if cell.casefold() not in MISSING]
        return len(cells) < 5 or len(set(cells)) > 0.2 * len(cells)

    def _is_original(self, at: int) -> bool:
        original = next((place for place, role in self.roles.items() if role.kind is Kind.ORIGINAL), None)
        return original is not None and self.all_cells[at] == self.all_cells[original]

    # The steps, each of which gives roles to free columns

    def _refuse_no_header(self) -> None:
        if self.roles or any(name in NAMES[Kind.POSITION] for name in self.plain):
            return  # --map takes its cells for names, or one is a usual name
        texts = [at for at in range(len(self.plain)) if self._share(at, _is_sentence) > 0.5]
        alike = [name for at in texts if self._is_as_below(name := self.table.columns[at], at)]
        if len(alike) >= 2 and 2 * len(alike) > len(texts):
            raise InputError(
                f"the first line of {self.table.name} seems to be a story and no header: {alike[0]!r}",
                "Add a line with the columns' names, for example"
                " sentence1,sentence2,sentence3,sentence4,sentence5,position,system-a,system-b."
                f" If these are names, say what one holds: {map_option(alike[0], 'sentence1')}.",
            )

    def _is_as_below(self, name: str, at: int) -> bool:
        """Whether a cell of the first line is a sentence like those in its column: `Sent. 1`, `1st sent.` and
        `GPT-2 (ft.)` are none."""
        lengths = sorted(len(cell) for cell in self.all_cells[at])
        return _is_sentence(name) and bool(_END.search(name)) and 2 * len(name) > lengths[len(lengths) // 2]

    def _refuse_numbers(self) -> None:
        """A person may take the column of a measure for that of a system."""
        for at, role in self.roles.items():
            if role.kind in (Kind.SYSTEM, Kind.TEXT) and self._share(at, _is_value) > 0.5:
                name, cell = self.table.columns[at], next(filter(_is_value, self.all_cells[at]))
                raise InputError(
                    f"--map takes the column {name!r} for a system's sentences, and it holds {cell!r}",
                    "Name the column with the sentences, and leave this one out:"
                    f" {map_option(name, 'ignore')}.",
                )

    def _drop_empty(self) -> None:
        for at in self._free():
            if not self.all_cells[at]:
                self.roles[at] = Role(Kind.IGNORE, why="empty")

    def _sentences(self) -> None:
        """Columns with one sentence each, by the number in their header."""
        found = {role.number: at for at, role in self.roles.items() if role.kind is Kind.SENTENCE}
        for number, at in self._series() if not found else self._numbered():
            found.setdefault(number, at)
        numbers = set(found)
        if numbers == set(range(1, len(numbers) + 1)) and FEWEST_SENTENCES <= len(numbers) <= MOST_SENTENCES:
            # Four may be those that are left around a blank.
            self.length = len(numbers) if len(numbers) != SENTENCES - 1 else 0
        if len(found) < SENTENCES - 1 and not self.length:
            return
        if 0 in found and SENTENCES not in found:
            found = {number + 1: at for number, at in found.items()}
        surplus = sorted(number for number in found if number not in POSITIONS)
        if surplus and not self.length:
            named = listed([self.table.columns[at] for at in found.values()], 9)
            raise InputError(
                f"{self.table.name} has {len(found)} sentences of each story ({named}), and a story has five",
                "Give stories of five sentences, or leave a column out:"
                f" {map_option(self.table.columns[found[surplus[-1]]], 'ignore')}.",
            )
        self.roles |= {at: Role(Kind.SENTENCE, number) for number, at in found.items()}

    def _numbered(self) -> list[tuple[int, int]]:
        """Free columns that hold sentences, with the number in their header."""
        bare = not any(map(self._are_stories, self._free()))  # beside whole stories, 1 to 5 are systems
        numbers = {at: sentence_number(self.plain[at], bare=bare) for at in self._free()}
        return [
            (number, at)
            for at, number in numbers.items()
            if number is not None and (self._are_sentences(at) or self._gaps(at))
        ]

    def _series(self) -> list[tuple[int, int]]:
        """Of these, five with one name before the number, if there are such: beside sentence1 to sentence5,
        s0 to s5 are systems."""
        of_name: dict[str, list[tuple[int, int]]] = {}
        numbered = self._numbered()
        for number, at in numbered:
            of_name.setdefault(re.sub(r"\d+", "", self.plain[at]), []).append((number, at))
        whole = [
            name
            for name, found in of_name.items()
            if sorted(number for number, _ in found) in (list(POSITIONS), [at - 1 for at in POSITIONS])
        ]
        return of_name[max(whole, key=len)] if whole else numbered

    def _ending(self) -> None:
        """The fifth sentence under a name of its own. Without positions it is what was taken out."""
        numbers = {role.number for role in self.roles.values() if role.kind is Kind.SENTENCE}
        endings = [at for at in self._free() if self.plain[at] in ENDINGS]
        if numbers != set(POSITIONS[:-1]) or not endings:
            return
        originals = {*NAMES[Kind.ORIGINAL]} - ENDINGS
        others = any(self.plain[at] in originals and self._are_sentences(at) for at in self._free())
        whole = others or self._has(Kind.POSITION) or self._has(Kind.ORIGINAL)
        self.roles[endings[0]] = Role(Kind.SENTENCE, SENTENCES) if whole else Role(Kind.ORIGINAL)

    def _gaps(self, at: int) -> bool:
        """Whether a column has only blanks and sentences."""
        return self._share(at, lambda cell: is_gap(cell) or _is_sentence(cell)) > 0.8

    def _row_numbers(self) -> None:
        for at in self._free():
            name, cells = self.plain[at], self.all_cells[at]
            unnamed = self.table.columns[at].startswith("column ")
            if not (unnamed or name in ROW_NUMBERS) or not all(
                cell.isdecimal() and len(cell) < 16 for cell in cells
            ):
                continue
            if all(int(after) == int(before) + 1 for before, after in pairwise(cells)):
                self.roles[at] = Role(Kind.IGNORE, why="a row number")

    def _long(self) -> None:
        """A column that names the system, and one with its sentence. Both are needed, or neither is taken."""
        generator = next((at for at, role in self.roles.items() if role.kind is Kind.GENERATOR), None)
        text = next((at for at, role in self.roles.items() if role.kind is Kind.TEXT), None)
        if generator is None:
            named = [at for at in self._free() if self.plain[at] in NAMES[Kind.GENERATOR]]
            generator = next((at for at in named if self._are_short(at) and not self._are_places(at)), None)
        if generator is None:
            return
        order = NAMES[Kind.TEXT]
        texts = [at for at in self._free() if self.plain[at] in order and self._are_sentences(at)]
        texts.sort(key=lambda at: order.index(self.plain[at]))
        others = [
            at for at in self._free() if self._are_sentences(at) and self._differ(at) and at not in texts
        ]
        others = [at for at in others if self.plain[at] not in {*NAMES[Kind.ORIGINAL], *NOT_SENTENCES}]
        if text is None and len(others) <= 1:
            text = next(iter([*texts, *others]), None)
        if text is not None:
            self.roles |= {generator: Role(Kind.GENERATOR), text: Role(Kind.TEXT)}

    def _stories(self) -> None:
        """The whole story in one column, or in two around a blank, if its sentences have no columns."""
        if any(role.kind is Kind.SENTENCE for role in self.roles.values()):
            return
        self._whole_stories()
        self._count_sentences()

    def _count_sentences(self) -> None:
        """How many sentences the stories of a column have: five, or what most have if none has five."""
        at = {role.kind: place for place, role in self.roles.items()}
        if (story := at.get(Kind.STORY)) is not None:
            texts = self.all_cells[story]
        elif Kind.BEFORE in at and Kind.AFTER in at:
            pairs = [(row[at[Kind.BEFORE]], row[at[Kind.AFTER]]) for row in self.table.rows]
            texts = [f"{before} ____ {after}" for before, after in pairs]
        else:
            return
        texts = texts[:LOOKED_AT]
        others = range(FEWEST_SENTENCES, MOST_SENTENCES + 1) if len(texts) >= FEW_STORIES else ()
        for wanted in (SENTENCES, *others):
            whole = sum(not told_by_text(text, wanted=wanted).trouble for text in texts)
            if 2 * whole > len(texts) or (wanted == SENTENCES and whole):
                self.length = wanted
                return

    def _whole_stories(self) -> None:
        self._one(Kind.STORY, self._are_stories)
        if self._has(Kind.STORY):
            return
        pair = [
            next((at for at in self._free() if self.plain[at] in NAMES[kind]), None)
            for kind in (Kind.BEFORE, Kind.AFTER)
        ]
        if (before := pair[0]) is not None and (after := pair[1]) is not None:
            self.roles |= {before: Role(Kind.BEFORE), after: Role(Kind.AFTER)}
            return
        whole = [at for at in self._free() if self._are_stories(at)]
        if whole and not self._has(Kind.BEFORE):
            self.roles[whole[0]] = Role(Kind.STORY)
        elif self._has(Kind.ID):
            return
        # A column `story` that holds ids.
        named = [at for at in self._free() if self.plain[at] in ("story", "stories") and self._are_short(at)]
        if named and not whole:
            self.roles[named[0]] = Role(Kind.ID)

    def _others(self) -> None:
        """Columns with sentences are systems, unless each line has one system. The rest is not used."""
        long = self._has(Kind.GENERATOR)
        for at in self._free():
            name = self.table.columns[at]
            if self.plain[at] == _CONTROL:
                role = Role(Kind.IGNORE, why="the study makes its own control")
            elif self.plain[at] in NAMES[Kind.ORIGINAL] and self._is_original(at):
                role = Role(Kind.IGNORE, why="the same as the original sentence")
            elif long or self.plain[at] in NOT_SENTENCES:
                role = Role(Kind.IGNORE)
            elif self._share(at, _is_sentence) > 0.5 and (self._differ(at) or self._share(at, _ends) > 0.5):
                role = Role(Kind.SYSTEM, system=name)
            else:
                role = Role(Kind.IGNORE, why="no sentences")
            self.roles[at] = role
        if not self._has(Kind.POSITION):
            self._systems_at_positions()

    def _systems_at_positions(self) -> None:
        """Columns such as `ilm 1` to `ilm 5`: what a system wrote for each position."""
        columns = {at: role for at, role in self.roles.items() if role.kind is Kind.SYSTEM}
        parts = {at: _AT_POSITION.fullmatch(role.system) for at, role in columns.items()}
        stems: dict[str, set[str]] = {}
        for part in parts.values():
            if part is None:
                return
            stems.setdefault(part[1], set()).add(part[2])
        length = self.length or SENTENCES
        if any(not 1 <= int(number) <= length for numbers in stems.values() for number in numbers):
            return
        if stems and min(map(len, stems.values())) > 1:
            for at, part in parts.items():
                if part is not None:
                    self.roles[at] = Role(Kind.SYSTEM, int(part[2]), part[1])


def _is_sentence(cell: str) -> bool:
    """Whether a cell has words as a sentence has, and is no number, date or address."""
    several = " " in cell or (not cell.isascii() and len(cell) > 3)
    return several and has_words(cell) and not _is_value(cell)


def _is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or an address, and so no sentence."""
    return bool(_VALUE.fullmatch(cell))


def _ends(cell: str) -> bool:
    return bool(_ENDS.search(cell))


def _is_story(cell: str) -> bool:
    listing = cell.startswith("[") and cell.endswith("]") and cell.count(",") >= SENTENCES - 2
    ends = len(_ENDS.findall(cell))
    return listing or ends >= SENTENCES - 1 or (ends >= SENTENCES - 2 and has_mark(cell))
