"""Simulated annotators: they know the machine's sentence with some probability, else they guess."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from humaneval.domain import CEILING, POSITIONS
from humaneval.errors import PlatformError
from humaneval.simulated.browser import PATIENCE, Browser, FoundForm
from humaneval.text import command, shown_hash

Key = Mapping[str, Sequence[Mapping[str, object]]]
"""What `study show --key` prints: form hash → position and generator of each passage, in order."""

READING_SECONDS, CARELESS_SECONDS = 18.0, 4.0
"""Median time for a passage, in seconds. Times are drawn from a lognormal distribution around it."""


@dataclass(frozen=True, slots=True)
class Skills:
    """How often an attentive annotator knows the sentence at a passage's position, per generator (0 to 1)."""

    default: float = 0.0
    by_generator: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for skill in (self.default, *self.by_generator.values()):
            if not 0 <= skill <= 1:
                raise ValueError(f"skill {skill} is not between 0 and 1")

    def of(self, generator: str) -> float:
        """The skill for `generator`."""
        return self.by_generator.get(generator, self.default)

    def true_score(self, generator: str) -> float:
        """The score that attentive annotators tend to. A guess is right one time in five."""
        return CEILING * (1 - self.of(generator))


@dataclass(frozen=True, slots=True)
class Crowd:
    """`size` simulated annotators. A `careless` share of them always guesses.

    The answers to a form depend only on the seed and the form, not on which annotator gets it. So the same
    crowd gives the same scores in any order of work, and wherever the study is published.
    """

    size: int
    skills: Skills
    careless: float = 0.0
    seed: int = 0
    country: str = ""
    """The country that all of them give if a marketplace asks; empty: they give none."""
    as_people: bool = False
    """Their browsers do not say that they are programs: to test what servers do with people."""

    def browser(self) -> Browser:
        """The browser of one of them."""
        return Browser(PATIENCE, program=not self.as_people)

    def name(self, number: int) -> str:
        """The name with which annotator `number` signs in."""
        return f"simulated-{self.seed}-{number:04d}"

    def fill_in(self, form: FoundForm, key: Key) -> dict[str, str]:
        """What to enter into `form`: only fields that it has."""
        passages = sorted((name for name in form.choices if name.startswith("choice-")), key=_place)
        sentences = [[choice.label for choice in form.choices[name]] for name in passages]
        form_hash = shown_hash(sentences)
        truth = key.get(form_hash)
        if truth is None:
            raise PlatformError(
                "the form on the page is not in the key",
                f"Give the key of this study: `{command('study', 'show', 'STUDY', '--key')}`.",
            )
        rng = Random(f"{self.seed} {form_hash}")
        careless = rng.random() < self.careless
        entered = dict(form.boxes)
        for name, passage in zip(passages, truth, strict=True):
            skill = 0.0 if careless else self.skills.of(str(passage["generator"]))
            position = int(str(passage["position"])) if rng.random() < skill else rng.choice(POSITIONS)
            entered[name] = form.choices[name][position - 1].value
            timer = name.replace("choice", "seconds")
            if timer in form.values:
                median = CARELESS_SECONDS if careless else READING_SECONDS
                entered[timer] = f"{median * math.exp(rng.gauss(0, 0.5)):.2f}"
        return entered


def _place(name: str) -> int:
    return int(name.rpartition("-")[2])
