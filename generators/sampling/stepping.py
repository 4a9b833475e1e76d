"""Runs language models step by step: the rows of a batch get one token each, and nothing is computed twice.

Rows that are given several times, as the samples of one blank are, are read once. GPT-2 has a module of its
own; other causal models use the library's cache, with rows padded on the left.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from generators.checkpoints.weights import positions
from generators.sampling.flat_forward import is_plain_gpt2
from generators.sampling.gpt2_steps import Gpt2Steps

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


class Steps(Protocol):
    """A batch of B rows in a model with a vocabulary of V."""

    @property
    def patience(self) -> float:
        """The share of rows that continue, up to which it pays to leave the finished ones out."""

    def read(self) -> Tensor:
        """Read the rows that were given; (B, V) logits after them."""

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Read one more token for each of B rows; (B, V) logits after it."""

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows, in this order."""


def steps(model: PreTrainedModel, rows: Sequence[Sequence[int]], room: int) -> Steps:
    """Start with rows of ids of any lengths, with room for `room` more tokens each."""
    return (Gpt2Steps if is_plain_gpt2(model) else _AnySteps)(model, rows, room)


def _padded(rows: Sequence[Sequence[int]], device: Any) -> tuple[Tensor, Tensor]:
    """(B, T) ids, and which of them are real. The padding is on the left: the last column has the last token
    of each row."""
    import torch

    width = max(map(len, rows))
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    real = torch.zeros((len(rows), width), dtype=torch.bool)
    for number, row in enumerate(rows):
        ids[number, width - len(row) :] = torch.tensor(list(row), dtype=torch.long)
        real[number, width - len(row) :] = True
    return ids.to(device), real.to(device)


class _AnySteps:
    patience: ClassVar[float] = 0.5

    def __init__(self, model: PreTrainedModel, rows: Sequence[Sequence[int]], room: int) -> None:
        from transformers import DynamicCache

        self.model = model
        different = list(dict.fromkeys(map(tuple, rows)))
        number = {row: at for at, row in enumerate(different)}
        self.owner = [number[tuple(row)] for row in rows]
        self.ids, real = _padded(different, model.device)
        self.mask = real.long()
        self.places, self.last = (self.mask.cumsum(-1) - 1).clamp(min=0), positions(model) - 1
        self.asked = inspect.signature(model.forward).parameters
        self.cache = DynamicCache(config=model.config)
        # Older releases of transformers 5 call it past_key_values.
        name = "cache" if "cache" in self.asked else "past_key_values"
        self.fixed: dict[str, Any] = {name: self.cache, "use_cache": True}
        if "logits_to_keep" in self.asked:
            self.fixed["logits_to_keep"] = 1

    def read(self) -> Tensor:
        import torch

        logits = self._run()
        if len(self.owner) > len(logits):
            owner = torch.tensor(self.owner, device=logits.device)
            self.keep(owner)
            logits = logits[owner]
        return logits

    def _run(self) -> Tensor:
        # Architectures that count positions by the mask take no position ids.
        places = {"position_ids": self.places} if "position_ids" in self.asked else {}
        output = self.model(input_ids=self.ids, attention_mask=self.mask, **places, **self.fixed)
        logits: Tensor = output.logits[:, -1]
        return logits

    def feed(self, tokens: Sequence[int]) -> Tensor:
        import torch

        self.ids = torch.tensor(tokens, device=self.mask.device)[:, None]
        self.mask = torch.cat([self.mask, self.mask.new_ones((len(tokens), 1))], dim=1)
        self.places = (self.places[:, -1:] + 1).clamp(max=self.last)
        return self._run()

    def keep(self, rows: Tensor) -> None:
        self.mask, self.places = self.mask[rows], self.places[rows]
        self.cache.batch_select_indices(rows)
