"""How good is a passage? The score is the mean rating on each of one to four named scales."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

from humaneval.errors import InputError, SettingsError
from humaneval.scoring.analysis import ratings
from humaneval.scoring.questions import in_r
from humaneval.scoring.questions.judging import Detail, Foreseen, Words
from humaneval.scoring.questions.question import (
    Answer,
    AnswerField,
    Question,
    Scale,
    Settings,
    Truth,
    refuse_unknown,
)
from humaneval.scoring.response_table import COLUMNS
from humaneval.text import counted

if TYPE_CHECKING:
    from humaneval.scoring.judgments import Judgments
    from humaneval.statistics.arrays import Flags

MOST_SCALES = 4
POINTS = range(3, 8)
"""How many points a scale may have."""
USUAL_POINTS = 5
USUAL = {"quality": ("very bad", "very good")}
"""The scale of a study that names none."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
TAKEN = frozenset({*COLUMNS, "row_passages", "simulated", "platform_lost", "answer", "comment"})
"""Columns of the response table, which no scale may be called."""

RESERVED = frozenset({"if", "else", "repeat", "while", "function", "for", "in", "next", "break", "warning"})
"""Words that R does not take as the name of a column, and the column that its table has of its own."""
NAMES = (
    "Use small letters, digits and underscores, no name of a column of the response table, and no word that R"
    " reserves."
)


def may_name(name: str) -> bool:
    """Whether a scale may be called so, unless it is the name of a column."""
    return NAME.fullmatch(name) is not None and name not in RESERVED


class Rate(Question):
    """A passage on one to four scales. A higher rating is better."""

    name = "rate"
    straight_lines = False
    summary = "How good is the passage, on one to four scales?"

    def settings(self, values: Settings) -> Settings:
        """`scales`: the words of each scale, at its two ends or at each point. `points`: from 3 to 7, by
        default 5. `control`: the scale on which the control is bad, by default the first. `mark`: whether the
        infilled sentence is marked."""
        refuse_unknown(values, ("scales", "points", "control", "mark"))
        points = values.get("points", USUAL_POINTS)
        if isinstance(points, bool) or points not in POINTS:
            raise SettingsError(f"answers.points is {points!r}", "Set a number from 3 to 7.")
        points = int(points)
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

    def doubts(self, values: Settings) -> tuple[str, ...]:
        """Of several scales, one must be that on which the control is bad."""
        scales = list(values.get("scales", USUAL))
        if len(scales) == 1 or "control" in values:
            return ()
        return (
            f"answers.control is not set, so annotators who rate the control above the lower half of"
            f" {scales[0]}, the first scale, count as not reading: name the scale on which it is plainly bad",
        )

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

    def settings_of_table(self, columns: Mapping[str, Sequence[Any]]) -> Settings:
        """The scales are the columns of whole numbers from 1 to 7 that are no usual column of a response
        table, or else `choice`. They have as many points as the highest rating, and at least 5. Raises
        InputError for a column in which only some are, for one that cannot be the name of a scale, and for
        too many."""
        found = _rated(columns)
        return {"scales": dict.fromkeys(found, ("low", "high")), "points": _points(found)}

    def supposed(self, columns: Mapping[str, Sequence[Any]], told: Settings) -> tuple[str, ...]:
        """The points, if a rating is above 5."""
        found = _rated(columns)
        points = _points(found)
        if "points" in told or points == USUAL_POINTS:
            return ()
        ratings = [one for numbers in found.values() for one in numbers]
        above = counted(sum(one > USUAL_POINTS for one in ratings), "rating", "is", "are")
        return (
            f"{above} above {USUAL_POINTS}, of {len(ratings):,}, so scales are"
            f" taken to have {points} points. A column settings would say it, for example with"
            f' {{"points": {POINTS.stop - 1}}}',
        )

    def foreseen(self, settings: Settings, sentences: int) -> Foreseen:
        """Ratings vary as those at random do: (K + 1) / (3·(K − 1)) of what shares would."""
        points = settings["points"]
        return replace(super().foreseen(settings, sentences), dispersion=(points + 1) / (3 * (points - 1)))

    def words(self, scale: Scale, settings: Settings, sentences: int) -> Words:
        """A mean on a scale."""
        name, points = scale.name.replace("_", " "), settings["points"]
        score = f"The score of a generator is its mean rating for {name}, from 1 to {points}."
        return Words(
            caption=f"Mean ratings for {name}, 1 to {points}",
            axis=f"Mean rating for {name}",
            higher="Higher is better: people rated it better.",
            task="Annotators read passages and rated each of them.",
            answered=f"rated each passage from 1 to {points}.",
            score=score,
            read=f"An annotator reads a passage and rates it. {score}",
            human="Human passages are stories as people wrote them.",
            read_human="Stories left as people wrote them are rated like any other, and show what is usual.",
            difference=f"mean rating of the first minus that of the second, of {points - 1} points at most",
        )

    def details(self, answers: Judgments, kept: Flags, level: float, seed: int) -> tuple[Detail, ...]:
        """How often each point was given, an ordinal model, and agreement."""
        return ratings.details(answers, kept, level, seed)

    def in_r(self, scales: Sequence[Scale]) -> in_r.InR:
        """A cumulative-link mixed model of each scale."""
        return in_r.ratings(scales)

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """An attentive annotator loses each of the points − 1 steps with the probability of their skill. So
        the mean is best − skill × (points − 1). A careless one gives any point."""
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


def _rated(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[int]]:
    """The ratings on each scale of a table."""
    found = {}
    for name, values in columns.items():
        plain = "_".join(name.split()).lower()
        if plain in TAKEN or not (numbers := _ratings(name, values)):
            continue
        if not may_name(name):
            other = plain if may_name(plain) and plain not in columns else "quality"
            raise InputError(
                f"the column {name!r} has ratings, and a scale cannot have this name",
                f"Call it for example {other}. Leave it out if it is no scale.",
            )
        found[name] = numbers
    if len(found) > MOST_SCALES:
        raise InputError(
            f"the table has {len(found)} columns of ratings ({', '.join(found)}), and at most {MOST_SCALES}"
            " scales are scored",
            "Leave out those that are no scales, or score some at a time.",
        )
    return found or {"rating": _ratings("choice", columns.get("choice", ())) or [1]}


def _points(found: Mapping[str, Sequence[int]]) -> int:
    return max(USUAL_POINTS, *map(max, found.values()))


def _ratings(name: str, values: Sequence[Any]) -> list[int]:
    """Values as ratings; none if most of them are not whole numbers from 1 to 7. Raises InputError if most
    are, but not all: a scale must not be left out because of one cell."""
    found = [_rating(value) for value in values]
    wrong = [at for at, one in enumerate(found) if one is None]
    if 0 < 2 * len(wrong) < len(found):
        value = values[wrong[0]]
        shown = "is empty" if value is None or value != value else f"{value!r} is no rating from 1 to 7"
        others = f" (and {len(wrong) - 1} more like it)" if len(wrong) > 1 else ""
        raise InputError(
            f"line {wrong[0] + 1} of the responses: {name} {shown}{others}",
            "Leave out such lines, or the column if it is no scale.",
        )
    return [one for one in found if one is not None] if not wrong else []


def _rating(value: Any) -> int | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number in range(1, POINTS.stop) else None


def _checked(name: str, words: Any, points: int) -> tuple[str, ...]:
    """The words of a scale: two, for its ends, or one for each point."""
    if not may_name(name) or name in TAKEN:
        raise SettingsError(
            f"answers.scales: {name!r} cannot be the name of a scale",
            NAMES,
        )
    good = isinstance(words, list | tuple) and all(isinstance(one, str) and one.strip() for one in words)
    if not good or len(words) not in (2, points) or any(a == b for a, b in pairwise(words)):
        raise SettingsError(
            f"answers.scales.{name} must be two texts, for its ends, or {points}, one for each point",
            f'For example: {name} = ["very bad", "very good"].',
        )
    return tuple(words)
