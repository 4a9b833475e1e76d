"""Which sentence is the machine's? The score is the share of passages in which it was not found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from humaneval.scoring.questions.question import (
    CHOICE,
    Answer,
    AnswerField,
    Figure,
    Question,
    Scale,
    Settings,
    Truth,
)


class Detect(Question):
    """One sentence of the story is a machine's, and the annotator marks it."""

    name = "detect"
    summary = "Which sentence of the story was written by a machine?"
    finds = True

    def fields(self, settings: Settings, sentences: int) -> tuple[AnswerField, ...]:
        """The marked sentence."""
        return (AnswerField(CHOICE, sentences),)

    def said(self, name: str, value: int, settings: Settings, sentences: int) -> str:
        """The sentence, by its number."""
        return f"sentence {value}"

    def scales(self, settings: Settings, sentences: int) -> tuple[Scale, ...]:
        """The share not identified."""
        higher = "fewer people found the machine's sentence"
        return (Scale("", 0.0, 1.0, "% not identified", higher, binary=True),)

    def outcomes(self, truth: Truth, answer: Answer, scale: str, settings: Settings) -> tuple[float, ...]:
        """1 if the machine's (held-out) sentence was not marked, else 0."""
        return (float(answer[CHOICE] != truth.position),)

    def chance(self, settings: Settings, sentences: int, scale: str = "") -> Figure | None:
        """1 − 1/k, which is also the ceiling."""
        return Figure(1 - 1 / sentences, "the score that chance alone gives")

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """The sentence at the position, known with the skill's probability, else any."""
        skill = 0.0 if careless else skills[0]
        known = rng.random() < skill
        return {CHOICE: truth.position if known else rng.choice(range(1, truth.sentences + 1))}

    def true_score(
        self, generator: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """A guess is right one time in k."""
        return (1 - 1 / sentences) * (1 - skills[generator])
