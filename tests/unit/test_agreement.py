"""Agreement against published tables: Krippendorff's data C, Wikipedia's examples, real batches."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.agreement import (
    ALIKE,
    ALONE,
    AgreementInterval,
    Metric,
    Tally,
    bootstrap_agreement,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percentage_agreement,
    tally,
)
from humaneval.statistics.arrays import NotEstimable

QUICK = settings(max_examples=40, deadline=None)
COEFFICIENTS = (percentage_agreement, krippendorff_alpha, fleiss_kappa, gwet_ac1)

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", data C: four observers, twelve units
DATA_C = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
# the example of Wikipedia's article on Krippendorff's alpha: three coders, fifteen units
THREE_CODERS = [
    ". . . . . 3 4 1 2 1 1 3 3 . 3",
    "1 . 2 1 3 3 4 3 . . . . . . .",
    ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
]
# the example of Wikipedia's article on Fleiss' kappa: ten subjects, fourteen raters, five categories
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def of_lines(lines: list[str]) -> Tally:
    entries = [
        (unit, int(value), rater)
        for rater, line in enumerate(lines)
        for unit, value in enumerate(line.split())
        if value != "."
    ]
    units, values, raters = zip(*entries, strict=True)
    return tally(units, values, raters)


def of_counts(table: list[list[int]]) -> Tally:
    entries = [
        (unit, value) for unit, row in enumerate(table) for value, n in enumerate(row) for _ in range(n)
    ]
    units, values = zip(*entries, strict=True)
    return tally(units, values)


@pytest.mark.parametrize(
    ("metric", "alpha"),
    [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)],
)
def test_alpha_of_data_c(metric: Metric, alpha: float) -> None:
    assert krippendorff_alpha(of_lines(DATA_C), metric) == pytest.approx(alpha, abs=5e-7)


def test_chance_corrected_agreement_of_data_c() -> None:
    counts = of_lines(DATA_C)  # irrCAC
    assert gwet_ac1(counts) == pytest.approx(0.77544, abs=5e-6)
    assert fleiss_kappa(counts) == pytest.approx(0.76117, abs=5e-6)


def test_alpha_of_three_coders() -> None:
    assert krippendorff_alpha(of_lines(THREE_CODERS)) == pytest.approx(0.691358, abs=5e-7)
    assert krippendorff_alpha(of_lines(THREE_CODERS), "interval") == pytest.approx(0.810845, abs=5e-7)


def test_kappas_of_fourteen_raters() -> None:
    counts = of_counts(FOURTEEN_RATERS)
    assert fleiss_kappa(counts) == pytest.approx(0.209931, abs=5e-7)
    assert krippendorff_alpha(counts) == pytest.approx(0.215574, abs=5e-7)
    kappa = fleiss_kappa(counts)
    assert not isinstance(kappa, NotEstimable)
    assert krippendorff_alpha(counts) == pytest.approx(1 - (1 - kappa) * 139 / 140)


@pytest.mark.parametrize(
    ("metric", "alpha"),  # krippendorff 0.9.0 on the same ratings
    [
        ("nominal", 0.22075091275679803),
        ("ordinal", 0.21980343648375178),
        ("interval", 0.20968194410351704),
        ("ratio", 0.24209685858196994),
    ],
)
def test_alpha_with_a_third_of_the_ratings_missing(metric: Metric, alpha: float) -> None:
    rng = np.random.default_rng(4)
    table = rng.integers(1, 6, size=(6, 30)).astype(float)
    truth = rng.integers(1, 6, size=30)
    table = np.where(rng.random((6, 30)) < 0.6, truth[None, :], table)
    table[rng.random((6, 30)) < 0.3] = np.nan
    raters, units = np.nonzero(~np.isnan(table))
    assert krippendorff_alpha(tally(units, table[raters, units], raters), metric) == pytest.approx(alpha)


def test_agreement_of_real_batches(test_data: Path) -> None:
    batches = test_data / "responses" / "strap"
    coherence = _labels(batches / "coha_Batch_4025612_batch_results.csv")
    assert fleiss_kappa(_tally(coherence)) == pytest.approx(0.3895, abs=5e-5)
    formality = _labels(batches / "formality_np0.0_Batch_4041393_batch_results.csv")
    formality |= _labels(batches / "formality_np0.0_Batch_4041529_batch_results.csv")  # ties were put again
    assert fleiss_kappa(_tally(formality)) == pytest.approx(0.2984, abs=5e-5)


def _labels(file: Path) -> dict[str, list[str]]:
    labels: dict[str, list[str]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    for row in rows:
        cells = dict(zip(header, row, strict=False))
        stimulus = f"{cells['Input.text1']}\n{cells['Input.text2']}"
        labels.setdefault(stimulus, []).append(cells["Answer.semantic-similarity.label"])
    return labels


def _tally(labels: dict[str, list[str]]) -> Tally:
    return tally(
        [stimulus for stimulus, given in labels.items() for _ in given],
        [label for given in labels.values() for label in given],
    )


ratings = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4)), min_size=1, max_size=40)


@QUICK
@given(ratings, st.randoms())
def test_order_and_labels_change_nothing(entries: list[tuple[int, int]], random: Random) -> None:
    before = tally(*zip(*entries, strict=True))
    random.shuffle(entries)
    after = tally([f"s{9 - unit}" for unit, _ in entries], ["dcba"[value - 1] for _, value in entries])
    for coefficient in COEFFICIENTS:
        one, other = coefficient(before), coefficient(after)
        if isinstance(one, NotEstimable):
            assert one == other
        else:
            assert other == pytest.approx(one, abs=1e-12)


@QUICK
@given(ratings)
def test_no_coefficient_exceeds_1_nor_percentage_leaves_0_to_1(entries: list[tuple[int, int]]) -> None:
    counts = tally(*zip(*entries, strict=True))
    for coefficient in COEFFICIENTS:
        value = coefficient(counts)
        assert isinstance(value, NotEstimable) or value <= 1 + 1e-12
    share = percentage_agreement(counts)
    assert isinstance(share, NotEstimable) or 0 <= share <= 1


def test_full_agreement_on_several_values_is_1() -> None:
    counts = tally([1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 4, 4])
    for coefficient in COEFFICIENTS:
        assert coefficient(counts) == pytest.approx(1)


def test_one_rating_a_stimulus_is_not_estimable() -> None:
    counts = tally([1, 2, 3], [1, 2, 1])
    for coefficient in COEFFICIENTS:
        assert coefficient(counts) == NotEstimable(ALONE)
    assert str(bootstrap_agreement(counts, gwet_ac1, seed=1)).startswith("not estimable, because no stimulus")


def test_one_value_is_agreement_that_chance_explains_too() -> None:
    counts = tally([1, 1, 2, 2], [3, 3, 3, 3])
    assert percentage_agreement(counts) == 1.0
    assert krippendorff_alpha(counts) == fleiss_kappa(counts) == NotEstimable(ALIKE)
    assert isinstance(gwet_ac1(counts), NotEstimable)
    # with a scale of five AC1 knows what else could have been said
    scaled = tally([1, 1, 2, 2], [3, 3, 3, 3], scale=range(1, 6))
    assert gwet_ac1(scaled) == 1.0
    assert krippendorff_alpha(scaled) == NotEstimable(ALIKE)


def test_resampling_stimuli_gives_an_interval_that_the_seed_fixes() -> None:
    counts = of_counts(FOURTEEN_RATERS)
    found = bootstrap_agreement(counts, fleiss_kappa, seed=7, replicates=500)
    assert isinstance(found, AgreementInterval)
    assert found == bootstrap_agreement(counts, fleiss_kappa, seed=7, replicates=500)
    assert found != bootstrap_agreement(counts, fleiss_kappa, seed=8, replicates=500)
    assert found.interval.low < 0.209931 < found.interval.high
    assert (found.replicates, found.left_out) == (500, 0)
    narrower = bootstrap_agreement(counts, fleiss_kappa, seed=7, replicates=500, level=0.5)
    assert isinstance(narrower, AgreementInterval)
    assert found.interval.low < narrower.interval.low < narrower.interval.high < found.interval.high


def test_copies_of_all_stimuli_narrow_the_interval_by_the_root_of_their_number() -> None:
    counts = of_counts(FOURTEEN_RATERS)
    many = of_counts(FOURTEEN_RATERS * 16)
    wide = bootstrap_agreement(counts, fleiss_kappa, seed=7)
    narrow = bootstrap_agreement(many, fleiss_kappa, seed=7)
    assert isinstance(wide, AgreementInterval)
    assert isinstance(narrow, AgreementInterval)
    ratio = (wide.interval.high - wide.interval.low) / (narrow.interval.high - narrow.interval.low)
    assert 3.2 < ratio < 4.8


def test_a_bootstrap_that_mostly_fails_says_so() -> None:
    nearly_alike = tally([1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 1, 2])
    found = bootstrap_agreement(nearly_alike, krippendorff_alpha, seed=1, replicates=200)
    assert isinstance(found, NotEstimable)
    assert "of 200 resamples of the stimuli gave no coefficient" in str(found)
    single = bootstrap_agreement(tally([1, 1], [1, 2]), fleiss_kappa, seed=1)
    assert single == NotEstimable("only one stimulus has two ratings")


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(InputError, match="2 stimuli, 1 ratings"):
        tally([1, 2], [1])
    with pytest.raises(InputError, match="no stimuli and no ratings"):
        tally([], [])
    with pytest.raises(InputError, match="1 of 2 ratings are missing, the first is entry 2"):
        tally([1, 2], [1, float("nan")])
    with pytest.raises(InputError, match="1 ratings are by a rater who had rated the same stimulus"):
        tally([1, 1], [2, 3], ["ann", "ann"])
    with pytest.raises(InputError, match="rating 6 is not on the scale: 1, 2, 3, 4, 5"):
        tally([1, 1], [2, 6], scale=range(1, 6))
    with pytest.raises(InputError, match="500 different ratings of 500 stimuli are too many"):
        tally(range(500), [value / 7 for value in range(500)])
    words = tally([1, 1], ["yes", "no"])
    with pytest.raises(InputError, match="interval metric needs ratings that are numbers"):
        krippendorff_alpha(words, "interval")
    with pytest.raises(InputError, match="not below 0"):
        krippendorff_alpha(tally([1, 1], [-1, 1]), "ratio")
    with pytest.raises(UsageError, match="'cubic' is not a metric"):
        krippendorff_alpha(words, "cubic")
    with pytest.raises(UsageError, match="number of replicates is 0"):
        bootstrap_agreement(words, fleiss_kappa, seed=1, replicates=0)
