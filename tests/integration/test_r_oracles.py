"""The stored figures of R are those that R gives today, where it is installed with its packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, lacking
from tests.in_r import in_r
from tests.made_up_answers import few_ratings, preferences, ratings, uneven_preferences, uneven_ratings
from tests.r_oracles import VALUES

PACKAGES = ("BradleyTerry2", "ordinal", "lme4", "numDeriv")


def test_r_still_says_the_stored_figures(tmp_path: Path) -> None:
    named = ", ".join(f"'{one}'" for one in PACKAGES)
    asked = f"cat(all(sapply(c({named}), requireNamespace, quietly = TRUE)))"
    if in_r(tmp_path, asked) != ["TRUE"]:
        lacking("R", f"install its packages {', '.join(PACKAGES)}")
    for made in (preferences, ratings, uneven_preferences, uneven_ratings, few_ratings):
        made().to_csv(tmp_path / f"{made.__name__}.csv", index=False)
    said = in_r(tmp_path, (ROOT / "tests" / "r_oracles.R").read_text(encoding="utf-8"))
    for line, (name, stored) in zip(said, VALUES.items(), strict=True):
        assert line.startswith(name)
        figures = [float(one) for one in line.removeprefix(name).split()]
        assert figures == pytest.approx(stored, rel=2e-5), name
