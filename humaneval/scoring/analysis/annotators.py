"""One line per annotator: what they did, how fast, and signs that they did not read. Flags exclude nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.scoring.exclusions import Selection, spam_odds, straight_lines
from humaneval.scoring.judgments import Judgments
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.quality import READING_SPEED, speed

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
    one = "position" if answers.question.marks_sentence else "answer"
    straight = f"marked one {one} very often"
    return tuple(
        _line(answers.people[int(code)], row, straight)
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


def _line(worker: str, row: pd.Series[Any], straight: str) -> WorkerLine:
    def known(name: str) -> float | None:
        return None if pd.isna(row[name]) else float(row[name])

    rate, spam = known("rate"), known("spam")
    flags = []
    if row["controls"] > row["noticed"]:
        flags.append("missed a Control passage")
    if row["straight"] < ODD:
        flags.append(straight)
    if rate is not None and rate > READING_SPEED:
        flags.append("faster than anyone can read")
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
        tuple(flags),
    )
