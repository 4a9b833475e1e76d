"""Numbers with their nouns and short lists, as messages say them."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """A number with its noun, and the verb that agrees with it.

    >>> counted(1, "row"), counted(1200, "row"), counted(1, "row", "is", "are")
    ('1 row', '1,200 rows', '1 row is')
    """
    said = f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
    return f"{said} {verb if number == 1 else verbs}".strip()


def listed(values: Sequence[object], most: int = 5) -> str:
    """The first `most` of `values`, each at most 40 characters long, and the number of the others.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = [text if text.strip() else "(no name)" for text in map(str, values[:most])]
    shown = [text if len(text) <= 40 else text[:39] + "…" for text in shown]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
