"""GPT-2, step by step: what rows have in common is read once, and keys and values are written in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from generators.checkpoints.weights import positions
from generators.sampling.beginnings import join
from generators.sampling.gpt2_blocks import block_end, layers_of
from generators.sampling.replay import Replay, replay_of, replayed
from generators.sampling.single_row import SingleRow

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


class Gpt2Steps:
    """B rows, and their keys and values in (B, heads, T + room, width of a head): the rows they start with
    are padded on the right to T, and then come the new tokens of all rows."""

    def __init__(self, model: PreTrainedModel, rows: Sequence[Sequence[int]], room: int) -> None:
        import torch

        body: Any = model.transformer
        self.body, self.device = body, model.device
        self.heads, self.last = model.config.n_head, positions(model) - 1
        self.layers = layers_of(model)
        self.blocks = self.layers.many.blocks
        self.joined = join(rows)
        lengths = torch.tensor([len(row) for row in rows])
        self.width = int(lengths.max())
        self.padded = int(lengths.min()) < self.width
        real = torch.arange(self.width + room) < lengths[:, None]
        real[:, self.width :] = True
        self.real, self.lengths = real.to(self.device), lengths.to(self.device)
        self.filled = self.width
        self.alone: SingleRow | None = None
        self.replay = replay_of(model, len(rows), self.width + room)
        if self.replay is not None:
            self.cache = self.replay.cache
            return
        shape = (len(rows), self.heads, self.width + room, model.config.n_embd // self.heads)
        kind = {"dtype": body.wte.weight.dtype, "device": self.device}
        self.seen = torch.empty((2 * len(self.blocks), *shape), **kind)
        self.cache = list(zip(self.seen[::2], self.seen[1::2], strict=True))

    @property
    def patience(self) -> float:
        """On a processor time goes with the rows; on a GPU it hardly does."""
        if self.replay is not None:
            return 0.0
        return 1.0 if self.device.type == "cpu" else 0.5

    def read(self) -> Tensor:
        import torch
        from torch.nn.functional import scaled_dot_product_attention as attend

        def tensor(values: Sequence[int]) -> Tensor:
            return torch.tensor(values, device=self.device)

        joined, width, body = self.joined, self.width, self.body
        count = len(joined.rows)
        lengths = tensor([len(row) for row in joined.rows])
        ends = tensor([row[-1] for row in joined.rows])
        owner = tensor(joined.owner)
        once = joined.owner == list(range(count))
        seen_by_last = None
        if self.padded:
            seen_by_last = (torch.arange(width, device=self.device) < lengths[:, None])[:, None, None]
        # Tokens follow each other as in (R, T), unless rows begin alike or differ in length.
        index = first = None
        if len(joined.ids) < count * width:
            places = [number for row in joined.rows for number in (*row, *[0] * (width - len(row)))]
            at = [0] * len(joined.ids)  # any of the places that a token stands at
            for number, row in enumerate(joined.rows):
                for column, token in enumerate(row):
                    at[token] = number * width + column
            index, first = tensor(places), tensor(at)
        states = body.wte(tensor(joined.ids)) + body.wpe(tensor(joined.places))
        for block, (keys, values) in zip(self.blocks, self.cache, strict=True):
            mixed = block.mix(block.before(states))
            laid = mixed if index is None else mixed.index_select(0, index)
            query, key, value = laid.view(count, width, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            keys[:, :, :width], values[:, :, :width] = (key, value) if once else (key[owner], value[owner])
            if block is self.blocks[-1]:  # of the last layer, only the last token of each row is needed
                query = query.gather(
                    2, (lengths - 1)[:, None, None, None].expand(-1, self.heads, 1, query.shape[-1])
                )
                seen = attend(query, key, value, attn_mask=seen_by_last).flatten(1)
                states = block_end(block, states[ends], seen)
            else:
                # Padding on the right is not seen by anything before it.
                seen = attend(query, key, value, is_causal=True).transpose(1, 2).reshape(count * width, -1)
                states = block_end(block, states, seen if first is None else seen.index_select(0, first))
        if self.replay is not None:
            self.replay.begin(self.lengths, width)
        logits = self._logits(states)
        return logits if once else logits[owner]

    def feed(self, tokens: Sequence[int]) -> Tensor:
        import torch
        from torch.nn.functional import scaled_dot_product_attention as attend

        if self.replay is not None:
            return self.replay.feed(torch.tensor(tokens, device=self.device), self._replayed)
        at, rows, body = self.filled, len(tokens), self.body
        if rows == 1 and self.layers.alone is not None:
            if self.alone is None:
                columns = self.real[0, :at].nonzero()[:, 0]
                self.alone = SingleRow(self.layers.alone, self.seen, columns, self.last)
            return self.alone.feed(tokens[0])
        mask = self.real[:, None, None, : at + 1] if self.padded else None
        # A finished row that is still in the batch may be at the last position of the model.
        place = self.lengths.clamp(max=self.last)
        ids = torch.tensor(tokens, device=self.device)
        states = torch.embedding(body.wte.weight, ids) + torch.embedding(body.wpe.weight, place)
        shape = (rows, 3, self.heads, 1, -1)
        # All layers are cut at once: for few rows, time goes with the number of operations.
        new = self.seen[:, :, :, at : at + 1].unbind()
        seen = self.seen[:, :, :, : at + 1].unbind()
        for number, block in enumerate(self.blocks):
            query, key, value = block.mix(block.before(states)).view(shape).unbind(1)
            of_keys, of_values = 2 * number, 2 * number + 1
            new[of_keys].copy_(key)
            new[of_values].copy_(value)
            found = attend(query, seen[of_keys], seen[of_values], attn_mask=mask)
            states = block_end(block, states, found.flatten(1))
        self.filled, self.lengths = at + 1, self.lengths + 1
        return self._logits(states)

    def keep(self, rows: Tensor) -> None:
        import torch

        self.real, self.lengths = self.real[rows], self.lengths[rows]
        count, filled = len(rows), self.filled
        to = (rows != torch.arange(count, device=rows.device)).nonzero()[:, 0]
        moved = rows[to]
        self.seen[:, to, :, :filled] = self.seen[:, moved, :, :filled]
        self.seen = self.seen[:, :count]

    def _replayed(self, replay: Replay, until: int) -> Tensor:
        return self._logits(replayed(replay, until, self.blocks, self.body, self.last))

    def _logits(self, states: Tensor) -> Tensor:
        many, alone = self.layers.many, self.layers.alone
        head = alone.head if alone is not None and states.shape[0] == 1 else many.head
        return head(many.last(states))
