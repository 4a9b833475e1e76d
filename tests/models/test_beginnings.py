"""Rows that begin alike are read once; products with packed weights are products with the weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from generators.sampling.beginnings import join
from generators.sampling.choosing import Sampling
from generators.sampling.decoding import Prompt, Rules, draw
from generators.sampling.filling import beside
from generators.sampling.gpt2_blocks import layers_of
from generators.sampling.products import added, packed, packs, product
from generators.sampling.single_row import LIGHT
from generators.sampling.stepping import steps
from humaneval.domain import Gap, GappedText
from tests.models.small_models import tiny_gpt2, tiny_llama

pytestmark = pytest.mark.models
ALIKE = [[5, 6, 7, 8], [5, 6, 7, 9, 10], [5, 6], [11], [5, 6, 7, 8], [5, 6, 7, 9, 10], [11]]


def sharp(make: Any, **settings: Any) -> PreTrainedModel:
    model: PreTrainedModel = make(300, **settings).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8)
    return model


def test_what_rows_have_in_common_is_there_once() -> None:
    joined = join(ALIKE)
    assert len(joined.ids) == 4 + 2 + 1
    for row, owner in zip(ALIKE, joined.owner, strict=True):
        numbers = joined.rows[owner]
        assert [joined.ids[number] for number in numbers] == row
        assert [joined.places[number] for number in numbers] == list(range(len(row)))


@pytest.mark.parametrize("make", [tiny_gpt2, tiny_llama])
@pytest.mark.parametrize("layers", [1, 3])
def test_rows_that_begin_alike_get_the_logits_of_single_rows(make: Any, layers: int) -> None:
    name = "n_layer" if make is tiny_gpt2 else "num_hidden_layers"
    model = sharp(make, **{name: layers})
    more = torch.arange(20, 20 + 3 * len(ALIKE)).view(-1, 3)
    kept = list(range(len(ALIKE)))
    with torch.inference_mode():
        run = steps(model, ALIKE, 4)
        found = run.read()
        for step in range(4):
            for at, row in enumerate(kept):
                whole = torch.tensor([[*ALIKE[row], *more[row, :step].tolist()]])
                assert torch.allclose(found[at], model(input_ids=whole).logits[0, -1], atol=1e-4), (step, row)
            if step == 1:
                kept = [0, 6, 2, 5]  # the last in the place of one that has left
                run.keep(torch.tensor(kept))
            if step < 3:
                found = run.feed(more[kept, step].tolist())


@pytest.mark.parametrize("make", [tiny_gpt2, tiny_llama])
def test_samples_and_blanks_get_in_one_batch_what_they_get_alone(make: Any) -> None:
    model, rules = sharp(make), Rules((0,))
    prompts = [Prompt(row, f"key {number}") for number, row in enumerate(ALIKE)]
    together = draw(model, prompts, rules, Sampling(longest=12), 0)
    alone = [draw(model, [prompt], rules, Sampling(longest=12), 0)[0] for prompt in prompts]
    assert [[one.ids for one in row] for row in together] == [[one.ids for one in row] for row in alone]
    assert together[0][0].ids != together[4][0].ids  # two samples of one prompt


@pytest.mark.parametrize("rows", [1, 5])
def test_products_with_packed_weights_are_products_with_the_weights(rows: int) -> None:
    model: Any = sharp(tiny_gpt2)
    if not packs(model):
        pytest.skip("no oneDNN for this processor")
    states = torch.randn(rows, 16)
    block = model.transformer.h[0]
    modules = (block.attn.c_attn, block.mlp.c_fc, model.lm_head)
    with torch.no_grad():
        laid = packed(modules)
        for module in modules:
            assert torch.allclose(product(module, laid[module])(states), module(states), atol=1e-4)
            assert torch.allclose(
                added(module, laid[module])(states, module(states)), 2 * module(states), atol=1e-4
            )
        wide = product(block.mlp.c_fc, laid[block.mlp.c_fc], gelu=True)(states)
        assert torch.allclose(wide, block.mlp.act(block.mlp.c_fc(states)), atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("of_blas", ["1", "2"])
def test_a_single_row_is_that_of_whole_passes(
    threads: int, of_blas: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its beginning, and after it was one of several rows of other lengths; with weights on both sides
    of the limit."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", of_blas)
    model: Any = tiny_gpt2(300, n_embd=320, n_inner=64).eval()
    model.lm_head.bias = torch.nn.Parameter(torch.randn(300))
    if not packs(model):
        pytest.skip("no oneDNN for this processor")
    assert model.transformer.h[0].attn.c_attn.weight.nbytes > LIGHT
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert (layers_of(model).alone is None) == (threads > 1)
        for rows, kept in (([[5, 6, 7]], 0), ([[9] * 8, [5, 6, 7], [5]], 1)):
            more = [21, 22, 23, 24, 25, 26, 27, 28]
            with torch.inference_mode():
                run = steps(model, rows, 8)
                run.read()
                for step, token in enumerate(more):
                    found = run.feed([token] * (1 if step > 1 else len(rows)))
                    if step == 1:
                        found = found[[kept]]
                        run.keep(torch.tensor([kept]))
                    if step:
                        whole = torch.tensor([[*rows[kept], *more[: step + 1]]])
                        exact = model(input_ids=whole).logits[0, -1]
                        assert torch.allclose(found[0], exact, atol=1e-4, rtol=1e-5), step
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
def test_the_steps_follow_the_weights(activation: str) -> None:
    """Also after they have changed in place, as in training, and where one of them is replaced."""
    model: Any = sharp(tiny_gpt2, activation_function=activation)
    for change in (None, "in place", "replaced"):
        attention = model.transformer.h[0].attn.c_attn
        with torch.no_grad():
            if change == "in place":
                attention.weight.mul_(-2)
            elif change:
                attention.bias = torch.nn.Parameter(torch.ones_like(attention.bias))
        with torch.inference_mode():
            run = steps(model, ALIKE[:1], 2)
            run.read()
            found = run.feed([7])[0]
            exact = model(input_ids=torch.tensor([[*ALIKE[0], 7]])).logits[0, -1]
        assert torch.allclose(found, exact, atol=1e-4)


def test_the_blanks_of_a_story_go_into_one_batch_and_other_texts_are_sorted_by_length() -> None:
    def texts(title: str, first: str, length: int) -> list[GappedText]:
        parts = [title + "\n", *(f"{first} {number} " * length for number in range(5))]
        return [
            GappedText(f"{title} {at}", ("".join(parts[: at + 1]), "".join(parts[at + 2 :])), (Gap(),))
            for at in range(5)
        ]

    stories = [texts("A Trip", "Anna took a very long walk", 3), texts("B", "Tom slept for two days", 2)]
    mixed = [story[at] for at in (3, 1, 4, 0, 2) for story in stories]
    order = beside(mixed)
    assert sorted(order) == list(range(10))
    longer = [mixed[at].key for at in order]
    later = [key for key in longer if key not in ("A Trip 0", "B 0")]  # these have only the title in common
    assert later == ["B 1", "B 2", "B 3", "B 4", "A Trip 1", "A Trip 2", "A Trip 3", "A Trip 4"]
    short = [GappedText(str(n), ("x " * n, ""), (Gap(),)) for n in (9, 3, 7, 1)]
    assert beside(short) == [3, 1, 2, 0]
