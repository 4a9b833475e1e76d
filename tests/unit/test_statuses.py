"""One policy of infill statuses: which status a text deserves, and which statuses a study shows."""

from __future__ import annotations

import pytest

from humaneval.domain import PROCESSED_STATUSES, InfillStatus, shown_statuses, verdict_on


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("It rained.", InfillStatus.OK),
        ("", InfillStatus.EMPTY),
        ("…!", InfillStatus.EMPTY),
        ("It rained. She stayed.", InfillStatus.SEVERAL_SENTENCES),
        ("a\x07b", InfillStatus.UNPRINTABLE),
        ("a\ufffdb", InfillStatus.UNPRINTABLE),
        ("a\u200bb", InfillStatus.UNPRINTABLE),
        ("\u202e", InfillStatus.UNPRINTABLE),
    ],
)
def test_a_text_gets_one_verdict(text: str, status: InfillStatus) -> None:
    assert verdict_on(text).status is status


def test_punctuation_and_several_sentences_can_be_allowed() -> None:
    assert verdict_on("…!", needs_words=False).status is InfillStatus.OK
    assert verdict_on("It rained. She stayed.", one_sentence=False).status is InfillStatus.OK


def test_a_study_shows_ok_infills_and_those_that_it_allows() -> None:
    assert shown_statuses() == {InfillStatus.OK}
    assert shown_statuses([InfillStatus.CUT]) == {"ok", "cut"}
    assert {"ok", "several sentences"} == PROCESSED_STATUSES
