"""The models that the recipes' sweep trains side by side are those that `train` would make."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.recipe_feed import stacked
from benchmarks.stacked import Net, Stack, Trainer
from benchmarks.streams import Stream, records
from generators.training.causal_model import new_model
from generators.training.causal_run import train
from generators.training.examples import MaskedCorpus
from generators.training.log import read_log
from generators.training.plan import Architecture, Plan

pytestmark = pytest.mark.models


def test_models_side_by_side_learn_what_each_learns_alone(
    corpus: MaskedCorpus, tokenizer: object, tmp_path: Path
) -> None:
    architecture, steps = Architecture(2, 32, 2, 0.0, 0.0), 4
    corpus.save(tmp_path / "corpus")
    recipes = [("ilm", "two-means", 0.0, 1), ("ilm", "answers=2", 0.5, 2), ("lm", "two-means", 0.0, 1)]
    net, stack = (
        Net(architecture, corpus.special),
        Stack(architecture, corpus.special, [seed for *_, seed in recipes], "cpu"),
    )
    trainer = Trainer(net, "cpu", decay=0.01, compiled=False)
    streams = [
        records(Stream(str(tmp_path / "corpus"), strategy, plain, (loss,), seed, 6, 900))
        for strategy, loss, plain, seed in recipes
    ]
    each = np.arange(len(recipes))
    found = []
    for some in islice(zip(*streams, strict=True), steps):
        weights = np.concatenate([one.weights for one in some])
        rows = stacked(some, weights, each, each, ragged=False, device="cpu")
        found.append(trainer.step(stack, rows, torch.full((len(recipes),), 1e-2)).tolist())
    for number, (strategy, loss, plain, seed) in enumerate(recipes):
        plan = Plan(
            strategy,
            learning_rate=1e-2,
            weight_decay=0.01,
            batch=6,
            seed=seed,
            loss=loss,
            plain_rows=plain,
            steps=steps,
            evaluate_every=1,
            evaluation_examples=8,
            patience=0,
        )
        model = new_model(architecture, corpus.special, seed)
        folder = tmp_path / str(number)
        train(folder, plan, model, tokenizer, corpus, corpus, keep=False)
        alone = [line["loss"] for line in read_log(folder)]
        assert [losses[number] for losses in found] == pytest.approx(alone, rel=1e-4)
        flat = torch.cat([one.detach().flatten() for one in model.parameters()])
        torch.testing.assert_close(stack.weights[number].detach(), flat, rtol=1e-3, atol=1e-4)
