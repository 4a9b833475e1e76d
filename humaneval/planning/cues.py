"""The scores if annotators understood nothing and went by length, place or rare words.

A study whose infills can be found by such a cue measures the cue. So check this before anybody is paid.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

from humaneval.errors import InputError

_WORD = re.compile(r"\w+(?:['’]\w+)*")

_CUT = bytes(one if one in b"'_" or chr(one).isalnum() else 32 for one in range(128)) + bytes(128)
"""What no word of ASCII has becomes a space."""

PLACES = ("first", "second", "third", "fourth", "last")
"""Cues that go by place alone."""

Cue = Callable[[Sequence[str]], list[float]]
"""How suspicious each sentence of a passage is. The largest is marked; equals share the mark."""


class CuePassage(NamedTuple):
    """A passage: its sentences, the generator, and the position (from 1) of the machine's or held-out
    sentence."""

    sentences: tuple[str, ...]
    generator: str
    position: int


class CueScore(NamedTuple):
    """One cue against one generator: the expected share of passages that would go unnoticed, 0..1."""

    cue: str
    generator: str
    passages: int
    noticed: float
    """The expected number of passages whose machine's sentence is marked; ties count in part."""

    @property
    def score(self) -> float:
        """The share that goes unnoticed: a score like those of annotators, to compare with the chance
        ceiling."""
        return 1 - self.noticed / self.passages


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs in `texts`, in any case: the measure of "rare"."""
    found: Counter[str] = Counter()
    runs: Counter[bytes] = Counter()
    for text in texts:
        if text.isascii():  # cut without a pattern, which takes several times as long
            runs.update(text.lower().encode().translate(_CUT).split())
        else:
            found.update(_words(text))
    for run, times in runs.items():
        for word in _WORD.findall(run.decode()):
            found[word] += times
    return found


def cues(frequencies: Mapping[str, int], places: Collection[int] = ()) -> dict[str, Cue]:
    """The cues by name. Lengths are in characters; rarity is the mean of −log of a word's smoothed share of
    `frequencies`, 0 for a sentence without words. First and last are always among them, and `places` (from
    1).
    """
    total = sum(frequencies.values()) + len(frequencies) + 1

    def rarity(sentence: str) -> float:
        found = _words(sentence)
        return sum(log(total / (frequencies.get(word, 0) + 1)) for word in found) / len(found) if found else 0

    def at(place: int) -> Cue:
        return lambda sentences: [float(here == place) for here in range(len(sentences))]

    return {
        "longest": lambda sentences: [len(sentence) for sentence in sentences],
        "shortest": lambda sentences: [-len(sentence) for sentence in sentences],
        **{
            name: at(place)
            for place, name in enumerate(PLACES)
            if name in (PLACES[0], PLACES[-1]) or place + 1 in places
        },
        "rarest words": lambda sentences: [rarity(sentence) for sentence in sentences],
    }


def cue_scores(passages: Iterable[CuePassage], frequencies: Mapping[str, int]) -> tuple[CueScore, ...]:
    """The score of each generator by each cue alone, in the order in which generators first occur.

    Raises InputError if there is no passage.
    """
    counts: Counter[str] = Counter()
    noticed: dict[tuple[str, str], float] = defaultdict(float)
    taken: set[int] = set()
    known = cues(frequencies, range(1, len(PLACES) + 1))
    for passage in passages:
        counts[passage.generator] += 1
        taken.add(passage.position)
        for name, cue in known.items():
            noticed[name, passage.generator] += _noticed(cue, passage)
    if not counts:
        raise InputError("there are no passages to check", "Generate infills and create the study first.")
    # If sentences are at every place, these cues tell nothing. If not, marking the right place finds them
    # all.
    places = taken if len(taken) < len(PLACES) else ()
    return tuple(
        CueScore(name, generator, shown, noticed[name, generator])
        for name in cues(frequencies, places)
        for generator, shown in counts.items()
    )


def _noticed(cue: Cue, passage: CuePassage) -> float:
    """The probability that the cue marks the passage's sentence: 1 over the number of tied sentences."""
    marks = cue(passage.sentences)
    most = max(marks)
    return 1 / marks.count(most) if marks[passage.position - 1] == most else 0.0


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
