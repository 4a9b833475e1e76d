"""Small models on a corpus made in the test: nothing is fetched, and everything is over in seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is missing; to get it: pip install -e '.[models]'")

from generators.training.corpus import Corpus, build_corpus, train_tokenizer
from generators.training.loop import Plan, Progress, train
from humaneval.domain import Story
from humaneval.stories import bundled_stories


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """The tests run side by side: two threads each would only wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def train_stories() -> tuple[Story, ...]:
    return tuple(story for story in bundled_stories() if story.split == "train")[:40]


@pytest.fixture(scope="session")
def tokenizer(train_stories: tuple[Story, ...]) -> Any:
    return train_tokenizer([f"{s.title}\n{' '.join(s.sentences)}" for s in train_stories], 600)


@pytest.fixture(scope="session")
def corpus(train_stories: tuple[Story, ...], tokenizer: Any) -> Corpus:
    return build_corpus(train_stories, tokenizer)


SMALL = {"layers": 2, "width": 32, "heads": 2, "batch": 4, "evaluate_every": 5, "minutes": 60.0, "warm_up": 5}

Trained = Callable[..., Progress]


@pytest.fixture
def train_small(corpus: Corpus, tokenizer: Any) -> Trained:
    """Trains a small model into a folder; settings of the plan by name."""

    def run(folder: Path, kind: str, **settings: Any) -> Progress:
        plan = Plan(kind, **{**SMALL, **settings})
        return train(folder, plan, corpus, corpus, tokenizer)

    return run


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus, tokenizer: Any) -> dict[str, Path]:
    """An LM and an ILM, trained until what they write is mostly text."""
    folders = {}
    for kind in ("lm", "ilm"):
        folders[kind] = tmp_path_factory.mktemp("checkpoints") / kind
        train(
            folders[kind],
            Plan(kind, **{**SMALL, "steps": 150, "learning_rate": 5e-3, "batch": 8, "evaluate_every": 50}),
            corpus,
            corpus,
            tokenizer,
        )
    return folders
