"""The flat forward pass: no example sees another, results equal those of padded rows, and perplexity is
right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
import torch

from generators.checkpoints.sequences import STRATEGIES, Masked, SpecialIds, Target, encode
from generators.masks.documents import Document
from generators.masks.named import load_mask
from generators.masks.spans import Granularity
from generators.sampling.flat_forward import Batch, is_plain_gpt2, losses, place, wanted, weighted_loss
from generators.training.examples import MaskedCorpus, mask_corpus
from generators.training.model_perplexity import Perplexities, perplexities
from generators.training.packing import capacity, evaluation_batches, training_batches, weighted
from humaneval.errors import InputError
from tests.models.conftest import small_model
from tests.models.small_models import tiny_gpt2, tiny_llama

pytestmark = pytest.mark.models
SPECIAL = SpecialIds(200)
Make = Callable[..., Any]


def one_masked(tokens: int = 30, first: int = 10, last: int = 18, seed: int = 0) -> Masked:
    """A document of any tokens, one sentence of which is masked."""
    ids = np.random.default_rng(seed).integers(0, SPECIAL.size, tokens).astype(np.int32)
    only = np.zeros(1, dtype=np.int64)
    kind = [list(Granularity).index(Granularity.SENTENCE)]
    return Masked(ids, only, only + tokens, np.array([0, 1]), np.array(kind), only + first, only + last)


def beside(*documents: Masked) -> Masked:
    """Several of them, in one batch."""
    sizes = [len(one.ids) for one in documents]
    return Masked(
        np.concatenate([one.ids for one in documents]),
        np.cumsum([0, *sizes[:-1]]),
        np.array(sizes),
        np.arange(len(documents) + 1),
        *(np.concatenate([getattr(one, name) for one in documents]) for name in ("kinds", "firsts", "lasts")),
    )


def with_other(masked: Masked, tokens: slice) -> Masked:
    """The document with other tokens in some places, and the same number of tokens."""
    ids = masked.ids.copy()
    ids[tokens] = (ids[tokens] + 7) % SPECIAL.size
    return masked._replace(ids=ids)


def masked_losses(model: Any, strategy: str, masked: Masked) -> torch.Tensor:
    batch = weighted(encode(strategy, masked, SPECIAL))
    with torch.inference_mode():
        return losses(model, place(batch, "cpu", wanted=wanted(batch, Target.INFILL)))


@pytest.fixture(params=[tiny_gpt2, tiny_llama], ids=["flat GPT-2", "padded Llama"])
def model(request: pytest.FixtureRequest) -> Any:
    """Both models, with weights large enough for the context to matter."""
    made = request.param(SPECIAL.total, initializer_range=0.5).eval()
    assert is_plain_gpt2(made) is (request.param is tiny_gpt2)
    return made


BLIND_TO_THE_LEFT, BLIND_TO_THE_RIGHT = {"lm-rev"}, {"lm"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_sees_of_the_context_what_it_is_meant_to(strategy: str, model: Any) -> None:
    document = one_masked()
    before = masked_losses(model, strategy, document)
    assert len(before) == 8
    left = masked_losses(model, strategy, with_other(document, slice(0, 10)))
    right = masked_losses(model, strategy, with_other(document, slice(18, None)))
    assert torch.equal(before, left) is (strategy in BLIND_TO_THE_LEFT)
    assert torch.equal(before, right) is (strategy in BLIND_TO_THE_RIGHT)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_G30_a_storys_losses_do_not_move_when_another_beside_it_changes(strategy: str, model: Any) -> None:
    a, b = one_masked(seed=1), one_masked(24, 5, 9, seed=2)
    alone = masked_losses(model, strategy, b)
    for others in ([a, b], [with_other(a, slice(None)), b], [a, a, b]):
        together = masked_losses(model, strategy, beside(*others))
        torch.testing.assert_close(together[-len(alone) :], alone, rtol=1e-5, atol=1e-5)
    first, second = (
        masked_losses(model, strategy, beside(one, b)) for one in (a, with_other(a, slice(None)))
    )
    assert torch.equal(first[-len(alone) :], second[-len(alone) :])
    assert not torch.equal(first, second)
    first, second = (
        masked_losses(model, strategy, beside(b, one)) for one in (a, with_other(a, slice(None)))
    )
    assert torch.equal(first[: len(alone)], second[: len(alone)])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_flat_pass_gives_the_losses_of_transformers_own(strategy: str, model: Any) -> None:
    documents = beside(one_masked(seed=1), one_masked(24, 5, 9, seed=2), one_masked(40, 0, 40, seed=3))
    batch = weighted(encode(strategy, documents, SPECIAL))
    every = np.ones(len(batch.ids), dtype=bool)
    every[batch.bounds[:-1]] = False
    with torch.inference_mode():
        flat = losses(model, place(batch, "cpu", wanted=every))
        own = []
        for start, end in zip(batch.bounds[:-1], batch.bounds[1:], strict=True):
            ids = torch.from_numpy(batch.ids[start:end].astype(np.int64))
            logits = model(input_ids=ids[None]).logits[0, :-1]
            own.append(torch.nn.functional.cross_entropy(logits, ids[1:], reduction="none"))
    torch.testing.assert_close(flat, torch.cat(own), rtol=1e-5, atol=1e-5)


def test_the_flat_pass_gives_the_logits_of_transformers_own_gpt2() -> None:
    from generators.sampling.flat_forward import hidden_states

    model = tiny_gpt2(SPECIAL.total, initializer_range=0.3).eval()
    batch = weighted(encode("ilm", beside(one_masked(seed=1), one_masked(24, 5, 9)), SPECIAL))
    with torch.inference_mode():
        flat = model.lm_head(hidden_states(model, place(batch, "cpu")))
        for start, end in zip(batch.bounds[:-1], batch.bounds[1:], strict=True):
            ids = torch.from_numpy(batch.ids[start:end].astype(np.int64))
            torch.testing.assert_close(
                flat[start:end], model(input_ids=ids[None]).logits[0], rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_filled_up_to_a_fixed_shape_has_the_same_loss(strategy: str, corpus: MaskedCorpus) -> None:
    model = small_model(corpus.special).eval()
    room = capacity(corpus, strategy, 8)
    shapes = set()
    for _, batch in zip(range(3), training_batches(corpus, strategy, seed=0, size=8), strict=False):
        filled = place(batch, "cpu", capacity=room)
        shapes.add(tuple(one.shape for one in filled if isinstance(one, torch.Tensor)))
        assert len(filled.ids) == room
        with torch.inference_mode():
            wanted_loss = float(weighted_loss(model, place(batch, "cpu")))
            assert float(weighted_loss(model, filled)) == pytest.approx(wanted_loss, rel=1e-5)
            # A capacity that is too small for the batch changes nothing.
            small = place(batch, "cpu", capacity=64)
            assert float(weighted_loss(model, small)) == pytest.approx(wanted_loss, rel=1e-6)
    assert len(shapes) == 1


def test_dropout_is_off_where_perplexity_is_computed_and_on_again_afterwards(corpus: MaskedCorpus) -> None:
    model = small_model(corpus.special, dropout=0.5).train()
    first, second = (
        perplexities(model, evaluation_batches(corpus, "ilm", size=8, limit=16)) for _ in range(2)
    )
    assert astuple(first) == astuple(second)
    assert model.training


def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity_and_all_score_the_same_tokens(
    corpus: MaskedCorpus,
) -> None:
    model = small_model(corpus.special)
    torch.nn.init.zeros_(model.transformer.wte.weight)  # tied with the output layer
    found = {
        strategy: perplexities(model, evaluation_batches(corpus, strategy, size=16))
        for strategy in STRATEGIES
    }
    for one in found.values():
        assert one.masked == pytest.approx(corpus.special.total, rel=1e-6, abs=1e-3)
        assert one.with_ends == pytest.approx(corpus.special.total, rel=1e-6, abs=1e-3)
        assert one.examples == corpus.examples
    masked = corpus.take(range(corpus.examples)).masked_tokens().sum()
    # The first token of an example is not predicted, so it is never an answer.
    assert {one.tokens for one in found.values()} == {int(masked)}
    assert math.isnan(found["lm"].context)
    assert math.isnan(found["lm-rev"].context)
    assert found["ilm"].context == pytest.approx(corpus.special.total, abs=1e-3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_perplexity_does_not_depend_on_the_size_of_batches_and_scores_the_last_one(
    strategy: str, corpus: MaskedCorpus
) -> None:
    """30 examples are three batches of 8 and one of 6."""
    model = tiny_gpt2(corpus.special.total, initializer_range=0.2)
    numbers = [
        perplexities(model, evaluation_batches(corpus, strategy, size=size, limit=30)) for size in (1, 8, 30)
    ]
    for one in numbers:
        assert astuple(one) == pytest.approx(astuple(numbers[0]), rel=1e-6, nan_ok=True)
        assert one.examples == 30


def says(probabilities: list[float]) -> Any:
    """A model that gives each token the same probability at every place."""
    model = tiny_gpt2(len(probabilities))
    with torch.no_grad():
        model.transformer.wte.weight.zero_()
        model.transformer.wte.weight[:, 0] = torch.tensor(probabilities).log()
        model.transformer.ln_f.weight.zero_()
        model.transformer.ln_f.bias.zero_()
        model.transformer.ln_f.bias[0] = 1.0
    return model


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_perplexity_is_a_mean_over_tokens_not_over_documents(strategy: str) -> None:
    """Four masked tokens of probability 1/2 and one of 1/8: 2 ** ((4 * 1 + 3) / 5), in whichever example they
    are."""
    special = SpecialIds(2, ("word",))
    model = says([1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8])
    zero = np.zeros(2, dtype=np.int64)
    masked = Masked(
        np.array([0, 0, 0, 0, 0, 1, 0], dtype=np.int32),
        np.array([0, 5]),
        np.array([5, 2]),
        np.array([0, 1, 2]),
        zero,
        zero,
        np.array([4, 1]),
    )
    for batches in (
        [weighted(encode(strategy, masked, special))],
        [_only(strategy, masked, special, number) for number in (0, 1)],
    ):
        found = perplexities(model, batches)
        assert found.tokens == 5
        assert found.masked == pytest.approx(2 ** (7 / 5), rel=1e-6)
    if strategy == "ilm":  # two ends of probability 1/8 more
        assert found.with_ends == pytest.approx(2 ** (13 / 7), rel=1e-6)
        assert found.context == pytest.approx(2.0, rel=1e-6)
        assert found.mean_length == (5 + 3 + 2 + 3) / 2


def _only(strategy: str, masked: Masked, special: SpecialIds, number: int) -> Batch:
    one = slice(number, number + 1)
    return weighted(
        encode(
            strategy,
            masked._replace(
                starts=masked.starts[one],
                lengths=masked.lengths[one],
                bounds=np.array([0, 1]),
                kinds=masked.kinds[one],
                firsts=masked.firsts[one],
                lasts=masked.lasts[one],
            ),
            special,
        )
    )


def test_where_nothing_is_masked_there_is_no_perplexity(
    bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds
) -> None:
    masked = mask_corpus(bundled[:30], tokenizer, special, load_mask("hierarchical"), seed=1)
    bounds = masked.arrays.example_bounds.astype(np.int64)
    empty = np.flatnonzero(bounds[1:] == bounds[:-1])
    batch = weighted(encode("ilm", masked.take(empty), special))
    with pytest.raises(InputError, match="no token of these documents is masked"):
        perplexities(small_model(special), [batch])


def test_a_model_that_is_wrong_beyond_measure_has_a_number_still() -> None:
    special = SpecialIds(2, ("word",))
    model = says([1.0, 1e-30, 1e-30, 1e-30, 1e-30])
    with torch.no_grad():
        model.transformer.ln_f.bias[0] = 100.0
    masked = Masked(
        np.array([1], dtype=np.int32),
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
        np.array([0, 1]),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
    )
    found: Perplexities = perplexities(model, [weighted(encode("lm", masked, special))])
    assert math.isfinite(found.masked)
    assert found.masked > 1e300
