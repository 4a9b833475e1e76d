"""Perplexity of masked text, by which strategies are compared and checkpoints are chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from generators.checkpoints.sequences import Target
from generators.sampling.flat_forward import Batch, losses, place, wanted
from humaneval.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Perplexities:
    """exp(sum of token losses / number of tokens) over a whole set, for three groups of tokens; NaN for an
    empty group."""

    masked: float
    """Only the tokens of masked text: the number in the paper (infill_textonly)."""
    with_ends: float
    """The same and the end of each answer (infill); in formats without such ends, the token after it."""
    context: float
    """The text around the blanks, if the format has it."""
    tokens: int
    """Tokens of masked text."""
    examples: int
    mean_length: float
    """The mean number of tokens of an example."""


def perplexities(
    model: PreTrainedModel, batches: Iterable[Batch], *, autocast: str | None = None
) -> Perplexities:
    """Score every token of every batch, without dropout and gradients.

    The precision is fp32, or `autocast`. Raises InputError if no token is masked.
    """
    import torch
    from torch import distributed

    groups = ((Target.INFILL,), (Target.INFILL, Target.INFILL_SPECIAL), (Target.CONTEXT,))
    sums = np.zeros((3, 2))
    examples = tokens = 0
    device = str(model.device)
    training = model.training
    model.train(False)
    with torch.inference_mode(), precision(device, autocast):
        for batch in batches:
            targets = wanted(batch, Target.INFILL, Target.INFILL_SPECIAL, Target.CONTEXT)
            found = losses(model, place(batch, device, wanted=targets)).double().cpu().numpy()
            types = batch.types[targets]
            for group, row in zip(groups, sums, strict=True):
                chosen = np.isin(types, group)
                row += (found[chosen].sum(), chosen.sum())
            examples += len(batch.bounds) - 1
            tokens += len(batch.ids)
    model.train(training)
    totals = torch.from_numpy(np.append(sums.ravel(), [examples, tokens]))
    if distributed.is_available() and distributed.is_initialized():
        totals = totals.to(device)
        distributed.all_reduce(totals)
    *flat, examples, tokens = totals.tolist()
    (masked, count), ends, context = np.array(flat).reshape(3, 2).tolist()
    if not count:
        raise InputError("no token of these documents is masked", "Give more documents.")

    def perplexity(loss: float, count: float) -> float:
        return math.exp(min(loss / count, 700)) if count else math.nan

    return Perplexities(
        perplexity(masked, count),
        perplexity(*ends),
        perplexity(*context),
        int(count),
        int(examples),
        tokens / examples,
    )


def precision(device: str, name: str | None) -> AbstractContextManager[object]:
    """Autocast to bf16 for `name` "bf16"; nothing for "fp32" and None."""
    import torch

    if name != "bf16":
        return nullcontext()
    return torch.autocast(device.split(":")[0], dtype=torch.bfloat16)
