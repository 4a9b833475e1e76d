"""Generators judged by the same annotators, compared within them: Cochran's Q, and the interval of a
difference. McNemar's test is in `paired_tests`."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from humaneval.errors import InputError
from humaneval.statistics.arrays import (
    NotEstimable,
    zeros_and_ones,
)
from humaneval.statistics.intervals import Interval
from humaneval.statistics.two_samples import Significance


def bonett_price_at(difference: float, discordant: float, n: float, quantile: float) -> Interval:
    """The Bonett–Price interval of a paired difference of shares, first minus second.

    It is d·q ± quantile·√((π̃ − (d·q)²)/(n + 2)), cut at −1 and 1 (Bonett and Price 2012). Here q is n/(n +
    2), and π̃ is (n·discordant + 2)/(n + 2). `discordant` is the share of pairs that differ. `n` need not be
    whole, and the quantile may be that of t in the place of z.

    >>> [round(end, 6) for end in bonett_price_at(4 / 95, 46 / 95, 95, 1.959964)]
    [-0.098512, 0.180986]
    """
    centre, share = n * difference / (n + 2.0), (n * discordant + 2.0) / (n + 2.0)
    reach = quantile * sqrt(max(share - centre * centre, 0.0) / (n + 2.0))
    return Interval(max(-1.0, centre - reach), min(1.0, centre + reach))


def cochran_q(outcomes: ArrayLike) -> Significance | NotEstimable:
    """Cochran's Q: whether any of k generators differ, from an n × k table of outcomes (0 or 1), one line an
    annotator.

    Q = (k−1)(k·ΣG² − T²)/(kT − ΣL²), where G are the column sums, L the row sums and T the total. It is
    compared with χ² at k − 1 degrees of freedom (Cochran 1950). For two generators it is McNemar's χ². Not
    estimable where every annotator's outcomes are all alike. Raises InputError unless the table has two
    columns or more, a row, and holds zeros and ones.

    >>> round(cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]).statistic, 6)
    4.5
    """
    table = zeros_and_ones(outcomes, "outcomes")
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] < 2:
        raise InputError(
            "Cochran's Q needs a table with a row for each annotator and at least two generators"
        )
    k = table.shape[1]
    by_generator, by_annotator = table.sum(axis=0), table.sum(axis=1)
    total = float(table.sum())
    within = k * total - float(np.square(by_annotator).sum())
    if within == 0:
        return NotEstimable("every annotator gave the generators compared the same answers")
    statistic = (k - 1) * (k * float(np.square(by_generator).sum()) - total**2) / within
    return Significance(statistic, k - 1, float(chdtrc(k - 1, statistic)))
