"""Steps of GPT-2 on a GPU as CUDA graphs: a step of one token a row is some 200 small kernels, and starting
them one by one takes longer than running them.

A graph has fixed shapes and addresses. So the keys and values lie in buffers that stay from one draw to the
next, and rows that have finished stay in the batch. Attention reads up to the next multiple of 32 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from generators.sampling.gpt2_blocks import block_end

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedModel

    from generators.sampling.gpt2_blocks import Block

STRIDE = 32
MOST = 1024
"""Rows times the bytes of a number: above that, kernels take longer than starting them, and graphs pay no
more (measured with GPT-2 small on an H200)."""
SHARE = 0.25
"""Of the free memory, buffers may take this much."""


class Replay:
    """B rows of a model, and its buffers of C columns."""

    def __init__(self, model: PreTrainedModel, rows: int, columns: int) -> None:
        import torch

        body: Any = model.transformer
        self.state = _state(model)
        self.rows, self.columns = rows, -(-columns // (2 * STRIDE)) * 2 * STRIDE
        heads, device = model.config.n_head, model.device
        shape = (rows, heads, self.columns, model.config.n_embd // heads)
        kind = {"dtype": body.wte.weight.dtype, "device": device}
        # Zeros: what is masked must be a number still.
        self.cache = [(torch.zeros(shape, **kind), torch.zeros(shape, **kind)) for _ in body.h]
        self.tokens, self.lengths = (torch.zeros(rows, dtype=torch.long, device=device) for _ in range(2))
        self.column = torch.zeros(1, dtype=torch.long, device=device)
        self.seen = torch.zeros((rows, self.columns), dtype=torch.bool, device=device)
        self.at = 0
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def begin(self, lengths: Tensor, width: int) -> None:
        """Start with rows of these lengths, padded on the right to `width`."""
        import torch

        self.at = width
        self.lengths.copy_(lengths)
        self.column.fill_(width)
        self.seen.copy_(torch.arange(self.columns, device=lengths.device) < lengths[:, None])

    def feed(self, tokens: Tensor, step: Callable[[Replay, int], Tensor]) -> Tensor:
        """(B, V) logits after one more token for each row. They hold until the next call."""
        until = min(-(-(self.at + 1) // STRIDE) * STRIDE, self.columns)
        self.tokens.copy_(tokens)
        self.at += 1
        if self.tokens.device.type != "cuda":  # tests have no graphs
            return step(self, until)
        if until not in self.graphs:
            self.graphs[until] = self._captured(until, step)
        graph, logits = self.graphs[until]
        graph.replay()
        return logits

    def _captured(
        self, until: int, step: Callable[[Replay, int], Tensor]
    ) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        import torch

        before = self.lengths.clone(), self.column.clone(), self.seen.clone()
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch has no type
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up in their first run
            step(self, until)
        torch.cuda.current_stream().wait_stream(aside)
        for kept, old in zip((self.lengths, self.column, self.seen), before, strict=True):
            kept.copy_(old)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = step(self, until)
        return graph, logits


_REPLAYS: WeakKeyDictionary[PreTrainedModel, Replay] = WeakKeyDictionary()
_LAST: WeakKeyDictionary[PreTrainedModel, int] = WeakKeyDictionary()


def replay_of(model: PreTrainedModel, rows: int, columns: int) -> Replay | None:
    """The buffers for a draw, from the second of the same size on: it pays only if used again."""
    import torch

    if model.device.type != "cuda" or rows * model.dtype.itemsize > MOST:
        return None
    known, last = _REPLAYS.get(model), _LAST.get(model)
    _LAST[model] = rows
    if known and known.rows == rows and known.columns >= columns and known.state == _state(model):
        return known
    if last != rows:
        return None
    _REPLAYS.pop(model, None)
    known = None
    config = model.config
    size = 2 * config.n_layer * rows * (columns + 2 * STRIDE) * config.n_embd * model.dtype.itemsize
    if size > SHARE * torch.cuda.mem_get_info(model.device)[0]:
        return None
    return _REPLAYS.setdefault(model, Replay(model, rows, columns))


def _state(model: PreTrainedModel) -> tuple[int, ...]:
    """Where the weights lie."""
    return tuple(parameter.data_ptr() for parameter in model.parameters())


def replayed(replay: Replay, until: int, blocks: Sequence[Block], body: Any, last: int) -> Tensor:
    """The states after one step, with nothing whose shape or address changes."""
    from torch.nn.functional import scaled_dot_product_attention as attend

    replay.seen.index_fill_(1, replay.column, True)
    mask = replay.seen[:, None, None, :until]
    states: Tensor = body.wte(replay.tokens) + body.wpe(replay.lengths.clamp(max=last))
    for block, (keys, values) in zip(blocks, replay.cache, strict=True):
        mixed = block.mix(block.before(states)).view(replay.rows, 3, keys.shape[1], 1, -1)
        query, key, value = mixed.unbind(1)
        keys.index_copy_(2, replay.column, key)
        values.index_copy_(2, replay.column, value)
        seen = attend(query, keys[:, :, :until], values[:, :, :until], attn_mask=mask)
        states = block_end(block, states, seen.flatten(1))
    replay.lengths.add_(1)
    replay.column.add_(1)
    return states
