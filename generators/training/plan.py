"""How to train a causal language model: the plan, the architecture, and their presets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from generators.training.loss import Mean, read_loss
from generators.training.run import Budget
from humaneval.errors import UsageError


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. `minutes`, `steps`, `passes` and `patience` limit the run; the first to be reached ends
    it.

    The defaults are the paper's: AdamW with a constant rate and no weight decay, 24 examples in a step.
    """

    strategy: str
    learning_rate: float = 5e-5
    warm_up: int = 0
    """Steps in which the rate rises to its value."""
    decay: bool = False
    """Whether the rate then falls linearly to 0 at the end of the budget; otherwise it is constant."""
    weight_decay: float = 0.0
    clip: float = 1.0
    """The highest norm of the gradient."""
    batch: int = 24
    """Examples in a step."""
    micro_batch: int = 0
    """Examples that are processed at once, if memory is short; 0: all, but on a CPU at most 128. It does not
    change the loss."""
    parts: int = 1
    """The number of pieces of a batch over which the two means of the loss are taken; 3 in the paper's
    code."""
    loss: str = Mean.TWO.value
    """How much answers and the text around them count, as `read_loss` reads it."""
    plain_rows: float = 0.0
    """The share of the examples that are read as plain text instead: S x E, all of it context."""
    seed: int = 0
    minutes: float = math.inf
    steps: int | None = None
    passes: float | None = None
    """Passes over the documents, which the paper calls epochs; with 16 masks per document, a pass over all
    masked examples is 16 of these."""
    evaluate_every: int = 500
    evaluation_examples: int = 2000
    patience: int = 5
    """Evaluations without a better one after which training stops; 0: never."""
    precision: str = "auto"
    """fp32, bf16 (by autocast; weights and optimizer stay fp32), or auto: bf16 on a GPU, else fp32."""
    compile: bool = False

    def __post_init__(self) -> None:
        read_loss(self.loss)
        endless = (
            math.isinf(self.minutes) and self.steps is None and self.passes is None and not self.patience
        )
        if endless:
            raise UsageError("this run would never end", "Give --patience, --minutes, --steps or --passes.")

    def budget(self, documents: int) -> Budget:
        """The budget of a run over that many documents."""
        return Budget(self.minutes, self.last_step(documents), self.evaluate_every, self.patience)

    def last_step(self, documents: int) -> int | None:
        """The step at which the run ends, whatever the clock says."""
        by_passes = None if self.passes is None else max(1, int(documents * self.passes / self.batch))
        bounds = [bound for bound in (self.steps, by_passes) if bound is not None]
        return min(bounds) if bounds else None


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of GPT-2's architecture; the defaults are GPT-2 small."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    dropout: float = 0.1
    attention_dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise UsageError(
                f"a width of {self.width} cannot be split into {self.heads} heads",
                "Choose a width that is a multiple of the heads.",
            )


SMALL = {"layers": 4, "width": 256, "heads": 4}
PRESETS: dict[str, dict[str, Any]] = {
    "stories": {},
    "abstracts": {"passes": 20.0},
    "lyrics": {"passes": 2.0, "patience": 0},
    "small": {
        **SMALL,
        "learning_rate": 1e-3,
        "warm_up": 50,
        "batch": 16,
        "weight_decay": 0.01,
        "evaluate_every": 100,
        "evaluation_examples": 256,
        "patience": 0,
        "minutes": 10.0,
        "vocabulary": 8000,
        "loss": Mean.ONE.value,
    },
}
"""Changes to the defaults of Plan and Architecture. The first three are the paper's settings by corpus: early
stopping for stories and abstracts, two passes for lyrics. `small` learns something in minutes on a CPU; with
one mean, its ILM needs a third of the tokens to be ahead of LM.
"""
