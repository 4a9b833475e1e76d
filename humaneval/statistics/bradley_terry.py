"""How strong each generator is, from answers which of two is better: Bradley and Terry's model, with ties,
and errors that know of workers and stories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import inf, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Codes, Floats, check_level, encoded, numbers
from humaneval.statistics.contrasts import Contrast, difference_of, wald
from humaneval.statistics.intervals import Interval
from humaneval.statistics.multiplicity import holm
from humaneval.statistics.paired_networks import Apart, Bouts, apart_from, largest_group, refuse_unbounded
from humaneval.statistics.two_way import TwoWay, t_quantile, two_way

TiesAs: TypeAlias = Literal["davidson", "half", "left out"]


class Strength(NamedTuple):
    """A generator's log-odds against the average of all, with its standard error and interval."""

    name: Any
    estimate: float
    standard_error: float
    interval: Interval


class RankInterval(NamedTuple):
    """The rank of a generator's strength, 1 for the strongest, and the ranks that the answers leave open."""

    name: Any
    rank: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class BradleyTerry:
    """log-odds that `a` is preferred to `b` = strength of `a` − strength of `b`, fitted."""

    names: tuple[Any, ...]
    """Generators with a strength, in order of appearance."""
    strengths: Floats
    """Log-odds; their mean is 0."""
    covariance: Floats
    """Of the strengths, clustered by worker and by story. NaN with a single worker or story."""
    independent: Floats
    """Of the strengths, as if all answers were unrelated."""
    tie: float
    """Davidson's ν: between two of equal strength, ties are ν/(ν + 2) of the answers. 0 without ties."""
    log_likelihood: float
    comparisons: int
    freedom: float
    """Degrees of freedom of the t quantiles; infinite where no worker and no story recurs."""
    apart: tuple[Apart, ...]
    """Generators without a strength, because no answer bounds it; their answers are not in the model."""
    note: str = ""

    def strength(self, name: Any, level: float = 0.95) -> Strength:
        """Against the average of all."""
        along = difference_of(self.names, name, name) - 1.0 / len(self.names)
        along[self.names.index(name)] += 1.0
        estimate, error = self._along(along)
        reach = t_quantile(self.freedom, level) * error
        return Strength(name, estimate, error, Interval(estimate - reach, estimate + reach))

    def contrast(self, a: Any, b: Any, level: float = 0.95) -> Contrast:
        """Log-odds that `a` is preferred to `b`, if one of them is."""
        return wald(a, b, *self._along(difference_of(self.names, a, b)), level, self.freedom)

    def contrasts(self, level: float = 0.95) -> tuple[Contrast, ...]:
        """All pairs, unadjusted."""
        return tuple(self.contrast(a, b, level) for a, b in combinations(self.names, 2))

    def against(self, reference: Any, level: float = 0.95) -> tuple[Contrast, ...]:
        """Each of the others against one."""
        return tuple(self.contrast(name, reference, level) for name in self.names if name != reference)

    def ranks(self, level: float = 0.95) -> tuple[RankInterval, ...]:
        """Ranks from the strongest on. A rank is left open unless the tests of a generator against all others
        exclude it, adjusted after Holm (Mogstad, Romano, Shaikh and Wilhelm 2024)."""
        check_level(level)
        found = []
        for name, mine in zip(self.names, self.strengths, strict=True):
            tests = self.against(name, level)
            known = not any(np.isnan(one.p) for one in tests)
            told = holm([one.p for one in tests]) <= 1.0 - level if known else [False] * len(tests)
            above = sum(one.estimate > 0 for one, yes in zip(tests, told, strict=True) if yes)
            below = sum(one.estimate < 0 for one, yes in zip(tests, told, strict=True) if yes)
            rank = 1 + int((self.strengths > mine).sum())
            found.append(RankInterval(name, rank, 1 + above, len(self.names) - below))
        return tuple(sorted(found, key=lambda one: one.rank))

    def _along(self, along: Floats) -> tuple[float, float]:
        variances = [float(along @ part @ along) for part in (self.covariance, self.independent)]
        # NaN stays NaN: a single worker tells nothing of others.
        variance = variances[0] if np.isnan(variances[0]) else max(*variances, 0.0)
        return float(along @ self.strengths), sqrt(variance)


def bradley_terry(
    first: ArrayLike,
    second: ArrayLike,
    outcomes: ArrayLike,
    workers: ArrayLike,
    stories: ArrayLike,
    *,
    ties: TiesAs = "davidson",
) -> BradleyTerry:
    """Fit the model by maximum likelihood to answers 1 (the first is better), −1 (the second), 0 (a tie).

    Five columns of one length. A tie has the probability ν·√(π_a·π_b)/(π_a + π_b + ν·√(π_a·π_b)), π = exp of
    a strength (Davidson 1970). With `ties` "half" it is half an answer for each, with "left out" it is none.

    The covariance is the sandwich A⁻¹BA⁻¹ with B by worker and by story (`statistics.two_way`). No error is
    below that of unrelated answers, and t has (fewest effective clusters − 1) degrees of freedom.

    A generator has a strength if answers bound it from both sides. So however the generators are cut into two
    parts, each part must be preferred to the other at least once (Ford 1957). The largest set for which that
    is true is fitted. The others are `apart`, and the sentences say why.

    Raises InputError for other outcomes, if lengths differ, if the comparisons do not connect all generators,
    or if no strength is estimable. Raises UsageError for an unknown rule of ties.

    >>> found = bradley_terry(["a"] * 4, ["b"] * 4, [1, 1, 1, -1], range(4), range(4))
    >>> round(found.contrast("a", "b").estimate, 4)  # log 3
    1.0986
    """
    if ties not in ("davidson", "half", "left out"):
        raise UsageError(f"there is no rule of ties {ties!r}", "Choose davidson, half or left out.")
    bouts = _bouts(first, second, outcomes)
    by = two_way(workers, stories, bouts.outcome.size)
    kept = bouts.outcome != 0.0 if ties == "left out" else np.ones(bouts.outcome.size, dtype=np.bool_)
    members = largest_group(bouts.only(kept))
    inside = kept & np.isin(bouts.first, members) & np.isin(bouts.second, members)
    apart = apart_from(bouts.only(kept), members)
    mine = _among(bouts.only(inside), members)
    with_ties = ties == "davidson" and bool((mine.outcome == 0.0).any())
    if with_ties:
        refuse_unbounded(mine)
    fit = _fit(mine, with_ties)
    within = two_way(by.worker[inside], by.story[inside], int(inside.sum()))
    size = len(mine.names)
    centre = np.eye(size)[:, 1:] - 1.0 / size
    errors = _errors(fit, within, centre, halves=ties == "half")
    return BradleyTerry(
        mine.names,
        centre @ fit.parameters[: size - 1],
        errors.clustered,
        errors.independent,
        float(np.exp(fit.parameters[-1])) if with_ties else 0.0,
        fit.log_likelihood,
        int(inside.sum()),
        inf if within.once else within.freedom(),
        apart,
        errors.note,
    )


def _among(bouts: Bouts, members: Codes) -> Bouts:
    """The same bouts between `members`, which are numbered anew."""
    place = np.zeros(len(bouts.names), dtype=np.int64)
    place[members] = np.arange(members.size)
    names = tuple(bouts.names[one] for one in members)
    return Bouts(names, place[bouts.first], place[bouts.second], bouts.outcome)


def _bouts(first: ArrayLike, second: ArrayLike, outcomes: ArrayLike) -> Bouts:
    y = numbers(outcomes, "outcomes")
    if not np.isin(y, (-1.0, 0.0, 1.0)).all():
        raise InputError("outcomes of a preference must be 1, 0 or -1")
    one, other = (np.asarray(column, dtype=object) for column in (first, second))
    if not y.size or not one.shape == other.shape == y.shape:
        raise InputError(
            f"{one.size} first and {other.size} second generators and {y.size} outcomes do not belong"
            " together"
        )
    # In order of appearance, pair by pair.
    both = encoded(np.column_stack([one, other]).ravel())
    codes = both.codes.reshape(-1, 2)
    if (codes[:, 0] == codes[:, 1]).any():
        name = both.names[int(codes[codes[:, 0] == codes[:, 1]][0, 0])]
        raise InputError(f"{name} is compared with itself")
    return Bouts(both.names, codes[:, 0], codes[:, 1], y)


class _Fit(NamedTuple):
    parameters: Floats
    information: Floats
    scores: Floats
    log_likelihood: float


def _fit(bouts: Bouts, with_ties: bool) -> _Fit:
    """Newton's method: the log likelihood is concave. Parameters: strengths against the first generator, and
    log ν with ties."""
    strengths = len(bouts.names) - 1
    parameters = np.zeros(strengths + with_ties)
    now = _at(bouts, parameters, with_ties)
    for _ in range(200):
        gradient = now.scores.sum(axis=0)
        step = np.linalg.solve(now.information, gradient)
        gain, share = float(gradient @ step), 1.0
        if gain < 1e-14 * (1.0 + abs(now.log_likelihood)):
            break
        then = _at(bouts, parameters + step, with_ties)
        while then.log_likelihood < now.log_likelihood and share > 1e-8:
            share /= 2.0
            then = _at(bouts, parameters + share * step, with_ties)
        parameters, now = then.parameters, then
    return now


class _Errors(NamedTuple):
    """Covariances of the strengths, clustered and as if all answers were unrelated."""

    clustered: Floats
    independent: Floats
    note: str = ""


def _errors(fit: _Fit, within: TwoWay, centre: Floats, *, halves: bool) -> _Errors:
    strengths = centre.shape[1]
    inverse = np.linalg.inv(fit.information)
    # Halves vary less than the model has it, so that their own spread counts.
    plain = inverse @ fit.scores.T @ fit.scores @ inverse if halves else inverse
    sandwich = inverse @ within.meat(fit.scores) @ inverse
    independent, clustered = (centre @ part[:strengths, :strengths] @ centre.T for part in (plain, sandwich))
    if min(within.workers, within.stories) == 1:
        single = "worker" if within.workers == 1 else "story"
        note = f"There is a single {single}, so that the errors are not estimable."
        return _Errors(np.full_like(independent, np.nan), independent, note)
    return _Errors(independent if within.once else clustered, independent)


def _at(bouts: Bouts, parameters: Floats, with_ties: bool) -> _Fit:
    """Score of each answer, information and log likelihood.

    Up to a constant, an answer's log probability is y·η/2 + [y = 0]·log ν, with η the difference of
    strengths. So the scores are the deviations of (y/2, [y = 0]) from their mean, and the information is
    their variance.
    """
    size = len(bouts.names)
    strengths = np.concatenate([[0.0], parameters[: size - 1]])
    half = (strengths[bouts.first] - strengths[bouts.second]) / 2.0
    log_tie = np.full(half.size, parameters[-1] if with_ties else -inf)
    log_total = np.logaddexp(np.logaddexp(half, -half), log_tie)
    won, lost, tied = (np.exp(one - log_total) for one in (half, -half, log_tie))
    y, drawn = bouts.outcome, bouts.outcome == 0.0
    mean = (won - lost) / 2.0
    by_strength = y / 2.0 - mean
    variance = (won + lost) / 4.0 - mean**2
    scores = np.zeros((half.size, size + with_ties))
    rows = np.arange(half.size)
    scores[rows, bouts.first] = by_strength
    scores[rows, bouts.second] = -by_strength
    information = np.zeros((size + with_ties,) * 2)
    for one, other, sign in (
        (bouts.first, bouts.first, 1.0),
        (bouts.second, bouts.second, 1.0),
        (bouts.first, bouts.second, -1.0),
        (bouts.second, bouts.first, -1.0),
    ):
        np.add.at(information, (one, other), sign * variance)
    value = float((y * half - log_total).sum())
    if with_ties:
        scores[:, -1] = drawn - tied
        value += float(parameters[-1] * drawn.sum())
        shared = -mean * tied
        information[-1, :-1] = np.bincount(bouts.first, shared, size) - np.bincount(
            bouts.second, shared, size
        )
        information[:-1, -1] = information[-1, :-1]
        information[-1, -1] = float((tied * (1.0 - tied)).sum())
    return _Fit(parameters, information[1:, 1:], scores[:, 1:], value)
