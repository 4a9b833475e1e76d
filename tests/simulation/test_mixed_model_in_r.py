"""The script for R fits the mixed model where R and lme4 are."""

from __future__ import annotations

import re
from pathlib import Path

from humaneval.report.numbers_csv import r_files
from humaneval.scoring.analysis.analyse import analyse
from tests.conftest import lacking
from tests.unit.test_tables_written import in_r, numeric_generators


def test_X08_the_model_in_r_has_a_level_for_each_generator_that_is_a_number(tmp_path: Path) -> None:
    if in_r(tmp_path, "cat(requireNamespace('lme4', quietly = TRUE))\n") != ["TRUE"]:
        lacking("R", "install r-cran-lme4")
    frame = numeric_generators()
    for name, text in r_files(frame, analyse(frame)).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    printed = in_r(tmp_path, (tmp_path / "model.R").read_text(encoding="utf-8"))
    assert any(re.fullmatch(r"among .*\s2\s*", line) for line in printed)  # two degrees of freedom
