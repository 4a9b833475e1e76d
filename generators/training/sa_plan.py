"""How SA is built and trained: its sizes, its settings, and the presets they start from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from humaneval.errors import UsageError


@dataclass(frozen=True, slots=True)
class Architecture:
    """The network's sizes; the defaults are the paper's."""

    layers: int = 6
    width: int = 512
    heads: int = 8
    hidden: int = 2048
    dropout: float = 0.1
    """Of embeddings, attention, and what each part of a block adds."""
    scale_template: bool = False
    """Whether the template's words are scaled as the answer's are. Not in the paper's code: there the signal
    of positions drowns them at first, so that what to copy from the template is learned late."""

    def __post_init__(self) -> None:
        if self.width % self.heads or self.width % 2:
            raise UsageError(
                f"a width of {self.width} cannot be shared by {self.heads} heads", "Choose an even multiple."
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. `minutes` and `steps` bound the run; whichever comes first ends it. The defaults are the
    paper's."""

    batch: int = 400
    """Examples in a step."""
    lr_scale: float = 0.3
    warm_up: int = 10_000
    """Steps in which the rate rises; then it falls with the root of the step."""
    smoothing: float = 0.1
    clip: float = 1.0
    """Of the gradient's norm."""
    seed: int = 0
    minutes: float = math.inf
    steps: int | None = None
    evaluate_every: int = 500
    evaluation_examples: int = 2000

    def rate(self, step: int, width: int) -> float:
        """The learning rate of a step (from 1): lr_scale · width^-½ · min(step^-½, step · warm_up^-1½).

        >>> round(Plan().rate(10_000, 512), 7)
        0.0001326
        """
        risen, falling = step / math.pow(max(self.warm_up, 1), 1.5), 1 / math.sqrt(step)
        return self.lr_scale / math.sqrt(width) * min(risen, falling)


PASSES = 150
"""Over the stories, in the paper's setting."""

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"words": 10_000},
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
        "words": 10_000,
    },
}
"""`paper`: the paper's sizes and settings, 150 passes over the stories. `small` learns something in minutes
on a CPU; to that end it scales the template."""
