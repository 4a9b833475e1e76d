"""What somebody would score who understands nothing."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from humaneval.errors import InputError
from humaneval.planning.cues import CuePassage, cue_scores, word_counts

PLAIN = ("He went out.", "She saw him.", "They ran off.", "It was late.", "We are done.")


def score(passages: list[CuePassage], cue: str, frequencies: dict[str, int] | None = None) -> float:
    (found,) = [one for one in cue_scores(passages, frequencies or {}) if one.cue == cue]
    return found.score


def test_the_longest_sentence_gives_a_system_away() -> None:
    long = "A sentence that a model wrote and wrote and wrote."
    passages = [CuePassage((*PLAIN[:2], long, *PLAIN[3:]), "m", 3)] * 9 + [CuePassage(PLAIN, "m", 3)]
    # Of the last passage "They ran off." is the longest by a character.
    assert score(passages, "longest") == pytest.approx(0.0)
    assert score(passages, "shortest") == pytest.approx(1.0)


def test_ties_share_the_mark() -> None:
    same = ("one two",) * 5
    for cue in ("longest", "shortest", "rarest words"):
        assert score([CuePassage(same, "m", 4)], cue) == pytest.approx(0.8)


def test_places_are_chance_where_positions_are_even() -> None:
    passages = [CuePassage(PLAIN, "m", position) for position in range(1, 6)]
    assert score(passages, "first") == score(passages, "last") == pytest.approx(0.8)
    assert score([CuePassage(PLAIN, "m", 5)], "last") == 0


def test_a_place_that_always_holds_the_sentence_is_a_cue() -> None:
    third = [CuePassage(PLAIN, "m", 3)] * 4
    assert score(third, "third") == 0
    assert "fourth" not in {one.cue for one in cue_scores(third, {})}


def test_a_sentence_of_rare_words_is_found_whatever_its_case() -> None:
    sentences = ("the cat", "THE CAT", "the xylograph", "the dog", "the dog")
    counts = word_counts(["The cat and the dog.", "THE dog, the cat"])
    assert score([CuePassage(sentences, "m", 3)], "rarest words", counts) == 0
    assert score([CuePassage(sentences, "m", 1)], "rarest words", counts) == 1


def test_a_sentence_without_words_is_not_rare() -> None:
    assert score([CuePassage(("...", "a", "b", "c", "d"), "m", 1)], "rarest words", {"a": 3}) == 1


def test_each_generator_has_its_own_line() -> None:
    found = cue_scores([CuePassage(PLAIN, "a", 1), CuePassage(PLAIN, "b", 5)], {})
    assert [(one.cue, one.generator) for one in found][:2] == [("longest", "a"), ("longest", "b")]
    assert len(found) == 10


def test_no_passages_are_said() -> None:
    with pytest.raises(InputError, match="no passages"):
        cue_scores([], {})


def test_words_are_counted_alike_in_every_script() -> None:
    texts = ["The cat's mat: 'tis THE_mat.", "a''b dogs' x1", "Café’s the Ünder", '["one.", "Two-one"]']
    wanted = Counter(word for text in texts for word in re.findall(r"\w+(?:['’]\w+)*", text.casefold()))
    assert word_counts(texts) == wanted
    assert (wanted["cat's"], wanted["tis"], wanted["dogs"], wanted["the"]) == (1, 1, 1, 2)
