"""Masks, tokens and examples: what a model reads, and which tokens count."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import plain
from generators.checkpoints.sequences import (
    STRATEGIES,
    SpecialIds,
    Target,
    Tokens,
    encode,
    mask_tokens,
    tokenise,
)
from generators.masks.distinct_masks import draw_masks
from generators.masks.documents import Document, story_document
from generators.masks.hierarchical_mask import Hierarchical
from generators.masks.named import load_mask
from generators.masks.spans import Granularity, MaskedSpan
from generators.training.corpus import train_tokenizer
from generators.training.examples import mask_corpus
from humaneval.domain import Story
from humaneval.text import normalise
from tests.models.conftest import real_documents

pytestmark = pytest.mark.models
SPECIAL = SpecialIds(50_257)
S, E = SPECIAL.start, SPECIAL.end
SENTENCE_BLANK, WORD_BLANK = 50_261, 50_263


def test_the_special_ids_are_those_of_the_original_release() -> None:
    assert (SPECIAL.start, SPECIAL.end, SPECIAL.total) == (50_257, 50_258, 50_264)
    assert [SPECIAL.blank(granularity) for granularity in Granularity] == [*range(50_259, 50_264)]


def toy(tokens: int = 6) -> Tokens:
    """Tokens 10, 11, …, of two characters each."""
    starts = np.arange(0, 2 * tokens, 2, dtype=np.int32)
    return Tokens(np.arange(10, 10 + tokens, dtype=np.int32), starts, starts + 2)


WORD_AND_SENTENCE = (MaskedSpan(Granularity.WORD, 2, 4), MaskedSpan(Granularity.SENTENCE, 8, 12))
BY_HAND = {
    "ilm": (
        [10, WORD_BLANK, 12, 13, SENTENCE_BLANK, S, 11, E, 14, 15, E],
        [1, 2, 1, 1, 2, 3, 4, 5, 4, 4, 5],
    ),
    "lm": ([S, 10, 11, 12, 13, 14, 15, E], [3, 6, 4, 5, 6, 4, 4, 5]),
    "lm-rev": ([S, 15, 14, 13, 12, 11, 10, E], [3, 4, 4, 5, 6, 4, 5, 6]),
    "lm-all": (
        [10, WORD_BLANK, 12, 13, SENTENCE_BLANK, S, 10, 11, 12, 13, 14, 15, E],
        [1, 2, 1, 1, 2, 3, 6, 4, 5, 6, 4, 4, 5],
    ),
}
NOTHING_MASKED = {
    "ilm": ([10, 11, 12, S], [1, 1, 1, 3]),
    "lm": ([S, 10, 11, 12, E], [3, 6, 6, 6, 6]),
    "lm-rev": ([S, 12, 11, 10, E], [3, 6, 6, 6, 6]),
    "lm-all": ([10, 11, 12, S, 10, 11, 12, E], [1, 1, 1, 3, 6, 6, 6, 6]),
}
ALL_MASKED_IN_TWO = {
    "ilm": ([WORD_BLANK, SENTENCE_BLANK, S, 10, E, 11, 12, E], [2, 2, 3, 4, 5, 4, 4, 5]),
    "lm": ([S, 10, 11, 12, E], [3, 4, 4, 4, 5]),
    "lm-rev": ([S, 12, 11, 10, E], [3, 4, 4, 4, 5]),
    "lm-all": ([WORD_BLANK, SENTENCE_BLANK, S, 10, 11, 12, E], [2, 2, 3, 4, 4, 4, 5]),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_examples_are_what_the_paper_writes_by_hand(strategy: str) -> None:
    meeting = (MaskedSpan(Granularity.WORD, 0, 2), MaskedSpan(Granularity.SENTENCE, 2, 6))
    masks = [[(), WORD_AND_SENTENCE], [(), meeting]]
    masked, merged = mask_tokens([toy(), toy(3)], masks, SPECIAL)
    assert merged.tolist() == [0, 0, 0, 0]
    _, second, third, fourth = encode(strategy, masked, SPECIAL)
    for (ids, types), wanted in (
        (second, BY_HAND),
        (third, NOTHING_MASKED),
        (fourth, ALL_MASKED_IN_TWO),
    ):
        assert (ids.tolist(), types.tolist()) == wanted[strategy]


def test_spans_that_meet_in_one_token_become_one_blank_and_are_counted() -> None:
    """Tokens of two characters; the first mask's four words of one character each touch two tokens."""
    word = Granularity.WORD
    chain = tuple(MaskedSpan(word, at, at + 1) for at in range(1, 5))
    sentence_first = (MaskedSpan(Granularity.SENTENCE, 2, 5), MaskedSpan(word, 5, 9))
    apart = (MaskedSpan(word, 0, 2), MaskedSpan(word, 2, 4))
    masks = [[chain, sentence_first, apart]]
    masked, merged = mask_tokens([toy()], masks, SPECIAL)
    assert merged.tolist() == [1, 1, 0]
    examples = list(encode("ilm", masked, SPECIAL))
    # The chain touches tokens 10 (once), 11 (twice, merged) and 12 (once).
    assert examples[0][0].tolist() == [*[WORD_BLANK] * 3, 13, 14, 15, S, 10, E, 11, E, 12, E]
    assert examples[1][0].tolist() == [10, SENTENCE_BLANK, 15, S, 11, 12, 13, 14, E]
    assert examples[2][0].tolist() == [*[WORD_BLANK] * 2, 12, 13, 14, 15, S, 10, E, 11, E]


Masks = Sequence[Sequence[Sequence[MaskedSpan]]]


def as_the_baseline_does(tokens: Sequence[Tokens], masks: Masks, special: SpecialIds) -> None:
    """Ids, types, merged spans and examples that fit equal those of the baseline, for every strategy."""
    masked, merged = mask_tokens(tokens, masks, special)
    ours = {strategy: list(encode(strategy, masked, special)) for strategy in STRATEGIES}
    number = 0
    fits = masked.fits()
    for one, its_masks in zip(tokens, masks, strict=True):
        x = one.ids.tolist()
        for mask in its_masks:
            spans = plain.token_spans(one, mask)
            assert merged[number] == len(mask) - len(spans)
            assert fits[number] == plain.fits(x, spans)
            for strategy in STRATEGIES:
                ids, types = ours[strategy][number]
                assert (ids.tolist(), types.tolist()) == plain.encode(strategy, x, spans, special)
            number += 1
    assert number == len(fits)


def test_all_formats_are_the_baselines_on_bundled_stories(
    bundled: tuple[Document, ...], tokenizer: Any, special: SpecialIds
) -> None:
    mask = Hierarchical()
    masks = [draw_masks(mask, document, 4, random.Random(n)) for n, document in enumerate(bundled)]
    as_the_baseline_does(tokenise(tokenizer, [document.text for document in bundled]), masks, special)


def test_all_formats_are_the_baselines_on_real_stories(test_data: Path) -> None:
    documents = real_documents(test_data, "valid.csv")[:300]
    tokenizer = train_tokenizer([document.text for document in documents], 3000)
    mask = Hierarchical()
    masks = [draw_masks(mask, document, 16, random.Random(n)) for n, document in enumerate(documents)]
    tokens = tokenise(tokenizer, [document.text for document in documents])
    as_the_baseline_does(tokens, masks, SpecialIds(tokenizer.get_vocab_size()))


SENTENCE = (
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12).map(normalise).filter(bool)
)
SENTENCES = st.tuples(SENTENCE, SENTENCE, SENTENCE, SENTENCE, SENTENCE)


@settings(max_examples=150, deadline=None)
@given(SENTENCES, st.integers(0, 2**32 - 1))
def test_G04_G23_every_character_survives_whatever_bytes_it_is_split_into(
    byte_tokenizer: Any, sentences: tuple[str, str, str, str, str], seed: int
) -> None:
    document = story_document(Story("s", sentences, "“Zoë’s” 👩‍🚀"))
    tokens = tokenise(byte_tokenizer, [document.text])
    mask = Hierarchical(probability=0.3).prepare(document)(random.Random(seed))
    special = SpecialIds(byte_tokenizer.get_vocab_size())
    as_the_baseline_does(tokens, [[mask]], special)
    masked, _ = mask_tokens(tokens, [[mask]], special)
    assert (masked.lasts > masked.firsts).all()
    for strategy in STRATEGIES:
        ((ids, types),) = encode(strategy, masked, special)
        assert byte_tokenizer.decode(_whole(strategy, ids, types, special)) == document.text


def _whole(strategy: str, ids: Any, types: Any, special: SpecialIds) -> list[int]:
    """The document's tokens, put together again from an example."""
    start = int(np.flatnonzero(ids == special.start)[0])
    behind = ids[start + 1 :].tolist()
    if strategy != "ilm":
        return behind[:-1][::-1] if strategy == "lm-rev" else behind[:-1]
    answers: list[list[int]] = [[]]
    for id in behind:
        if id == special.end:
            answers.append([])
        else:
            answers[-1].append(id)
    assert answers.pop() == []
    remaining = iter(answers)
    whole: list[int] = []
    for id, type in zip(ids[:start].tolist(), types[:start].tolist(), strict=True):
        whole += next(remaining) if type == Target.CONTEXT_SPECIAL else [id]
    assert next(remaining, None) is None
    return whole


def test_the_longest_format_decides_for_all_what_fits_the_context() -> None:
    """n + 2 tokens and the context: with nothing masked 2 n + 2, with all of it masked n + 3."""
    nothing, document = (), (MaskedSpan(Granularity.DOCUMENT, 0, 2 * 253),)
    masked, _ = mask_tokens(
        [toy(127), toy(128), toy(253), toy(254)], [[nothing], [nothing], [document], [document]], SPECIAL
    )
    # The last document's last token is left out of its mask, and so it has one token more twice.
    assert masked.fits().tolist() == [True, False, True, False]
    lengths = np.diff(encode("lm-all", masked, SPECIAL).bounds)
    assert (lengths <= 256).tolist() == masked.fits().tolist()


def test_what_is_too_long_is_left_out_for_every_strategy_alike_and_counted(
    bundled: tuple[Document, ...],
) -> None:
    """With such a small vocabulary, most stories fit only if much of them is masked."""
    tokenizer = train_tokenizer([document.text for document in bundled], 600)
    special = SpecialIds(tokenizer.get_vocab_size())
    endless = story_document(Story("x", ("word " * 400,) * 5))
    corpus = mask_corpus([endless, *bundled, endless], tokenizer, special, load_mask("hierarchical"))
    assert corpus.left_out["documents longer than the context"] == 2
    assert corpus.documents == len(bundled)
    assert 0 < corpus.examples < 8 * len(bundled)
    assert corpus.examples + corpus.left_out["examples longer than the context"] == 16 * len(bundled)
    masked = corpus.take(range(corpus.examples))
    for strategy in STRATEGIES:
        lengths = np.diff(encode(strategy, masked, special).bounds)
        assert lengths.tolist() == corpus.lengths(strategy).tolist()
        assert lengths.max() <= 256


def test_where_every_document_is_too_long_there_is_no_example(byte_tokenizer: Any) -> None:
    endless = story_document(Story("x", ("word " * 400,) * 5))
    special = SpecialIds(byte_tokenizer.get_vocab_size())
    for documents in ([endless, endless], []):
        corpus = mask_corpus(documents, byte_tokenizer, special, load_mask("hierarchical"))
        assert (corpus.documents, corpus.examples) == (0, 0)
        assert sum(corpus.left_out.values()) == len(documents)


def test_control_strings_in_a_text_are_text(byte_tokenizer: Any) -> None:
    text = "<|infill_sentence|> <|startofinfill|> <|endofinfill|> <|endoftext|>"
    (tokens,) = tokenise(byte_tokenizer, [text])
    assert max(tokens.ids) < byte_tokenizer.get_vocab_size()
    assert byte_tokenizer.decode(tokens.ids.tolist()) == text
    story = Story("s", (text, "One.", "Two.", "Three.", "Four."))
    special = SpecialIds(byte_tokenizer.get_vocab_size())
    corpus = mask_corpus([story_document(story)], byte_tokenizer, special, load_mask("word"), copies=4)
    ids, types = next(iter(encode("ilm", corpus.take([0]), special)))
    marks = (Target.CONTEXT_SPECIAL, Target.CONTEXT_INFILL_SEP, Target.INFILL_SPECIAL)
    assert (ids[~np.isin(types, marks)] < special.size).all()
