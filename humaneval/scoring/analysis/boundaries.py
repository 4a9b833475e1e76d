"""Where the machine begins, beside the points: exact answers, and how far others were off."""

from __future__ import annotations

import numpy as np

from humaneval.domain import Role
from humaneval.scoring.judgments import Judgments
from humaneval.scoring.questions.judging import Detail, DetailColumn
from humaneval.statistics.arrays import Codes, Flags, Floats
from humaneval.statistics.cells import cells
from humaneval.statistics.mean_intervals import mean_interval
from humaneval.statistics.score_intervals import score_intervals


def details(answers: Judgments, kept: Flags, level: float) -> tuple[Detail, ...]:
    """Exact answers, and distances, by generator."""
    present = [code for code in answers.by_role(kept) if answers.roles[code] is not Role.CONTROL]
    return (_exact(answers, kept, present, level), _distances(answers, kept, present, level))


def _exact(answers: Judgments, kept: Flags, codes: list[int], level: float) -> Detail:
    rows = []
    for code in codes:
        at = np.flatnonzero(kept & (answers.generator == code))
        hit = answers.choice[at] == answers.position[at]
        early = answers.choice[at] < answers.position[at]
        whole = answers.choice[at] == answers.sentences + 1
        (found,) = score_intervals(
            cells(hit, answers.worker[at], answers.story[at], np.zeros(at.size, dtype=np.int64)), level
        )
        shares = (found.mean, found.interval, float(early.mean()), float((~hit & ~early).mean()))
        rows.append((answers.names[code], int(at.size), *shares, float(whole.mean())))
    sentences = answers.sentences
    return Detail(
        "exact",
        "How often the first machine sentence was found exactly",
        (
            DetailColumn("generator", "Generator"),
            DetailColumn("n", "n", "count"),
            DetailColumn("exact", "Exact, %", "share"),
            DetailColumn("interval", "", "share"),
            DetailColumn("early", "Too early, %", "share"),
            DetailColumn("late", "Too late, %", "share"),
            DetailColumn("nobody", "All human, %", "share"),
        ),
        tuple(rows),
        "All human: the answer that a person wrote all of it."
        f" Answers at random are exact in {100 / sentences:.1f} %, one of {sentences} answers. For Human, the"
        " exact answer is that a person wrote all of it. The most that can be had is 100 %, and 5 points.",
    )


def _distances(answers: Judgments, kept: Flags, codes: list[int], level: float) -> Detail:
    rows = []
    for code in codes:
        if answers.roles[code] is Role.HUMAN:
            continue
        at = np.flatnonzero(kept & (answers.generator == code))
        distance = (answers.choice[at] - answers.position[at]).astype(np.float64)
        off = mean_interval(np.abs(distance), answers.worker[at], answers.story[at], level)
        signed = mean_interval(distance, answers.worker[at], answers.story[at], level)
        rows.append((answers.names[code], off.mean, off.interval, signed.mean, signed.interval))
    luck = _luck(answers, kept & answers.is_role(Role.SYSTEM))
    return Detail(
        "distance",
        "How far answers were from the first machine sentence, in sentences",
        (
            DetailColumn("generator", "Generator"),
            DetailColumn("distance", "Distance", "sentences"),
            DetailColumn("distance_interval", "", "sentences"),
            DetailColumn("late", "Late by", "sentences"),
            DetailColumn("late_interval", "", "sentences"),
        ),
        tuple(rows),
        "Distance: whatever its direction. Late by: negative if answers came too early on average. “A person"
        f" wrote all” counts as the sentence after the last.{luck}",
    )


def _luck(answers: Judgments, kept: Flags) -> str:
    """What answers at random would get where the machine began in this study."""
    if not kept.any():
        return ""
    points = points_by_chance(answers.position[kept], answers.sentences)
    return f" With this study’s boundaries, answers at random give {points:.2f} points."


def points_by_chance(positions: Codes, sentences: int) -> float:
    """Mean points of answers 2 to `sentences` + 1 with equal odds, for these boundaries."""
    choices = np.arange(2, sentences + 2)
    late = choices[None, :] - positions[:, None]
    worth: Floats = np.where(late >= 0, np.maximum(5 - late, 0), 0).astype(np.float64)
    return float(worth.mean())
