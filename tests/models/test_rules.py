"""Our own generators follow the rules for every generator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generators.causal.ilm import build as build_ilm
from generators.causal.lm import build as build_lm
from generators.causal.lm import build_all, build_rev
from generators.checkpoints.sequences import STRATEGIES
from generators.masked.bert import build as build_bert
from generators.sequence.t5 import build as build_t5
from generators.training.bert_run import new_masked_lm
from humaneval.conformance import tried
from humaneval.domain import Generator, GeneratorRequest
from humaneval.infills.conformance import RULES, Trial
from humaneval.stories import bundled_stories
from tests.models.pairs import pieces_tokenizer, tiny_t5

pytestmark = pytest.mark.models
STORIES = bundled_stories()[-3:]


def broken(build: Callable[[GeneratorRequest], Any], kind: str, folder: Path, **options: str) -> list[str]:
    def make(seed: int) -> Generator:
        request = GeneratorRequest(kind, "", str(folder), "cpu", seed, options)
        generator: Generator = build(request)[0]
        return generator

    return [
        f"{finding.rule}: {finding.wrong}" for finding in tried(Trial(make, STORIES), RULES) if finding.wrong
    ]


@pytest.mark.parametrize("kind", STRATEGIES)
def test_our_language_models_keep_the_rules(kind: str, four: dict[str, Path]) -> None:
    build = {"ilm": build_ilm, "lm": build_lm, "lm-rev": build_rev, "lm-all": build_all}[kind]
    assert broken(build, kind, four[kind], longest="20") == []


def test_bert_keeps_the_rules(tmp_path: Path) -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    new_masked_lm(tmp_path, bundled_stories(), vocabulary=800, **size)
    assert broken(build_bert, "bert", tmp_path) == []


def test_t5_keeps_the_rules(tmp_path: Path) -> None:
    folder = tiny_t5(tmp_path, pieces_tokenizer([s for story in STORIES for s in story.sentences]))
    assert broken(build_t5, "t5", folder, longest="20") == []
