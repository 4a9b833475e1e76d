"""Training: it learns, it resumes to the same weights, it counts every token once."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from generators.checkpoints import load
from generators.formats import SpecialIds, Target
from generators.training.corpus import Corpus, build_corpus
from generators.training.loop import STATE_TENSORS, Plan, masked_perplexity, new_model, token_losses
from generators.training.packing import evaluation_batches, training_batches
from humaneval.domain import Story
from humaneval.errors import InputError
from tests.conftest import ROOT
from tests.models.conftest import SMALL, Trained

pytestmark = pytest.mark.models


@pytest.mark.parametrize("kind", ["lm", "ilm"])
def test_a_small_model_learns_a_few_stories_by_heart(kind: str, train_small: Trained, tmp_path: Path) -> None:
    before = train_small(tmp_path / "a", kind, steps=1, evaluate_every=1)
    after = train_small(tmp_path / "b", kind, steps=150, learning_rate=5e-3, dropout=0.0, batch=16)
    assert after.best < before.best / 3


@pytest.mark.parametrize("kind", ["lm", "ilm"])
def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(
    kind: str, train_small: Trained, tmp_path: Path
) -> None:
    train_small(tmp_path / "whole", kind, steps=20)
    train_small(tmp_path / "parts", kind, steps=10)
    progress = train_small(tmp_path / "parts", kind, steps=20)
    assert progress.step == 20
    whole, parts = (load_file(tmp_path / name / STATE_TENSORS) for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_run_that_is_killed_goes_on_to_the_same_end(tmp_path: Path, train_small: Trained) -> None:
    command = [
        sys.executable, "-m", "humaneval", "train", "ilm", "--bundled", "--layers", "1", "--width", "16", "--heads", "1", "--vocabulary", "400",
        "--batch", "4", "--steps", "60", "--evaluate-every", "5", "--minutes", "60", "--device", "cpu",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--out", str(whole)], check=True, env=environment, capture_output=True)
    run = subprocess.Popen(
        [*command, "--out", str(killed)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (killed / STATE_TENSORS).exists() and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    subprocess.run([*command, "--out", str(killed)], check=True, env=environment, capture_output=True)
    first, second = load_file(whole / STATE_TENSORS), load_file(killed / STATE_TENSORS)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_state_of_another_run_is_not_taken_over(train_small: Trained, tmp_path: Path) -> None:
    train_small(tmp_path, "lm", steps=5)
    with pytest.raises(InputError, match="another run"):
        train_small(tmp_path, "ilm", steps=5)


@pytest.mark.parametrize("kind", ["lm", "ilm"])
def test_G05_the_first_loss_is_finite_and_near_the_log_of_the_vocabulary(
    kind: str, corpus: Corpus, tokenizer: Any
) -> None:
    special = SpecialIds(tokenizer.get_vocab_size())
    model = new_model(Plan(kind, **SMALL), special)
    _, batch = next(training_batches(corpus, kind, special, seed=0, size=4))
    losses, _ = token_losses(model, batch, "cpu")
    assert math.isclose(float(losses.detach().mean()), math.log(special.total), rel_tol=0.1)


def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity_and_all_kinds_score_the_same_tokens(
    corpus: Corpus, tokenizer: Any
) -> None:
    special = SpecialIds(tokenizer.get_vocab_size())
    counted = []
    for kind in ("lm", "ilm"):
        model = new_model(Plan(kind, **SMALL), special)
        torch.nn.init.zeros_(model.transformer.wte.weight)
        batches = evaluation_batches(corpus, kind, special, seed=0, size=4, limit=100)
        assert math.isclose(masked_perplexity(model, batches, "cpu"), special.total, rel_tol=1e-3)
        counted.append(sum(int((batch.types == Target.INFILL).sum()) for batch in batches))
    assert counted[0] == counted[1]


def test_batches_depend_on_seed_and_number_alone(corpus: Corpus, tokenizer: Any) -> None:
    special = SpecialIds(tokenizer.get_vocab_size())
    run = training_batches(corpus, "ilm", special, seed=3, size=4)
    later = [next(run) for _ in range(25)][17]
    number, batch = next(training_batches(corpus, "ilm", special, seed=3, size=4, start=17))
    assert number == later[0] == 17
    assert (batch.ids == later[1].ids).all()


def test_the_padding_of_a_batch_changes_no_loss(corpus: Corpus, tokenizer: Any) -> None:
    special = SpecialIds(tokenizer.get_vocab_size())
    model = new_model(Plan("ilm", **SMALL), special).eval()
    together = evaluation_batches(corpus, "ilm", special, seed=0, size=8, limit=8)
    alone = evaluation_batches(corpus, "ilm", special, seed=0, size=1, limit=8)
    assert math.isclose(
        masked_perplexity(model, together, "cpu"), masked_perplexity(model, alone, "cpu"), rel_tol=1e-5
    )


def test_G03_stories_that_cannot_be_trained_on_are_said_to_be(tokenizer: Any) -> None:
    with pytest.raises(InputError, match="no stories"):
        build_corpus([], tokenizer)
    endless = Story("x", ("word " * 400,) * 5)
    with pytest.raises(InputError, match="none of the 1 stories fits"):
        build_corpus([endless], tokenizer)
    kept = build_corpus([endless, Story("y", ("One.", "Two.", "Three.", "Four.", "Five."))], tokenizer)
    assert kept.left_out == {"longer than the context": 1}


def test_the_card_says_how_the_checkpoint_was_made(checkpoints: dict[str, Path]) -> None:
    card = load(checkpoints["ilm"], kind="ilm").card
    assert card.training["from"] == "scratch"
    assert card.training["documents"] == 40
    assert card.training["masked_perplexity"] > 1
    assert json.loads((checkpoints["ilm"] / "log.jsonl").read_text().splitlines()[0])["step"] == 50
