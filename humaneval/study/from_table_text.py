"""From a story as a table has it to its sentences, of which one may be marked or left out."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from humaneval.domain import SENTENCES
from humaneval.stories import count_trouble
from humaneval.text import (
    between,
    counted,
    ends_a_sentence,
    language_of,
    listed,
    normalise,
    split_into,
    split_sentences,
)

_WORDS = "blank|mask|gap|missing|infill|fill|sentence|removed|extra_id_0|infill_sentence|masked|space|hole"
_GAP = re.compile(
    rf"_{{3,}}|\[(?:…|\.\.\.|_+|\s+|\?)\]|\((?:_+|\s+)\)|(?:\[|<\||<|\{{+|\()\s*(?:{_WORDS})\s*(?:\]|\|>|>|\}}+|\))",
    re.IGNORECASE,
)
"""What stands where a sentence was taken out."""
_MARKS = (
    (r"\*\*", r"\*\*"),
    (r"__", r"__"),
    (r"\[\[", r"\]\]"),
    (r"\{\{", r"\}\}"),
    (r"<<", r">>"),
    (r">>", r"<<"),
    (r"<(?:b|strong|em|i|u|mark|blank|mask|span|target|sentence)>", r"</\w+>"),
    (r"(?<![*\w])\*", r"\*(?![*\w])"),
    (r"\[", r"\]"),
    (r"\{", r"\}"),
)
_MARKED = tuple(
    re.compile(rf"{opens}\s*(?P<inside>[^*_\[\]{{}}<>]+?)\s*{closes}") for opens, closes in _MARKS
)
"""What stands around a sentence that is marked. It has at least two words."""
_STRAY = re.compile(r"^[.,;:]\s+")
MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "none", "null", "<na>", "-", "–", "—"))
"""Cells without a sentence, in small letters."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a line says about its story.

    Of the `sentences` the one at `position` may be empty, if it was left out. `position` is 0 if the story
    does not show it. `trouble` says why there are not as many sentences as a story has.
    """

    sentences: tuple[str, ...] = ()
    position: int = 0
    doubts: tuple[str, ...] = ()
    trouble: str = ""


def is_gap(text: str) -> bool:
    """Whether a cell holds no sentence, only the sign that one is missing.

    >>> is_gap("____"), is_gap("[MASK]."), is_gap("N/A"), is_gap("She slept.")
    (True, True, True, False)
    """
    return text.strip().casefold() in MISSING or bool(_GAP.fullmatch(text.strip().rstrip(".")))


def has_mark(text: str) -> bool:
    """Whether a text shows where a sentence was taken out, or which one is meant."""
    return bool(_GAP.search(text)) or _marked(text) is not None


def told_by_sentences(cells: Sequence[str], position: int = 0) -> Told:
    """A cell for each sentence, one of which may be empty, a sign for a blank, or marked. `position` is what
    the line says.

    >>> told_by_sentences(["A b.", "C d.", "____", "E f.", "G h."]).position
    3
    """
    empty = [at for at, cell in enumerate(cells, 1) if is_gap(cell)]
    if len(empty) > 1:
        return Told(trouble=f"sentences {listed(empty)} are empty")
    marks = {at: mark for at, cell in enumerate(cells, 1) if (mark := _marked(cell)) and _whole(mark)}
    kept = tuple("" if at in empty else cell for at, cell in enumerate(cells, 1))
    if empty:
        return Told(kept, empty[0])
    if len(marks) == 1:
        ((at, mark),) = marks.items()
        return Told((*kept[: at - 1], mark["inside"], *kept[at:]), at)
    return Told(kept, position)


def told_by_text(text: str, position: int = 0, wanted: int = SENTENCES) -> Told:
    """A story of `wanted` sentences in one text, whole or with a blank. `position` is what the line says; 0
    if it says nothing.

    >>> told_by_text("Ann ran. She fell. ____ She wept. Ben came.").position
    3
    >>> told_by_text("Ann ran. She fell. **It hurt.** She wept. Ben came.").sentences[2]
    'It hurt.'
    """
    if (cells := _as_list(text)) is not None:
        return _told_by_list(cells, position, wanted)
    if (mark := _marked(text)) is not None:
        return _around(text[: mark.start()], mark["inside"], text[mark.end() :], position, wanted)
    gaps = list(_GAP.finditer(text))
    if len(gaps) > 1:
        return Told(trouble=f"{len(gaps)} blanks ({listed([gap.group() for gap in gaps])}), not one")
    if gaps:
        return _around(text[: gaps[0].start()], "", text[gaps[0].end() :], position, wanted)
    language = language_of(text)
    whole = split_into(wanted, text, language)
    if len(whole.sentences) == wanted:
        return Told(tuple(whole.sentences), position, tuple(whole.doubts))
    rest = split_into(wanted - 1, text, language)
    if position and len(rest.sentences) == wanted - 1:
        others = rest.sentences
        return Told((*others[: position - 1], "", *others[position - 1 :]), position, tuple(rest.doubts))
    return Told(trouble=count_trouble(whole.sentences, whole.doubts, wanted))


def without_story(text: str, sentences: Sequence[str], position: int) -> str:
    """A system's sentence, without the rest of the story that some programs write around it.

    >>> without_story("A b. X y. D e.", ["", "A b.", "C d.", "D e.", ""], 3)
    'X y.'
    """
    kept = normalise(text)
    space = between(filter(None, sentences))
    before = space.join(filter(None, sentences[: position - 1])).strip()
    after = space.join(filter(None, sentences[position:])).strip()
    if len(kept) > len(before) + len(after) and kept.startswith(before) and kept.endswith(after):
        return kept[len(before) : len(kept) - len(after)].strip()
    return text


def _around(before: str, original: str, after: str, position: int, wanted: int) -> Told:
    """The other sentences around a blank. How many are before it settles where it is unclear."""
    after = _STRAY.sub("", after.strip())
    language = language_of(f"{before} {after}")
    usual = len(split_sentences(before, language)) if before.strip() else 0
    for left in sorted(range(wanted), key=lambda number: abs(number - usual)):
        one, two = _cut(before, left, language), _cut(after, wanted - 1 - left, language)
        if one is None or two is None:
            continue
        if position and position != left + 1:
            return Told(trouble=f"the blank is at sentence {left + 1}, but the position is {position}")
        told = Told((*one.sentences, normalise(original), *two.sentences), left + 1)
        return replace(told, doubts=one.doubts + two.doubts)
    number = usual + len(split_sentences(after, language))
    return Told(trouble=f"{counted(number, 'sentence')} around the blank, not {wanted - 1}")


def _cut(text: str, wanted: int, language: str) -> Told | None:
    """A text in `wanted` sentences; None if it has more or fewer."""
    if not text.strip():
        return None if wanted else Told()
    found = split_into(wanted, text, language) if wanted else None
    if found is None or len(found.sentences) != wanted:
        return None
    return Told(tuple(found.sentences), doubts=tuple(found.doubts))


def _told_by_list(cells: Sequence[str], position: int, wanted: int) -> Told:
    if len(cells) == wanted:
        return told_by_sentences(cells, position)
    if len(cells) == wanted - 1 and 1 <= position <= wanted:
        return Told((*cells[: position - 1], "", *cells[position - 1 :]), position)
    return Told(trouble=count_trouble(cells, wanted=wanted))


def _as_list(text: str) -> list[str] | None:
    """The sentences of a text that is a list, as JSON or as Python writes it; None for other texts."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return found
    return None


def _marked(text: str) -> re.Match[str] | None:
    """The only marked sentence in a text, with its marks; None if there is none, or several."""
    for pattern in _MARKED:
        found = [match for match in pattern.finditer(text) if _is_sentence(match)]
        if len(found) == 1:
            return found[0]
    return None


def _is_sentence(mark: re.Match[str]) -> bool:
    """Whether several words are marked, and they begin a sentence: others are only emphasised."""
    before = mark.string[: mark.start()]
    return " " in mark["inside"].strip() and (not before.strip() or ends_a_sentence(before))


def _whole(mark: re.Match[str]) -> bool:
    return not mark.string[: mark.start()].strip() and not mark.string[mark.end() :].strip()
