"""Infills for a person to look at: perhaps not one sentence, or the same words again and again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from humaneval.domain import Story
from humaneval.text import counted, doubts, listed

LISTED = 10
"""How many of them are printed; `--json` has all."""


_REPEATED = re.compile(r"\b(\w+(?:\W+\w+){0,3}?)(?:\W+\1\b){2,}", re.IGNORECASE)
"""One to four words, three times or more in a row."""


class Doubtful(NamedTuple):
    """An infill that may be one sentence or several, with the words at which they may part, or that repeats
    itself."""

    story: str
    position: int
    generator: str
    text: str
    places: tuple[str, ...]
    repeated: str = ""
    """The words that stand there three times or more in a row."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict()


def doubt_about(story: Story, position: int, generator: str, text: str) -> Doubtful | None:
    """The doubt about an infill; None if it is clear."""
    places, again = tuple(doubts(text, story.language)), repeated_words(text)
    return Doubtful(story.id, position, generator, text, places, again) if places or again else None


def repeated_words(text: str) -> str:
    """One to four words that stand three times or more in a row; empty if there are none.

    >>> repeated_words("She wanted to go to go to go home."), repeated_words("He ran and ran.")
    ('to go', '')
    """
    found = _REPEATED.search(text)
    return found[1] if found else ""


def told(found: Sequence[Doubtful]) -> list[str]:
    """Lines for a person about all of `found`; none if it is empty."""
    unsure = [one for one in found if one.places]
    again = [one for one in found if one.repeated]
    repeats = "repeat the same words" if len(again) > 1 else "repeats the same words"
    return [
        *_group(unsure, "may be one sentence or two", [f"at {listed(one.places)}" for one in unsure]),
        *_group(again, repeats, [repr(one.repeated) for one in again]),
    ]


def _group(found: Sequence[Doubtful], what: str, where: Sequence[str]) -> list[str]:
    if not found:
        return []
    lines = [
        f"{counted(len(found), 'infill')} {what}; look at {'it' if len(found) == 1 else 'them'} before"
        " annotators do:"
    ]
    lines += [
        f"  {one.story}, sentence {one.position}, {one.generator}: {one.text}  [{place}]"
        for one, place in zip(found[:LISTED], where, strict=False)
    ]
    if len(found) > LISTED:
        lines.append(f"  … and {len(found) - LISTED:,} more: --json lists all")
    return lines
