"""One line per annotator: what they did, how fast, and signs that they did not read. Flags exclude nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.scoring.exclusions import Selection, spam_odds, straight_lines
from humaneval.scoring.judgments import Judgments
from humaneval.scoring.questions.question import Question
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.quality import READING_SPEED, speed, straight_lining

MISSED = "missed a Control passage"
ODD = 0.001
"""The flag for one position: chance marks it as often with a probability below this."""


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """One annotator; `worker` is the pseudonym in the table."""

    worker: str
    counted: bool
    """Whether the answers count under the study's rule."""
    responses: int
    controls: int
    noticed: int
    """Control passages seen, and those noticed."""
    detected: int
    """Systems' sentences noticed, of `systems`; says nothing if the question is another."""
    systems: int
    spam: float | None
    """The probability of answering without reading, given the Control passages; None if not estimable."""
    straight: float
    """The probability that chance marks one position as often as this annotator did."""
    median_seconds: float | None
    """Per passage, by the page's timer."""
    words_per_second: float | None
    flags: tuple[str, ...]


def worker_lines(selection: Selection) -> tuple[WorkerLine, ...]:
    """One line per annotator, without tests and second answers, in the order of codes."""
    answers, before = selection.answers, selection.before
    frame = pd.DataFrame(
        {
            "worker": answers.worker,
            "counted": selection.kept,
            "control": answers.is_role(Role.CONTROL),
            "system": answers.is_role(Role.SYSTEM),
            "found": ~answers.missed,
            "passed": ~answers.failed,
            "seconds": answers.seconds if answers.seconds is not None else np.nan,
            "words": answers.words if answers.words is not None else np.nan,
        }
    )[before]
    by = frame.groupby("worker")
    found = pd.DataFrame(
        {
            "counted": by["counted"].any(),
            "responses": by.size(),
            "controls": by["control"].sum(),
            "noticed": (frame["control"] & frame["passed"]).groupby(frame["worker"]).sum(),
            "systems": by["system"].sum(),
            "detected": (frame["system"] & frame["found"]).groupby(frame["worker"]).sum(),
            "seconds": by["seconds"].median(),
        }
    )
    found["straight"] = pd.Series(dict(_straight(selection)), dtype=np.float64)
    spam = spam_odds(found["noticed"].to_numpy(), found["controls"].to_numpy(), answers.guess)
    found["spam"] = np.nan if isinstance(spam, NotEstimable) else spam.probability
    if answers.seconds is not None and answers.words is not None:
        rates = speed(frame["words"], frame["seconds"]).words_per_second
        found["rate"] = pd.Series(rates, index=frame.index).groupby(frame["worker"]).median()
    else:
        found["rate"] = np.nan
    return tuple(
        _line(answers.people[int(code)], row, answers.question)
        for code, (_, row) in zip(found.index.to_numpy(dtype=np.int64), found.iterrows(), strict=True)
    )


def mean_seconds(answers: Judgments, kept: Flags) -> dict[str, float]:
    """Mean in-page seconds of the `kept` answers, by generator, if any are known."""
    if answers.seconds is None:
        return {}
    known = answers.in_order(kept & ~np.isnan(answers.seconds))
    seconds, code = answers.seconds[known], answers.generator[known]
    return {answers.names[one]: float(seconds[code == one].mean()) for one in np.unique(code).tolist()}


def _straight(selection: Selection) -> zip[tuple[int, float]]:
    answers, before = selection.answers, selection.before
    odd = straight_lines(answers, before)
    return zip(odd.workers, odd.p, strict=True)


def _line(worker: str, row: pd.Series[Any], question: Question) -> WorkerLine:
    def known(name: str) -> float | None:
        return None if pd.isna(row[name]) else float(row[name])

    rate, spam = known("rate"), known("spam")
    return WorkerLine(
        worker,
        bool(row["counted"]),
        int(row["responses"]),
        int(row["controls"]),
        int(row["noticed"]),
        int(row["detected"]),
        int(row["systems"]),
        spam,
        float(row["straight"]),
        known("seconds"),
        rate,
        _signs(question, row["controls"] > row["noticed"], row["straight"], rate),
    )


def signs(
    question: Question,
    options: int,
    *,
    missed_control: bool,
    choices: Sequence[int],
    words: Sequence[int],
    seconds: Sequence[float],
) -> tuple[str, ...]:
    """The flags of one annotator, whose answers these are: each choice is one of so many options. NaN stands
    for seconds that are not known.

    >>> from humaneval.scoring.questions.detect import Detect
    >>> signs(Detect(), 5, missed_control=False, choices=[1, 4], words=[40, 50], seconds=[0.1, 0.05])
    ('faster than anyone can read',)
    """
    rates = speed(words, seconds).words_per_second
    rate = None if np.isnan(rates).all() else float(np.nanmedian(rates))
    straight = straight_lining(np.zeros(len(choices), dtype=np.int64), choices, options).p
    often = float(straight[0]) if question.straight_lines and len(straight) else 1.0
    return _signs(question, missed_control, often, rate)


def _signs(question: Question, missed_control: bool, straight: float, rate: float | None) -> tuple[str, ...]:
    one = "position" if question.marks_sentence else "answer"
    found = {
        MISSED: missed_control,
        f"marked one {one} very often": straight < ODD,
        "faster than anyone can read": rate is not None and rate > READING_SPEED,
    }
    return tuple(sign for sign, shown in found.items() if shown)
