"""What a question may say of how its answers are scored, with defaults that suit most questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from humaneval.scoring.questions.in_r import InR, of_scale

if TYPE_CHECKING:
    from humaneval.scoring.judgments import Judgments
    from humaneval.scoring.questions.question import Scale, Settings
    from humaneval.statistics.arrays import Flags
    from humaneval.statistics.score_intervals import PairedDifference
    from humaneval.statistics.sign_flips import Alternative


@dataclass(frozen=True, slots=True)
class Words:
    """What reports say of the scores on one scale, in sentences unless a line says otherwise."""

    caption: str
    """Above a table of scores; no sentence."""
    axis: str
    """Below a plot of scores; no sentence."""
    higher: str
    """What a higher score means."""
    task: str
    """What annotators did, for a methods paragraph."""
    answered: str
    """What they did when they were asked, as the end of "Annotators were asked … and"."""
    score: str
    """What the score of a generator is."""
    read: str
    """What an annotator does and a score means, for a reader who has seen no study before."""
    human: str = ""
    """What Human's score means, for a methods paragraph; empty if there is nothing to say."""
    read_human: str = ""
    """The same for a reader who has seen no study before."""
    read_chance: str = ""
    """How chance gives its score; empty if there is nothing to say."""
    difference: str = "score of the first minus score of the second, in points"
    """What is compared, for the title of a table of comparisons; no sentence."""
    compared: str = ""
    """How differences are computed; empty if they are paired by annotator."""
    aside: str = ""
    """What goes with "a scores above b": `, where lower is better`; empty if higher is."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a plan takes a question's answers for, before there are any."""

    guess: float
    """How often an annotator who does not look passes a control passage."""
    chance: float
    """The score that answers at random give, as a place on the scale, 0..1."""
    dispersion: float = 1.0
    """The variance of outcomes over that of shares with the same place on the scale, above 0 to 1."""
    pairwise: bool = False
    """Whether two generators are compared by the answers to passages of both alone."""
    human: float | None = None
    """The score that Human is expected to have, as a place on the scale; None if nothing is known of it."""


@dataclass(frozen=True, slots=True)
class DetailColumn:
    """A column of a detail: `key` heads it in data, `head` for readers; `unit` is that of its numbers."""

    key: str
    head: str
    unit: str = ""
    """`share`, `p`, `count`, or else what follows numbers that are shown with two digits."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A titled table beside the scores. A value may be text, a number, an Interval, None or NotEstimable."""

    key: str
    title: str
    columns: tuple[DetailColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


class Judging:
    """Scoring as most questions need it."""

    marks_sentence: ClassVar[bool] = False
    """Whether an answer is the sentence taken for the machine's. Then picks and their effects are counted,
    and a score stands below the ceiling of chance."""
    straight_lines: ClassVar[bool] = True
    """Whether the same answer again and again is a sign that nobody read."""
    beside_human: ClassVar[bool] = True
    """Whether a system's score may be compared with Human's: both mean the same."""

    def settings_of_table(self, columns: Mapping[str, Sequence[Any]]) -> Settings:
        """The section `[answers]` that a table of responses without a study file shows, by its columns."""
        return {}

    def supposed(self, columns: Mapping[str, Sequence[Any]], told: Settings) -> tuple[str, ...]:
        """What `settings_of_table` only supposes, in sentences without a full stop; `told` are the settings
        that the table has."""
        return ()

    def words(self, scale: Scale, settings: Settings, sentences: int) -> Words:
        """What reports say of scores on this scale."""
        title = f"{scale.title[:1].upper()}{scale.title[1:]}"
        what = f"the share {scale.title.removeprefix('% ')}" if scale.share else f"its {scale.title}"
        score = f"The score of a generator is {what}."
        return Words(
            caption=title,
            axis=title,
            higher=f"A higher score means that {scale.higher}.",
            task="Annotators read passages and answered a question about each.",
            answered="answered for each passage.",
            score=score,
            read=f"An annotator reads a passage and answers a question about it. {score}",
        )

    def differences(
        self,
        answers: Judgments,
        kept: Flags,
        pairs: Sequence[tuple[int, int]],
        level: float,
        alternative: Alternative,
        decisive: Sequence[float],
    ) -> Sequence[PairedDifference] | None:
        """The differences of pairs of generators, by their codes in `answers`, with intervals and tests.

        None, the default, pairs the outcomes by worker.
        """
        return None

    def details(self, answers: Judgments, kept: Flags, level: float, seed: int) -> tuple[Detail, ...]:
        """Tables beside the scores, for `score --details` and the report."""
        return ()

    def in_r(self, scales: Sequence[Scale]) -> InR:
        """The columns and models of the script for R that stands beside a report."""
        return of_scale(scales[0], beside_human=self.beside_human)
