"""The script for R fits the question's models where R and its packages are."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from humaneval.report.numbers_csv import r_files
from humaneval.scoring.analysis.analyse import Analysis, analyse
from tests.conftest import lacking
from tests.unit.test_question_scores import answers
from tests.unit.test_tables_written import in_r, numeric_generators


def written(folder: Path, frame: pd.DataFrame, package: str) -> Analysis:
    """The files for R in a folder."""
    if in_r(folder, f"cat(requireNamespace('{package}', quietly = TRUE))\n") != ["TRUE"]:
        lacking("R", f"install.packages('{package}')")
    analysis = analyse(frame)
    for name, text in r_files(frame, analysis).items():
        (folder / name).write_text(text, encoding="utf-8")
    return analysis


def run(folder: Path) -> list[str]:
    return in_r(folder, (folder / "model.R").read_text(encoding="utf-8"))


def coefficient(printed: list[str], name: str) -> list[float]:
    """The estimate and its standard error, as R prints them."""
    line = next(line for line in printed if line.startswith(name))
    return [float(cell) for cell in line.split()[1:3]]


def test_X08_the_model_in_r_has_a_level_for_each_generator_that_is_a_number(tmp_path: Path) -> None:
    written(tmp_path, numeric_generators(), "lme4")
    assert any(re.fullmatch(r"\s*among .*\s2\s*", line) for line in run(tmp_path))  # 2 degrees of freedom


def test_strengths_in_r_are_those_of_the_report(tmp_path: Path) -> None:
    analysis = written(tmp_path, answers("prefer"), "BradleyTerry2")
    printed = run(tmp_path)
    table = next(one for one in analysis.beside if one.key == "ranking")
    ours = {row[0]: row[4] for row in table.rows}
    for name in ("human", "poor"):
        assert coefficient(printed, f"..{name}")[0] == pytest.approx(ours[name] - ours["good"], abs=1e-4)


def test_ordinal_models_in_r_are_those_of_the_report(tmp_path: Path) -> None:
    frame = answers("rate", scales={"fluency": ("low", "high")})
    frame = frame[frame["generator"] != "human"]
    analysis = written(tmp_path, frame, "ordinal")
    printed = run(tmp_path)
    table = next(one for one in analysis.beside if one.key == "ordinal_fluency")
    (row,) = table.rows
    estimate, _ = coefficient(printed, "generatorpoor")
    assert row[0] == "good – poor"
    assert -estimate == pytest.approx(row[1], abs=2e-3)


def test_points_in_r_are_compared_between_systems_alone(tmp_path: Path) -> None:
    written(tmp_path, answers("boundary"), "lme4")
    printed = "\n".join(run(tmp_path))
    assert "generatorpoor" in printed
    assert "generatorhuman" not in printed
