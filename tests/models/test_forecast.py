"""`train --plan` says what a budget gives, and trains nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from generators.training.forecast import forecast
from generators.training.log import LOG
from generators.training.run import Budget, Speed
from generators.training.state import STATE_TENSORS, Progress
from tests.commands import Command

pytestmark = pytest.mark.models
SPEED = Speed(start=10.0, step=0.5, evaluation=20.0, tokens=1000.0)
TINY = (
    *("--bundled", "--from-scratch", "--preset", "small", "--device", "cpu", "--copies", "2"),
    *("--layers", "1", "--width", "16", "--heads", "1", "--vocabulary", "1500", "--batch", "4"),
)


@pytest.mark.parametrize(
    ("budget", "done", "step", "seconds", "tokens"),
    [
        # 590 seconds for steps of 0.5 s, and for an evaluation after each 40.
        (Budget(10, None, 40), Progress(), 590, 600, 590_000),
        (Budget(10, 100, 40), Progress(), 100, 110, 100_000),
        (Budget(math.inf, 100, 40), Progress(step=60, seconds=70, tokens=61_000), 100, 120, 101_000),
        (Budget(10, None, 40), Progress(step=400, seconds=700, tokens=1), 400, 700, 1),
        (Budget(0.01, None, 40), Progress(), 1, 11, 1000),
    ],
)
def test_a_run_ends_by_its_steps_or_its_minutes_evaluations_and_earlier_runs_counted(
    budget: Budget, done: Progress, step: int, seconds: float, tokens: int
) -> None:
    found = forecast(budget, done, SPEED)
    assert found is not None
    assert (found.step, found.tokens) == (step, tokens)
    assert found.seconds == pytest.approx(seconds)


def test_a_run_that_only_patience_ends_has_no_number_of_steps() -> None:
    assert forecast(Budget(math.inf, None, 500, patience=5), Progress(), SPEED) is None


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generators.training.forecast.SECONDS", 0.2)


@pytest.mark.usefixtures("quick")
def test_a_plan_trains_nothing_and_a_run_that_has_begun_goes_on(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("train", "ilm", *TINY, "--evaluate-every", "5", "--out", out)
    said = command(*arguments, "--plan", "--minutes", "3")
    assert said.code == 0
    assert "ilm: a step of 4 examples takes" in said.out
    assert "the minutes end this run after 3 min: about" in said.out
    assert sorted(path.name for path in out.iterdir()) == ["examples", "lock"]
    assert command(*arguments, "--steps", "5").code == 0
    before = {path: path.read_bytes() for path in out.glob("*.*") if path.is_file()}
    assert out / STATE_TENSORS in before
    assert out / LOG in before
    found = json.loads(command(*arguments, "--plan", "--steps", "20", "--json").out)
    assert (found["steps_done"], found["steps"]) == (5, 20)
    assert found["tokens"] > 15 * 4 * 30
    assert found["passes"] == pytest.approx(80 / 124, abs=0.001)
    assert {path: path.read_bytes() for path in out.glob("*.*") if path.is_file()} == before


@pytest.mark.usefixtures("quick")
def test_sa_has_a_plan_too(command: Command, tmp_path: Path) -> None:
    tiny = ("--layers", "1", "--width", "16", "--heads", "1", "--hidden", "16", "--batch", "4")
    said = command("train", "sa", "--bundled", *tiny, "--device", "cpu", "--plan", "--out", tmp_path / "out")
    assert "the steps end this run after" in said.out
    assert "150.0 passes over 124 documents" in said.out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["lock"]


@pytest.mark.usefixtures("quick")
def test_answers_alone_from_scratch_are_warned_of(command: Command, tmp_path: Path) -> None:
    arguments = ("train", "ilm", *TINY, "--plan", "--steps", "9", "--out", tmp_path / "out")
    assert "with one-mean it learns far more" in command(*arguments, "--loss", "answers").err
    assert "one-mean" not in command(*arguments, "--loss", "answers=2").err


def test_bert_has_no_plan(command: Command, tmp_path: Path) -> None:
    said = command("train", "bert", "--from-scratch", "--plan", "--out", tmp_path / "out")
    assert said.code == 2
    assert "--plan goes with ilm, lm, lm-rev, lm-all and sa, not with bert" in said.err
