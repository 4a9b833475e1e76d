"""The sizes of the network."""

from __future__ import annotations

from dataclasses import dataclass

from humaneval.errors import UsageError


@dataclass(frozen=True, slots=True)
class Architecture:
    """The network's sizes; the defaults are the paper's."""

    layers: int = 6
    width: int = 512
    heads: int = 8
    hidden: int = 2048
    dropout: float = 0.1
    """The probability for embeddings, attention, and the output of each part of a block."""
    scale_template: bool = False
    """Whether the embeddings of the template are scaled as those of the answer. The paper's code does not do
    so: at first the signal of positions is much larger, so that the model learns late to copy from the
    template."""

    def __post_init__(self) -> None:
        if self.width % self.heads or self.width % 2:
            raise UsageError(
                f"a width of {self.width} cannot be split into {self.heads} heads",
                "Choose an even width that is a multiple of the heads.",
            )
