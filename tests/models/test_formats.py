"""Masks, tokens and examples: what a model is shown, and which of it counts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.documents import story_document
from generators.formats import SpecialIds, Target, Tokens, encode_ilm, encode_lm, fits, token_spans, tokenise
from generators.masking import Granularity, Hierarchical, MaskedSpan
from generators.training.corpus import train_tokenizer
from humaneval.domain import Story
from humaneval.text import normalise

SPECIAL = SpecialIds(50_257)


def test_the_special_ids_are_those_of_the_original_release() -> None:
    assert (SPECIAL.start, SPECIAL.end, SPECIAL.total) == (50_257, 50_258, 50_264)
    assert [SPECIAL.blank(granularity) for granularity in Granularity] == [
        50_259,
        50_260,
        50_261,
        50_262,
        50_263,
    ]


def _toy() -> Tokens:
    ids = np.arange(10, 16, dtype=np.int32)
    starts = np.arange(0, 12, 2, dtype=np.int32)
    return Tokens(ids, starts, starts + 2)


def test_an_ilm_example_is_the_context_then_each_answer_with_its_end() -> None:
    spans = token_spans(_toy(), [MaskedSpan(Granularity.WORD, 2, 4), MaskedSpan(Granularity.SENTENCE, 8, 12)])
    example = encode_ilm(_toy(), spans, SPECIAL)
    start, end = SPECIAL.start, SPECIAL.end
    assert example.ids.tolist() == [10, 50_263, 12, 13, 50_261, start, 11, end, 14, 15, end]
    assert example.types.tolist() == [1, 2, 1, 1, 2, 3, 4, 5, 4, 4, 5]


def test_an_lm_example_is_the_whole_document_with_the_same_masked_tokens() -> None:
    spans = token_spans(_toy(), [MaskedSpan(Granularity.WORD, 2, 4), MaskedSpan(Granularity.SENTENCE, 8, 12)])
    example = encode_lm(_toy(), spans, SPECIAL)
    assert example.ids.tolist() == [SPECIAL.start, 10, 11, 12, 13, 14, 15, SPECIAL.end]
    assert example.types.tolist() == [3, 6, 4, 5, 6, 4, 4, 5]


SENTENCE = (
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12).map(normalise).filter(bool)
)


@settings(max_examples=150, deadline=None)
@given(st.tuples(SENTENCE, SENTENCE, SENTENCE, SENTENCE, SENTENCE), st.integers(0, 2**32 - 1))
def test_G04_G23_every_character_survives_whatever_bytes_it_is_split_into(
    byte_tokenizer: Any, sentences: tuple[str, str, str, str, str], seed: int
) -> None:
    document = story_document(Story("s", sentences, "“Zoë’s”"))
    (tokens,) = tokenise(byte_tokenizer, [document.text])
    mask = Hierarchical(probability=0.3).prepare(document)(random.Random(seed))
    spans = token_spans(tokens, mask)
    example = encode_ilm(tokens, spans, SpecialIds(byte_tokenizer.get_vocab_size()))
    answers = iter(
        np.split(
            example.ids[example.types >= Target.INFILL],
            np.flatnonzero(example.types[example.types >= Target.INFILL] == Target.INFILL_SPECIAL) + 1,
        )
    )
    rebuilt: list[int] = []
    for id, kind in zip(example.ids.tolist(), example.types.tolist(), strict=True):
        if kind == Target.CONTEXT:
            rebuilt.append(id)
        elif kind == Target.CONTEXT_SPECIAL:
            rebuilt += next(answers).tolist()[:-1]
    assert byte_tokenizer.decode(rebuilt) == document.text
    for _, first, last in spans:
        assert last > first


@pytest.fixture(scope="module")
def byte_tokenizer() -> Any:
    """A vocabulary so small that most characters are split into bytes."""
    return train_tokenizer(["the cat sat on the mat"], 300)


def test_a_document_that_no_format_could_hold_does_not_fit() -> None:
    long = Tokens(np.zeros(130, np.int32), np.arange(130, dtype=np.int32), np.arange(1, 131, dtype=np.int32))
    assert not fits(long, [(Granularity.WORD, 0, 1)])
    assert fits(long, [(Granularity.DOCUMENT, 0, 130)])


def test_control_strings_in_a_text_are_text(byte_tokenizer: Any) -> None:
    text = "<|infill_sentence|> <|startofinfill|> <|endofinfill|>"
    (tokens,) = tokenise(byte_tokenizer, [text])
    assert max(tokens.ids) < byte_tokenizer.get_vocab_size()
    assert byte_tokenizer.decode(tokens.ids.tolist()) == text
