"""How to train SA: the plan and its presets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from generators.training.run import Budget


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. `minutes` and `steps` limit the run; the first to be reached ends it. The defaults are
    the paper's."""

    batch: int = 400
    """Examples in a step."""
    lr_scale: float = 0.3
    warm_up: int = 10_000
    """Steps in which the rate rises; then it falls with the square root of the step."""
    smoothing: float = 0.1
    clip: float = 1.0
    """The highest norm of the gradient."""
    seed: int = 0
    minutes: float = math.inf
    steps: int | None = None
    evaluate_every: int = 500
    evaluation_examples: int = 2000

    @property
    def budget(self) -> Budget:
        """The budget of the run."""
        return Budget(self.minutes, self.steps, self.evaluate_every)

    def rate(self, step: int, width: int) -> float:
        """The learning rate of a step (from 1): lr_scale · width^-½ · min(step^-½, step · warm_up^-1½).

        >>> round(Plan().rate(10_000, 512), 7)
        0.0001326
        """
        risen, falling = step / math.pow(max(self.warm_up, 1), 1.5), 1 / math.sqrt(step)
        return self.lr_scale / math.sqrt(width) * min(risen, falling)


PASSES = 150
"""Passes over the stories, in the paper's settings."""

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"vocabulary": 10_000},
    "small": {
        "layers": 3,
        "width": 256,
        "heads": 4,
        "hidden": 1024,
        "scale_template": True,
        "batch": 32,
        "warm_up": 300,
        "minutes": 10.0,
        "evaluate_every": 200,
        "evaluation_examples": 512,
        "vocabulary": 10_000,
    },
}
"""`paper`: the paper's sizes and settings, 150 passes over the stories. `small` learns something in minutes
on a CPU; for this it scales the template."""
