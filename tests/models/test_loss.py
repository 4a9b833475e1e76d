"""The loss: the paper's two means over the right tokens, however a batch is divided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import plain
from generators.checkpoints.sequences import STRATEGIES, SpecialIds, Target, encode
from generators.masks.documents import Document, story_document
from generators.masks.named import load_mask
from generators.sampling.flat_forward import Batch, losses, place, wanted, weighted_loss
from generators.training.causal_model import new_model
from generators.training.examples import MaskedCorpus, mask_corpus
from generators.training.loss import read_loss
from generators.training.packing import ANSWERS, share, training_batches, weighted
from generators.training.plan import Architecture, Plan
from humaneval.domain import Story
from humaneval.errors import UsageError
from tests.models.conftest import small_model

pytestmark = pytest.mark.models
Gradients = dict[str, torch.Tensor]


def gradients(model: Any, *parts: Batch) -> tuple[float, Gradients]:
    """The loss of the parts together, and each parameter's gradient."""
    model.zero_grad()
    total = 0.0
    for part in parts:
        loss = weighted_loss(model, place(part, "cpu"))
        loss.backward()
        total += float(loss.detach())
    return total, {name: value.grad.clone() for name, value in model.named_parameters()}


def agree(first: Gradients, second: Gradients, tolerance: float) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(value, second[name], rtol=tolerance, atol=tolerance)


def rows(batch: Batch) -> list[plain.Row]:
    bounds = batch.bounds[1:-1]
    ids, types = (np.split(one, bounds) for one in (batch.ids, batch.types))
    return [(a.tolist(), b.tolist()) for a, b in zip(ids, types, strict=True)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_loss_and_gradient_are_those_of_the_baselines_padded_micro_batches(
    strategy: str, corpus: MaskedCorpus
) -> None:
    model = small_model(corpus.special).eval()
    batch = next(training_batches(corpus, strategy, seed=0, size=24, parts=3))
    loss, ours = gradients(model, batch)
    ids, types = plain.padded(rows(batch))
    model.zero_grad()
    total = 0.0
    for piece in np.array_split(np.arange(24), 3):
        part = plain.loss(model, torch.from_numpy(ids[piece]), torch.from_numpy(types[piece])) / 3
        part.backward()
        total += float(part.detach())
    assert loss == pytest.approx(total, rel=1e-5)
    agree(ours, {name: value.grad for name, value in model.named_parameters()}, 1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_G29_micro_batches_change_neither_loss_nor_gradient(strategy: str, corpus: MaskedCorpus) -> None:
    """Eight examples at once, or three, three and two."""
    model = small_model(corpus.special).eval()
    batch = next(training_batches(corpus, strategy, seed=0, size=8))
    whole, first = gradients(model, batch)
    parts = [share(batch, number, 3) for number in range(3)]
    assert sorted(len(part.bounds) - 1 for part in parts) == [2, 3, 3]
    cut, second = gradients(model, *parts)
    assert cut == pytest.approx(whole, rel=1e-6)
    agree(first, second, 1e-6)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_G05_G06_the_first_loss_is_finite_and_near_the_log_of_the_vocabulary(
    strategy: str, corpus: MaskedCorpus
) -> None:
    """Both means are; a format without a context has only one, and no NaN."""
    model = small_model(corpus.special)
    batch = next(training_batches(corpus, strategy, seed=0, size=24))
    means = 2 if strategy in ("ilm", "lm-all") else 1
    loss, found = gradients(model, batch)
    assert loss == pytest.approx(means * math.log(corpus.special.total), rel=0.1)
    assert all(bool(torch.isfinite(value).all()) for value in found.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_G05_a_batch_in_which_nothing_is_masked_has_a_finite_loss(
    strategy: str, bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds
) -> None:
    nothing = load_mask("hierarchical")
    masked = mask_corpus(bundled[:20], tokenizer, special, nothing, seed=1)
    bounds = masked.arrays.example_bounds.astype(np.int64)
    empty = np.flatnonzero(bounds[1:] == bounds[:-1])
    assert len(empty)
    batch = weighted(encode(strategy, masked.take(empty), special))
    loss, found = gradients(small_model(special), batch)
    assert math.isfinite(loss)
    assert loss > 0
    assert all(bool(torch.isfinite(value).all()) for value in found.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_blanks_and_starts_are_never_learned_and_everything_else_is(
    strategy: str, corpus: MaskedCorpus
) -> None:
    batch = next(training_batches(corpus, strategy, seed=0, size=24))
    learned = batch.weights > 0
    never = (Target.PAD, Target.CONTEXT_SPECIAL, Target.CONTEXT_INFILL_SEP)
    assert not learned[np.isin(batch.types, never)].any()
    begins = np.zeros(len(learned), dtype=bool)
    begins[batch.bounds[:-1]] = True
    assert not learned[begins].any()
    assert learned[~np.isin(batch.types, never) & ~begins].all()
    answers = np.isin(batch.types, ANSWERS)
    assert batch.weights[answers].sum() == pytest.approx(1, rel=1e-5)
    context = 1 if strategy in ("ilm", "lm-all") else 0
    assert batch.weights[~answers].sum() == pytest.approx(context, rel=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_loss_of_the_context_can_be_left_out(strategy: str, corpus: MaskedCorpus) -> None:
    model = small_model(corpus.special).eval()
    batch = next(training_batches(corpus, strategy, seed=0, size=8, loss=read_loss("answers")))
    assert np.isin(batch.types[batch.weights > 0], ANSWERS).all()
    answers = wanted(batch, *ANSWERS)
    with torch.no_grad():
        mean = float(losses(model, place(batch, "cpu", wanted=answers)).mean())
        assert float(weighted_loss(model, place(batch, "cpu"))) == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize(("spelled", "times"), [("one-mean", 1.0), ("answers=2", 2.0), ("answers=0.5", 0.5)])
def test_one_mean_counts_every_target_and_an_answers_as_often_as_is_said(
    spelled: str, times: float, corpus: MaskedCorpus
) -> None:
    batch = next(training_batches(corpus, "ilm", seed=0, size=24, loss=read_loss(spelled)))
    answers = np.isin(batch.types, ANSWERS)
    (answer,) = set(batch.weights[answers].tolist())
    (context,) = set(batch.weights[~answers & (batch.weights > 0)].tolist())
    assert answer == pytest.approx(times * context, rel=1e-6)
    assert batch.weights.sum() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("spelled", ["", "mean", "answers=", "answers=0", "answers=nan", "context=2"])
def test_a_loss_that_does_not_exist_is_refused_with_those_that_do(spelled: str) -> None:
    with pytest.raises(UsageError, match="there is no loss") as error:
        Plan("ilm", loss=spelled)
    assert "two-means, one-mean, answers" in error.value.hint


def test_plain_rows_are_the_texts_of_the_same_examples_and_depend_on_the_step_alone(
    corpus: MaskedCorpus,
) -> None:
    settings: dict[str, Any] = {"seed": 3, "size": 24, "plain_rows": 0.5}
    batches = training_batches(corpus, "ilm", **settings)
    first, second = next(batches), next(batches)
    again = next(training_batches(corpus, "ilm", start=1, **settings))
    assert second.ids.tolist() == again.ids.tolist()
    assert first.ids.tolist() != second.ids.tolist()
    plain_row = first.ids[first.bounds[:-1]] == corpus.special.start
    assert 4 <= plain_row.sum() <= 20
    lengths = np.diff(first.bounds)
    text = np.repeat(plain_row, lengths)
    assert not np.isin(first.types[text], ANSWERS).any()
    assert first.weights[~text][np.isin(first.types[~text], ANSWERS)].sum() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_G27_the_end_of_an_answer_is_learned_and_so_is_the_token_with_the_id_of_padding(
    strategy: str, tokenizer: Any, special: SpecialIds
) -> None:
    """Id 0 is a real token, `!`; the baseline pads with it, and ours with nothing or with a weight of 0."""
    assert tokenizer.decode([0]) == "!"
    story = story_document(Story("s", ("! ! !", "One.", "Two!", "Three.", "Four."), "!"))
    masked = mask_corpus([story], tokenizer, special, load_mask("hierarchical"))
    batch = next(training_batches(masked, strategy, seed=0, size=16))
    learned = batch.weights > 0
    behind = np.ones(len(batch.ids), dtype=bool)
    behind[batch.bounds[:-1]] = False
    assert (batch.ids == special.end).sum() >= 15
    assert learned[batch.ids == special.end].all()
    assert (batch.ids == 0).sum() > 16
    assert learned[(batch.ids == 0) & behind].all()
    filled = place(batch, "cpu", capacity=len(batch.ids) + 100)
    assert len(filled.ids) == len(batch.ids) + 100
    assert int((filled.weights > 0).sum()) == learned.sum()
    assert not bool((filled.weights[-100:] > 0).any())


def test_G27_a_model_that_has_learned_its_answers_by_heart_ends_them(
    corpus: MaskedCorpus, tokenizer: Any
) -> None:
    """After a whole answer E is the likeliest token, and within an answer it is not."""
    model = new_model(Architecture(2, 32, 2, 0.0, 0.0), corpus.special, 0)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batch = next(training_batches(corpus, "ilm", seed=0, size=8))
    for _ in range(80):
        loss = weighted_loss(model, place(batch, "cpu"))
        loss.backward()
        adam.step()
        adam.zero_grad()
    model.eval()
    ends = within = 0
    for ids, types in rows(batch):
        with torch.inference_mode():
            likeliest = model(input_ids=torch.tensor([ids])).logits[0].argmax(-1).tolist()
        for at, type in enumerate(types[1:]):
            ends += type == Target.INFILL_SPECIAL and likeliest[at] == corpus.special.end
            within += type == Target.INFILL and likeliest[at] == corpus.special.end
    answers = int((batch.types == Target.INFILL_SPECIAL).sum())
    assert ends > 0.9 * answers
    assert within < 0.1 * answers
