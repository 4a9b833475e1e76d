"""Which of two sentences fits better? The score is the share of comparisons in which one was preferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any

from humaneval.domain import Role
from humaneval.errors import SettingsError
from humaneval.scoring.analysis import preferences
from humaneval.scoring.questions import in_r
from humaneval.scoring.questions.judging import Detail, Foreseen, Words
from humaneval.scoring.questions.question import (
    CHOICE,
    Answer,
    AnswerField,
    Condition,
    Figure,
    Question,
    Scale,
    Settings,
    ShownPassage,
    Truth,
    pair_name,
    refuse_unknown,
)
from humaneval.text import counted

if TYPE_CHECKING:
    from humaneval.scoring.judgments import Judgments
    from humaneval.statistics.arrays import Flags
    from humaneval.statistics.score_intervals import PairedDifference
    from humaneval.statistics.sign_flips import Alternative

FIRST, SECOND, NEITHER = 1, 2, 3
"""The answers: the sentence shown first, the one shown second, no difference."""
_WORTH = {FIRST: (1.0, 0.0), SECOND: (0.0, 1.0), NEITHER: (0.5, 0.5)}
TIES = 0.2
"""How often a simulated annotator who sees no difference says so, if that is allowed."""


class Prefer(Question):
    """Two sentences for one blank side by side: one is preferred, or neither if the study allows it."""

    name = "prefer"
    summary = "Which of two sentences fits the story better?"
    example = Truth(("human", "control"), Role.CONTROL, 3, 5, "control")

    def settings(self, values: Settings) -> Settings:
        """`ties`: whether people may see no difference; false by default."""
        refuse_unknown(values, ("ties",))
        ties = values.get("ties", False)
        if not isinstance(ties, bool):
            raise SettingsError(f"answers.ties is {ties!r}", "Set it to true or false.")
        return {"ties": ties}

    def conditions(
        self, generators: Sequence[str], control: str, human: str, settings: Settings
    ) -> tuple[Condition, ...]:
        """Both orders of every pair, named "first | second". The control meets the human only, or, without
        one, the first system."""
        others = [name for name in generators if name != control]
        pairs = [(pair, Role.SYSTEM) for pair in permutations(others, 2)]
        if control in generators and others:
            against = human if human in others else others[0]
            pairs += [((control, against), Role.CONTROL), ((against, control), Role.CONTROL)]
        return tuple(Condition(pair_name(*pair), pair, role) for pair, role in pairs)

    def show(self, story: tuple[str, ...], position: int, texts: tuple[str, ...], role: Role) -> ShownPassage:
        """The first sentence in the story, and the second beside it."""
        return ShownPassage((*story[: position - 1], texts[0], *story[position:]), position, texts[1])

    def fields(self, settings: Settings, sentences: int) -> tuple[AnswerField, ...]:
        """The first, the second, or, where ties are allowed, no difference."""
        return (AnswerField(CHOICE, NEITHER if settings["ties"] else SECOND),)

    def said(self, name: str, value: int, settings: Settings, sentences: int) -> str:
        """As on the page."""
        return {FIRST: "A", SECOND: "B"}.get(value, "no difference")

    def obvious(self, truth: Truth, settings: Settings) -> Mapping[str, tuple[int, ...]]:
        """The sentence that is not the control's."""
        return {CHOICE: (SECOND if truth.control == truth.generators[0] else FIRST,)}

    def scales(self, settings: Settings, sentences: int) -> tuple[Scale, ...]:
        """The share preferred: 0 or 1 in each comparison, ½ where there was no difference."""
        higher = "people preferred it more often"
        return (Scale("", 0.0, 1.0, "% preferred", higher, binary=not settings["ties"]),)

    def outcomes(self, truth: Truth, answer: Answer, scale: str, settings: Settings) -> tuple[float, ...]:
        """1 to the preferred one and 0 to the other, or ½ to each."""
        return _WORTH[answer[CHOICE]]

    def settings_of_table(self, columns: Mapping[str, Sequence[Any]]) -> Settings:
        """Ties are allowed if there is one."""
        return {"ties": _ties(columns) > 0}

    def supposed(self, columns: Mapping[str, Sequence[Any]], told: Settings) -> tuple[str, ...]:
        """That ties are allowed."""
        tied = 0 if "ties" in told else _ties(columns)
        what = f"choice is {NEITHER} in {counted(tied, 'response')}, so people are taken to have been allowed"
        return (f'{what} to see no difference. A column settings would say it: {{"ties": true}}',) * (
            tied > 0
        )

    def words(self, scale: Scale, settings: Settings, sentences: int) -> Words:
        """A comparison has a preferred sentence, or a half for each."""
        half = "; “no difference” counts half for each" if settings["ties"] else ""
        score = (
            f"The score of a generator is the share of comparisons in which its sentence was preferred{half}."
        )
        return Words(
            caption="Comparisons in which the generator’s sentence was preferred",
            axis="Preferred, % of comparisons",
            higher="Higher is better: people preferred its sentence more often.",
            task=(
                "Annotators read stories with two sentences side by side for one blank and said which of them"
                " fits better."
            ),
            answered="chose one of the two sentences" + (", or no difference." if half else "."),
            score=score,
            read=(
                "An annotator reads a story with a blank and two sentences for it, without knowing whose they"
                f" are, and says which fits better. {score}"
            ),
            human="Human’s sentence is the one that stood in the story.",
            read_human=(
                "The sentence that a person wrote for this place takes part like any other. Its share says"
                " how often it was preferred to a machine’s."
            ),
            read_chance="Two generators that nobody can tell apart are each preferred half of the time.",
            difference="share preferred of the first minus that of the second, in comparisons of the two",
            compared="Each difference is computed from the comparisons of the two generators alone.",
        )

    def differences(
        self,
        answers: Judgments,
        kept: Flags,
        pairs: Sequence[tuple[int, int]],
        level: float,
        alternative: Alternative,
        decisive: Sequence[float],
    ) -> Sequence[PairedDifference]:
        """A sign test of the comparisons of each pair."""
        return preferences.pair_differences(answers, kept, pairs, level, alternative, decisive)

    def details(self, answers: Judgments, kept: Flags, level: float, seed: int) -> tuple[Detail, ...]:
        """A ranking by Bradley and Terry's model, every pair, and the effect of the order."""
        return preferences.details(answers, kept, level)

    def in_r(self, scales: Sequence[Scale]) -> in_r.InR:
        """Bradley and Terry's model."""
        return in_r.preferences(scales[0])

    def foreseen(self, settings: Settings, sentences: int) -> Foreseen:
        """Pairs are compared by their own answers."""
        return replace(super().foreseen(settings, sentences), pairwise=True)

    def chance(self, settings: Settings, sentences: int, scale: str = "") -> Figure | None:
        """A half."""
        return Figure(0.5, "the share that chance alone gives")

    def simulate(
        self, rng: Random, truth: Truth, skills: Sequence[float], careless: bool, settings: Settings
    ) -> Answer:
        """The first is preferred with the probability ½ + (its skill − the other's) / 2, negative as skill
        means being found out."""
        ties = settings["ties"]
        if careless:
            return {CHOICE: rng.choice(range(1, NEITHER + 1 if ties else NEITHER))}
        first, second = skills
        ahead = second - first
        if ties and rng.random() < TIES * (1 - abs(ahead)):
            return {CHOICE: NEITHER}
        return {CHOICE: FIRST if rng.random() < (1 + ahead) / 2 else SECOND}

    def true_score(
        self, generator: str, skills: Mapping[str, float], settings: Settings, sentences: int, scale: str = ""
    ) -> float | None:
        """The mean over its opponents of what `simulate` gives."""
        ahead = [skills[other] - skills[generator] for other in skills if other != generator]
        worth = [(1 + by * (1 - (TIES * (1 - abs(by)) if settings["ties"] else 0))) / 2 for by in ahead]
        return sum(worth) / len(worth) if worth else None


def _ties(columns: Mapping[str, Sequence[Any]]) -> int:
    return sum(str(value) in ("3", "3.0") for value in columns.get(CHOICE, ()))
