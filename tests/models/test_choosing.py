"""The next token: the nucleus is exactly that of its definition, however few tokens are looked at."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from generators.masked.mask_orders import Visiting
from generators.masked.mask_orders import choose as choose_piece
from generators.sampling.choosing import Sampling, among_candidates, choose, chosen
from generators.sampling.decoding import Prompt, Rules, draw
from humaneval.errors import InputError
from tests.models.small_models import tiny_gpt2

pytestmark = pytest.mark.models


def by_definition(logits: torch.Tensor, sampling: Sampling, chance: float) -> int:
    """All tokens are sorted, equal ones by their number, and one after the other is kept; then the token at
    which the sum in the order of the vocabulary passes the random number."""
    shares = torch.softmax(logits / sampling.temperature, dim=-1)
    best, order = shares.sort(descending=True, stable=True)
    if sampling.top_k:
        best, order = best[: sampling.top_k], order[: sampling.top_k]
    mass = best.cumsum(-1)
    total = best.sum() if sampling.top_k else 1.0
    inside = (mass if sampling.nucleus == "reference" else mass - best) < sampling.top_p * total
    inside[0] = True
    kept = np.zeros(len(shares))
    kept[order[inside].numpy()] = best[inside].numpy()
    sums = kept.cumsum()
    return int((sums > min(chance, 1 - 2**-20) * sums[-1]).argmax())


@pytest.mark.parametrize("part", range(4))
def test_the_same_tokens_are_drawn_as_from_all_tokens_sorted_in_4000_distributions(part: int) -> None:
    """From flat to sharp, with ties in every tenth; 1,000 in each part, in batches of 4. Both as a processor
    looks for the nucleus and as a GPU does."""
    rng = torch.Generator().manual_seed(part)
    for number in range(250):
        width = (50, 128, 2000, 8193, 10_000)[number % 5]
        logits = torch.randn(4, width, generator=rng) * 8 * torch.rand(4, 1, generator=rng)
        if number % 10 == 9:
            logits = logits.round()
        chance = torch.rand(4, generator=rng, dtype=torch.float64)
        sampling = Sampling(
            temperature=(1.0, 0.7, 1.5)[number % 3],
            top_p=(0.95, 0.5, 0.9, 1.0, 0.999)[number // 5 % 5],
            top_k=0 if number % 10 == 9 else (0, 0, 40, 0, 2000)[number // 7 % 5],
            nucleus=("usual", "reference")[number % 2],
        )
        wanted = [by_definition(row, sampling, float(u)) for row, u in zip(logits, chance, strict=True)]
        assert choose(logits, sampling, chance).tokens == wanted, (part, number)
        if not sampling.top_k and sampling.top_p < 1:
            shares = torch.softmax(logits / sampling.temperature, -1)
            reference = sampling.nucleus == "reference"
            found = among_candidates(shares, chance, sampling.top_p, 128, reference=reference)
            assert found.tolist() == wanted, (part, number)


def test_a_sharp_row_is_drawn_alike_beside_a_flat_one() -> None:
    """One of them has no token that is likely, the other a few."""
    rng = torch.Generator().manual_seed(0)
    logits = torch.randn(64, 20_000, generator=rng) * torch.tensor([0.1, 6.0]).repeat(32)[:, None]
    chance = torch.rand(64, generator=rng, dtype=torch.float64)
    together = choose(logits, Sampling(), chance)
    for row in range(64):
        alone = choose(logits[row : row + 1], Sampling(), chance[row : row + 1])
        assert alone.tokens[0] == together.tokens[row]
        assert alone.logprobs[0] == together.logprobs[row]


def test_equals_at_the_last_candidate_are_not_overlooked() -> None:
    """The nucleus of 200 equal tokens is the first 100 of them, not any of the 128 candidates."""
    logits = torch.full((500, 9000), -100.0)
    logits[:, 700:900] = 0.0
    chance = torch.linspace(0, 0.9999, 500)
    for drawn in (
        torch.tensor(choose(logits, Sampling(top_p=0.5), chance).tokens),
        among_candidates(torch.softmax(logits, -1), chance, 0.5, 128),
    ):
        assert (int(drawn.min()), int(drawn.max())) == (700, 799)


@pytest.mark.parametrize("nucleus", ["usual", "reference"])
def test_probabilities_that_are_not_numbers_are_an_error_and_no_token(nucleus: str) -> None:
    logits = torch.zeros(2, 300)
    logits[1, 7] = math.nan
    with pytest.raises(InputError, match="are not numbers"):
        choose(logits, Sampling(nucleus=nucleus), torch.rand(2))
    with pytest.raises(InputError, match="are not numbers"):
        chosen(torch.softmax(torch.full((1, 5), -math.inf), -1), torch.rand(1), 1.0)


@pytest.mark.parametrize("sampling", ["greedy", "sampled"])
def test_a_model_whose_numbers_overflow_writes_nothing(sampling: str) -> None:
    """Finite weights may still be ruined: the first token of the vocabulary is no answer."""
    how = Visiting(sampling=sampling)
    with pytest.raises(InputError, match="are not numbers"):
        choose_piece(torch.full((2, 9), math.nan), torch.rand(2), how)
    model = tiny_gpt2(300)
    with torch.no_grad():
        model.transformer.h[0].mlp.c_fc.weight.fill_(3e38)
    with pytest.raises(InputError, match="are not numbers"):
        draw(model.eval(), [Prompt([5, 6], "a")], Rules((0,)), Sampling(), 0)
