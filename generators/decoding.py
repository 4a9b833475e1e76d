"""Draws continuations from a language model: batched, cached, each row with its own stream of chance.

What a row gets does not depend on which rows stand beside it or in which order: its random numbers come from (seed,
row key), and its positions are counted from its own first token.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from generators.weights import positions as most_positions

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

Stop = Callable[[Sequence[int]], bool]
"""Whether a row is finished, given the ids drawn so far."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn: nucleus sampling with the usual definition (the token that crosses `top_p` is in)."""

    temperature: float = 1.0
    top_p: float = 0.95
    longest: int = 64
    """New tokens at most."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a row starts from, and the key of its stream of chance."""

    ids: Sequence[int]
    key: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """The ids drawn for a row, without the end token. `ended`: by the end token or the stop rule, not by length."""

    ids: tuple[int, ...]
    ended: bool


def uniforms(seed: int, key: str, count: int) -> NDArray[np.float64]:
    """The stream of chance of one row."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16]))).random(count)


def draw(
    model: PreTrainedModel,
    prompts: Sequence[Prompt],
    *,
    sampling: Sampling,
    seed: int,
    end: int,
    forbidden: Sequence[int],
    stop: Stop | None = None,
) -> list[Drawn]:
    """Continue every prompt until `end`, the stop rule or the longest length; all rows in one batch.

    Prompts are padded on the left, with an attention mask and positions that start at each row's first token.
    """
    import torch
    from transformers import DynamicCache

    if not prompts:
        return []
    device = model.device
    width = max(len(prompt.ids) for prompt in prompts)
    steps = min(sampling.longest, most_positions(model) - width)
    ids = torch.zeros((len(prompts), width), dtype=torch.long)
    mask = torch.zeros((len(prompts), width), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt.ids) :] = torch.tensor(list(prompt.ids))
        mask[row, width - len(prompt.ids) :] = 1
    chance = torch.tensor(np.array([uniforms(seed, prompt.key, max(steps, 1)) for prompt in prompts]))
    banned = torch.tensor(list(forbidden), dtype=torch.long, device=device)
    drawn: list[list[int]] = [[] for _ in prompts]
    ended = [False] * len(prompts)
    ids, mask = ids.to(device), mask.to(device)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    asked = inspect.signature(model.forward).parameters
    # Older releases of transformers 5 call it past_key_values. The cache grows in place, so its name is all that differs.
    named = "cache" if "cache" in asked else "past_key_values"
    fixed = {named: DynamicCache(config=model.config), "use_cache": True}
    if "logits_to_keep" in asked:
        fixed["logits_to_keep"] = 1
    with torch.inference_mode():
        for step in range(steps):
            # Architectures that count positions by the mask take none.
            places = {"position_ids": positions} if "position_ids" in asked else {}
            output = model(input_ids=ids, attention_mask=mask, **places, **fixed)
            logits = output.logits[:, -1].float()
            logits.index_fill_(-1, banned, float("-inf"))
            chosen = _choose(logits, sampling, chance[:, step]).tolist()
            for row, token in enumerate(chosen):
                if ended[row]:
                    continue
                if token == end:
                    ended[row] = True
                else:
                    drawn[row].append(token)
                    ended[row] = stop is not None and stop(drawn[row])
            if all(ended):
                break
            ids = torch.tensor(chosen, device=device).unsqueeze(1)
            mask = torch.cat([mask, mask.new_ones((len(prompts), 1))], dim=1)
            positions = positions[:, -1:] + 1
    return [Drawn(tuple(row), done) for row, done in zip(drawn, ended, strict=True)]


def _choose(logits: torch.Tensor, sampling: Sampling, chance: torch.Tensor) -> torch.Tensor:
    """One token a row: the first whose cumulated share of the nucleus passes the row's number."""
    import torch

    probabilities = torch.softmax(logits / sampling.temperature, dim=-1).cpu()
    # The nucleus is nearly always within the likeliest 1,024 tokens; where it is not, all are sorted.
    count = min(1024, probabilities.shape[-1])
    best, order = probabilities.topk(count, dim=-1)
    if count < probabilities.shape[-1] and bool((best.sum(-1) < sampling.top_p).any()):
        best, order = probabilities.sort(dim=-1, descending=True)
    mass = best.cumsum(-1)
    kept = torch.where(mass - best < sampling.top_p, best, torch.zeros_like(best))
    kept[:, 0] = best[:, 0]  # the likeliest token is always in
    passed = kept.cumsum(-1) > (chance.unsqueeze(-1).float() * kept.sum(-1, keepdim=True))
    return order.gather(-1, passed.int().argmax(-1, keepdim=True)).squeeze(-1)
