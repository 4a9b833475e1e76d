"""What the benchmarks say about themselves."""

from __future__ import annotations

import math

import pytest

from benchmarks.gpu_speed import PEAKS, peak_of
from benchmarks.writing import Row, alike

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("driver", "card"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
    ],
)
def test_G41_the_peak_is_that_of_the_card_that_is_there(driver: str, card: str) -> None:
    assert peak_of(driver) == (card, PEAKS[card])


@pytest.mark.parametrize("driver", ["NVIDIA GeForce RTX 4090", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "cpu"])
def test_G41_another_card_has_no_figure_rather_than_a_wrong_one(driver: str) -> None:
    """Other builds of the same chip are slower: a share of the fast one's peak would be wrong."""
    name, peak = peak_of(driver)
    assert name == f"{driver}: unknown"
    assert math.isinf(peak)


def test_short_sentences_count_as_fewer_of_the_mean_length() -> None:
    """The end of each is a token, too."""
    rows = [Row([], length) for length in (6, 13, 8)]
    assert alike(rows, rows) == 3
    assert alike(rows[:1], rows) == pytest.approx(0.7)
    assert alike(rows[:1], rows[:1]) == 1
