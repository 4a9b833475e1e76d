"""Which sentence is the machine's? The score is the share of passages in which it was not found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from humaneval.scoring.questions import in_r
from humaneval.scoring.questions.judging import Foreseen, Words
from humaneval.scoring.questions.question import (
    CHOICE,
    Answer,
    AnswerField,
    Figure,
    Question,
    Scale,
    Settings,
    Truth,
    known_or_guessed,
)

NUMBERS = dict(
    enumerate(("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"))
)


def spelled(number: int) -> str:
    """A small number in letters: `five`, but `13`."""
    return NUMBERS.get(number, str(number))


class Detect(Question):
    """One sentence of the story is a machine's, and the annotator marks it."""

    name = "detect"
    marks_sentence = True
    summary = "Which sentence of the story was written by a machine?"
    finds = True

    def fields(self, settings: Settings, sentences: int) -> tuple[AnswerField, ...]:
        """The marked sentence."""
        return (AnswerField(CHOICE, sentences),)

    def words(self, scale: Scale, settings: Settings, sentences: int) -> Words:
        """The words of the published task."""
        number = spelled(sentences)
        return Words(
            caption="Passages whose annotator did not mark the machine’s sentence",
            axis="Not identified, % of passages",
            higher="Higher is better: fewer people noticed the machine’s sentence.",
            task=(
                f"Annotators read passages of {number} sentences and marked the one that they took for the"
                " machine’s."
            ),
            answered=f"marked one of the {number} sentences.",
            score=(
                "The score of a generator is the share of its passages whose annotator did not mark its"
                " sentence."
            ),
            read=(
                f"An annotator reads a story of {number} sentences and marks the one that a machine wrote. A"
                " generator’s score is the share of its passages, x of n, in which the annotator marked"
                " another sentence. A score of 0 means that its sentence was always found."
            ),
            human="For Human, the sentence at the held-out position counts as its sentence.",
            read_human=(
                "Stories left as people wrote them hold no sentence by a machine. The sentence at the"
                " held-out position stands for it, so the score of Human says how often a person’s own"
                " sentence is not suspected. It is the upper end to compare with, not a competitor."
            ),
            read_chance=(
                f"An annotator who marks any of {number} sentences with equal odds misses the machine’s"
                f" {spelled(sentences - 1)} times in {number}. Annotators who cannot tell at all would give a"
                " score near this line."
            ),
        )

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

    def in_r(self, scales: Sequence[Scale]) -> in_r.InR:
        """A logistic mixed model of whether the sentence was found."""
        meaning = "1 if the annotator marked the machine’s sentence (for Human: the held-out one), else 0"
        return in_r.identified(meaning, scales[0])

    def foreseen(self, settings: Settings, sentences: int) -> Foreseen:
        """Human's score is what chance gives."""
        ceiling = 1 - 1 / sentences
        return Foreseen(1 / sentences, ceiling, human=ceiling)

    def chance(self, settings: Settings, sentences: int, scale: str = "") -> Figure | None:
        """1 − 1/k, which is also the ceiling."""
        return Figure(1 - 1 / sentences, "the score that chance alone gives")

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """The sentence at the position, known with the skill's probability, else any."""
        return known_or_guessed(rng, truth.position, skills[0], careless, range(1, truth.sentences + 1))

    def true_score(
        self, generator: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """A guess is right one time in k."""
        return (1 - 1 / sentences) * (1 - skills[generator])
