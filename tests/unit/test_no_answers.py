"""An answer to a request is judged against what was asked."""

from __future__ import annotations

import pytest

from generators.sampling.prompts import TASK, WANTED
from generators.sampling.replies import draft_of, no_answer
from humaneval.domain import Gap, GappedText, InfillStatus, Story
from humaneval.infills.doubtful import doubt_about, repeated_words, told

STORY = GappedText(
    "s", ("Anna had a dog. It was very old. ", " They went home at last. “Good night!” said Anna."), (Gap(),)
)
WORD = GappedText("w", ("Anna had a ", " dog."), (Gap("word"),))


@pytest.mark.parametrize(
    "answer",
    [
        "blank 1",
        "Blank 1.",
        "[blank 1]",
        "[[blank 1]]",
        "BLANK",
        "Answer:",
        "The missing sentence.",
        "1",
        "1.",
        "____",
        "<blank_1>",
        WANTED["sentence"],
        "Exactly one sentence.",
        TASK.split(". ")[0] + ".",
        "/stories/1/blank",
        "https://example.com",
        "www.example.com/a?b=1",
        "story_1",
        '{"blanks"}',
        "It was very old.",
        "it was very old",
        "They went home at last!",
        "Anna had a dog. It was very old.",
        "“Good night!” said Anna.",
        "None",
        "null",
        "N/A",
        "Output:",
        "[MASK]",
        "[one sentence]",
        "Blank one",
        "first blank",
        "blank 1 blank 1",
        "Fill in the blank.",
        "Insert sentence here.",
        "Your answer here.",
        "The sentence that is missing.",
        "Reply with a JSON list of strings.",
        "[blank 1]: [blank 1]",
    ],
)
def test_X60_what_is_no_answer_to_the_request_is_filtered(answer: str) -> None:
    draft = draft_of(answer, STORY, 0, {})
    assert draft.status is InfillStatus.FILTERED, draft
    assert draft.detail


@pytest.mark.parametrize(
    "answer",
    [
        "Yes.",
        "It was very old and grey.",
        "Anna had a dog and a cat.",
        "She filled the blank.",
        "The answer was 1.",
        "She looked at Amazon.com for a bed.",
        "“No!”",
        "She said nothing.",
        "Mr. Smith helped.",
        "There was a gap in the fence.",
        "It was a long sentence.",
        "[Her dog] barked.",
        "None of them came.",
        "1. Mai war ein Feiertag.",
    ],
)
def test_X60_a_sentence_is_an_answer(answer: str) -> None:
    assert draft_of(answer, STORY, 0, {}).status is InfillStatus.OK


@pytest.mark.parametrize(
    "answer",
    [
        "Blank 1: It rained.",
        "[blank 1] It rained.",
        "1) It rained.",
        "Here is the missing sentence: It rained.",
        "Here’s a new sentence: It rained.",
        "Sure! Here is the sentence: “It rained.”",
        "Missing sentence: It rained.",
    ],
)
def test_X60_what_leads_to_an_answer_is_no_part_of_it(answer: str) -> None:
    draft = draft_of(answer, STORY, 0, {})
    assert (draft.text, draft.status, draft.extra["unlabelled"]) == ("It rained.", InfillStatus.OK, True)


def test_X60_a_word_is_an_answer_to_a_gap_for_a_word_and_a_mark_is_not() -> None:
    for word in ("old", "blank", "dog", "7", "and/or", "Amazon.com"):
        assert no_answer(word, WORD, 0) == ""
    for mark in ("blank 1", "[blank 1]", "<word>", "1.", "___"):
        assert no_answer(mark, WORD, 0) == "a mark of the request"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("She wanted to go to go to go to go.", "to go"),
        ("No, no, no!", "No"),
        ("It was a big dog, a big dog, a big dog.", "a big dog"),
        ("He ran and ran.", ""),
        ("They had had a long day.", ""),
        ("Go on, go on now.", ""),
    ],
)
def test_X60_words_that_are_repeated_are_listed_for_a_person(text: str, words: str) -> None:
    assert repeated_words(text) == words
    story = Story("s", ("A.", "B.", "C.", "D.", "E."))
    found = doubt_about(story, 2, "sa", text)
    assert (found is not None) == bool(words)
    if found is not None:
        assert any(repr(words) in line for line in told([found]))
