"""Where does the machine begin? The score is the mean of the points: max(5 − d, 0), if d sentences late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from humaneval.domain import Role
from humaneval.scoring.analysis import boundaries
from humaneval.scoring.questions.judging import Detail, Words
from humaneval.scoring.questions.question import (
    CHOICE,
    Answer,
    AnswerField,
    Figure,
    Question,
    Scale,
    Settings,
    ShownPassage,
    Truth,
    known_or_guessed,
)

if TYPE_CHECKING:
    from humaneval.scoring.judgments import Judgments
    from humaneval.statistics.arrays import Flags

MOST_POINTS = 5
"""The points for the boundary itself, as in RoFT (Dugan and others, 2020)."""


def points(position: int, choice: int) -> int:
    """The points for saying that the machine begins with sentence `choice`, if it begins with `position`.

    >>> points(4, 4), points(4, 6), points(4, 3), points(4, 10)
    (5, 3, 0, 0)
    """
    return max(MOST_POINTS - (choice - position), 0) if choice >= position else 0


class Boundary(Question):
    """The sentences appear one by one. The first is a person's; a machine may have written from one on."""

    name = "boundary"
    beside_human = False
    summary = "With which sentence of the story does the machine begin?"
    example = Truth(("control",), Role.CONTROL, 4, 5, "control")
    finds = True
    rest = True

    def positions(self, sentences: int) -> tuple[int, ...]:
        """Not the first, which a person wrote always."""
        return tuple(range(2, sentences + 1))

    def show(self, story: tuple[str, ...], position: int, texts: tuple[str, ...], role: Role) -> ShownPassage:
        """The story up to the position and the machine's rest, a sentence a line; a person's whole story has
        its boundary after the end."""
        if role is Role.HUMAN:
            return ShownPassage(story, len(story) + 1)
        return ShownPassage((*story[: position - 1], *texts[0].split("\n")), position)

    def fields(self, settings: Settings, sentences: int) -> tuple[AnswerField, ...]:
        """The machine's first sentence, from 2; one more than there are: a person wrote all of it."""
        return (AnswerField(CHOICE, sentences + 1),)

    def complete(self, answer: Answer, settings: Settings, sentences: int) -> bool:
        """Nobody can answer that the machine wrote the first sentence."""
        return 2 <= answer.get(CHOICE, 0) <= sentences + 1

    def said(self, name: str, value: int, settings: Settings, sentences: int) -> str:
        """The machine's first sentence, by its number."""
        return f"machine from sentence {value}" if value <= sentences else "all by a person"

    def scales(self, settings: Settings, sentences: int) -> tuple[Scale, ...]:
        """Points from 0 to 5."""
        higher = "people found more nearly where the machine begins"
        return (Scale("", 0.0, MOST_POINTS, f"mean points (0–{MOST_POINTS})", higher),)

    def outcomes(self, truth: Truth, answer: Answer, scale: str, settings: Settings) -> tuple[float, ...]:
        """Points only at or after the boundary."""
        return (float(points(truth.position, answer[CHOICE])),)

    def words(self, scale: Scale, settings: Settings, sentences: int) -> Words:
        """Points are those of the annotators."""
        score = (
            f"The score of a generator is the mean of its annotators’ points: {MOST_POINTS} for its first"
            " sentence, one less for each sentence later, none for an earlier one."
        )
        return Words(
            caption=f"Mean points of those who looked for the machine’s beginning, 0 to {MOST_POINTS}",
            axis=f"Mean points, 0 to {MOST_POINTS}",
            higher=(
                "Higher means that people found more nearly where the machine begins: for a system, lower is"
                " better."
            ),
            task=(
                "Annotators read stories sentence by sentence and said with which sentence the machine"
                " begins, if it does."
            ),
            answered="said with which sentence the machine begins.",
            score=score,
            read=(
                "An annotator reads a story sentence by sentence and says with which sentence a machine took"
                f" over. {score}"
            ),
            human="For Human, full points go to the answer that a person wrote all of it.",
            read_human=(
                "For a story that a person wrote to its end, full points go to the answer that says so, and"
                " none to any other. So Human’s points measure something else, and no system is compared with"
                " them."
            ),
            aside=", where lower is better",
            read_chance="That is the mean over all boundaries and all answers, each with equal odds.",
        )

    def details(self, answers: Judgments, kept: Flags, level: float, seed: int) -> tuple[Detail, ...]:
        """How often the boundary was found exactly, and how far answers were off."""
        return boundaries.details(answers, kept, level)

    def chance(self, settings: Settings, sentences: int, scale: str = "") -> Figure | None:
        """Mean points of any answer to any position, both uniform."""
        places = range(2, sentences + 2)
        worth = [points(position, choice) for position in places[:-1] for choice in places]
        return Figure(sum(worth) / len(worth), "the mean points that answers at random give")

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """The boundary, known with the skill's probability, else any."""
        return known_or_guessed(rng, truth.position, skills[0], careless, range(2, truth.sentences + 2))

    def true_score(
        self, generator: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """Full points for those who know; others get what chance gives where positions are uniform."""
        guess = self.chance(settings, sentences)
        return (
            None if guess is None else skills[generator] * MOST_POINTS + (1 - skills[generator]) * guess.value
        )

    def true_score_of_human(
        self, human: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """Full points for annotators who know it. Of as many guesses as there are sentences, one gets them,
        too: no other is as late as the end of the story."""
        return MOST_POINTS * (skills[human] + (1 - skills[human]) / sentences)
