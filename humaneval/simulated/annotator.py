"""Simulated annotators: how plainly they see a machine is their skill; how they answer, the question says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from humaneval.domain import CEILING, SENTENCES, Role
from humaneval.errors import PlatformError
from humaneval.scoring.questions.question import DETECT, Truth, load_question
from humaneval.simulated.browser import PATIENCE, Browser, FoundForm
from humaneval.store.engine import writing
from humaneval.study.asked import Asked, asked_by
from humaneval.study.stored import Study, length_of_study, program_key, program_name
from humaneval.text import command

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
    program: str = ""
    """How their browsers name themselves: see `program_name`. Without, servers take them for people."""
    asked: Asked = field(default_factory=lambda: Asked(load_question(DETECT), {}))
    """What they are asked about each passage."""
    sentences: int = SENTENCES
    """How many a passage has."""
    control: str = "control"
    """Which generator is the study's control."""
    human: str = "human"
    """Which is a person."""

    def browser(self) -> Browser:
        """The browser of one of them."""
        return Browser(PATIENCE, program=self.program)

    def true_scores(self, generator: str, generators: Sequence[str]) -> list[str]:
        """The scores that attentive annotators tend to, in words: one for each scale of the question.

        The control is not scored, so it counts in no other generator's.
        """
        question, settings = self.asked
        shown = question.conditions(generators, self.control, "", settings)
        if generator == self.control and any(len(one.generators) > 1 for one in shown):
            return []  # it meets one of the others alone, and no plan depends on its score
        others = [name for name in generators if name not in (generator, self.control)]
        skills = {name: self.skills.of(name) for name in (generator, *others)}
        found = []
        for scale in question.scales(settings, self.sentences):
            of = question.true_score_of_human if generator == self.human else question.true_score
            score = of(generator, skills, settings, self.sentences, scale.name)
            if score is not None:
                is_share = (scale.low, scale.high) == (0, 1)
                found.append(f"score {score:.0%}" if is_share else f"{scale.title} {score:.2f}")
        return found

    def name(self, number: int) -> str:
        """The name with which annotator `number` signs in."""
        return f"simulated-{self.seed}-{number:04d}"

    def fill_in(self, form: FoundForm, key: Key) -> dict[str, str]:
        """What to enter into `form`: only fields that it has."""
        form_hash = form.values.get("form", "")
        passages = key.get(form_hash)
        if passages is None:
            raise PlatformError(
                "the form on the page is not in the key",
                f"Give the key of this study: `{command('study', 'show', 'STUDY', '--key')}`.",
            )
        rng = Random(f"{self.seed} {form_hash}")
        careless = rng.random() < self.careless
        entered = dict(form.boxes)
        question, settings = self.asked
        for place, passage in enumerate(passages, 1):
            truth = self._truth(passage)
            skills = [self.skills.of(name) for name in truth.generators]
            answer = question.simulate(rng, truth, skills, careless, settings)
            entered |= {f"{name}-{place}": str(value) for name, value in answer.items()}
            timer = f"seconds-{place}"
            if timer in form.values:
                median = CARELESS_SECONDS if careless else READING_SECONDS
                entered[timer] = f"{median * math.exp(rng.gauss(0, 0.5)):.2f}"
        return entered

    def _truth(self, passage: Mapping[str, object]) -> Truth:
        names = [str(passage[each]) for each in ("generator", "other") if passage.get(each)]
        role = Role.CONTROL if self.control in names else Role.SYSTEM
        return Truth(tuple(names), role, int(str(passage["position"])), self.sentences, self.control)


def crowd_for(
    study: Study, size: int, skills: Skills, *, careless: float = 0.0, seed: int = 0, country: str = ""
) -> Crowd:
    """A crowd for the question that `study` asks."""
    with writing(study.engine) as session:
        sentences, program = length_of_study(session, study.id), program_key(session)
    return Crowd(
        size,
        skills,
        careless,
        seed,
        country,
        program_name(program, study.id),
        asked=asked_by(study.settings),
        sentences=sentences,
        control=study.settings.design.control,
        human=study.settings.design.human,
    )
