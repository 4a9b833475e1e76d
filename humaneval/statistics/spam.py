"""How many annotators answer without looking, and which, told by the Control passages they noticed and
missed.

One missed Control is weak evidence, and one noticed is weak too: a fifth of those who click anywhere notice
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import betaln, expit, gammaln, xlog1py, xlogy

from humaneval.domain import GUESS
from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Codes, Floats, NotEstimable, check_probability, numbers


def spam_given_pass(
    share: ArrayLike, controls: ArrayLike, honest_pass: ArrayLike = 1.0, chance: float = GUESS
) -> Floats:
    """P(an annotator spams | she noticed all of her `controls` independent Control passages).

    s·g^k/(s·g^k + (1 − s)·c^k) with s the share of spammers, g what they notice by chance, c what honest
    annotators notice. Arguments broadcast. Raises UsageError if a probability is outside 0..1 or nobody
    could pass.

    >>> round(float(spam_given_pass(0.0625, 1)), 4), round(float(spam_given_pass(0.0625, 2)), 4)
    (0.0132, 0.0027)
    """
    check_probability(chance=chance)
    spammers = numbers(share, "shares of spammers")
    k = numbers(controls, "numbers of controls")
    honest = numbers(honest_pass, "probabilities of passing")
    if ((spammers < 0) | (spammers > 1)).any() or ((honest < 0) | (honest > 1)).any() or (k < 0).any():
        raise UsageError("shares and probabilities must lie in 0..1, numbers of controls must be 0 or more")
    passing = spammers * chance**k
    all_passing = passing + (1 - spammers) * honest**k
    if (all_passing == 0).any():
        raise UsageError("with these figures, nobody passes", "Give honest annotators a probability above 0.")
    return np.asarray(passing / all_passing)


@dataclass(frozen=True, slots=True)
class SpamPosterior:
    """P(spams) of each annotator, and the mixture that was fitted to all of them."""

    probability: Floats
    """In the order of the arguments, 0..1; for annotators without Control passages it is `share`."""
    share: float
    """The share of spammers among all annotators: the mean of its posterior."""
    honest_mean: float
    """How often honest annotators notice a Control passage."""
    honest_concentration: float
    """a + b of their Beta distribution; infinite if they are all alike."""


def spam_posterior(
    noticed: ArrayLike, controls: ArrayLike, *, honest_pass: float | None = None, chance: float = GUESS
) -> SpamPosterior | NotEstimable:
    """Empirical-Bayes probability that each annotator spams, from how many Control passages the annotator
    noticed.

    Two kinds are mixed. Spammers notice each passage with probability `chance`. Each honest annotator has a
    probability of their own, drawn from Beta(a, b). a and b are the likeliest over all annotators. A weak
    prior keeps them off the edge: a mean above `chance`, and about 1 to 1,000 for a + b. Probabilities are
    averaged over the share of spammers, whose prior is Beta(1, 3). So 40 of 40 annotators who noticed one
    passage each are suspected a little, and 1 of 1 more.

    Three kinds of unknowns need annotators with three Control passages or more. With fewer give
    `honest_pass`, the probability that an honest annotator notices one: then only the share is estimated.
    Raises InputError unless 0 <= noticed <= controls, both whole, of one length; UsageError unless chance <
    honest_pass <= 1.
    """
    k, n = _check_counts(noticed, controls)
    check_probability(chance=chance)
    if honest_pass is not None and not chance < honest_pass <= 1:
        raise UsageError(
            f"honest annotators do better than chance on Controls, not {honest_pass:g}",
            "Give for example 0.95.",
        )
    if not n.any():
        return NotEstimable("no annotator saw a Control passage")
    if honest_pass is None and n.max() < 3:
        return NotEstimable(
            f"no annotator saw more than {int(n.max())} Control passages, which does not tell careless from"
            " spamming"
        )
    kinds, kind, weight = np.unique(np.stack([k, n]), axis=1, return_inverse=True, return_counts=True)
    seen, out_of = kinds
    spam = _binomial(seen, out_of, chance)

    if honest_pass is not None:
        found = _averaged(spam, _binomial(seen, out_of, honest_pass), weight)
        return SpamPosterior(found.probability[kind.reshape(-1)], found.share, honest_pass, float("inf"))

    def honest(parameters: Floats) -> Floats:
        mean, size = _honest(parameters, chance)
        return np.asarray(
            _choose(seen, out_of)
            + betaln(seen + mean * size, out_of - seen + (1 - mean) * size)
            - betaln(mean * size, (1 - mean) * size)
        )

    def loss(parameters: Floats) -> float:
        share = float(expit(parameters[0]))
        mixed = np.logaddexp(np.log(share) + spam, np.log1p(-share) + honest(parameters))
        off_centre = float(np.square((parameters[1:] - START[1:]) / WIDTH).sum())
        return float(0.5 * off_centre - weight @ mixed - 2.0 * np.log1p(-share)) / k.size

    best = minimize(
        loss, START, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12, "maxiter": 2000}
    )
    found = _averaged(spam, honest(best.x), weight)
    mean, size = _honest(best.x, chance)
    return SpamPosterior(found.probability[kind.reshape(-1)], found.share, mean, size)


class _Averaged(NamedTuple):
    probability: Floats
    share: float


def _averaged(spam: Floats, honest: Floats, weight: Codes) -> _Averaged:
    """P(spams) by kind of annotator and the share, averaged over the share's posterior.

    `spam` and `honest` are log likelihoods by kind, `weight` how many annotators are of it. The likeliest
    share alone will not do: where everybody passes it is 0, and nobody could be suspected of anything.
    """
    turn = (np.arange(GRID) + 0.5) / GRID
    # Closest at the ends, where the posterior is steepest: d share = π/2 · sin(π·turn) d turn.
    share = np.sin(0.5 * np.pi * turn) ** 2
    spams = np.log(share)[:, None] + spam
    mixed = np.logaddexp(spams, np.log1p(-share)[:, None] + honest)
    density = mixed @ weight + 2.0 * np.log1p(-share) + np.log(np.sin(np.pi * turn))
    probable = np.exp(density - density.max())
    probable /= probable.sum()
    return _Averaged(np.asarray(probable @ np.exp(spams - mixed)), float(probable @ share))


GRID = 4000
"""Places at which the share's posterior is computed."""
START = np.array([-2.2, 2.0, 3.0])
"""Log odds of the share, log odds of the mean between chance and 1, logarithm of a + b: where the search
starts."""
WIDTH = np.array([2.0, 2.0])
"""Standard deviations of the prior about the last two."""


def _honest(parameters: Floats, chance: float) -> tuple[float, float]:
    mean = chance + (1 - chance) * float(expit(parameters[1]))
    return min(mean, 1 - 1e-9), float(np.exp(np.clip(parameters[2], -5, 12)))


def _binomial(k: Floats, n: Floats, p: float) -> Floats:
    return np.asarray(_choose(k, n) + xlogy(k, p) + xlog1py(n - k, -p))


def _choose(k: Floats, n: Floats) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _check_counts(noticed: ArrayLike, controls: ArrayLike) -> tuple[Floats, Floats]:
    k, n = numbers(noticed, "noticed Control passages"), numbers(controls, "Control passages")
    if k.shape != n.shape or k.ndim != 1 or not k.size:
        raise InputError(f"{k.size} numbers of noticed and {n.size} of shown Control passages do not match")
    if ((k < 0) | (k > n) | (k != np.floor(k)) | (n != np.floor(n))).any():
        raise InputError("the numbers of noticed Control passages must be whole, from 0 to the numbers shown")
    return k, n
