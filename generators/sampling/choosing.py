"""Chooses the next token of each row from its probabilities: within the nucleus, by a given random number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from generators.options import refuse_unless
from generators.sampling.nucleus import MOST_CHANCE, drawn_above
from humaneval.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

LIKELY = 1e-4
"""On a processor, the nucleus is looked for among the tokens that are at least so likely."""
CANDIDATES = 1024
"""Elsewhere, it is looked for among this many: where no size may depend on the values, more cost no more."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn.

    The usual nucleus keeps the likeliest tokens, up to the one with which their mass reaches `top_p`. The
    nucleus `reference`, that of the paper's code, leaves this one out, but always keeps the first.
    """

    temperature: float = 1.0
    top_p: float = 0.95
    top_k: int = 0
    """0: no limit."""
    nucleus: str = "usual"
    longest: int = 64
    """The most new tokens of an answer."""

    def __post_init__(self) -> None:
        refuse_unless(0.001 <= self.temperature <= 100, "temperature", "0.001 to 100")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0, to 1")
        refuse_unless(self.top_k >= 0, "top_k", "0 (no limit) or more")
        refuse_unless(self.nucleus in ("usual", "reference"), "nucleus", "usual or reference")
        refuse_unless(1 <= self.longest <= 1000, "longest", "1 to 1000")


class Chosen(NamedTuple):
    """B tokens, and their log-probabilities at temperature 1."""

    tokens: list[int]
    logprobs: list[float]


def choose(logits: Tensor, sampling: Sampling, chance: Tensor) -> Chosen:
    """Choose one token for each row of (B, V) logits, by (B,) random numbers from 0 to 1.

    Raises InputError if the logits are not numbers.
    """
    import torch

    plain = sampling.temperature == 1.0
    shares = torch.softmax(logits if plain else logits / sampling.temperature, dim=-1)
    whole = shares if plain else torch.softmax(logits, dim=-1)
    top_p, reference = sampling.top_p, sampling.nucleus == "reference"
    if shares.device.type == "cpu" and not sampling.top_k and (top_p < 1 or reference):
        drawn = _above(_looks(shares.shape[-1], top_p), shares, chance, top_p, reference=reference)
        likely = [float(row[token]) for row, token in zip(whole.numpy(), drawn, strict=True)]
        return Chosen(drawn, [math.log(share) if share else -math.inf for share in likely])
    tokens = chosen(shares, chance, top_p, sampling.top_k, reference=reference)
    return Chosen(tokens.tolist(), whole.gather(-1, tokens.unsqueeze(-1)).squeeze(-1).log().tolist())


def chosen(
    shares: Tensor, chance: Tensor, top_p: float, top_k: int = 0, *, reference: bool = False
) -> Tensor:
    """One token for each row of (B, V) probabilities, among the likeliest top_k (0: no limit) and within
    top_p.

    The nucleus is that of all tokens, or of the top_k if they are limited. The likeliest token is always in
    it. Raises InputError if the probabilities are not numbers.
    """
    refuse_nan(shares)
    if top_p >= 1 and not reference and not top_k:
        return pick(shares, chance)
    if top_k:
        return _drawn(_nucleus(shares, top_k, top_p, reference=reference, limited=True), chance)
    return among_candidates(shares, chance, top_p, CANDIDATES, reference=reference)


def among_candidates(
    shares: Tensor, chance: Tensor, top_p: float, size: int, *, reference: bool = False
) -> Tensor:
    """One token for each row, from the likeliest `size` tokens where its nucleus is among them, else from
    all. This goes on every device."""
    few = _nucleus(shares, size, top_p, reference=reference)
    found = _drawn(few, chance)
    if not bool(few.whole.all()):
        rest = ~few.whole
        found[rest] = _drawn(_nucleus(shares[rest], 0, top_p, reference=reference), chance[rest])
    return found


def _looks(vocabulary: int, top_p: float) -> list[float]:
    """How likely a token must be to be looked at; less and less, until the whole nucleus is found."""
    # The tokens below this have at most half of the mass that is outside the nucleus.
    rare = (1 - top_p) / vocabulary / 2
    return [LIKELY, rare] if rare < LIKELY else [rare]


def _above(
    looks: Sequence[float], shares: Tensor, chance: Tensor, top_p: float, *, reference: bool
) -> list[int]:
    """One token for each row, from the first of the looks at which its whole nucleus is seen; else from all
    tokens."""
    least, *more = looks
    tokens = drawn_above(least, shares.numpy(), chance.numpy(), top_p, reference=reference)
    rest = [at for at, token in enumerate(tokens) if token < 0]
    if rest:
        left = shares[rest], chance[rest]
        if more:
            found = _above(more, *left, top_p, reference=reference)
        else:
            refuse_nan(left[0])
            found = _drawn(_nucleus(left[0], 0, top_p, reference=reference), left[1]).tolist()
        for at, token in zip(rest, found, strict=True):
            tokens[at] = token
    return tokens


def refuse_nan(values: Tensor) -> None:
    """Raise InputError if a row of (…, V) values has one that is not a number: no token is the likeliest."""
    if bool(values.amax(-1).isnan().any()):
        raise InputError(
            "the model's probabilities for the next token are not numbers",
            "Its weights are damaged, or bf16 is too narrow for it: try precision=fp32 or another model.",
        )


class _Nucleus(NamedTuple):
    """(B, size) tokens in the order of the vocabulary; and their shares, 0 outside the nucleus. (B,) whether
    no other token can be in it."""

    ids: Tensor
    shares: Tensor
    whole: Tensor


def _nucleus(shares: Tensor, size: int, top_p: float, *, reference: bool, limited: bool = False) -> _Nucleus:
    """The nucleus of (B, V) probabilities as far as it is among the likeliest `size` tokens (0: all); with
    `limited`, it is that of these tokens.

    Of tokens that are equally likely, the first in the vocabulary are in it.
    """
    import torch

    width = shares.shape[-1]
    if 0 < size < width:
        ids = shares.topk(size, dim=-1, sorted=False).indices.sort(dim=-1).values
        shares = shares.gather(-1, ids)
    else:
        ids = torch.arange(width, device=shares.device).expand_as(shares)
    best = _descending(shares)
    mass = best.cumsum(-1)
    total = best.sum(-1, keepdim=True) if limited else 1.0
    inside = (mass if reference else mass - best) < top_p * total
    inside[:, 0] = True
    least = best.gather(-1, inside.sum(-1, keepdim=True) - 1)
    kept = shares >= least
    over = kept.sum(-1) > inside.sum(-1)
    if bool(over.any()):  # some of the equals at the end of the nucleus are outside
        equal = shares == least
        ends = ((best == least) & inside).sum(-1, keepdim=True)
        kept &= ~equal | (equal.cumsum(-1) <= ends)
    # Tokens as likely as the last candidate may be missing: whether they belong to it, this cannot tell.
    whole = (mass[:, -1] >= top_p) & (least[:, 0] > best[:, -1])
    return _Nucleus(ids, shares.where(kept, 0.0), whole)


def _descending(shares: Tensor) -> Tensor:
    """The probabilities of each row, the largest first."""
    import torch

    if shares.device.type == "cpu":  # NumPy sorts numbers ten times as fast
        return torch.from_numpy(np.sort(shares.numpy(), axis=-1)).flip(-1)
    return shares.sort(dim=-1, descending=True).values


def _drawn(nucleus: _Nucleus, chance: Tensor) -> Tensor:
    return nucleus.ids.gather(-1, pick(nucleus.shares, chance).unsqueeze(-1)).squeeze(-1)


def pick(shares: Tensor, chance: Tensor) -> Tensor:
    """One token for each row of (B, V) probabilities: the one at which their cumulative sum passes the row's
    number in `chance` (0 to 1).

    The sum is in the order of the vocabulary: in that of the probabilities, near ties would depend on the
    batch.
    """
    import torch

    mass = shares.to(torch.float32 if shares.device.type == "mps" else torch.float64).cumsum(-1)
    # Every number is passed, and only by a token with a probability.
    passed = mass > chance.to(mass).clamp(max=MOST_CHANCE).unsqueeze(-1) * mass[:, -1:]
    return passed.int().argmax(-1)
