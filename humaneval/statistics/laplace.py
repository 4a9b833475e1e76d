"""Laplace's approximation to the likelihood of a model with two crossed random intercepts, and its gradient.
The model is logistic, or any whose log likelihood is concave in the linear predictor.

Write η = Xβ + u[large] + v[small], with u ~ N(0, σ_large²) and v ~ N(0, σ_small²). H is Z'WZ + Σ⁻¹ at the
modes (û, v̂) of the penalised likelihood. Then log L ≈ ℓ(β, û, v̂) − ½ b'Σ⁻¹b − ½ log|H| − ½ log|Σ|. H has
two diagonal blocks and the sparse block C between them. So everything goes through S = D_small − C' D_large⁻¹
C, which has the size of the smaller factor. Newton steps with conjugate gradients on S find the modes. Only
log|H| and H⁻¹ need S factorised: as one dense matrix or, where S is sparse, as many small ones
(`statistics.multifrontal`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse, special

from humaneval.statistics.arrays import Codes, Floats, Indices, distinct
from humaneval.statistics.multifrontal import Fronts, fronts_of

DENSE = 400
"""With fewer levels in the smaller factor, S is dense: that takes milliseconds."""
MOST_PAIRS = 4_000_000
"""With more pairs of levels that meet, S is dense, too: the list of pairs takes 12 bytes for each."""
BLOCK = 4_000_000
"""Numbers gathered at once when single entries of H⁻¹ are read off: 32 MB."""


def _add(codes: Indices, values: Floats, clusters: int) -> Floats:
    return np.bincount(codes, values, clusters).astype(np.float64, copy=False)


class Modes(NamedTuple):
    """Modes of the random effects of both factors, the linear predictor there, the penalised log
    likelihood."""

    large: Floats
    small: Floats
    eta: Floats
    value: float


class Evaluation(NamedTuple):
    """The Laplace log likelihood; its gradient by β, further parameters and log standard deviations (large,
    small); and q − tr(H⁻¹)/σ², the effective number of random effects of each factor."""

    value: float
    gradient: Floats
    freedom: Floats


class Slopes(NamedTuple):
    """Of each response's log likelihood ℓ by its linear predictor: ℓ', W = −ℓ'', and dW/dη."""

    score: Floats
    weight: Floats
    change: Floats


class Crossed:
    """The responses of a logistic model: outcomes `y`, design matrix `x` (n × p), codes of the two factors.

    Another model says what its likelihood is in `log_likelihood` and `slopes`. It may have more parameters
    after β: `beta` takes note of them, and `further` gives their part of the gradient.
    """

    def __init__(self, y: Floats, x: Floats, large: Codes, small: Codes, *, dense: bool = False) -> None:
        """With `dense`, the factor of S is always that of a dense matrix."""
        self.y, self.x, self.large, self.small = y, x, large, small
        self.larges, self.smalls = int(large.max()) + 1, int(small.max()) + 1
        pairs, self.pair = np.unique(large * self.smalls + small, return_inverse=True)
        rows, columns = np.divmod(pairs, self.smalls)
        self._columns = columns.astype(np.int32)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.larges))])
        self._last = Modes(np.zeros(self.larges), np.zeros(self.smalls), np.zeros(0), -np.inf)
        self.meetings = None if dense else _meetings(self._starts, self._columns, self.smalls)

    def log_likelihood(self, eta: Floats) -> float:
        """Of all responses, at their linear predictors."""
        return float(self.y @ eta - np.logaddexp(0.0, eta).sum())

    def slopes(self, eta: Floats) -> Slopes:
        """At the linear predictors."""
        mean = special.expit(eta)
        weight = mean * (1.0 - mean)
        return Slopes(self.y - mean, weight, weight * (1.0 - 2.0 * mean))

    def further(self, eta: Floats, leverage: Floats, shift: Floats) -> Floats:
        """The gradient by parameters that are neither β nor standard deviations.

        `leverage` is z'H⁻¹z of each response, and `shift` is z'H⁻¹Z'g with g = leverage · dW/dη. The
        derivative by a parameter φ is Σ ∂ℓ/∂φ − ½ Σ leverage · ∂W/∂φ − ½ Σ shift · ∂ℓ'/∂φ.
        """
        return np.zeros(0)

    def beta(self, parameters: Floats) -> Floats:
        """The effects among the parameters; from now on the others are those given here."""
        return parameters

    def modes(self, parameters: Floats, deviations: Floats) -> Modes:
        """Newton's method from the last modes found, with halved steps where one overshoots."""
        fixed, tau = self.x @ self.beta(parameters), deviations**-2.0
        now = self._at(fixed, self._last.large, self._last.small, tau)
        for _ in range(100):
            miss, weight, _ = self.slopes(now.eta)
            blocks = _Blocks(self, weight, tau)
            slope_large = _add(self.large, miss, self.larges) - tau[0] * now.large
            slope_small = _add(self.small, miss, self.smalls) - tau[1] * now.small
            step_large, step_small = blocks.solve(slope_large, slope_small)
            gain = float(slope_large @ step_large + slope_small @ step_small)
            if gain < 1e-12:
                break
            share = 1.0
            while True:
                then = self._at(fixed, now.large + share * step_large, now.small + share * step_small, tau)
                if then.value >= now.value - 1e-9 * abs(now.value) * (gain < 1e-6) or share < 1e-6:
                    break
                share /= 2.0
            now = then
        self._last = now
        return now

    def evaluate(self, parameters: Floats, deviations: Floats) -> Evaluation:
        """The approximation and its gradient; formulas by differentiating through the modes."""
        found = self.modes(parameters, deviations)
        tau = deviations**-2.0
        score, weight, change = self.slopes(found.eta)
        blocks = _Blocks(self, weight, tau)
        inverse = blocks.inverse()
        sizes = np.array([self.larges, self.smalls])
        value = found.value - 0.5 * inverse.logdet - float(sizes @ np.log(deviations))
        # d log|H| passes through the modes: g = W'·h, a = H⁻¹Z'g.
        leverage = inverse.leverage[self.pair]
        g = change * leverage
        a_large, a_small = blocks.solve(_add(self.large, g, self.larges), _add(self.small, g, self.smalls))
        shift = a_large[self.large] + a_small[self.small]
        through = g - weight * shift
        by_beta = self.x.T @ (score - 0.5 * through)
        traces = np.array([inverse.large.sum(), inverse.small.sum()])
        squares = np.array([found.large @ found.large, found.small @ found.small])
        crossed = np.array([a_large @ found.large, a_small @ found.small])
        by_log_deviation = tau * (squares + traces - crossed) - sizes
        return Evaluation(
            value,
            np.concatenate([by_beta, self.further(found.eta, leverage, shift), by_log_deviation]),
            sizes - tau * traces,
        )

    def information(self, parameters: Floats, deviations: Floats) -> Floats:
        """The information of the parameters with the standard deviations held fixed."""
        weight = self.slopes(self.modes(parameters, deviations).eta).weight
        columns = weight[:, None] * self.x
        return self.with_effects_out(columns, self.x.T @ columns, weight, deviations)

    def with_effects_out(
        self, columns: Floats, information: Floats, weight: Floats, deviations: Floats
    ) -> Floats:
        """The information of some parameters less what the random effects take of it: Z'`columns` is that
        shared by both."""
        blocks = _Blocks(self, weight, deviations**-2.0)
        taken = []
        for column in columns.T:
            u, v = blocks.solve(_add(self.large, column, self.larges), _add(self.small, column, self.smalls))
            taken.append(columns.T @ (u[self.large] + v[self.small]))
        left = information - np.array(taken).reshape(information.shape)
        return np.asarray((left + left.T) / 2.0)

    def _at(self, fixed: Floats, large: Floats, small: Floats, tau: Floats) -> Modes:
        eta = fixed + large[self.large] + small[self.small]
        value = self.log_likelihood(eta)
        return Modes(
            large, small, eta, value - 0.5 * float(tau[0] * (large @ large) + tau[1] * (small @ small))
        )


class Inverse(NamedTuple):
    """Parts of H⁻¹: its diagonal, z'H⁻¹z for each pair of clusters that occurs, and log|H|."""

    large: Floats
    small: Floats
    leverage: Floats
    logdet: float


class _Blocks:
    """H at given weights."""

    def __init__(self, data: Crossed, weight: Floats, tau: Floats) -> None:
        self._data = data
        self.large = np.bincount(data.large, weight, data.larges) + tau[0]
        self.small = np.bincount(data.small, weight, data.smalls) + tau[1]
        entries = np.bincount(data.pair, weight, data._columns.size)
        self.cross = sparse.csr_array(
            (entries, data._columns, data._starts), shape=(data.larges, data.smalls)
        )
        self._across = self.cross.T.tocsr()

    def solve(self, large: Floats, small: Floats) -> tuple[Floats, Floats]:
        """H⁻¹ times a vector, by conjugate gradients on the smaller factor, preconditioned by its
        diagonal."""
        right = small - self._across @ (large / self.large)
        x = right / self.small
        residual = right - self._schur(x)
        direction = scaled = residual / self.small
        height = float(residual @ scaled)
        enough = 1e-24 * max(float(right @ (right / self.small)), 1e-300)
        for _ in range(20 * x.size + 100):
            if height <= enough:
                break
            image = self._schur(direction)
            along = height / float(direction @ image)
            x = x + along * direction
            residual = residual - along * image
            scaled = residual / self.small
            height, before = float(residual @ scaled), height
            direction = scaled + height / before * direction
        return (large - self.cross @ x) / self.large, x

    def _schur(self, x: Floats) -> Floats:
        return np.asarray(self.small * x - self._across @ ((self.cross @ x) / self.large))

    def inverse(self) -> Inverse:
        """By the Cholesky factor of S."""
        if self._data.meetings is not None:
            return self._sparse(self._data.meetings)
        scaled = sparse.diags_array(1.0 / self.large) @ self.cross
        schur = (self._across @ scaled).toarray()
        np.negative(schur, out=schur)
        schur[np.diag_indices_from(schur)] += self.small
        factor, _ = linalg.lapack.dpotrf(schur.T, lower=1, overwrite_a=1, clean=1)
        logdet = float(np.log(self.large).sum() + 2.0 * np.log(factor.diagonal()).sum())
        inverted, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        _mirror(inverted)
        return self._read_off(inverted, logdet)

    def _sparse(self, meetings: _Meetings) -> Inverse:
        """The same by fronts: every entry of S⁻¹ that is needed is one where S has an entry, too."""
        entries, row = self.cross.data, np.repeat(np.arange(self.large.size), np.diff(self.cross.indptr))
        one, other, met = meetings.one, meetings.other, meetings.met
        weights = (entries / self.large[row])[one] * entries[other]
        values = -_add(met, weights, meetings.entries)
        values[meetings.diagonal] += self.small
        logdet, inverted = meetings.fronts.inverse(values)
        product = _add(one, entries[other] * inverted[met], entries.size)
        return self._assembled(product, inverted[meetings.diagonal], float(np.log(self.large).sum()) + logdet)

    def _read_off(self, inverted: Floats, logdet: float) -> Inverse:
        """(C S⁻¹)[l, s] wherever C has an entry, in blocks of clusters of about one size."""
        starts, columns, entries = self.cross.indptr, self.cross.indices, self.cross.data
        lengths = np.diff(starts)
        product = np.zeros(entries.size)
        order = np.argsort(-lengths, kind="stable")
        at = 0
        while at < order.size and lengths[order[at]]:
            longest = int(lengths[order[at]])
            rows = order[at : at + max(1, BLOCK // longest**2)]
            at += rows.size
            place = starts[rows][:, None] + np.arange(longest)
            there = np.arange(longest) < lengths[rows][:, None]
            place = np.where(there, place, 0)
            column, entry = columns[place], np.where(there, entries[place], 0.0)
            sums = np.einsum("rj,rjk->rk", entry, inverted[column[:, :, None], column[:, None, :]])
            product[place[there]] = sums[there]
        return self._assembled(product, inverted.diagonal().copy(), logdet)

    def _assembled(self, product: Floats, small: Floats, logdet: float) -> Inverse:
        """From C S⁻¹ at the entries of C, and the diagonal of S⁻¹."""
        lengths, columns, entries = np.diff(self.cross.indptr), self.cross.indices, self.cross.data
        row = np.repeat(np.arange(lengths.size), lengths)
        large = 1.0 / self.large + np.bincount(row, product * entries, lengths.size) / self.large**2
        leverage = large[row] + small[columns] - 2.0 * product / self.large[row]
        return Inverse(large, small, leverage, logdet)


class _Meetings(NamedTuple):
    """Which levels of the smaller factor meet at a level of the larger one: the pattern of S."""

    one: Indices
    other: Indices
    """All pairs of entries of C that stand in one row."""
    met: Indices
    """The entry of S of each pair."""
    entries: int
    diagonal: Codes
    """Which entries of S stand on its diagonal."""
    fronts: Fronts


def _meetings(starts: Codes, columns: Indices, smalls: int) -> _Meetings | None:
    """None if S had better be dense."""
    lengths = np.diff(starts)
    if smalls < DENSE or int((lengths**2).sum()) > MOST_PAIRS:
        return None
    entries = distinct(_keys(_pairs(starts, columns), columns, smalls))
    rows, across = np.divmod(entries, smalls)
    fronts = fronts_of(rows, across, smalls)
    # Many small products cost more for each multiplication than one large one.
    if fronts.cost > smalls**3 / 4:
        return None
    # Listed again, and not held meanwhile: there are more pairs than anything else.
    pairs = _pairs(starts, columns)
    # The inverse of np.unique would take four times the memory on its way.
    met = np.searchsorted(entries, _keys(pairs, columns, smalls)).astype(np.int32)
    return _Meetings(*pairs, met, entries.size, np.flatnonzero(rows == across), fronts)


class _Pairs(NamedTuple):
    """All pairs of entries of C that stand in one row."""

    one: Indices
    other: Indices


def _pairs(starts: Codes, columns: Indices) -> _Pairs:
    lengths = np.diff(starts)
    often = np.repeat(lengths, lengths)
    # How far an entry's partners lie from the numbers of its pairs.
    shift = np.repeat(starts[:-1], lengths) - (np.cumsum(often) - often)
    other = np.repeat(shift.astype(np.int32), often)
    other += np.arange(other.size, dtype=np.int32)
    return _Pairs(np.repeat(np.arange(columns.size, dtype=np.int32), often), other)


def _keys(pairs: _Pairs, columns: Indices, smalls: int) -> Indices:
    """The entry of S of each pair, as one number."""
    keys = columns[pairs.one].astype(np.min_scalar_type(-(smalls**2)), copy=False)
    keys *= smalls
    keys += columns[pairs.other]
    return keys


def _mirror(lower: Floats) -> None:
    """Copy the lower triangle to the upper one, in place, a band at a time."""
    for start in range(0, lower.shape[0], 256):
        stop = start + 256
        band = lower[start:stop, start:stop]
        band[...] = np.tril(band) + np.tril(band, -1).T
        lower[start:stop, stop:] = lower[stop:, start:stop].T
