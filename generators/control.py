"""The control model: a sentence that says that a computer wrote it. An annotator who does not mark it did not
read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from humaneval.domain import Blank, Generator, GeneratorRequest, Infill, Provenance
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
            yield Infill(blank, self.wordings[self._draw(blank)])

    def _draw(self, blank: Blank) -> int:
        key = f"{self.seed} {blank.story.id} {blank.position} {blank.sample}"
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
