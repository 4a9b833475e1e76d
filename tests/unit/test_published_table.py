"""What the paper's counts imply (95 annotators, eight generators): every figure that can be had from counts
alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.detection import d_prime, detection
from humaneval.statistics.equivalence import within_margin
from humaneval.statistics.intervals import wilson
from humaneval.statistics.multiplicity import benjamini_hochberg, holm
from humaneval.statistics.ranks import jeffreys_ranks
from humaneval.statistics.two_samples import chi_square, newcombe, normal_p, z_test
from tests.unit.mcnemar import mcnemar_exact

N = 95
COUNTS = {"BERT": 19, "SA": 28, "ILM scratch": 37, "LM scratch": 38, "LM": 39, "ILM": 43, "Human": 74}
SYSTEMS = [name for name in COUNTS if name != "Human"]


@pytest.mark.parametrize(
    ("name", "percent", "low", "high", "normalised", "detected", "sensitivity"),
    [
        ("BERT", 20.0, 13.2, 29.1, 0.250, 0.750, 2.05),
        ("SA", 29.5, 21.2, 39.3, 0.368, 0.632, 1.68),
        ("ILM scratch", 38.9, 29.8, 49.0, 0.487, 0.513, 1.36),
        ("LM scratch", 40.0, 30.7, 50.1, 0.500, 0.500, 1.33),
        ("LM", 41.1, 31.7, 51.1, 0.513, 0.487, 1.30),
        ("ILM", 45.3, 35.6, 55.3, 0.566, 0.434, 1.16),
        ("Human", 77.9, 68.6, 85.1, 0.974, 0.026, 0.09),
    ],
)
def test_the_table(
    name: str, percent: float, low: float, high: float, normalised: float, detected: float, sensitivity: float
) -> None:
    x = COUNTS[name]
    interval = wilson(x, N)
    assert [round(100 * end, 1) for end in (x / N, *interval)] == [percent, low, high]
    found = detection(x / N, interval)
    assert (round(found.normalised, 3), round(found.detected, 3)) == (normalised, detected)
    value = d_prime(1 - x / N)
    assert not isinstance(value, NotEstimable)
    assert round(value, 2) == sensitivity


def test_everybody_noticed_control() -> None:
    assert wilson(0, N).low == 0
    assert isinstance(d_prime(1.0), NotEstimable)


def test_human_is_at_chance() -> None:
    z = (COUNTS["Human"] / N - 0.8) / np.sqrt(0.8 * 0.2 / N)
    assert round(normal_p(z), 2) == 0.61


def test_ilm_against_lm_is_inconclusive() -> None:
    ilm, lm = COUNTS["ILM"], COUNTS["LM"]
    assert round(100 * (ilm - lm) / N, 1) == 4.2
    assert [round(100 * end, 1) for end in newcombe(ilm, N, lm, N)] == [-9.7, 17.9]
    assert round(chi_square(ilm, N, lm, N).p, 2) == 0.56
    assert not within_margin(newcombe(ilm, N, lm, N, 0.9), 0.1)


def test_no_pairing_could_make_it_significant() -> None:
    ilm, lm = COUNTS["ILM"], COUNTS["LM"]
    p = [mcnemar_exact(b, b - (ilm - lm)) for b in range(ilm - lm, min(ilm, N - lm) + 1)]
    assert min(p) == p[0] == 0.125
    assert round(max(p), 2) == 0.74


def family(names: list[str]) -> dict[tuple[str, str], float]:
    return {(a, b): chi_square(COUNTS[a], N, COUNTS[b], N).p for a, b in combinations(names, 2)}


def test_the_family_of_21() -> None:
    raw = family(list(COUNTS))
    assert len(raw) == 21
    steps = dict(zip(raw, holm(list(raw.values())), strict=True))
    rates = dict(zip(raw, benjamini_hochberg(list(raw.values())), strict=True))
    significant = {pair for pair, p in steps.items() if p < 0.05}
    below_human = {(name, "Human") for name in SYSTEMS}
    assert significant == below_human | {("BERT", "ILM"), ("BERT", "LM"), ("BERT", "LM scratch")}
    assert round(steps["BERT", "ILM scratch"], 4) == 0.0502
    pair = ("SA", "ILM")
    assert (round(raw[pair], 3), round(steps[pair], 2), round(rates[pair], 3)) == (0.024, 0.27, 0.047)
    assert raw["BERT", "SA"] > 0.05


def test_the_families_of_15_and_6() -> None:
    raw = family(SYSTEMS)
    assert len(raw) == 15
    steps = dict(zip(raw, holm(list(raw.values())), strict=True))
    rates = dict(zip(raw, benjamini_hochberg(list(raw.values())), strict=True))
    of_21 = dict(zip(family(list(COUNTS)), holm(list(family(list(COUNTS)).values())), strict=True))
    assert all(steps[pair] == pytest.approx(of_21[pair]) for pair in raw if of_21[pair] < 1)
    assert round(rates["SA", "ILM"], 3) == 0.073
    below = holm([z_test(COUNTS[name], N, COUNTS["Human"], N, "less").p for name in SYSTEMS])
    assert (below < 1e-5).all()


def test_which_system_is_best_is_open() -> None:
    standing = dict(zip(SYSTEMS, jeffreys_ranks([COUNTS[name] for name in SYSTEMS], [N] * 6), strict=True))
    assert round(jeffreys_ranks([COUNTS["ILM"], COUNTS["LM"]], [N, N])[0].best, 2) == 0.72
    assert round(standing["ILM"].best, 2) == 0.56
    assert (standing["ILM"].low, standing["ILM"].high) == (1, 4)
    assert (standing["LM"].low, standing["LM"].high) == (1, 5)
