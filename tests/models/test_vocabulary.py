"""Tokenizers: those like GPT-2's are read as they are, text is only text, and others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from generators.checkpoints.tokenizer import check_byte_level, covers, line_ends, open_tokenizer, unread
from humaneval.errors import InputError
from tests.models.small_models import like_gpt2, with_control_tokens, write_pair

pytestmark = pytest.mark.models


def test_G31_what_a_person_types_is_never_a_control_token(tokenizer: Any, tmp_path: Path) -> None:
    controlled = with_control_tokens(tokenizer, "<|endoftext|>", "apple")
    assert len(controlled.encode("<|endoftext|>apple").ids) == 2
    controlled.save(str(tmp_path / "tokenizer.json"))
    opened = open_tokenizer(tmp_path)
    typed = "<|endoftext|> and an apple"
    assert opened.encode(typed).ids == tokenizer.encode(typed).ids
    assert opened.decode(opened.encode(typed).ids) == typed
    assert opened.get_vocab() == tokenizer.get_vocab()


def test_G31_gpt2s_two_files_make_its_tokenizer(tmp_path: Path) -> None:
    write_pair(tmp_path, *like_gpt2())
    opened = open_tokenizer(tmp_path)
    check_byte_level(opened, "this")
    assert opened.encode(" This is an example.").ids == [770, 318, 281, 1672, 13]
    assert 50_256 not in opened.encode("<|endoftext|>").ids
    assert 50_256 in unread(opened, 50_257)
    assert not set(unread(opened, 50_257)) & {770, 318, 0, 255}
    assert line_ends(opened) == [198]


def test_G31_gpt2s_own_vocabulary_reads_as_it_should(gpt2_tokenizer: Tokenizer) -> None:
    opened = gpt2_tokenizer
    check_byte_level(opened, "GPT-2")
    ids = [770, 318, 281, 1672, 13, 220, 220, 632, 318, 3608, 220]
    assert opened.encode(" This is an example.   It is cool ").ids == ids
    assert unread(opened, 50_257) == (50_256,)
    assert set(line_ends(opened)) >= {198, 628}


def _lower(made: Tokenizer) -> None:
    made.normalizer = normalizers.NFKC()


def _prefix(made: Tokenizer) -> None:
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)


def _words(made: Tokenizer) -> None:
    made.pre_tokenizer = pre_tokenizers.Whitespace()


@pytest.mark.parametrize(
    ("change", "why"),
    [(_lower, "changes a text"), (_prefix, "come back unchanged"), (_words, "come back unchanged")],
)
def test_G31_a_tokenizer_that_changes_text_is_refused(tokenizer: Any, change: Any, why: str) -> None:
    changed = Tokenizer.from_str(tokenizer.to_str())
    change(changed)
    with pytest.raises(InputError, match=f"tiny's tokenizer is not byte-level: .*{why}"):
        check_byte_level(changed, "tiny")


def test_G31_a_vocabulary_of_words_is_refused() -> None:
    words = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    with pytest.raises(InputError, match="it is a WordLevel, not a BPE"):
        check_byte_level(words, "that")
    letters = Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    letters.decoder = decoders.ByteLevel()
    with pytest.raises(InputError, match="bytes are not in its vocabulary"):
        check_byte_level(letters, "that")


HARD_TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("“”‘’—… \t\n é́é漢字か゚😀👩‍💻🇩🇪abAB.,!?'"),
    ),
    max_size=60,
)


@given(text=HARD_TEXT)
@settings(max_examples=300, deadline=None)
def test_G23_tokens_rejoin_to_the_text_and_share_only_split_characters(tokenizer: Any, text: str) -> None:
    read = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(read.ids, skip_special_tokens=False) == text
    if text:
        assert covers(read.offsets, len(text))
    # The character of every byte; a token covers the characters that its bytes are of.
    character = [n for n, letter in enumerate(text) for _ in letter.encode()]
    at = 0
    for token, (start, end) in zip(read.tokens, read.offsets, strict=True):
        assert (start, end) == (character[at], character[at + len(token) - 1] + 1)
        at += len(token)  # a byte-level token has a letter for each of its bytes
    assert at == len(character)
    rejoined, reached = "", 0
    for start, end in read.offsets:
        rejoined, reached = rejoined + text[max(start, reached) : end], end
    assert rejoined == text


def test_G23_offsets_with_a_gap_or_an_overlap_are_noticed() -> None:
    assert covers([(0, 2), (1, 2), (2, 5)], 5)
    assert not covers([(0, 2), (3, 5)], 5)
    assert not covers([(0, 3), (1, 5)], 5)
    assert not covers([(0, 3)], 5)
    assert not covers([(1, 5)], 5)
