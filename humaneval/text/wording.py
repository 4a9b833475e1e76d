"""Numbers with their nouns, short lists and commands, as messages say them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
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


def time_taken(minutes: float) -> str:
    """How long something took, with the unit that fits.

    >>> time_taken(0.0), time_taken(0.05), time_taken(1.0), time_taken(3.25)
    ('under a second', '3 seconds', '60 seconds', '3 min 15 s')
    """
    seconds = round(60 * minutes)
    if minutes >= 2:
        whole, rest = divmod(seconds, 60)
        return f"{whole:,} min {rest} s" if rest else f"{whole:,} minutes"
    return counted(seconds, "second") if seconds else "under a second"


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


def every(number: int, noun: str, plural: str = "") -> str:
    """All of them, as people say it.

    >>> every(1, "annotator"), every(2, "annotator"), every(1200, "annotator")
    ('the only annotator', 'both annotators', 'all 1,200 annotators')
    """
    if number == 1:
        return f"the only {noun}"
    return f"{'both' if number == 2 else f'all {number:,}'} {plural or noun + 's'}"


def same_name(wanted: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `wanted` means: itself, or else the only one that differs in case or in blanks
    around it. None if there is none, or if there are several.

    >>> same_name(" Item", ["item", "ok"]), same_name("a", ["A", "A "])
    ('item', None)
    """
    names = list(names)
    if wanted in names:
        return wanted
    same = alike(wanted, names)
    return same[0] if len(same) == 1 else None


def alike(wanted: str, names: Iterable[str]) -> list[str]:
    """Those of `names` that differ from `wanted` at most in case or in blanks around them, each once.

    >>> alike("score", ["Score", "SCORE", "n"])
    ['Score', 'SCORE']
    """
    folded = wanted.strip().casefold()
    return list(dict.fromkeys(name for name in names if name.strip().casefold() == folded))


def not_among(noun: str, wanted: str, names: Iterable[str], where: str = "") -> str:
    """That `names` have none called `wanted`, or several that could be meant, as a clause.

    >>> not_among("column", "n", ["Score"]), not_among("column", "n", ["N ", "N"])
    ("there is no column 'n'", "the column 'n' may be N  or N, which differ only in case or blanks")
    """
    if len(same := alike(wanted, names)) > 1:
        return f"the {noun} {wanted!r}{where} may be {' or '.join(same)}, which differ only in case or blanks"
    return f"there is no {noun} {wanted!r}{where}"


def listed(values: Sequence[object], most: int = 5) -> str:
    """The first `most` of `values`, each at most 40 characters long, and the number of the others.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = [text if text.strip() else "(no name)" for text in map(str, values[:most])]
    shown = [text if len(text) <= 40 else text[:39] + "…" for text in shown]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def repeated(values: Iterable[str]) -> list[str]:
    """Those of `values` that occur more than once.

    >>> repeated(["a", "b", "a", "a"])
    ['a']
    """
    return [value for value, times in Counter(values).items() if times > 1]


def quoted(text: object, most: int = 200) -> str:
    """What a server says about a fault, fit to be printed: on one line, without control characters, and at
    most `most` characters long.

    >>> quoted("no\\x1b[31m such\\n  model"), quoted("x" * 300, most=4)
    ('no[31m such model', 'xxx…')
    """
    seen = "".join(one if one.isprintable() else " " * one.isspace() for one in str(text))
    line = " ".join(seen.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def use_global_options(*words: str) -> None:
    """Set the options that stand before the verb, such as `--database URL`: `command` repeats them."""
    _GLOBAL_OPTIONS[:] = words


def without_password(url: str) -> str:
    """`url` with each password as three asterisks, as SQLAlchemy prints it. In the query, PostgreSQL's
    drivers take one, too.

    >>> without_password("postgresql://ann:secret@db/study"), without_password("my study.db")
    ('postgresql://ann:***@db/study', 'my study.db')
    >>> without_password("postgresql://ann:pa@ss@db/study?password=pass&sslmode=require")
    'postgresql://ann:***@db/study?password=***&sslmode=require'
    """
    url = re.sub(r"^(\w[\w+]*://[^/?:@]*):.*@", r"\1:***@", url)
    return re.sub(r"([?&](?:password|sslpassword)=)[^&]*", r"\1***", url)


_COMMAND = re.compile(r"`(humaneval [^`\n]*)`|(?:: )(humaneval [^`\n]*[^`.\n])$", re.MULTILINE)


class Steps(NamedTuple):
    """The one command to run next, and the others that may be run."""

    first: str
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, commands: Iterable[str]) -> Steps:
        """The first of `commands`, and the rest; each once.

        >>> Steps.of(["humaneval collect s", "humaneval review s", "humaneval collect s"]).lines
        ('Next: humaneval collect s', 'Also: humaneval review s')
        """
        first, *others = dict.fromkeys(commands)
        return cls(first, tuple(others))

    @property
    def lines(self) -> tuple[str, ...]:
        """As a verb prints them at its end."""
        return (f"Next: {self.first}", *(f"Also: {other}" for other in self.others))


def commands_in(text: str) -> list[str]:
    """The commands of this toolkit that `text` advises: in backticks, or at the end of a line.

    >>> commands_in("Add funds with `humaneval market fund SUM`. Otherwise: humaneval expire s")
    ['humaneval market fund SUM', 'humaneval expire s']
    """
    return [found[0] or found[1] for found in _COMMAND.findall(text)]


def shell_words(*words: object) -> str:
    """Words as a shell takes them. What cannot be printed as it is becomes bytes that bash and zsh read.

    >>> shell_words("status", "my study"), shell_words("b\\u202eevil")
    ("status 'my study'", "$'b\\\\xe2\\\\x80\\\\xaeevil'")
    """

    def code(one: str) -> str:
        if one.isprintable():
            return f"\\{one}" if one in "\\'" else one
        # The first are bytes of a file's name that are no text.
        errors = "surrogateescape" if "\udc80" <= one <= "\udcff" else "surrogatepass"
        return "".join(f"\\x{byte:02x}" for byte in one.encode(errors=errors))

    return " ".join(
        shlex.quote(word) if word.isprintable() else f"$'{''.join(map(code, word))}'"
        for word in map(str, words)
    )


def command(*words: object) -> str:
    """A command of this toolkit as a shell takes it: quoted, and with the global options in force.

    >>> command("publish", "my study", "--to", "local")
    "humaneval publish 'my study' --to local"
    >>> command("approve", "study", "-abc", "--to", "local")
    'humaneval approve study --to local -- -abc'
    """
    said = [str(word) for word in words]
    # An id may begin with a hyphen. After an option it is this option's value.
    ids = [
        at
        for at, word in enumerate(said)
        if word.startswith("-") and not word.startswith("--") and not said[at - 1].startswith("--")
    ]
    rest = [word for at, word in enumerate(said) if at not in ids]
    last = ["--", *(said[at] for at in ids)] if ids else []
    return shell_words("humaneval", *_GLOBAL_OPTIONS, *rest, *last)
