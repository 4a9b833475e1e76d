"""Words: their places in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.masks.words import word_spans


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
