"""The bundled stories and example infills: how many there are, and that every line is clean."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

from humaneval.text import doubts, split_sentences

BUNDLED = Path(__file__).resolve().parents[2] / "humaneval" / "bundled"
POSITIONS = range(1, 6)
GENERATORS = ("example-good", "example-poor")


def read_stories() -> list[dict[str, Any]]:
    lines = (BUNDLED / "stories.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_infills() -> list[dict[str, str]]:
    with (BUNDLED / "example_infills.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


STORIES = read_stories()
INFILLS = read_infills()
BY_ID = {story["id"]: story for story in STORIES}


def unclean(text: str) -> str:
    """What is wrong with the text, or nothing."""
    if not text or text != text.strip() or "  " in text:
        return "empty, or with spaces too many"
    if not unicodedata.is_normalized("NFC", text):
        return "not NFC"
    if any(unicodedata.category(char).startswith("C") for char in text):
        return "a control character"
    return ""


def quote_styles(text: str) -> set[str]:
    styles = set()
    if any(char in text for char in "'\""):
        styles.add("straight")
    if any(char in text for char in "‘’“”"):
        styles.add("curly")
    return styles


def folded(text: str) -> str:
    """The words alone, so that a change of case, quotes or punctuation makes no new sentence."""
    kept = "".join(char if char.isalnum() else " " for char in text.casefold())
    return " ".join(kept.split())


def test_counts_and_splits() -> None:
    assert len(STORIES) == 168
    assert [story["id"] for story in STORIES] == [f"he-{number:03d}" for number in range(1, 169)]
    assert [story["split"] for story in STORIES] == ["train"] * 124 + ["valid"] * 20 + ["test"] * 24


def test_titles_and_sentences_are_unique() -> None:
    titles = Counter(folded(story["title"]) for story in STORIES)
    sentences = Counter(folded(sentence) for story in STORIES for sentence in story["sentences"])
    assert [title for title, count in titles.items() if count > 1] == []
    assert [sentence for sentence, count in sentences.items() if count > 1] == []


def test_every_story_is_clean() -> None:
    for story in STORIES:
        assert set(story) == {"id", "title", "sentences", "split"}
        assert unclean(story["title"]) == "", story
        assert len(story["sentences"]) == 5, story
        for sentence in story["sentences"]:
            assert unclean(sentence) == "", story
            assert split_sentences(sentence) == [sentence]
            assert doubts(sentence) == [], story
            assert sentence.rstrip('"”')[-1] in ".!?", story
            assert sum(sentence.count(mark) for mark in ".!?") == 1, story
            assert 5 <= len(sentence.split()) <= 20, story
        assert 30 <= sum(len(sentence.split()) for sentence in story["sentences"]) <= 75, story
        assert len(quote_styles(" ".join([story["title"], *story["sentences"]]))) <= 1, story


def test_every_test_story_has_every_infill_once() -> None:
    with (BUNDLED / "example_infills.csv").open(encoding="utf-8", newline="") as file:
        assert file.readline() == "story,position,generator,text\n"
    wanted = {
        (story["id"], str(position), generator)
        for story in STORIES
        if story["split"] == "test"
        for position in POSITIONS
        for generator in GENERATORS
    }
    found = Counter((infill["story"], infill["position"], infill["generator"]) for infill in INFILLS)
    assert len(INFILLS) == 240
    assert set(found) == wanted
    assert set(found.values()) == {1}


def test_every_infill_is_clean() -> None:
    for infill in INFILLS:
        text = infill["text"]
        sentences = BY_ID[infill["story"]]["sentences"]
        assert unclean(text) == "", infill
        assert split_sentences(text) == [text]
        assert doubts(text) == [], infill
        assert text[-1] in ".!?", infill
        assert sum(text.count(mark) for mark in ".!?") == 1, infill
        assert folded(text) not in [folded(sentence) for sentence in sentences], infill
        assert len(quote_styles(" ".join([text, *sentences]))) <= 1, infill


def test_no_two_infills_are_the_same() -> None:
    for generator in GENERATORS:
        texts = Counter(folded(infill["text"]) for infill in INFILLS if infill["generator"] == generator)
        assert [text for text, count in texts.items() if count > 1] == []
