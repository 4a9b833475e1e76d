"""Draws within the nucleus on a processor, in NumPy: torch takes several times as long to begin so many small
operations.

Only the tokens that are likely enough are looked at. They are found in the order of the vocabulary, so that
nothing has to be sorted but their shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MARGIN = 1e-6
"""More than sums in single precision are wrong by."""
MOST_CHANCE = 1 - 2**-20
"""Below 1 even in single precision, so that every number is passed by a sum."""

Shares = NDArray[np.float32]
Ids = NDArray[np.int64]


class Drawn(NamedTuple):
    """(B,) tokens, and whether a row's whole nucleus was among those that were looked at: only then is its
    token drawn from it."""

    tokens: Ids
    whole: NDArray[np.bool_]


def drawn_above(
    least: float, shares: Shares, chance: NDArray[np.float64], top_p: float, *, reference: bool
) -> Drawn:
    """One token for each row of (B, V) probabilities, among those that are at least so likely.

    Of tokens that are equally likely, the first in the vocabulary are in the nucleus. A row with a share that
    is not a number is never whole.
    """
    ids, likely = _above(least, shares)
    best = np.sort(likely, axis=-1)[:, ::-1]
    mass = best.cumsum(-1, dtype=np.float64).astype(best.dtype)  # as torch sums
    inside = (mass if reference else mass - best) < best.dtype.type(top_p)
    inside[:, 0] = True
    count = inside.sum(-1)
    row = np.arange(len(shares))
    last = best[row, count - 1][:, None]
    kept = likely >= last
    if kept.sum() > count.sum():  # some of the equals at the end of the nucleus are outside
        equal = likely == last
        kept &= ~equal | (equal.cumsum(-1) <= ((best == last) & inside).sum(-1, keepdims=True))
    # In the order of the vocabulary: in that of the probabilities, near ties would depend on the batch.
    sums = (likely * kept).cumsum(-1, dtype=np.float64)
    passed = sums > (np.minimum(chance, MOST_CHANCE) * sums[:, -1])[:, None]
    return Drawn(ids[row, passed.argmax(-1)], mass[:, -1] >= top_p + MARGIN)


def _above(least: float, shares: Shares) -> tuple[Ids, Shares]:
    """(B, size) tokens of each row in the order of the vocabulary, and their shares. Where a row has fewer,
    shares of 0 follow."""
    rows, width = shares.shape
    places = np.flatnonzero(shares >= least)
    if rows == 1 and len(places):
        return places[None], shares[:, places]
    row, token = np.divmod(places, width)
    counts = np.bincount(row, minlength=rows)
    column = np.arange(len(places)) - np.repeat(counts.cumsum() - counts, counts)
    shape = (rows, max(int(counts.max()), 1))
    ids, likely = np.zeros(shape, np.int64), np.zeros(shape, shares.dtype)
    ids[row, column], likely[row, column] = token, shares.ravel()[places]
    return ids, likely
