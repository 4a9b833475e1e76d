"""Processing of texts, the same for all systems, so that form does not betray a machine; and matched lengths.

Each is a generator around a generator and part of its configuration: the settings name it, and the infill
keeps the model's own text as `raw`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from humaneval.domain import (
    LONGEST_SENTENCE,
    PROCESSED_STATUSES,
    Blank,
    Generator,
    Infill,
    InfillStatus,
    Provenance,
    Story,
)
from humaneval.errors import UsageError
from humaneval.infills.asked import in_order
from humaneval.infills.rest_of_story import Rest
from humaneval.text import ENGLISH, as_read, clear_sentences, ends_a_sentence, normalise

_LABEL = re.compile(r"^\s*(?:sentence|answer|blank|infill|output)\s*\d*\s*[:.)\]-]\s*(?=\S)", re.IGNORECASE)
_QUOTED = (('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"), ("`", "`"))
_BEFORE_MARK = re.compile(r"\s+(?=[.,!?;:…])(?!\.\.)")
_BEFORE_FRENCH_MARK = re.compile(r"\s+(?=[.,…])(?!\.\.)")
"""French has a blank before the other marks."""
_CLITIC = re.compile(r"\s+(?=(?:n['’]t|['’](?:s|m|d|re|ve|ll|t))\b)", re.IGNORECASE)
_SPLIT_NT = re.compile(r"(\w)\s*n\s*(['’])\s*t\b", re.IGNORECASE)
_FINAL = tuple("\"'”’)»›」』")
_STOPS = {"zh": "。", "ja": "。", "hi": "।", "bn": "।"}
"""Full stops that are not dots."""
CHUNK = 32
"""Blanks whose draws are requested together when lengths are matched."""


_as_read = lru_cache(maxsize=None)(as_read)


def labels(text: str, blank: Blank) -> str:
    """Remove a label at the start (“Sentence 3:”), and quotation marks around all of it."""
    text = _LABEL.sub("", text).strip()
    for opening, closing in _QUOTED:
        inside = text[1:-1]
        whole = len(text) > 2 and text[0] == opening and text[-1] == closing
        if whole and opening not in inside and closing not in inside and "said" not in inside:
            around = " ".join(blank.filled(""))
            if opening not in around:
                return inside.strip()
    return text


def repeats(text: str, blank: Blank) -> str:
    """Remove the sentence before the blank if it is repeated, and all from the sentence after it on."""
    sentences, at = blank.story.sentences, blank.position - 1
    if at and text.startswith(sentences[at - 1]):
        text = text[len(sentences[at - 1]) :].strip()
    if at + 1 < len(sentences) and sentences[at + 1] in text:
        text = text[: text.index(sentences[at + 1])].strip()
    return text


def sentence(text: str, blank: Blank) -> str:
    """Keep only the first sentence, if it is clear where it ends."""
    found = clear_sentences(text, blank.story.language)
    return found[0] if found else text


def spaces(text: str, blank: Blank) -> str:
    """Remove spaces before punctuation and inside contractions: “did n't go .” becomes “didn't go.”"""
    before = _BEFORE_FRENCH_MARK if blank.story.language == "fr" else _BEFORE_MARK
    return normalise(before.sub("", _CLITIC.sub("", _SPLIT_NT.sub(r"\1n\2t", text))))


def capital(text: str, blank: Blank) -> str:
    """Begin with a capital letter, and write “I” for “i” in English."""
    if blank.story.language == ENGLISH:
        text = re.sub(r"\bi\b(?!\.)", "I", text)
    at = next((at for at, character in enumerate(text) if character.isalpha()), None)
    return text if at is None else text[:at] + text[at].upper() + text[at + 1 :]


def stop(text: str, blank: Blank) -> str:
    """Add a full stop, that of the story's language, if nothing else ends the text."""
    if not text or text.endswith(_FINAL) or ends_a_sentence(text):
        return text
    return text.rstrip(",;:-–—，、；： ") + _STOPS.get(blank.story.language, ".")


STEPS: Mapping[str, Callable[[str, Blank], str]] = {
    "labels": labels,
    "repeats": repeats,
    "spaces": spaces,
    "sentence": sentence,
    "capital": capital,
    "stop": stop,
}
"""In the order in which they are applied, whichever are chosen."""


def steps_of(text: str) -> tuple[str, ...]:
    """The steps that `all`, or names separated by commas, mean. Raises UsageError for an unknown name."""
    wanted = (
        list(STEPS) if text.strip() == "all" else [part.strip() for part in text.split(",") if part.strip()]
    )
    unknown = [name for name in wanted if name not in STEPS]
    if unknown or not wanted:
        raise UsageError(
            f"there is no processing step {unknown[0]!r}" if unknown else "no processing step is named",
            f"Steps: {', '.join(STEPS)}; or all.",
        )
    return tuple(name for name in STEPS if name in wanted)


@dataclass(frozen=True, slots=True)
class Processed:
    """A generator whose texts are processed by `steps`."""

    inner: Generator
    steps: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def provenance(self) -> Provenance:
        found = self.inner.provenance
        return replace(found, settings={**found.settings, "processing": list(self.steps)})

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for infill in in_order(self.inner, tuple(blanks)):
            yield process(infill, self.steps)


def process(infill: Infill, steps: Sequence[str]) -> Infill:
    """The infill with its text processed. If that changed it, `extra` has the original as `raw`."""
    if infill.status not in PROCESSED_STATUSES or not infill.text.strip():
        return infill
    if len(infill.text) > LONGEST_SENTENCE:  # such a text is not kept, nor is it as `raw`
        return infill
    text = infill.text
    for name in STEPS:
        if name in steps:
            text = STEPS[name](text, infill.blank)
    if text == infill.text:
        return infill
    return replace(
        infill, text=text, status=InfillStatus.OK, detail="", extra={**infill.extra, "raw": infill.text}
    )


@dataclass(frozen=True, slots=True)
class LengthMatched:
    """A generator that draws several infills a blank and keeps the one nearest to a human length.

    That length is the number of words at the same position of another story, drawn by (seed, story). Overall,
    systems then write sentences as long as people do, and learn nothing about the one that was taken out.
    """

    inner: Generator
    draws: int
    stories: tuple[Story, ...]
    seed: int = 0

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def provenance(self) -> Provenance:
        found = self.inner.provenance
        target = hashlib.sha256("\n".join(story.id for story in self.stories).encode()).hexdigest()[:16]
        return replace(
            found,
            settings={**found.settings, "length_matched": {"draws": self.draws, "stories": target}},
        )

    def target(self, blank: Blank) -> int:
        """The target length in words."""
        own, text = blank.story.id, _as_read(blank.story.sentences)
        there = [one for one in self.stories if len(one.sentences) >= blank.position]
        others = [one for one in there if one.id != own and _as_read(one.sentences) != text] or there
        key = f"{self.seed} length {blank.story.id} {blank.position} {blank.sample}"
        drawn = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) % len(others)
        return len(others[drawn].sentences[blank.position - 1].split())

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        remaining = iter(blanks)
        while chunk := list(islice(remaining, CHUNK)):
            asked = [
                replace(blank, sample=(blank.sample - 1) * self.draws + number)
                for blank in chunk
                for number in range(1, self.draws + 1)
            ]
            drawn = in_order(self.inner, asked)
            for blank in chunk:
                yield self._nearest(blank, [next(drawn) for _ in range(self.draws)])

    def _nearest(self, blank: Blank, drawn: Sequence[Infill]) -> Infill:
        target = self.target(blank)

        def distance(infill: Infill) -> tuple[bool, int]:
            return infill.status is not InfillStatus.OK, abs(len(infill.text.split()) - target)

        best = min(drawn, key=distance)
        extra = {**best.extra, "draw": best.blank.sample, "words_wanted": target}
        return replace(best, blank=blank, extra=extra)


@dataclass(frozen=True, slots=True)
class Form:
    """What is required of every generator alike: processing steps, and draws to match a length from."""

    steps: tuple[str, ...] = ()
    draws: int = 0
    """0 means that lengths are not matched."""
    seed: int = 0
    rest: bool = False
    """Whether they write the rest of a story, and not one sentence."""

    def of(self, generators: Iterable[Generator], stories: Sequence[Story]) -> list[Generator]:
        """The generators in this form. `stories` supply the human lengths."""
        found: list[Generator] = []
        for generator in generators:
            whole: Generator = Processed(generator, self.steps) if self.steps else generator
            whole = LengthMatched(whole, self.draws, tuple(stories), self.seed) if self.draws else whole
            found.append(Rest(whole) if self.rest else whole)
        return found
