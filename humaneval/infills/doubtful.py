"""Infills of which the splitter cannot tell whether they are one sentence: listed for a person to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from humaneval.domain import Story
from humaneval.text import counted, doubts, listed

LISTED = 10
"""How many of them are printed; `--json` has all."""


class Doubtful(NamedTuple):
    """An infill that may be one sentence or several, and the words at which they may part."""

    story: str
    position: int
    generator: str
    text: str
    places: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict()


def doubt_about(story: Story, position: int, generator: str, text: str) -> Doubtful | None:
    """The doubt about an infill; None if it is clear."""
    places = doubts(text, story.language)
    return Doubtful(story.id, position, generator, text, tuple(places)) if places else None


def told(found: Sequence[Doubtful]) -> list[str]:
    """Lines for a person about all of `found`; none if it is empty."""
    if not found:
        return []
    lines = [
        f"{counted(len(found), 'infill')} may be one sentence or two; look at"
        f" {'it' if len(found) == 1 else 'them'} before annotators do:"
    ]
    lines += [
        f"  {one.story}, sentence {one.position}, {one.generator}: {one.text}  [at {listed(one.places)}]"
        for one in found[:LISTED]
    ]
    if len(found) > LISTED:
        lines.append(f"  … and {len(found) - LISTED:,} more: --json lists all")
    return lines
