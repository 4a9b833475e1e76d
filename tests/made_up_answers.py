"""Answers to questions of preference and rating, the same on every machine: arithmetic in place of draws."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

SYSTEMS = ("ilm", "lm", "sa", "bert", "human")


def uniform(*at: int) -> float:
    """A number in 0..1 that looks drawn, for each place."""
    mixed = 0
    for one in at:
        mixed = ((mixed ^ (one + 0x9E3779B9)) * 0x85EBCA6B + 0xC2B2AE35) % 2**32
        mixed ^= mixed >> 15
    mixed = (mixed * 0x27D4EB2F) % 2**32
    return ((mixed ^ (mixed >> 13)) + 0.5) / 2**32


def normal(*at: int) -> float:
    """The same with a normal distribution."""
    return float(special.ndtri(uniform(*at)))


def preferences(workers: int = 24, each: int = 10, stories: int = 40) -> pd.DataFrame:
    """Comparisons of five systems, with ties: columns first, second, outcome, worker, story."""
    strengths = (0.6, 0.4, 0.0, -0.8, 1.0)
    rows = []
    for worker in range(workers):
        for number in range(each):
            one = int(5 * uniform(1, worker, number))
            other = (one + 1 + int(4 * uniform(2, worker, number))) % 5
            story = (worker * each + number) % stories
            ahead = strengths[one] - strengths[other]
            ahead += 0.5 * (normal(3, worker, one) - normal(3, worker, other))
            odds = np.exp([ahead / 2, -0.2, -ahead / 2])
            at = np.searchsorted(np.cumsum(odds / odds.sum()), uniform(4, worker, number))
            rows.append((SYSTEMS[one], SYSTEMS[other], (1, 0, -1)[at], f"w{worker}", f"s{story}"))
    return pd.DataFrame(rows, columns=["first", "second", "outcome", "worker", "story"])


def ratings(workers: int = 20, each: int = 10, stories: int = 25, points: int = 5) -> pd.DataFrame:
    """Ratings of five systems: columns rating, generator, worker, story."""
    effects = (0.5, 0.3, -0.2, -0.9, 1.1)
    cuts = np.linspace(-1.8, 1.6, points - 1)
    rows = []
    for worker in range(workers):
        for number in range(each):
            system, story = (worker + number) % 5, (worker * 7 + number * 3) % stories
            at = effects[system] + 0.9 * normal(5, worker) + 0.6 * normal(6, story)
            noise = float(special.logit(uniform(7, worker, number)))
            rating = 1 + int((at + noise > cuts).sum())
            rows.append((rating, SYSTEMS[system], f"w{worker}", f"s{story}"))
    return pd.DataFrame(rows, columns=["rating", "generator", "worker", "story"])


def uneven_preferences() -> pd.DataFrame:
    """The same without ties, where human always wins and one worker gave a single answer."""
    found = preferences()
    found = found[(found.outcome != 0) & ((found.worker != "w0") | ~found.worker.duplicated())]
    sign = np.where(found["first"] == "human", 1, np.where(found.second == "human", -1, 0))
    return found.assign(outcome=np.where(sign != 0, sign, found.outcome))


def uneven_ratings() -> pd.DataFrame:
    """Ratings of which none is 3, with one worker who gave a single one; bert has only ones."""
    found = ratings()
    found = found.assign(rating=found.rating.mask(found.generator == "bert", 1))
    return found[(found.rating != 3) & ((found.worker != "w0") | ~found.worker.duplicated())]


def few_ratings() -> pd.DataFrame:
    """Ratings of three points by eight workers about six stories, one system by one of them alone."""
    found = ratings(8, 5, 6, 3)
    return found[(found.generator != "sa") | (found.worker == "w3")]
