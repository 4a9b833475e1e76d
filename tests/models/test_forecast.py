"""`train --plan` says what a budget gives, and trains nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch

from generators.training.forecast import forecast
from generators.training.log import LOG
from generators.training.run import Budget, Evaluation, Run, Speed, Step
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
        # 10 s before, then 40 s for 40 steps of 0.5 s and an evaluation. The 15th evaluation is the last.
        (Budget(10, None, 40), Progress(), 600, 610, 600_000),
        # The minutes are over at step 1,100, after two evaluations, and one more follows.
        (Budget(10, None, 400), Progress(), 1100, 620, 1_100_000),
        (Budget(10, 100, 40), Progress(), 100, 120, 100_000),
        (Budget(10, 100, 50), Progress(), 100, 100, 100_000),
        (Budget(10, 20, 100), Progress(), 20, 40, 20_000),
        (Budget(math.inf, 100, 40), Progress(step=60, seconds=70, tokens=61_000), 100, 140, 101_000),
        (Budget(10, None, 40), Progress(step=400, seconds=700, tokens=1), 400, 700, 1),
        (Budget(10, 400, 40), Progress(step=400, seconds=200, tokens=1), 400, 200, 1),
        (Budget(0.01, None, 40), Progress(), 1, 30.5, 1000),
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


class Clocked(Run[int]):
    """A run in which everything takes a time that is known: the first step 5 s, others 1 s, an evaluation
    3 s a batch, saving 2 s. Its batches have 10 tokens or 30."""

    slower, tells_steps, held_out, now, begun = "", False, 4, 0.0, False
    clock = staticmethod(lambda: Clocked.now)

    def __init__(self, folder: Path, budget: Budget) -> None:
        weights = torch.nn.Linear(1, 1)
        super().__init__(
            folder,
            weights,
            torch.optim.SGD(weights.parameters()),
            device="cpu",
            seed=0,
            budget=budget,
            vocabulary=100,
            fingerprint={},
            complete=lambda folder: True,
        )

    @property
    def usual_tokens(self) -> float:
        return 20.0

    def rate(self) -> float:
        return 0.1

    def batches(self) -> Iterator[int]:
        return cycle((10, 30))

    def step(self, batch: int) -> Step:
        Clocked.now += batch / 20 + (0 if self.begun else 4)
        self.begun = True
        return Step(1.0, batch)

    def evaluate(self, most: int | None = None) -> Evaluation:
        Clocked.now += 3 * (most or self.held_out)
        return Evaluation(100.0 / (1 + self.progress.step), 1.0)

    def save(self, found: Evaluation, outcome: dict[str, Any]) -> None:
        Clocked.now += 2


@pytest.mark.parametrize(
    "budget",
    [
        Budget(math.inf, 40, 10),
        Budget(math.inf, 44, 10),
        Budget(math.inf, 4, 10),
        Budget(5, None, 10),
        Budget(4, 400, 100),
    ],
)
def test_a_plan_counts_every_part_of_a_run(budget: Budget, tmp_path: Path) -> None:
    """The first step, the steps, evaluations and saving, and the evaluation at the end."""
    foretold = forecast(budget, Progress(), Clocked(tmp_path / "plan", budget).measure(6.0))
    began = Clocked.now
    done = Clocked(tmp_path / "run", budget).go()
    assert foretold is not None
    assert foretold.step == pytest.approx(done.step, abs=1)
    assert foretold.tokens == pytest.approx(done.tokens, rel=0.02)
    assert foretold.seconds == pytest.approx(Clocked.now - began, rel=0.02)


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
