"""The benchmark's frame, made small: all parts run, and agree on what they look at."""

from __future__ import annotations

import pytest

from benchmarks import million


def test_all_parts_run_on_a_small_frame() -> None:
    frame = million.responses(10_000)
    assert frame["generator"].nunique() == 10
    assert million.headline(frame)["pairs"] == 45
    low, high = million.bootstrapped(frame)["interval"]
    assert low < frame.loc[frame["generator"] == million.GENERATORS[0], "missed"].mean() < high
    fit = million.mixed(frame)
    assert fit["statement"].startswith("Converged")
    assert fit["worker_sd"] == pytest.approx(0.5, abs=0.2)
