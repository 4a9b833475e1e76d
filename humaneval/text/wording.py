"""Numbers with their nouns, short lists and commands, as messages say them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_GLOBAL_OPTIONS: list[str] = []

PAYING = ("--amount", "SUM", "--reason", "REASON")
"""What `bonus` and `compensate` cannot do without, with words to be replaced."""
WRITING = ("--subject", "SUBJECT", "--text", "TEXT")
"""The same for `notify`."""


def counted(number: int, noun: str, verb: str = "", verbs: str = "", *, plural: str = "") -> str:
    """A number with its noun, and the verb that agrees with it. `plural` is the noun with "s" by default.

    >>> counted(1, "row"), counted(1200, "row"), counted(1, "row", "is", "are")
    ('1 row', '1,200 rows', '1 row is')
    >>> counted(2, "story", plural="stories"), counted(1, "person", "has", "have", plural="people")
    ('2 stories', '1 person has')
    """
    said = f"{number:,} {noun if number == 1 else plural or noun + 's'}"
    return f"{said} {verb if number == 1 else verbs}".strip()


class Answerers(NamedTuple):
    """How many annotators are programs, and how many are people."""

    programs: int
    people: int

    @property
    def only_programs(self) -> bool:
        return self.programs > 0 and not self.people

    def __str__(self) -> str:
        """In words.

        >>> str(Answerers(22, 1))
        '23 annotators: 22 simulated, 1 person'
        """
        persons = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{counted(sum(self), 'annotator')}: {self.programs:,} simulated, {persons}"


def same_name(wanted: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `wanted` means: itself, or else the only one that differs in case or in blanks
    around it. None if there is none, or if there are several.

    >>> same_name(" Item", ["item", "ok"]), same_name("a", ["A", "A "])
    ('item', None)
    """
    names = list(names)
    if wanted in names:
        return wanted
    same = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    return same[0] if len(same) == 1 else None


def listed(values: Sequence[object], most: int = 5) -> str:
    """The first `most` of `values`, each at most 40 characters long, and the number of the others.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = [text if text.strip() else "(no name)" for text in map(str, values[:most])]
    shown = [text if len(text) <= 40 else text[:39] + "…" for text in shown]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def use_global_options(*words: str) -> None:
    """Set the options that stand before the verb, such as `--database URL`: `command` repeats them."""
    _GLOBAL_OPTIONS[:] = words


def without_password(url: str) -> str:
    """`url` with its password as three asterisks, as SQLAlchemy prints it.

    >>> without_password("postgresql://ann:secret@db/study"), without_password("my study.db")
    ('postgresql://ann:***@db/study', 'my study.db')
    """
    return re.sub(r"(://[^/:@]*):[^/@]*@", r"\1:***@", url)


def command(*words: object) -> str:
    """A command of this toolkit as a shell takes it: quoted, and with the global options in force.

    >>> command("publish", "my study", "--to", "local")
    "humaneval publish 'my study' --to local"
    """
    return shlex.join(["humaneval", *_GLOBAL_OPTIONS, *map(str, words)])
