"""How good is a passage? The score is the mean rating on each of one to four named scales."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from humaneval.errors import SettingsError
from humaneval.scoring.questions.question import (
    Answer,
    AnswerField,
    Figure,
    Question,
    Scale,
    Settings,
    Truth,
    refuse_unknown,
)
from humaneval.scoring.response_table import COLUMNS

MOST_SCALES = 4
POINTS = range(3, 8)
"""How many points a scale may have."""
USUAL = {"quality": ("very bad", "very good")}
"""The scale of a study that names none."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
TAKEN = frozenset({*COLUMNS, "row_passages", "simulated", "platform_lost", "answer", "comment", "seconds"})
"""Columns of the response table, which no scale may be called."""


class Rate(Question):
    """A passage on one to four scales. A higher rating is better."""

    name = "rate"
    summary = "How good is the passage, on one to four scales?"

    def settings(self, values: Settings) -> Settings:
        """`scales`: the words of each scale, at its two ends or at each point; `points`: from 3 to 7, by
        default 5; `control`: the scale on which the control is bad, by default the first; `mark`: whether
        the infilled sentence is marked."""
        refuse_unknown(values, ("scales", "points", "control", "mark"))
        points = values.get("points", 5)
        if isinstance(points, bool) or points not in POINTS:
            raise SettingsError(f"answers.points is {points!r}", "Set a number from 3 to 7.")
        scales = values.get("scales", USUAL)
        if not isinstance(scales, Mapping) or not 1 <= len(scales) <= MOST_SCALES:
            raise SettingsError(
                f"answers.scales must name one to {MOST_SCALES} scales",
                'For example: scales = { fluency = ["not fluent", "fluent"] }.',
            )
        checked = {name: _checked(name, words, points) for name, words in scales.items()}
        control = values.get("control", next(iter(checked)))
        if control not in checked:
            raise SettingsError(
                f"answers.control names no scale: {control!r}", f"Scales: {', '.join(checked)}."
            )
        mark = values.get("mark", False)
        if not isinstance(mark, bool):
            raise SettingsError(f"answers.mark is {mark!r}", "Set it to true or false.")
        return {"scales": checked, "points": points, "control": control, "mark": mark}

    def fields(self, settings: Settings, sentences: int) -> tuple[AnswerField, ...]:
        """One for each scale."""
        return tuple(AnswerField(name, settings["points"]) for name in settings["scales"])

    def said(self, name: str, value: int, settings: Settings, sentences: int) -> str:
        """The rating, of how many points."""
        return f"{name.replace('_', ' ')} {value} of {settings['points']}"

    def obvious(self, truth: Truth, settings: Settings) -> Mapping[str, tuple[int, ...]]:
        """Below the middle of the scale on which the control is bad."""
        return {settings["control"]: tuple(range(1, settings["points"] // 2 + 1))}

    def scales(self, settings: Settings, sentences: int) -> tuple[Scale, ...]:
        """One for each field, in its points."""
        points = settings["points"]
        return tuple(
            Scale(name, 1.0, points, f"mean {name.replace('_', ' ')} (1–{points})", "people rated it better")
            for name in settings["scales"]
        )

    def outcomes(self, truth: Truth, answer: Answer, scale: str, settings: Settings) -> tuple[float, ...]:
        """The rating."""
        return (float(answer[scale]),)

    def chance(self, settings: Settings, sentences: int, scale: str = "") -> Figure | None:
        """Any rating with equal probability gives the middle."""
        return Figure((1 + settings["points"]) / 2, "the mean of ratings at random")

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """Attentive: one point less than the best for each step that a number with the skill's probability
        takes, so that the mean is best − skill × (points − 1). Careless: any point."""
        points = settings["points"]
        return {
            name: rng.choice(range(1, points + 1))
            if careless
            else points - sum(rng.random() < skills[0] for _ in range(points - 1))
            for name in settings["scales"]
        }

    def true_score(
        self, generator: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """The mean of the binomial steps."""
        return float(settings["points"] - skills[generator] * (settings["points"] - 1))


def _checked(name: str, words: Any, points: int) -> tuple[str, ...]:
    """The words of a scale: two, for its ends, or one for each point."""
    if not NAME.fullmatch(name) or name in TAKEN:
        raise SettingsError(
            f"answers.scales: {name!r} cannot be the name of a scale",
            "Use small letters, digits and underscores, and no name of a column of the response table.",
        )
    good = isinstance(words, list | tuple) and all(isinstance(one, str) and one.strip() for one in words)
    if not good or len(words) not in (2, points) or any(a == b for a, b in pairwise(words)):
        raise SettingsError(
            f"answers.scales.{name} must be two texts, for its ends, or {points}, one for each point",
            f'For example: {name} = ["very bad", "very good"].',
        )
    return tuple(words)
