"""A plan: what a study intends, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Literal

from humaneval.domain import CEILING, GUESS, POSITIONS
from humaneval.errors import UsageError
from humaneval.planning.gate import Gate, gate
from humaneval.scoring.questions.judging import Foreseen
from humaneval.scoring.questions.question import DETECT, Scale

DETECTION = Foreseen(GUESS, CEILING, human=CEILING)
"""Of five sentences, one is the machine's."""
WIDTH = 0.05
"""The default for half the width of an interval: ± 5 points."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a study intends, in numbers. Shares are 0..1, standard deviations on the logit scale."""

    annotators: int
    """As in the study file: forms, of which one person may fill in several."""
    rows_per_annotator: int = 1
    """How many forms one person may fill in."""
    passages_per_row: int = 8
    responses_per_passage: int = 1
    stories: int = 0
    """How many there are to draw passages from; 0 if unknown, which assumes that none recurs."""
    generators: int = 8
    controls: int = 1
    """Control passages of a form that decide whether it counts."""
    excluded: Literal["annotator", "row"] = "annotator"
    """What a missed Control passage excludes: all forms of an annotator, or that form."""
    always: int = 0
    """How many generators are in every form, if forms do not show all: the Control."""
    comparisons: int = 15
    """Pairs of systems: a family whose p-values are adjusted together."""
    below_human: int = 0
    """Systems that are tested against Human, one-sided: another family."""
    adjust: Literal["holm", "benjamini-hochberg", "none"] = "holm"
    expected_score: float = 0.4
    smallest_effect: float = 0.1
    power: float = 0.8
    level: float = 0.95
    width: float = WIDTH
    """The wanted half width of a score's interval."""
    worker_sd: float = 0.5
    story_sd: float = 0.7
    spammers: float = 0.05
    honest: float = 1.0
    """How often an annotator who reads notices a Control passage."""
    top_up: bool = False
    """Whether forms that do not count are handed out again."""
    reward: Decimal = Decimal("0.80")
    expected_minutes: float = 4.0
    masters: bool = False
    positions: tuple[int, ...] = POSITIONS
    seed: int = 0
    question: str = DETECT
    scale: Scale | None = None
    """What scores are measured in, of which all shares here are parts; None for shares."""
    foreseen: Foreseen = DETECTION
    """What is known of the question's answers before there are any."""
    conditions_each: int = 1
    """In how many passages of a form that shows everything a generator occurs."""

    def __post_init__(self) -> None:
        counts = (self.annotators, self.rows_per_annotator, self.responses_per_passage, self.generators - 1)
        if min(counts) < 1 or min(self.comparisons, self.below_human) < 0:
            raise UsageError(
                "a plan needs an annotator, a form and two generators", "Give numbers of 1 or more."
            )
        if not 0 < self.expected_score < self.expected_score + self.smallest_effect < 1:
            raise UsageError(
                f"a score of {self.expected_score:g} and one {self.smallest_effect:g} above it do not both"
                " lie"
                " between 0 and 1",
                "expected_score and smallest_effect are shares: 0.40 and 0.10, for example.",
            )
        if not 0 < self.width < 0.5:
            raise UsageError(
                f"±{self.width:g} is not the width of an interval of shares", "Give for example 0.05."
            )

    @property
    def forms_each(self) -> int:
        """How many forms one person can fill in: nobody meets a story twice."""
        most = self.stories // self.passages_per_row if self.stories else self.rows_per_annotator
        return max(1, min(self.rows_per_annotator, self.annotators, most))

    @property
    def people(self) -> int:
        """How many people fill in the forms, if each fills in as many as they can."""
        return ceil(self.annotators / self.forms_each)

    @property
    def gate(self) -> Gate:
        """The effect of an annotator's Control passages on the expected spammers."""
        deciding = self.controls * (self.forms_each if self.excluded == "annotator" else 1)
        return gate(deciding, self.spammers, self.honest, self.foreseen.guess)

    @property
    def handed_out(self) -> int:
        """Forms that are filled in, including those that are handed out again."""
        return ceil(self.annotators / self.gate.passed - 1e-9) if self.top_up else self.annotators

    @property
    def share_of_forms(self) -> float:
        """The share of forms that show a generator."""
        return self._drawn / max(self.generators - self.always, 1)

    @property
    def responses(self) -> float:
        """Responses to each generator that count, on average."""
        counted = self.annotators * self.share_of_forms * (1 if self.top_up else self.gate.passed)
        return counted * self.conditions_each

    @property
    def in_pairs(self) -> float:
        """Of the responses to a generator, the share that compares it with one other, if pairs are compared
        by their own answers: two of its passages."""
        return min(1.0, 2 / self.conditions_each)

    @property
    def again(self) -> float:
        """How many more responses a worker gives to the same generator."""
        if self.conditions_each == 1:
            return (self.forms_each - 1) * self.share_of_forms
        return max(self.forms_each * self.share_of_forms * self.conditions_each - 1, 0.0)

    @property
    def plain(self) -> bool:
        """Whether scores are shares that are compared within annotators, as McNemar's test does."""
        share = self.scale is None or self.scale.share
        return share and self.foreseen.dispersion == 1 and not self.foreseen.pairwise

    @property
    def _drawn(self) -> int:
        """Passages of a form for generators that are not in every one."""
        return max(self.passages_per_row - self.always, 1)

    @property
    def together(self) -> float:
        """Of the forms that show one of two generators, the share that show the other too."""
        if self.passages_per_row >= self.generators:
            return 1.0
        return (self._drawn - 1) / max(self.generators - self.always - 1, 1)

    def error_of(self, comparisons: int) -> float:
        """The p at which the hardest of so many comparisons is decided, by the declared adjustment."""
        return (1 - self.level) / (max(comparisons, 1) if self.adjust != "none" else 1)

    def measured(self, score: float) -> float:
        """The score found for a true one of `score`: spammers who pass the gate pull it towards chance."""
        return score + self.gate.left * (self.foreseen.chance - score)

    def per_story(self, n: float) -> float:
        """How many of the n responses to a generator fall on one story."""
        return max(1.0, min(n, self.responses_per_passage), n / self.stories if self.stories else 1.0)
