"""The error of a share against several opponents, in studies that are drawn at random."""

from __future__ import annotations

import numpy as np

from benchmarks.questions import DESIGNS, layout, prefer
from humaneval.statistics.cells import cells
from humaneval.statistics.opponents import share_against
from humaneval.statistics.score_intervals import score_intervals

STUDIES = 400


def test_a_share_whose_opponents_are_far_apart_varies_as_much_as_is_said() -> None:
    case, where = prefer("x", (1.5, 1.5, -2.5)), layout(DESIGNS[2], 6)
    rng = np.random.default_rng(7)
    shares, apart, together = [], [], []
    for _ in range(STUDIES):
        drawn = case.draw(where, rng)
        drawn = drawn[(drawn["generator"] == "a") | (drawn["other"] == "a")]
        first = drawn["generator"] == "a"
        won = np.where(drawn["choice"] == 1, first, ~first)
        opponent = np.where(first, drawn["other"], drawn["generator"])
        found = share_against(won, drawn["worker"], drawn["story"], opponent)
        (same,) = score_intervals(cells(won, drawn["worker"], drawn["story"], np.zeros(won.size)))
        shares.append(found.mean)
        for into, effective in ((apart, found.effective), (together, same.effective)):
            into.append(found.mean * (1.0 - found.mean) / effective)
    variance = np.var(shares)
    # The quantile of t in the place of z adds 6.5 %.
    assert 0.95 < np.mean(apart) / variance < 1.2
    assert np.mean(together) < 0.9 * np.mean(apart)
