"""What every question must do, as rules that can be tested: `humaneval questions check NAME`.

`humaneval.conformance` tries them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import isfinite, sqrt
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

from humaneval.conformance import NotTriedError
from humaneval.domain import MOST_SENTENCES, Role
from humaneval.errors import SettingsError
from humaneval.scoring.questions.question import (
    Answer,
    Condition,
    Question,
    Settings,
    ShownPassage,
    Truth,
)
from humaneval.scoring.response_table import COLUMNS

LENGTHS = (3, 5, 10)
"""How many sentences the stories of a trial have."""
CONTROL, HUMAN = "control", "human"
GENERATORS = (CONTROL, HUMAN, "one", "two")
MOST_VALUES = MOST_SENTENCES + 1
"""The largest answer that a database keeps."""
MOST_ANSWERS = 3_000
"""So many answers to a passage are looked at, the first ones, if there are more."""
DRAWS = 400
"""Simulated answers to each passage."""
APART = 5.0
"""In standard errors: so far a simulated mean may lie from the true score."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A question, the name under which it is registered, and settings to try it with, as a file has them."""

    name: str
    question: Question
    values: Settings

    @property
    def settings(self) -> Settings:
        """The settings with defaults."""
        return self.question.settings(self.values)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What a row of four generators shows."""
        return self.question.conditions(GENERATORS, CONTROL, HUMAN, self.settings)

    def passages(self) -> Iterator[ShownAs]:
        """A passage for each length of stories, position and condition."""
        for sentences in LENGTHS:
            story = tuple(f"Sentence {number} of a person." for number in range(1, sentences + 1))
            for position, condition in product(self.question.positions(sentences), self.conditions):
                texts = tuple(self._text(name, story, position) for name in condition.generators)
                shown = self.question.show(story, position, texts, condition.role)
                truth = Truth(condition.generators, condition.role, shown.position, sentences, CONTROL)
                yield ShownAs(condition, texts, shown, truth)

    def _text(self, generator: str, story: tuple[str, ...], position: int) -> str:
        whole = story[position - 1 :] if self.question.rest else story[position - 1 : position]
        if generator == HUMAN:
            return "\n".join(whole)
        return "\n".join(f"Written by {generator}, {number}." for number, _ in enumerate(whole, 1))

    def answers(self, sentences: int) -> list[Answer]:
        """The answers that the question takes, the first ones if there are many."""
        fields = self.question.fields(self.settings, sentences)
        every = product(*(range(1, field.values + 1) for field in fields))
        names = [field.name for field in fields]
        some = (dict(zip(names, values, strict=True)) for values in islice(every, MOST_ANSWERS))
        return [one for one in some if self.question.complete(one, self.settings, sentences)]


class ShownAs(NamedTuple):
    """A passage of a trial."""

    condition: Condition
    texts: tuple[str, ...]
    shown: ShownPassage
    truth: Truth


Rule = Callable[[Trial], str | None]


def name(trial: Trial) -> str | None:
    """It has the name under which it is registered, and one line that says what it asks."""
    if trial.question.name != trial.name:
        return f"it is registered as {trial.name!r} and calls itself {trial.question.name!r}"
    summary = trial.question.summary
    if not summary.strip() or "\n" in summary or len(summary) > 100:
        return "its summary is not one line of at most 100 characters"
    return None


def settings(trial: Trial) -> str | None:
    """Its settings are plain values, stay the same if read again, and others are refused."""
    found = trial.settings
    plain = json.loads(json.dumps(dict(found)))
    if dict(trial.question.settings(plain)) != dict(found):
        return "its settings, written down and read again, are others"
    try:
        trial.question.settings({**trial.values, "no_such_setting": 1})
    except SettingsError:
        return None
    return "it takes a setting no_such_setting, which it cannot have: a misspelt one would go unnoticed"


def conditions(trial: Trial) -> str | None:
    """Rows show every generator, under names of their own, and the control only where it is obvious."""
    found = trial.conditions
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        return "two conditions have one name"
    for one in found:
        if not 1 <= len(one.generators) <= 2 or set(one.generators) - set(GENERATORS):
            return f"the condition {one.name!r} does not show one or two of the generators"
        if (one.role is Role.CONTROL) != (CONTROL in one.generators):
            shown = " and ".join(one.generators)
            return f"the condition {one.name!r} has the role {one.role}, and shows {shown}"
    if lacking := set(GENERATORS) - {each for one in found for each in one.generators}:
        return f"no condition shows {sorted(lacking)[0]}"
    alone = trial.question.conditions(GENERATORS[2:], CONTROL, HUMAN, trial.settings)
    if not alone or any({CONTROL, HUMAN} & set(one.generators) for one in alone):
        return "without a control and a human, it does not show the systems alone"
    return None


def positions(trial: Trial) -> str | None:
    """The sentences that may be taken out are some of the story's."""
    for sentences in LENGTHS:
        found = trial.question.positions(sentences)
        if not found or list(found) != sorted(set(found)) or found[0] < 1 or found[-1] > sentences:
            return f"of {sentences} sentences, it takes out {list(found)}"
    return None


def passages(trial: Trial) -> str | None:
    """A passage is as long as its story, and shows the sentences of its generators."""
    for condition, texts, shown, truth in trial.passages():
        where = f"{condition.name}, {truth.sentences} sentences"
        if len(shown.sentences) != truth.sentences:
            return f"{where}: the passage has {len(shown.sentences)}"
        if not 1 <= shown.position <= truth.sentences + 1:
            return f"{where}: its position is {shown.position}"
        if bool(shown.alternative) != (len(texts) == 2):
            return f"{where}: a second sentence is shown if, and only if, there are two generators"
        lost = [line for text in texts for line in text.split("\n") if line not in shown.texts]
        if lost:
            return f"{where}: “{lost[0]}” is not shown"
    return None


def fields(trial: Trial) -> str | None:
    """Fields have names of their own, and up to 21 answers."""
    for sentences in LENGTHS:
        found = trial.question.fields(trial.settings, sentences)
        names = [one.name for one in found]
        if not names or len(set(names)) < len(names):
            return "it has no field, or two of one name"
        taken = [one for one in names[1:] if one in COLUMNS] + [one for one in names[:1] if one in FIXED]
        if taken:
            return f"a field is called {taken[0]!r} as a column of the table of responses"
        if wrong := [one for one in names if not one.isidentifier()]:
            return f"a field is called {wrong[0]!r}: letters, digits and _ are safe in a form"
        if wrong := [one.name for one in found if not 2 <= one.values <= MOST_VALUES]:
            return f"the field {wrong[0]!r} does not have 2 to {MOST_VALUES} answers"
    return None


FIXED = frozenset(COLUMNS) - {"choice"}


def complete(trial: Trial) -> str | None:
    """An answer needs every field, within its range."""
    for sentences in LENGTHS:
        answers = trial.answers(sentences)
        if len(answers) < 2:
            return f"of {sentences} sentences, it takes {len(answers)} different answers"
        whole = answers[0]
        for field in trial.question.fields(trial.settings, sentences):
            left = {each: value for each, value in whole.items() if each != field.name}
            for wrong in (left, {**whole, field.name: 0}, {**whole, field.name: field.values + 1}):
                if trial.question.complete(wrong, trial.settings, sentences):
                    return f"it takes {wrong}"
    return None


def obvious(trial: Trial) -> str | None:
    """To each control passage some answers show attention, and others do not."""
    for _, _, _, truth in trial.passages():
        if truth.role is not Role.CONTROL:
            continue
        answers = trial.answers(truth.sentences)
        passed = [trial.question.passed(truth, one, trial.settings) for one in answers]
        where = f"{truth.sentences} sentences, position {truth.position}"
        if all(passed) or not any(passed):
            return f"{where}: {'every' if all(passed) else 'no'} answer shows attention"
        for one, told in trial.question.obvious(truth, trial.settings).items():
            if not any(answer.get(one) in told for answer in answers):
                return f"{where}: the obvious answer to {one!r} is none that can be given"
    return None


def scales(trial: Trial) -> str | None:
    """Scales have names, limits and words."""
    for sentences in LENGTHS:
        found = trial.question.scales(trial.settings, sentences)
        if not found or len({one.name for one in found}) < len(found):
            return "it has no scale, or two of one name"
        for one in found:
            if not (isfinite(one.low) and isfinite(one.high) and one.low < one.high):
                return f"the scale {one.name!r} goes from {one.low} to {one.high}"
            if not one.title.strip() or not one.higher.strip():
                return f"the scale {one.name!r} has no title, or does not say what is higher"
    return None


def outcomes(trial: Trial) -> str | None:
    """Every answer is worth something to each generator, within the limits of the scale."""
    for _, _, _, truth in trial.passages():
        for answer, scale in product(
            trial.answers(truth.sentences), trial.question.scales(trial.settings, truth.sentences)
        ):
            worth = trial.question.outcomes(truth, answer, scale.name, trial.settings)
            if len(worth) != len(truth.generators):
                return f"{answer} is worth {list(worth)}, and there are {len(truth.generators)} generators"
            allowed = {0.0, 1.0} if scale.binary else None
            if any(not scale.low <= one <= scale.high or (allowed and one not in allowed) for one in worth):
                return f"{answer} is worth {list(worth)}, which is not on the scale {scale.title!r}"
    return None


def chance(trial: Trial) -> str | None:
    """What chance gives lies on the scale."""
    for sentences in LENGTHS:
        for scale in trial.question.scales(trial.settings, sentences):
            found = trial.question.chance(trial.settings, sentences, scale.name)
            if found is not None and not scale.low <= found.value <= scale.high:
                return f"chance gives {found.value:g}, which is not on the scale {scale.title!r}"
            if found is not None and not found.words.strip():
                return "it does not say what the number of chance is"
    return None


def simulated(trial: Trial) -> str | None:
    """Simulated answers are complete, the same for the same numbers, and notice the control if they can."""
    for number, (condition, _, _, truth) in enumerate(trial.passages()):
        skills = [float(one == CONTROL) for one in condition.generators]
        for careless in (False, True):
            first, again = (
                trial.question.simulate(Random(number), truth, skills, careless, trial.settings)
                for _ in range(2)
            )
            if first != again:
                return "the same random numbers give two answers"
            if not trial.question.complete(first, trial.settings, truth.sentences):
                return f"it simulates {dict(first)}, which is not complete"
            if truth.role is Role.CONTROL and not careless:
                noticed = trial.question.passed(truth, first, trial.settings)
                if not noticed:
                    return f"somebody who sees the control as it is answers {dict(first)}"
    return None


def true_score(trial: Trial) -> str | None:
    """Simulated annotators tend to the score that the question says they do."""
    skills = dict(zip(GENERATORS, (1.0, 0.0, 0.3, 0.7), strict=True))
    scored = {each: skill for each, skill in skills.items() if each != CONTROL}
    rng, found = Random(1), _simulated_outcomes
    for scale in trial.question.scales(trial.settings, LENGTHS[1]):
        for generator in GENERATORS[2:]:
            said = trial.question.true_score(generator, scored, trial.settings, LENGTHS[1], scale.name)
            if said is None:
                raise NotTriedError("it does not say what score simulated annotators tend to")
            worth = found(trial, generator, skills, scale.name, rng)
            error = max(stdev(worth) / sqrt(len(worth)), 1e-9)
            if abs(fmean(worth) - said) > APART * error + 1e-9:
                return (
                    f"{generator} of skill {skills[generator]} scores {fmean(worth):.3f} ± {error:.3f},"
                    f" not {said:.3f}"
                )
    return None


def _simulated_outcomes(
    trial: Trial, generator: str, skills: Mapping[str, float], scale: str, rng: Random
) -> list[float]:
    """What simulated answers to the passages of five sentences are worth to a generator."""
    found = []
    for condition, _, _, truth in trial.passages():
        if (
            generator not in condition.generators
            or truth.sentences != LENGTHS[1]
            or truth.role is Role.CONTROL
        ):
            continue
        own = [skills[one] for one in condition.generators]
        for _ in range(DRAWS):
            answer = trial.question.simulate(rng, truth, own, False, trial.settings)
            worth = trial.question.outcomes(truth, answer, scale, trial.settings)
            found.append(worth[condition.generators.index(generator)])
    return found


def templates(trial: Trial) -> str | None:
    """Its folder has a page for a passage and English words."""
    for file in ("passage.html", "words/en.toml"):
        if not (trial.question.folder / file).is_file():
            return f"{trial.question.folder} has no {file}"
    return None


RULES: dict[str, Rule] = {
    "name": name,
    "settings": settings,
    "conditions": conditions,
    "positions": positions,
    "passages": passages,
    "fields": fields,
    "complete": complete,
    "obvious": obvious,
    "scales": scales,
    "outcomes": outcomes,
    "chance": chance,
    "simulated": simulated,
    "true_score": true_score,
    "templates": templates,
}
