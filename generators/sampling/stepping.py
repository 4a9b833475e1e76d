"""Runs language models step by step: left-padded rows in a batch get one token each, and nothing is computed
twice.

For GPT-2, keys and values are written in place; other causal models use the library's cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from generators.checkpoints.weights import positions
from generators.sampling.flat_forward import is_plain_gpt2

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


class Steps(Protocol):
    """A batch of B rows in a model with a vocabulary of V."""

    def read(self) -> Tensor:
        """Read the rows that were given; (B, V) logits after them."""

    def feed(self, tokens: Tensor) -> Tensor:
        """Read one more token for each row, (B,) int64 on the device; (B, V) logits after it."""

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows, in this order."""


def steps(model: PreTrainedModel, rows: Sequence[Sequence[int]], room: int) -> Steps:
    """Start with rows of ids of any lengths, with room for `room` more tokens each."""
    return (_Gpt2Steps if is_plain_gpt2(model) else _AnySteps)(model, rows, room)


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


class _Gpt2Steps:
    def __init__(self, model: PreTrainedModel, rows: Sequence[Sequence[int]], room: int) -> None:
        import torch

        self.model, self.body = model, _body(model)
        self.ids, real = _padded(rows, model.device)
        # The library computes the same function in six passes over memory.
        self.usual = model.config.activation_function in ("gelu_new", "gelu_pytorch_tanh")
        self.lengths = real.sum(1)
        count, width = self.ids.shape
        self.filled, self.heads, self.last = 0, model.config.n_head, positions(model) - 1
        self.real = torch.ones((count, width + room), dtype=torch.bool, device=model.device)
        self.real[:, :width] = real
        self.padded = not bool(real.all())
        shape = (count, self.heads, width + room, model.config.n_embd // self.heads)
        kind = {"dtype": self.body.wte.weight.dtype, "device": model.device}
        self.cache = [(torch.empty(shape, **kind), torch.empty(shape, **kind)) for _ in self.body.h]

    def read(self) -> Tensor:
        import torch

        real = self.real[:, : self.ids.shape[1]]
        places = (real.cumsum(1) - 1).clamp(min=0)
        mask = None
        if self.padded:
            causal = torch.ones(real.shape[1], real.shape[1], dtype=torch.bool, device=real.device).tril()
            # A padding token sees only itself: without any token to see, its state would be NaN.
            mask = (causal & real[:, None, :]) | torch.eye(len(causal), dtype=torch.bool, device=real.device)
            mask = mask[:, None]
        return self._run(self.ids, places, mask, is_causal=mask is None)

    def feed(self, tokens: Tensor) -> Tensor:
        mask = self.real[:, None, None, : self.filled + 1] if self.padded else None
        # A finished row that is still in the batch may be at the last position of the model.
        places = self.lengths[:, None].clamp(max=self.last)
        found = self._run(tokens[:, None], places, mask, is_causal=False)
        self.lengths = self.lengths + 1
        return found

    def keep(self, rows: Tensor) -> None:
        self.real, self.lengths = self.real[rows], self.lengths[rows]
        self.cache = [(key[rows], value[rows]) for key, value in self.cache]

    def _run(self, ids: Tensor, places: Tensor, mask: Tensor | None, *, is_causal: bool) -> Tensor:
        from torch.nn.functional import gelu, scaled_dot_product_attention

        body, start, end = self.body, self.filled, self.filled + ids.shape[1]
        states = body.wte(ids) + body.wpe(places)
        for block, (keys, values) in zip(body.h, self.cache, strict=True):
            mixed = block.attn.c_attn(block.ln_1(states))
            query, key, value = mixed.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            keys[:, :, start:end], values[:, :, start:end] = key, value
            seen = scaled_dot_product_attention(
                query, keys[:, :, :end], values[:, :, :end], attn_mask=mask, is_causal=is_causal
            )
            states = states + block.attn.c_proj(seen.transpose(1, 2).flatten(2))
            wide = block.mlp.c_fc(block.ln_2(states))
            wide = gelu(wide, approximate="tanh") if self.usual else block.mlp.act(wide)
            states = states + block.mlp.c_proj(wide)
        self.filled = end
        logits: Tensor = self.model.lm_head(body.ln_f(states[:, -1]))
        return logits


class _AnySteps:
    def __init__(self, model: PreTrainedModel, rows: Sequence[Sequence[int]], room: int) -> None:
        from transformers import DynamicCache

        self.model = model
        self.ids, real = _padded(rows, model.device)
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
        # Architectures that count positions by the mask take no position ids.
        places = {"position_ids": self.places} if "position_ids" in self.asked else {}
        output = self.model(input_ids=self.ids, attention_mask=self.mask, **places, **self.fixed)
        logits: Tensor = output.logits[:, -1]
        return logits

    def feed(self, tokens: Tensor) -> Tensor:
        import torch

        self.ids = tokens[:, None]
        self.mask = torch.cat([self.mask, self.mask.new_ones((len(tokens), 1))], dim=1)
        self.places = (self.places[:, -1:] + 1).clamp(max=self.last)
        return self.read()

    def keep(self, rows: Tensor) -> None:
        self.mask, self.places = self.mask[rows], self.places[rows]
        self.cache.batch_select_indices(rows)


def _body(model: PreTrainedModel) -> Any:
    return model.transformer
