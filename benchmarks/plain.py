"""The baseline: the procedure of the paper's code, written plainly from its description and made fast in no
way.

Examples are built token by token; rows are padded to 256 and cut into micro-batches of 8; the model computes
the logits of every position, and the loss is two means over them, in fp32. What the toolkit does faster has
to give the same examples and, but for rounding, the same loss. Tests and benchmarks use it; nothing else
does.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from generators.checkpoints.sequences import SpecialIds, Target, Tokens
from generators.masks.spans import MaskedSpan

if TYPE_CHECKING:
    import torch

LENGTH, MICRO_BATCH, ACCUMULATED = 256, 8, 3
Row = tuple[list[int], list[int]]
"""The ids and target types of an example."""
TokenSpan = tuple[str, int, int]


def token_spans(tokens: Tokens, mask: Sequence[MaskedSpan]) -> list[TokenSpan]:
    """From the first to the last token with a character of the span; spans that share a token become one."""
    spans: list[TokenSpan] = []
    for type, start, end in mask:
        touched = [
            number
            for number, (a, b) in enumerate(zip(tokens.starts, tokens.ends, strict=True))
            if a < end and b > start
        ]
        first, last = touched[0], touched[-1] + 1
        if spans and first < spans[-1][2]:
            spans[-1] = (spans[-1][0], spans[-1][1], max(last, spans[-1][2]))
        else:
            spans.append((type, first, last))
    return spans


def encode(strategy: str, x: Sequence[int], spans: Sequence[TokenSpan], special: SpecialIds) -> Row:
    """One example, token by token."""
    if strategy == "lm":
        return _story(list(x), spans, special)
    if strategy == "lm-rev":
        n = len(x)
        turned = [(type, n - last, n - first) for type, first, last in reversed(spans)]
        return _story(list(x)[::-1], turned, special)
    ids: list[int] = []
    types: list[int] = []
    at = 0
    for type, first, last in spans:
        for id in x[at:first]:
            ids.append(int(id))
            types.append(Target.CONTEXT)
        ids.append(special.blank(type))
        types.append(Target.CONTEXT_SPECIAL)
        at = last
    for id in x[at:]:
        ids.append(int(id))
        types.append(Target.CONTEXT)
    if strategy == "lm-all":
        more, kinds = _story(list(x), spans, special)
        return ids + more, types + kinds
    ids.append(special.start)
    types.append(Target.CONTEXT_INFILL_SEP)
    for _, first, last in spans:
        for id in x[first:last]:
            ids.append(int(id))
            types.append(Target.INFILL)
        ids.append(special.end)
        types.append(Target.INFILL_SPECIAL)
    return ids, types


def _story(x: list[int], spans: Sequence[TokenSpan], special: SpecialIds) -> Row:
    ids = [special.start, *(int(id) for id in x), special.end]
    types: list[int] = [Target.CONTEXT_INFILL_SEP]
    inside = {number for _, first, last in spans for number in range(first, last)}
    behind = {last for _, _, last in spans}
    for number in range(len(x) + 1):
        if number in inside:
            types.append(Target.INFILL)
        elif number in behind:
            types.append(Target.INFILL_SPECIAL)
        else:
            types.append(Target.INFILL_REDUNDANT)
    return ids, types


def fits(x: Sequence[int], spans: Sequence[TokenSpan]) -> bool:
    """Whether c S x E, the longest format, fits."""
    masked = sum(last - first for _, first, last in spans)
    return (len(x) - masked + len(spans)) + 1 + len(x) + 1 <= LENGTH


def padded(rows: Sequence[Row]) -> tuple[Any, Any]:
    """(B, 256) ids and target types, zeros on the right."""
    ids = np.zeros((len(rows), LENGTH), dtype=np.int64)
    types = np.zeros((len(rows), LENGTH), dtype=np.int64)
    for number, (row, kinds) in enumerate(rows):
        ids[number, : len(row)] = row
        types[number, : len(kinds)] = kinds
    return ids, types


def loss(model: Any, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
    """The mean over answers plus the mean over the context, from the logits of every position."""
    import torch
    from torch.nn import functional

    logits = model(input_ids=ids).logits[:, :-1].reshape(-1, model.config.vocab_size)
    total = logits.new_zeros(())
    for group in ((Target.INFILL, Target.INFILL_SPECIAL, Target.INFILL_REDUNDANT), (Target.CONTEXT,)):
        chosen = torch.isin(types, torch.tensor(group, device=types.device))
        labels = torch.where(chosen, ids, -100)[:, 1:].reshape(-1)
        if bool((labels != -100).any()):
            total = total + functional.cross_entropy(logits, labels, ignore_index=-100)
    return total


def optimizer(model: Any, learning_rate: float = 5e-5) -> torch.optim.Optimizer:
    """AdamW as in the paper's code: constant rate, no decay."""
    import torch

    return torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=0.0, fused=False, foreach=False
    )


def step(model: Any, rows: Sequence[Row], adam: torch.optim.Optimizer, clip: float = 1.0) -> float:
    """One step over 24 examples, in three micro-batches."""
    import torch

    ids, types = padded(rows)
    total = 0.0
    pieces = np.array_split(np.arange(len(rows)), ACCUMULATED)
    for piece in pieces:
        here = torch.from_numpy(ids[piece]).to(model.device), torch.from_numpy(types[piece]).to(model.device)
        part = loss(model, *here) / ACCUMULATED
        part.backward()
        total += float(part.detach())
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    adam.step()
    adam.zero_grad()
    return total


def shuffled(count: int, seed: int) -> list[int]:
    """A new order."""
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order
