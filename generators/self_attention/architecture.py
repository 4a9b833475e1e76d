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
    """Of embeddings, attention, and what each part of a block adds."""
    scale_template: bool = False
    """Whether the template's words are scaled as the answer's are. Not in the paper's code: there the signal
    of positions drowns them at first, so that what to copy from the template is learned late."""

    def __post_init__(self) -> None:
        if self.width % self.heads or self.width % 2:
            raise UsageError(
                f"a width of {self.width} cannot be shared by {self.heads} heads", "Choose an even multiple."
            )
