"""What the budget of a run gives on this machine: measured, and said before the run starts."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import replace
from typing import Any, NamedTuple

import click

from generators.training.run import Budget, Run, Speed
from generators.training.state import Progress

SECONDS = 4.0
"""How long the steps are measured."""


class Forecast(NamedTuple):
    """Where a run will end."""

    step: int
    seconds: float
    tokens: int


def forecast(budget: Budget, done: Progress, speed: Speed) -> Forecast | None:
    """Where a run that has come as far as `done` will end; None if patience is its only limit.

    A run looks at the clock after each step and each evaluation, and it always ends with an evaluation.
    """
    left = budget.minutes * 60 - done.seconds
    last = min(done.step + left / speed.step + 1, budget.last_step or math.inf)
    if math.isinf(last):
        return None
    every, ends = budget.evaluate_every, math.floor(last)
    if left <= 0 or ends <= done.step:
        return Forecast(done.step, done.seconds, done.tokens)

    def needed(step: int) -> float:
        evaluations = step // every - done.step // every
        return speed.start + (step - done.step) * speed.step + evaluations * speed.evaluation

    step = bisect_left(range(ends), left, lo=done.step + 1, key=needed)
    ending = speed.evaluation if step % every else 0.0
    more = step - done.step
    return Forecast(step, done.seconds + needed(step) + ending, done.tokens + round(more * speed.tokens))


def say_forecast(
    kind: str, run: Run[Any], batch: int, documents: int, *, as_json: bool, shown: bool = True
) -> None:
    """Measure and print what the budget gives, for a run with `batch` examples in a step. A process of
    torchrun's that is not `shown` only takes part."""
    budget, done = run.budget, replace(run.progress)
    speed = run.measure(SECONDS)
    found = forecast(budget, done, speed)
    if not shown:
        return
    if as_json:
        record = {
            "kind": kind,
            "seconds_before": round(speed.start, 3),
            "seconds_a_step": round(speed.step, 5),
            "seconds_an_evaluation": round(speed.evaluation, 3),
            "tokens_a_step": round(speed.tokens, 1),
            "steps_done": done.step,
            "steps": found.step if found else None,
            "tokens": found.tokens if found else None,
            "passes": round(found.step * batch / documents, 3) if found else None,
            "minutes": round(found.seconds / 60, 3) if found else None,
        }
        click.echo(json.dumps(record))
        return
    click.echo(
        f"{kind}: a step of {batch} examples takes {_time(speed.step)}; an evaluation, every"
        f" {budget.evaluate_every} steps, takes {_time(speed.evaluation)}"
    )
    if found is None:
        each = speed.step + speed.evaluation / budget.evaluate_every
        click.echo(
            f"1,000 steps: {_time(1000 * each)}, {round(1000 * speed.tokens):,} tokens; only"
            f" {budget.patience} evaluations without a better one end this run"
        )
        return
    limit = "steps" if found.step == budget.last_step else "minutes"
    resumed = f" ({done.step:,} of them are done)" if done.step else ""
    click.echo(
        f"the {limit} end this run after {_time(found.seconds)}: about {found.step:,} steps{resumed},"
        f" {found.tokens:,} tokens, {found.step * batch / documents:,.1f} passes over {documents:,} documents"
    )


def _time(seconds: float) -> str:
    """A time in a unit that suits it.

    >>> _time(0.0321), _time(6.04), _time(600)
    ('32 ms', '6.0 s', '10 min')
    """
    if seconds < 1:
        return f"{max(seconds * 1000, 1):.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
