"""The recipes that `benchmarks/recipes.py` compares, and the models that it trains of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a strategy is trained; the rate and its schedule are tuned."""

    name: str
    strategy: str
    loss: str = "two-means"
    plain_rows: float = 0.0
    masks: str = "hierarchical"


LM = Recipe("LM", "lm")
PAPER = Recipe("ILM, two-means", "ilm")
OTHERS = (
    Recipe("ILM, one-mean", "ilm", "one-mean"),
    Recipe("ILM, answers=2", "ilm", "answers=2"),
    Recipe("ILM, one-mean, half plain", "ilm", "one-mean", 0.5),
    Recipe("ILM, answers=2, half plain", "ilm", "answers=2", 0.5),
    Recipe("ILM, one-mean, sentence masks", "ilm", "one-mean", masks="sentence"),
    Recipe("ILM, answers=2, sentence masks", "ilm", "answers=2", masks="sentence"),
    Recipe("ILM, two-means, sentence masks", "ilm", masks="sentence"),
)
RECIPES = (LM, PAPER, *OTHERS)


class Setting(NamedTuple):
    """A rate and its schedule."""

    rate: float
    falls: bool


class Cell(NamedTuple):
    """A model to train."""

    recipe: Recipe
    setting: Setting
    seed: int
    budget: float
    """Tokens."""


class Found(NamedTuple):
    """A trained model's perplexities of one masked sentence a story."""

    cell: Cell
    valid: float
    test: float
