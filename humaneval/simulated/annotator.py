"""A simulated annotator's mind: with some probability it knows the machine's sentence; else it guesses one of five."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from humaneval.domain import POSITIONS
from humaneval.errors import PlatformError
from humaneval.simulated.browser import FoundForm
from humaneval.text import shown_hash

Key = Mapping[str, Sequence[Mapping[str, object]]]
"""What `study show --key` prints: form hash → position and generator of each passage, in order."""

CHANCE = 1 - 1 / len(POSITIONS)


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
        """The score that attentive annotators tend to: who does not know still hits one time in five."""
        return CHANCE * (1 - self.of(generator))


@dataclass(frozen=True, slots=True)
class Crowd:
    """`size` simulated annotators. A `careless` share of them reads nothing and guesses everywhere."""

    size: int
    skills: Skills
    careless: float = 0.0
    seed: int = 0

    def annotator(self, number: int) -> Annotator:
        """The annotator with this number: the same one each time."""
        rng = Random(f"annotator {self.seed} {number}")
        careless = rng.random() < self.careless
        return Annotator(f"simulated-{self.seed}-{number:04d}", Skills() if careless else self.skills, careless, rng)


@dataclass(slots=True)
class Annotator:
    """One simulated person."""

    name: str
    skills: Skills
    careless: bool
    rng: Random

    def fill_in(self, form: FoundForm, key: Key) -> dict[str, str]:
        """What to enter into `form`: nothing but fields that are there."""
        passages = sorted((name for name in form.choices if name.startswith("choice-")), key=lambda name: int(name.split("-")[1]))
        sentences = [[text for _, text in form.choices[name]] for name in passages]
        truth = key.get(shown_hash(sentences))
        if truth is None:
            raise PlatformError("the form on the page is not in the key", "Give the key of this study: `humaneval study show STUDY --key`.")
        entered = dict(form.boxes)
        for name, passage in zip(passages, truth, strict=True):
            knows = self.rng.random() < self.skills.of(str(passage["generator"]))
            position = int(str(passage["position"])) if knows else self.rng.choice(POSITIONS)
            entered[name] = form.choices[name][position - 1][0]
            timer = name.replace("choice", "seconds")
            if timer in form.values:
                median = 4.0 if self.careless else 18.0
                entered[timer] = f"{median * math.exp(self.rng.gauss(0, 0.5)):.2f}"
        return entered
