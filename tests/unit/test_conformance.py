"""The conformance kit: sound generators pass, and each broken one fails by the name of its rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest

from humaneval.conformance import Finding, tried
from humaneval.domain import Blank, Filling, GappedText, Generator, Infill, InfillStatus, Provenance
from humaneval.infills.conformance import CONTROL, RULES, Trial
from humaneval.stories import bundled_stories


@dataclass
class Sound:
    """Keeps every rule: what it writes depends on seed, key and context alone."""

    seed: int = 0
    name: str = "sound"
    types: tuple[str, ...] = ("sentence",)
    several: bool = True

    @property
    def provenance(self) -> Provenance:
        return Provenance("sound", seed=self.seed)

    def sentence(self, key: str, context: str) -> str:
        number = sum(f"{self.seed} {key} {context}".encode()) % 997
        return f"The number {number} came up."

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for blank in blanks:
            yield self.one(blank)

    def one(self, blank: Blank) -> Infill:
        context = " ".join(blank.filled(""))
        if len(context) > 10_000:
            return Infill(blank, "", InfillStatus.REFUSED, "the story is too long")
        return Infill(blank, self.sentence(f"{blank.story.id} {blank.position}", context))

    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        for text in texts:
            context = " ".join(text.pieces)
            yield tuple(
                Filling(self.sentence(f"{text.key} {number}", context)) for number in range(len(text.gaps))
            )


class Shuffles(Sound):
    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        given = list(blanks) if not isinstance(blanks, Iterator) else [next(blanks)]
        return iter(sorted((self.one(blank) for blank in given), key=lambda infill: infill.blank.position))


class Hoards(Sound):
    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        return iter([self.one(blank) for blank in list(blanks)])


class LooksAside(Sound):
    """What it writes depends on the blank before."""

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        before = ""
        for blank in blanks:
            infill = self.one(blank)
            yield Infill(blank, infill.text + before, infill.status, infill.detail) if infill.text else infill
            before = f" After {blank.story.id}."


class Forgets(Sound):
    """Draws without its seed."""

    drawn = 0

    def __init__(self, seed: int) -> None:
        Forgets.drawn += 1
        super().__init__(Forgets.drawn)


class Peeks(Sound):
    def one(self, blank: Blank) -> Infill:
        infill = super().one(blank)
        return Infill(blank, self.sentence(blank.original, ""), infill.status, infill.detail)


class Ascii(Sound):
    def one(self, blank: Blank) -> Infill:
        " ".join(blank.story.sentences).encode("ascii")
        return super().one(blank)


class Obeys(Sound):
    """Takes a mask in a story for its own."""

    def one(self, blank: Blank) -> Infill:
        holes = " ".join(blank.filled("[MASK]")).count("[MASK]")
        assert holes == 1, f"{holes} masks instead of 1"
        return super().one(blank)


class NeedsLeft(Sound):
    """Has nothing to say without a text before the blank."""

    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        for text, fillings in zip(texts, super().fill(iter(list(texts))), strict=False):
            yield fillings if text.pieces[0] else ()


class NeedsContext(Sound):
    def one(self, blank: Blank) -> Infill:
        return Infill(blank, "" if len(" ".join(blank.filled(""))) < 20 else super().one(blank).text)


class Chokes(Sound):
    def one(self, blank: Blank) -> Infill:
        if len(" ".join(blank.filled(""))) > 10_000:
            raise IndexError("index out of range in self")
        return super().one(blank)


class KnowsFive(Sound):
    def one(self, blank: Blank) -> Infill:
        assert len(blank.story.sentences) == 5, f"{len(blank.story.sentences)} sentences"
        return super().one(blank)


class FillsOne(Sound):
    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        for fillings in super().fill(texts):
            yield fillings[:1]


class Rambles(Sound):
    def sentence(self, key: str, context: str) -> str:
        return super().sentence(key, context)[:-1] + " and then once more."


class Leaks(Sound):
    def sentence(self, key: str, context: str) -> str:
        return super().sentence(key, context) + CONTROL[0]


BROKEN: dict[type[Sound], str] = {
    Shuffles: "order kept",
    Hoards: "streaming",
    LooksAside: "batch equals single",
    Forgets: "seeds repeat",
    Peeks: "blind to the original",
    Ascii: "any text",
    Obeys: "control strings",
    NeedsLeft: "first and last",
    NeedsContext: "empty context",
    Chokes: "long context",
    KnowsFive: "other lengths",
    FillsOne: "several blanks",
    Rambles: "limits",
}


def findings(make: Callable[[int], Generator]) -> dict[str, Finding]:
    return {finding.rule: finding for finding in tried(Trial(make, bundled_stories()[-3:]), RULES)}


def test_a_sound_generator_keeps_every_rule() -> None:
    class Limited(Sound):
        def sentence(self, key: str, context: str) -> str:
            number = sum(f"{self.seed} {key} {context}".encode()) % 997
            return f"The number {number} won."

    found = findings(Limited)
    assert [finding for finding in found.values() if finding.wrong or finding.skipped] == []
    assert list(found) == list(RULES)


@pytest.mark.parametrize("broken", BROKEN)
def test_each_broken_generator_fails_by_the_name_of_its_rule(broken: type[Sound]) -> None:
    found = findings(broken)
    assert found[BROKEN[broken]].wrong, {rule: f.wrong for rule, f in found.items()}


def test_every_rule_has_its_broken_generator() -> None:
    assert set(BROKEN.values()) == set(RULES)


def test_control_strings_that_leak_are_found() -> None:
    assert "control string" in findings(Leaks)["any text"].wrong


def test_what_a_generator_raises_is_said_in_one_line() -> None:
    assert findings(Chokes)["long context"].wrong == "raised IndexError: index out of range in self"
