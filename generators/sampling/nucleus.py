"""Draws within the nucleus on a processor, in NumPy: torch takes several times as long to begin so many small
operations.

Only the tokens that are likely enough are looked at. They are found in the order of the vocabulary, so that
nothing has to be sorted but their shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MARGIN = 1e-6
"""More than sums in single precision are wrong by."""
MOST_CHANCE = 1 - 2**-20
"""Below 1 even in single precision, so that every number is passed by a sum."""

Shares = NDArray[np.float32]


def drawn_above(
    least: float, shares: Shares, chance: NDArray[np.float64], top_p: float, *, reference: bool
) -> list[int]:
    """One token for each row of (B, V) probabilities, among those that are at least so likely; -1 where a
    part of the row's nucleus is less likely, or a share is not a number.

    Of tokens that are equally likely, the first in the vocabulary are in the nucleus.
    """
    # Row by row: they have different numbers of likely tokens, and laying them out together takes longer.
    return [
        _drawn(least, row, number, top_p, reference=reference)
        for row, number in zip(shares, chance.tolist(), strict=True)
    ]


def _drawn(least: float, shares: NDArray[np.float32], chance: float, top_p: float, *, reference: bool) -> int:
    """A token of one row, or -1."""
    ids = (shares >= least).nonzero()[0]
    likely = shares[ids]
    best = likely.copy()
    best.sort()
    best = best[::-1]
    mass = best.cumsum(dtype=np.float64).astype(best.dtype)  # as torch sums
    if not len(mass) or mass[-1] < top_p + MARGIN:
        return -1
    inside = (mass if reference else mass - best) < top_p
    count = max(int(np.count_nonzero(inside)), 1)
    last = best[count - 1]
    kept = likely >= last
    if np.count_nonzero(kept) > count:  # some of the equals at the end of the nucleus are outside
        equal = likely == last
        kept &= ~equal | (equal.cumsum() <= np.count_nonzero(best[:count] == last))
    # In the order of the vocabulary: in that of the probabilities, near ties would depend on the batch.
    sums = (likely * kept).cumsum(dtype=np.float64)
    return int(ids[sums.searchsorted(min(chance, MOST_CHANCE) * sums[-1], side="right")])
