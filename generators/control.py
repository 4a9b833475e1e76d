"""The control model: a sentence that says that a computer wrote it. An annotator who does not mark it did not
read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from generators.sampling.filling import Draft, check
from humaneval.domain import (
    Blank,
    Drawing,
    Filling,
    GappedText,
    Generator,
    GeneratorRequest,
    Infill,
    Provenance,
)
from humaneval.errors import UsageError
from humaneval.resources import word_languages, words_in
from humaneval.text import normalise, unshowable


@dataclass(frozen=True, slots=True)
class Control:
    """Fills every blank with one of `wordings`, drawn by (seed, story, position, sample): the same each
    time."""

    name: str
    wordings: tuple[str, ...]
    seed: int

    @property
    def provenance(self) -> Provenance:
        return Provenance(kind="control", seed=self.seed, settings={"wordings": list(self.wordings)})

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            yield Infill(
                blank, self.wordings[self._draw(f"{blank.story.id} {blank.position} {blank.sample}")]
            )

    @property
    def types(self) -> tuple[str, ...]:
        return ("sentence",)

    @property
    def several(self) -> bool:
        return True

    def drawing(self, how: Drawing) -> Control:
        return replace(self, seed=how.seed)

    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        for text in texts:
            checked = (
                check(Draft(self.wordings[self._draw(f"{text.key} {number} {text.sample}")]), gap)
                for number, gap in enumerate(text.gaps)
            )
            yield tuple(Filling(one.text, one.status, one.detail) for one in checked)

    def _draw(self, place: str) -> int:
        key = f"{self.seed} {place}"
        return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) % len(self.wordings)


def _wording(language: str) -> str:
    """The sentence in `language`; in English it is the paper's."""
    words = words_in(language)
    if "control" not in words:
        raise UsageError(
            f"there is no control sentence in language {language!r}",
            f"Give one with --option wordings=TEXT. There are sentences in {', '.join(word_languages())}.",
        )
    return words["control"]


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: `wordings`, alternative sentences separated by `|`, or `language`, the sentence in it."""
    request.allow_options("wordings", "language")
    if {"wordings", "language"} <= set(request.options):
        raise UsageError("the options wordings and language exclude each other", "Leave one of them out.")
    given = request.options.get("wordings")
    if given is None:
        given = _wording(request.options.get("language", "en"))
    wordings = tuple(normalise(text) for text in given.split("|"))
    if not all(wordings):
        raise UsageError("the option wordings has an empty sentence", "Separate sentences by |.")
    if fault := next(filter(None, map(unshowable, wordings)), ""):
        raise UsageError(
            f"a sentence of the option wordings {fault}", "Write it with letters that people see."
        )
    return [Control(request.name or "control", wordings, request.seed)]
