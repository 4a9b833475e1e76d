"""The forward pass over a flat batch: its examples follow each other without padding.

Everything except attention works on single tokens, so it runs over (N, width) as it is. Only attention needs
to know where examples begin: no token sees another example. On a GPU in bf16 it is FlashAttention over ragged
sequences. Elsewhere queries, keys and values are laid out in (B, T) for it and gathered again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.checkpoints.sequences import CONTEXT_LENGTH, Ids, Ints, Target, Types

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


class Batch(NamedTuple):
    """Examples, one after the other, and the weight of each token's loss. The weighted sum is the loss of a
    step."""

    ids: Ids
    types: Types
    weights: NDArray[np.float32]
    bounds: Ints


class Flat(NamedTuple):
    """A batch on its device. With N tokens of B examples and M targets:"""

    ids: Tensor
    """(N,) int64."""
    positions: Tensor
    """(N,) the place of each token in its example."""
    bounds: Tensor
    """(B + 1,) int32, where examples begin."""
    longest: int
    """The tokens of the longest example, or an upper bound of them."""
    rows: Tensor
    """(N,) the place of each token in (B, longest)."""
    before: Tensor
    """(M,) the token before each target, which predicts it."""
    targets: Tensor
    """(M,) ids."""
    weights: Tensor
    """(M,) float32."""


def place(batch: Batch, device: str, *, wanted: np.ndarray | None = None, capacity: int = 0) -> Flat:
    """The batch on `device`. Targets are the tokens that `wanted` selects, by default those with a weight.

    With a `capacity`, it is filled up with short dummy examples to that many tokens, and all tokens become
    targets, most of these with weight 0. So the shapes never change, which compiled code needs.
    """
    import torch

    if device.startswith("cuda"):
        _find_varlen()
    ids, weights, bounds = batch.ids, batch.weights, batch.bounds
    slots = _fillers(capacity)
    fill = capacity - len(ids)
    if 0 <= fill <= slots * _FILLER:
        ends = np.minimum(bounds[-1] + _FILLER * np.arange(1, slots + 1), capacity)
        ids = np.concatenate([ids, np.zeros(fill, ids.dtype)])
        weights = np.concatenate([weights, np.zeros(fill, weights.dtype)])
        bounds = np.concatenate([bounds, ends])
        targets: Ints = np.arange(1, capacity)
        longest = CONTEXT_LENGTH
    else:
        targets = np.flatnonzero(weights if wanted is None else wanted)
        longest = int(np.diff(bounds).max())
    lengths = np.diff(bounds)
    positions = np.arange(len(ids)) - np.repeat(bounds[:-1], lengths)
    rows = np.repeat(np.arange(len(lengths)) * longest, lengths) + positions

    before = targets - 1
    wholes: list[np.ndarray] = [
        ids,
        positions,
        rows,
        before,
        ids[targets],
        bounds,
        weights[targets].view(np.int32),
    ]
    # One copy to the device instead of seven.
    packed = torch.from_numpy(np.concatenate([np.asarray(one, dtype=np.int64) for one in wholes]))
    if device.startswith("cuda"):
        packed = packed.pin_memory().to(device, non_blocking=True)
    tokens, places, at, ahead, answers, begins, bits = torch.split(packed, [len(one) for one in wholes])
    weight = bits.to(torch.int32).view(torch.float32)
    return Flat(tokens, places, begins.to(torch.int32), longest, at, ahead, answers, weight)


_FILLER = 64


def _fillers(capacity: int) -> int:
    """The number of dummy examples that a batch of a fixed shape has room for."""
    return -(-capacity // (2 * _FILLER))


def losses(model: PreTrainedModel, flat: Flat) -> Tensor:
    """(M,) the cross-entropy of every target, in fp32. Logits are computed only for the targets."""
    import torch

    hidden = hidden_states(model, flat)
    head: Any = model.get_output_embeddings()
    every = len(flat.before) == len(hidden) - 1
    logits = head(hidden)[:-1] if every else head(hidden[flat.before])
    return torch.nn.functional.cross_entropy(logits.float(), flat.targets, reduction="none")


def weighted_loss(model: PreTrainedModel, flat: Flat) -> Tensor:
    """The loss of a step: the weighted sum over the targets."""
    return (losses(model, flat) * flat.weights).sum()


def hidden_states(model: PreTrainedModel, flat: Flat) -> Tensor:
    """(N, width) the states of the last layer."""
    if is_plain_gpt2(model):
        return _gpt2(model, flat)
    return _padded(model, flat)


def is_plain_gpt2(model: PreTrainedModel) -> bool:
    """Whether the model is GPT-2 as it was released, without later variants of its attention."""
    config = model.config
    return config.model_type == "gpt2" and not (
        config.scale_attn_by_inverse_layer_idx
        or config.reorder_and_upcast_attn
        or not config.scale_attn_weights
    )


def _gpt2(model: PreTrainedModel, flat: Flat) -> Tensor:
    body: Any = model.transformer
    heads = model.config.n_head
    attend = _attention(flat, model.config.attn_pdrop if model.training else 0.0)
    states: Tensor = body.drop(body.wte(flat.ids) + body.wpe(flat.positions))
    for block in body.h:
        mixed = block.attn.c_attn(block.ln_1(states))
        query, key, value = mixed.view(len(mixed), 3, heads, -1).unbind(1)
        seen = attend(query, key, value).flatten(1)
        states = states + block.attn.resid_dropout(block.attn.c_proj(seen))
        states = states + block.mlp(block.ln_2(states))
    last: Tensor = body.ln_f(states)
    return last


Attend = Callable[["Tensor", "Tensor", "Tensor"], "Tensor"]


def _attention(flat: Flat, dropout: float) -> Attend:
    """Causal attention within each example, over (N, heads, width of a head)."""
    import torch

    if flat.ids.is_cuda and not dropout and torch.is_autocast_enabled("cuda"):
        return _ragged(flat)

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query, key, value = (_spread(one, flat) for one in (query, key, value))
        # Padding on the right is not seen by anything before it: no other mask than causality is needed.
        seen = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, dropout_p=dropout, is_causal=True
        )
        return seen.transpose(1, 2).flatten(0, 1).index_select(0, flat.rows)

    return attend


def _spread(states: Tensor, flat: Flat) -> Tensor:
    """(N, heads, width) as (B, heads, longest, width)."""
    count = len(flat.bounds) - 1
    rows = states.new_zeros((count * flat.longest, *states.shape[1:]))
    rows = rows.index_copy(0, flat.rows, states)
    return rows.view(count, flat.longest, *states.shape[1:]).transpose(1, 2)


def _ragged(flat: Flat) -> Attend:
    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        half = [one.bfloat16() for one in (query, key, value)]
        return _varlen(*half, flat.bounds, flat.bounds, flat.longest, flat.longest)

    return attend


_varlen: Callable[..., Tensor]


def _find_varlen() -> None:
    """Set `_varlen` ahead of time: the compiler cannot trace this."""
    global _varlen
    from torch.nn.attention.varlen import varlen_attn

    # torch 2.10 and 2.11 have another argument for causal attention than 2.12.
    if "window_size" in inspect.signature(varlen_attn).parameters:
        _varlen = partial(varlen_attn, window_size=(-1, 0))  # type: ignore[assignment]  # may return more, if asked
    else:
        _varlen = partial(varlen_attn, is_causal=True)  # type: ignore[assignment,call-arg]  # the older signature


def _padded(model: PreTrainedModel, flat: Flat) -> Tensor:
    """Run any causal model of transformers over rows padded on the right; causality hides the padding."""
    count = len(flat.bounds) - 1
    rows = flat.ids.new_zeros(count * flat.longest).index_copy(0, flat.rows, flat.ids)
    output = model.base_model(input_ids=rows.view(count, flat.longest), use_cache=False)
    states: Tensor = output.last_hidden_state.flatten(0, 1)
    return states.index_select(0, flat.rows)


def wanted(batch: Batch, *types: Target) -> np.ndarray:
    """Which tokens of the batch have one of the types, and a token before them in their example."""
    found = np.isin(batch.types, types)
    found[batch.bounds[:-1]] = False
    return found
