"""Generators prove that they use the context that they claim to use: the echo corpus, held-out stories, exact fills.

After at most two minutes of training each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from generators.formats import SpecialIds
from generators.ilm import build as build_ilm
from generators.lm import build as build_lm
from generators.lm import build_all, build_rev
from generators.training.corpus import train_tokenizer
from generators.training.examples import mask_corpus
from generators.training.loop import new_model, train
from generators.training.plan import Architecture, Plan
from humaneval.domain import Generator, GeneratorRequest
from tests.models.echo import OneSentence, documents, echo_stories, exact

pytestmark = pytest.mark.models
BUILD = {"ilm": build_ilm, "lm": build_lm, "lm-rev": build_rev, "lm-all": build_all}
OPTIONS = {"temperature": "0.1", "longest": "24"}
SLOW = pytest.mark.slow


def learned(folder: Path, kind: str, position: int, steps: int) -> Generator:
    """A model of a strategy, trained with the sentence at `position` as the blank."""
    training, _ = echo_stories()
    texts = documents(training)
    tokenizer = train_tokenizer((text.text for text in texts), 400)
    special = SpecialIds(tokenizer.get_vocab_size())
    mask: Any = OneSentence(position)
    corpus = mask_corpus(texts, tokenizer, special, mask, copies=1)
    model = new_model(Architecture(2, 64, 2, 0.0, 0.0), special, 0)
    plan = Plan(
        kind, learning_rate=3e-3, warm_up=50, decay=True, batch=16, steps=steps, evaluate_every=steps, evaluation_examples=64, patience=0,
        context_loss=kind != "ilm",
    )  # fmt: skip
    train(folder, plan, model, tokenizer, corpus, corpus)
    request = GeneratorRequest(kind, checkpoint=str(folder), device="cpu", options=OPTIONS)
    (generator,) = BUILD[kind](request)
    return generator


@pytest.mark.parametrize(
    ("kind", "at_least", "at_most"),
    [
        ("ilm", 0.95, 1.0),
        ("lm", 0.0, 0.1),
        pytest.param("lm-rev", 0.95, 1.0, marks=SLOW),
        pytest.param("lm-all", 0.95, 1.0, marks=SLOW),
    ],
)
def test_who_sees_what_follows_fills_a_first_sentence_exactly(
    kind: str, at_least: float, at_most: float, tmp_path: Path
) -> None:
    _, held_out = echo_stories()
    generator = learned(tmp_path, kind, 1, 500)
    assert at_least <= exact(generator, held_out, 1) <= at_most


@pytest.mark.parametrize("kind", ["lm", pytest.param("ilm", marks=SLOW), pytest.param("lm-all", marks=SLOW)])
def test_who_sees_what_went_before_fills_a_last_sentence_exactly(kind: str, tmp_path: Path) -> None:
    _, held_out = echo_stories()
    assert exact(learned(tmp_path, kind, 5, 500), held_out, 5) >= 0.95
