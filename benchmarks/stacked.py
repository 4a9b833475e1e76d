"""Many models of the same size, trained side by side in one stream of large kernels.

A small model alone leaves a GPU idle most of the time. Here the weights of M models are one array, each
matrix product is a batched one, and each model has its own batch, loss, rate and schedule. A step does what
`humaneval train` does: AdamW, clipping by each model's own norm, bf16 by hand where autocast would use it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from generators.checkpoints.sequences import CONTEXT_LENGTH, SpecialIds
from generators.training.causal_model import new_model
from generators.training.plan import Architecture

BETAS = 0.9, 0.999
EPSILON = 1e-8
CLIP = 1.0


class Rows(NamedTuple):
    """The batches of all models, with M models and N tokens each."""

    ids: Tensor
    """(M, N)."""
    positions: Tensor
    """(M, N)."""
    weights: Tensor
    """(M, N) of each token's loss, as what is predicted."""
    bounds: Tensor
    """(all examples + 1,) int32, where examples begin among the M · N tokens."""
    padded: Tensor | None
    """(M · N,) the place of each token in (all examples, longest), where attention needs rows."""
    longest: int


class Shape(NamedTuple):
    """Where a parameter is in a model's row of numbers."""

    name: str
    size: tuple[int, ...]


class Stack:
    """M models as `new_model` makes them; `weights` has a row for each, in fp32."""

    def __init__(
        self, architecture: Architecture, special: SpecialIds, seeds: Sequence[int], device: str
    ) -> None:
        flat = {
            seed: torch.cat(
                [one.detach().flatten() for one in new_model(architecture, special, seed).parameters()]
            )
            for seed in set(seeds)
        }
        self.weights = torch.stack([flat[seed] for seed in seeds]).to(device).requires_grad_()
        self.means, self.squares = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        self.steps = 0


class Net:
    """The forward pass of any number of models of one architecture."""

    def __init__(self, architecture: Architecture, special: SpecialIds) -> None:
        self.architecture, self.vocabulary = architecture, special.total
        named = list(new_model(architecture, special, 0).named_parameters())
        self.shapes = [Shape(name.removeprefix("transformer."), tuple(one.shape)) for name, one in named]
        self.decayed = torch.cat([torch.full((one.numel(),), float(one.dim() >= 2)) for _, one in named])

    def parts(self, weights: Tensor) -> dict[str, Tensor]:
        """The parameters by name, each with a first dimension of M."""
        sizes = [int(np.prod(shape.size)) for shape in self.shapes]
        pieces = weights.split(sizes, dim=1)
        return {
            shape.name: piece.unflatten(1, shape.size)
            for shape, piece in zip(self.shapes, pieces, strict=True)
        }

    def losses(self, weights: Tensor, rows: Rows, half: torch.dtype) -> Tensor:
        """(M, N - 1) the cross-entropy of every token but each model's first."""
        count, tokens = rows.ids.shape
        width, vocabulary = self.architecture.width, self.vocabulary
        whole = self.parts(weights)
        low = self.parts(weights.to(half))
        model = torch.arange(count, device=rows.ids.device)[:, None]
        words = whole["wte.weight"].reshape(count * vocabulary, width)
        places = whole["wpe.weight"].reshape(count * CONTEXT_LENGTH, width)
        states = functional.embedding(rows.ids + model * vocabulary, words) + functional.embedding(
            rows.positions + model * CONTEXT_LENGTH, places
        )
        attend = _attention(rows, self.architecture.heads)

        def norm(states: Tensor, name: str) -> Tensor:
            scaled = functional.layer_norm(states, (width,), eps=1e-5)
            scaled = scaled * whole[f"{name}.weight"][:, None] + whole[f"{name}.bias"][:, None]
            return scaled.to(half)

        def linear(states: Tensor, name: str) -> Tensor:
            return torch.baddbmm(low[f"{name}.bias"][:, None], states, low[f"{name}.weight"])

        for layer in range(self.architecture.layers):
            at = f"h.{layer}"
            mixed = linear(norm(states, f"{at}.ln_1"), f"{at}.attn.c_attn")
            seen = attend(mixed.reshape(count * tokens, 3, self.architecture.heads, -1))
            states = states + linear(seen.reshape(count, tokens, width), f"{at}.attn.c_proj")
            inner = functional.gelu(linear(norm(states, f"{at}.ln_2"), f"{at}.mlp.c_fc"), approximate="tanh")
            states = states + linear(inner, f"{at}.mlp.c_proj")
        last = norm(states, "ln_f")[:, :-1]
        logits = torch.bmm(last, low["wte.weight"].transpose(1, 2))
        found = functional.cross_entropy(
            logits.reshape(-1, vocabulary).float(), rows.ids[:, 1:].reshape(-1), reduction="none"
        )
        return found.view(count, tokens - 1)

    def weighted(self, weights: Tensor, rows: Rows, half: torch.dtype) -> Tensor:
        """(M,) the loss of each model's step."""
        return (self.losses(weights, rows, half) * rows.weights[:, 1:]).sum(1)


def adam(
    weights: Tensor,
    gradient: Tensor,
    means: Tensor,
    squares: Tensor,
    decayed: Tensor,
    clipped: Tensor,
    rates: Tensor,
    corrections: Tensor,
    decay: float,
) -> None:
    """One step of AdamW in place; the factors that clip and the rates are each model's own."""
    gradient = gradient * clipped[:, None]
    mean = means + (1 - BETAS[0]) * (gradient - means)
    square = BETAS[1] * squares + (1 - BETAS[1]) * gradient * gradient
    step = (mean / corrections[0]) / ((square / corrections[1]).sqrt() + EPSILON)
    # A model whose budget is used has a rate of 0 and stays as it is.
    moved = weights - rates[:, None] * (step + decay * decayed * weights)
    means.copy_(mean)
    squares.copy_(square)
    weights.copy_(moved)


class Trainer:
    """Steps of stacks, compiled on a GPU: once for all stacks of the same shape."""

    def __init__(self, net: Net, device: str, *, decay: float, compiled: bool) -> None:
        self.net, self.device, self.decay = net, device, decay
        half = torch.bfloat16 if "cuda" in device else torch.float32
        self._decayed = net.decayed.to(device)

        def loss(weights: Tensor, rows: Rows) -> Tensor:
            return net.weighted(weights, rows, half)

        self._plain: tuple[Callable[[Tensor, Rows], Tensor], Callable[..., None]] = loss, adam
        self.failed = ""
        """Why nothing is compiled, if that failed."""
        self._loss, self._adam = self._plain
        if compiled:
            self._loss, self._adam = (torch.compile(one, dynamic=False) for one in self._plain)  # type: ignore[call-overload]  # a generator has one type for both

    def step(self, stack: Stack, rows: Rows, rates: Tensor) -> Tensor:
        """One step of every model; (M,) their losses."""
        try:
            loss = self._loss(stack.weights, rows)
            (gradient,) = torch.autograd.grad(loss.sum(), stack.weights)
        except Exception as error:
            if self._loss is self._plain[0]:
                raise
            self.failed = repr(error)[:500]
            self._loss, self._adam = self._plain
            return self.step(stack, rows, rates)
        stack.steps += 1
        corrections = torch.tensor([1 - beta**stack.steps for beta in BETAS], device=self.device)
        state = stack.weights.detach(), gradient, stack.means, stack.squares
        with torch.no_grad():
            clipped = (CLIP / (torch.linalg.vector_norm(gradient, dim=1) + 1e-6)).clamp(max=1.0)
            given = *state, self._decayed, clipped, rates, corrections, self.decay
            try:
                self._adam(*given)
            except Exception as error:
                if self._adam is self._plain[1]:
                    raise
                self.failed = repr(error)[:500]
                self._adam = self._plain[1]
                self._adam(*given)
        return loss.detach()


def _attention(rows: Rows, heads: int) -> Callable[[Tensor], Tensor]:
    """Causal attention within each example, over (tokens, 3, heads, width of a head)."""
    if rows.padded is None:
        return partial(_ragged, bounds=rows.bounds, longest=rows.longest)
    return partial(_spread, padded=rows.padded, count=len(rows.bounds) - 1, longest=rows.longest, heads=heads)


def _ragged(mixed: Tensor, *, bounds: Tensor, longest: int) -> Tensor:
    query, key, value = (one.contiguous() for one in mixed.unbind(1))
    return VARLEN(query, key, value, bounds, bounds, longest, longest)


def _spread(mixed: Tensor, *, padded: Tensor, count: int, longest: int, heads: int) -> Tensor:
    room = mixed.new_zeros((count * longest, *mixed.shape[1:])).index_copy(0, padded, mixed)
    query, key, value = room.view(count, longest, 3, heads, -1).permute(2, 0, 3, 1, 4)
    seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    return seen.transpose(1, 2).flatten(0, 1).index_select(0, padded)


def varlen() -> Callable[..., Any]:
    """FlashAttention over ragged sequences; its argument for causality differs between versions."""
    from torch.nn.attention.varlen import varlen_attn

    if "window_size" in inspect.signature(varlen_attn).parameters:
        return partial(varlen_attn, window_size=(-1, 0))
    return partial(varlen_attn, is_causal=True)


VARLEN: Callable[..., Any] = varlen() if torch.cuda.is_available() else lambda *_: None


def rows_of(
    ids: Tensor, positions: Tensor, bounds: np.ndarray, weights: Tensor, *, ragged: bool, device: str
) -> Rows:
    """The batches of M models on the device. (M, N) each; `bounds` is (M, examples + 1)."""
    count, tokens = ids.shape
    ends = bounds[:, 1:].astype(np.int64) + tokens * np.arange(count)[:, None]
    begins = torch.from_numpy(np.append(0, ends.ravel()).astype(np.int32))
    padded, longest = None, CONTEXT_LENGTH
    if not ragged:
        lengths = np.diff(bounds, axis=1).ravel()
        longest = int(lengths.max())
        example = np.repeat(np.arange(len(lengths)), lengths)
        padded = (torch.from_numpy(example * longest) + positions.cpu().flatten()).to(device)
    return Rows(ids, positions, weights, begins.to(device, non_blocking=True), padded, longest)
