"""What a question must say of itself, with a default for most of it, and how one is found by its name.

A question is one module and one folder of templates. The module has a subclass of `Question`, registered in
the entry-point group `humaneval.questions`. Everything else asks it: how passages are made, which answers
there are, what an answer is worth, what chance gives.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from math import isfinite
from numbers import Real
from pathlib import Path
from random import Random
from typing import Any, ClassVar, TypeAlias

from humaneval.domain import MOST_SENTENCES, Role
from humaneval.errors import InputError, PrerequisiteError, SettingsError, UsageError
from humaneval.plugins import FAULT, calling, typed
from humaneval.resources import bundled
from humaneval.scoring.questions.in_r import InR
from humaneval.scoring.questions.judging import Detail, Foreseen, Judging, Words
from humaneval.text import listed

GROUP = "humaneval.questions"
DETECT = "detect"
"""The question of a study file that names none."""
SETTINGS = "settings"
"""The column of a table with the section `[answers]` of the study file, as JSON."""
CHOICE = "choice"
"""The name of the only answer field of most questions."""

Settings: TypeAlias = Mapping[str, Any]
"""A question's own settings, plain values, with defaults filled in: what `Question.settings` returned."""
Answer: TypeAlias = Mapping[str, int]
"""An answer to one passage: a number from 1 for each field, by the field's name."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What each row shows once: the passages by one generator, or by several in this order."""

    name: str
    generators: tuple[str, ...]
    role: Role = Role.SYSTEM
    """Control: attentive people give the obvious answer."""


@dataclass(frozen=True, slots=True)
class AnswerField:
    """One field of an answer. Its answers are the numbers from 1 to `values`."""

    name: str
    values: int


@dataclass(frozen=True, slots=True)
class Truth:
    """What only the researcher knows of a passage."""

    generators: tuple[str, ...]
    role: Role
    position: int
    """The held-out sentence, or the first that a machine wrote."""
    sentences: int
    """How many sentences the passage has."""
    control: str = ""
    """Which generator is the study's control."""


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage as people see it, and the position that is stored with it."""

    sentences: tuple[str, ...]
    position: int
    alternative: str = ""
    """A second sentence for the position, if two are shown."""

    @property
    def texts(self) -> tuple[str, ...]:
        """All that a reader sees, in order: what hashes of forms are made from."""
        return (*self.sentences, self.alternative) if self.alternative else self.sentences


@dataclass(frozen=True, slots=True)
class Scale:
    """What a score is measured in. A question has one scale, or one for each of its fields."""

    name: str
    """As the field is called if there are several; else empty."""
    low: float
    high: float
    title: str
    """The head of a column of scores: "% preferred"."""
    higher: str
    """What a higher score means, as the end of "A higher score means that …"."""
    binary: bool = False
    """Whether every outcome is 0 or 1: the score is then a share."""

    @property
    def share(self) -> bool:
        """Whether scores are shown in percent."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def width(self) -> float:
        """The largest possible difference."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with the words that say what it is."""

    value: float
    words: str


class Question(Judging, ABC):
    """A question that annotators can be asked. What a subclass does not say has the defaults below."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line, as `questions list` shows it."""
    example: ClassVar[Truth] = Truth(("control",), Role.CONTROL, 3, 5, "control")
    """The story that is shown before a form, and for practice, as if it were a control: its obvious answer is
    right. Its texts are the words `example_1`, …, and `example_other` for a second sentence."""
    finds: ClassVar[bool] = False
    """Whether people look for something that every passage has, so that `passed` says of any passage whether
    they found it."""
    rest: ClassVar[bool] = False
    """Whether an infill is the rest of the story from its position on, and not one sentence."""

    @property
    def folder(self) -> Path:
        """The folder of its templates and words: ours, or the one of its name beside its module."""
        if type(self).__module__.startswith("humaneval."):
            return bundled("hit_templates") / self.name
        return Path(inspect.getfile(type(self))).parent / self.name

    # What the study file says.

    def settings(self, values: Settings) -> Settings:
        """The section `[answers]`, checked and with defaults. Raises SettingsError, which names the setting.

        By default a question has no settings.
        """
        refuse_unknown(values, ())
        return {}

    def doubts(self, values: Settings) -> tuple[str, ...]:
        """What can hold in the section `[answers]`, but is hardly meant; no full stops."""
        return ()

    def positions(self, sentences: int) -> tuple[int, ...]:
        """Which sentences of a story may be taken out."""
        return tuple(range(1, sentences + 1))

    def refuses(self, positions: Sequence[int], settings: Settings) -> str:
        """Why a study cannot have these positions; empty if it can."""
        allowed = self.positions(MOST_SENTENCES)
        wrong = [position for position in positions if position not in allowed]
        return f"question = {self.name!r} cannot take out sentence {wrong[0]}" if wrong else ""

    def conditions(
        self, generators: Sequence[str], control: str, human: str, settings: Settings
    ) -> tuple[Condition, ...]:
        """What each row shows once: by default one passage by each generator.

        `control` and `human` need not be among the generators.
        """
        roles = {human: Role.HUMAN, control: Role.CONTROL}
        return tuple(Condition(name, (name,), roles.get(name, Role.SYSTEM)) for name in generators)

    # How a passage is made, and what is asked about it.

    def show(self, story: tuple[str, ...], position: int, texts: tuple[str, ...], role: Role) -> ShownPassage:
        """A story with the infills of a condition's generators in it, in their order. By default the first
        takes the place of the sentence at `position`."""
        return ShownPassage((*story[: position - 1], texts[0], *story[position:]), position)

    @abstractmethod
    def fields(self, settings: Settings, sentences: int) -> tuple[AnswerField, ...]:
        """The fields of an answer to a passage of so many sentences."""

    def complete(self, answer: Answer, settings: Settings, sentences: int) -> bool:
        """Whether an answer has a number in range for every field."""
        return all(
            1 <= answer.get(field.name, 0) <= field.values for field in self.fields(settings, sentences)
        )

    def said(self, name: str, value: int, settings: Settings, sentences: int) -> str:
        """One field of an answer, in words for the researcher, as in "the answer was …"."""
        return str(value) if name == CHOICE else f"{name.replace('_', ' ')} {value}"

    # The control.

    def obvious(self, truth: Truth, settings: Settings) -> Mapping[str, tuple[int, ...]]:
        """The answers to a control passage that show attention, by field; other fields tell nothing.

        By default the only right answer is the position.
        """
        return {CHOICE: (truth.position,)}

    def passed(self, truth: Truth, answer: Answer, settings: Settings) -> bool:
        """Whether an answer to a control passage shows attention: it is obvious in every field that tells."""
        told = self.obvious(truth, settings)
        return all(answer.get(name) in values for name, values in told.items())

    def guess(self, settings: Settings, sentences: int) -> float:
        """How often an annotator who does not look gives the obvious answer to a control passage."""
        fields, places = self.fields(settings, sentences), self.positions(sentences)
        usual = {field.name: field.values for field in fields}
        total = 0.0
        for position in places:
            truth = Truth(("control", "human"), Role.CONTROL, position, sentences, "control")
            share = 1.0
            for name, right in self.obvious(truth, settings).items():
                answers = range(1, usual[name] + 1)
                taken = [one for one in answers if self.complete(usual | {name: one}, settings, sentences)]
                share *= len(set(right) & set(taken)) / len(taken)
            total += share
        return total / len(places)

    def foreseen(self, settings: Settings, sentences: int) -> Foreseen:
        """What a plan assumes of the answers: by default, that outcomes vary as much as the scale allows."""
        scale = self.scales(settings, sentences)[0]
        luck = self.chance(settings, sentences, scale.name)
        chance = 0.5 if luck is None else (luck.value - scale.low) / scale.width
        return Foreseen(self.guess(settings, sentences), chance)

    # What an answer is worth.

    @abstractmethod
    def scales(self, settings: Settings, sentences: int) -> tuple[Scale, ...]:
        """What scores are measured in. The first is the main one."""

    @abstractmethod
    def outcomes(self, truth: Truth, answer: Answer, scale: str, settings: Settings) -> tuple[float, ...]:
        """What an answer is worth on a scale to each of the passage's generators, in the scale's unit."""

    def chance(self, settings: Settings, sentences: int, scale: str = "") -> Figure | None:
        """The score that answers at random give, or None if that says nothing."""
        return None

    # Simulated annotators.

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """A simulated annotator's answer. `skills` are how plainly each of the passage's generators is a
        machine to people, from 0 to 1; a careless one does not look.

        By default the obvious answer is known with the probability of the first skill, and any other answer
        is a guess.
        """
        knows = rng.random() < (0.0 if careless else skills[0])
        told = self.obvious(truth, settings) if knows else {}
        return {
            field.name: rng.choice(told.get(field.name, range(1, field.values + 1)))
            for field in self.fields(settings, truth.sentences)
        }

    def true_score(
        self, generator: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """The score that attentive simulated annotators tend to; `skills` are those of every generator.

        None if the question does not say.
        """
        return None

    def true_score_of_human(
        self, human: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """The same for Human, whose passages may be made in another way."""
        return self.true_score(human, skills, settings, sentences, scale)


def pair_name(first: str, second: str) -> str:
    """The name of the condition that shows two generators, in this order."""
    return f"{first} | {second}"


def known_or_guessed(
    rng: Random, known: int, skill: float, careless: bool, guesses: Sequence[int]
) -> dict[str, int]:
    """The only field of a simulated answer: `known` with the skill's probability, else any of `guesses`."""
    knows = rng.random() < (0.0 if careless else skill)
    return {CHOICE: known if knows else rng.choice(guesses)}


def refuse_unknown(values: Settings, known: Sequence[str]) -> None:
    """Raise SettingsError for a setting of `[answers]` that the question does not have."""
    if unknown := [name for name in values if name not in known]:
        raise SettingsError(
            f"answers.{unknown[0]} is no setting of this question",
            f"Its settings: {', '.join(known)}."
            if known
            else "It has no settings. Remove [answers], or name another question above all sections.",
        )


_OURS = {
    name: f"humaneval.scoring.questions.{name}:{name.capitalize()}"
    for name in (DETECT, "prefer", "rate", "boundary")
}
"""The questions of this package, found without an installation that has their entry points."""


def question_names() -> tuple[str, ...]:
    """The name of every question that is installed: ours first."""
    others = sorted(point.name for point in entry_points(group=GROUP) if point.name not in _OURS)
    return (*_OURS, *others)


_RETURNED: Mapping[str, tuple[Any, Any]] = {
    "settings": (Mapping, None),
    "doubts": (Sequence, str),
    "positions": (Sequence, int),
    "refuses": (str, None),
    "conditions": (Sequence, Condition),
    "show": (ShownPassage, None),
    "fields": (Sequence, AnswerField),
    "complete": (object, None),
    "said": (str, None),
    "obvious": (Mapping, None),
    "passed": (object, None),
    "guess": (Real, None),
    "foreseen": (Foreseen, None),
    "scales": (Sequence, Scale),
    "outcomes": (Sequence, Real),
    "chance": (Figure | None, None),
    "simulate": (Mapping, None),
    "true_score": (Real | None, None),
    "true_score_of_human": (Real | None, None),
    "settings_of_table": (Mapping, None),
    "supposed": (Sequence, str),
    "words": (Words, None),
    "differences": (Sequence | None, None),
    "details": (Sequence, Detail),
    "in_r": (InR, None),
}
"""What each method of a question returns, and what is in it."""
_NEVER_EMPTY = frozenset({"positions", "conditions", "fields", "scales"})


def _checked(question: Question, name: str, whose: str) -> Callable[..., Any]:
    """A method of another package's question, which raises InputError if it fails or returns what it should
    not."""
    method, (whole, part) = getattr(question, name), _RETURNED[name]

    def call(*arguments: Any, **named: Any) -> Any:
        with calling(whose, type(question).__module__):
            found = method(*arguments, **named)
        wrong = not isinstance(found, whole) or (whole is Sequence and isinstance(found, str))
        fault = typed(found or None) if wrong or (name in _NEVER_EMPTY and not found) else ""
        for one in () if fault or part is None else found:
            if not isinstance(one, part) or (part is Real and not isfinite(one)):
                fault = f"{one!r:.80} among its values"
        if name == "outcomes" and not fault and len(found) != len(arguments[0].generators):
            fault = f"{len(found)} numbers for {len(arguments[0].generators)} generators"
        if fault:
            raise InputError(
                f"{whose}: {name}() returned {fault}", f"docs/questions.md says what it returns. {FAULT}"
            )
        return found

    return call


@cache
def load_question(name: str) -> Question:
    """The question called `name`. Raises UsageError with the names that there are."""
    found = [EntryPoint(name, _OURS[name], GROUP)] if name in _OURS else entry_points(group=GROUP, name=name)
    whose = f"question {name!r}"
    for point in found:
        with calling(whose, point.module):
            try:
                made = point.load()()
            except ModuleNotFoundError as error:
                package = (error.name or "").partition(".")[0]
                raise PrerequisiteError(
                    f"{whose} needs the package {error.name}", f"pip install {package}"
                ) from None
            if not isinstance(made, Question) or not isinstance(made.name + made.summary, str):
                raise InputError(f"{whose}: {point.value} is no Question, but {typed(made)}", FAULT)
        if name not in _OURS:
            vars(made).update({method: _checked(made, method, whose) for method in _RETURNED})
        return made
    raise UsageError(
        f"there is no question {name!r}",
        f"Questions: {listed(question_names())}. For a question of your own, install its package.",
    )
