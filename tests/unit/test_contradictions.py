"""Settings of a study file that contradict each other: each pair is refused, or doubted, with both names."""

from __future__ import annotations

from typing import Any

import pytest

from humaneval.errors import SettingsError
from humaneval.study.contradictions import doubts
from humaneval.study.file import StudyFile, read_study_file

SYSTEMS = ["human", "example-good", "example-poor"]
Sections = dict[str, dict[str, Any]]

REFUSED: dict[str, tuple[Sections, tuple[str, str]]] = {
    "less time than expected": (
        {"hit": {"assignment_minutes": 3, "expected_minutes": 4}},
        ("hit.assignment_minutes = 3", "hit.expected_minutes = 4"),
    ),
    "half a minute too little": (
        {"hit": {"assignment_minutes": 7, "expected_minutes": 7.5}},
        ("hit.assignment_minutes = 7", "hit.expected_minutes = 7.5"),
    ),
    "gone before it is done": (
        {"hit": {"lifetime_days": 0.002, "expected_minutes": 4}},
        ("hit.lifetime_days = 0.002", "hit.expected_minutes = 4"),
    ),
    "gone before the time is over": (
        {"hit": {"lifetime_days": 0.02, "assignment_minutes": 45}},
        ("hit.lifetime_days = 0.02", "hit.assignment_minutes = 45"),
    ),
    "a keyword that is two": (
        {"hit": {"keywords": ["story, reading"]}},
        ('hit.keywords has "story, reading"', '"story", "reading"'),
    ),
    "a country of another list": (
        {"participants": {"countries": ["DE", "UK"]}},
        ('participants.countries has "UK"', "perhaps you mean GB"),
    ),
    "a country that is not there": (
        {"participants": {"countries": ["XX"]}},
        ("participants.countries", '"XX"'),
    ),
    "pay elsewhere, of nothing": (
        {"hit": {"reward": "0.00"}, "link": {"pay": "elsewhere"}},
        ("link.pay", "hit.reward"),
    ),
    "a gate without a control": (
        {"design": {"generators": SYSTEMS}},
        ("exclusions.missed_control", "design.generators"),
    ),
    "spam without a control": (
        {"design": {"generators": SYSTEMS}, "exclusions": {"missed_control": "none", "spam": 0.9}},
        ("exclusions.spam = 0.9", "design.generators"),
    ),
    "another rule without a control": (
        {
            "design": {"generators": SYSTEMS},
            "exclusions": {"missed_control": "none", "also": [{"name": "gate"}]},
        },
        ("exclusions.also, item 1: missed_control", "design.generators"),
    ),
    "always the same sentence, which is right": (
        {"design": {"positions": [5]}, "exclusions": {"straight_lining": 0.001}},
        ("exclusions.straight_lining", "design.positions = [5]"),
    ),
    "too fast for everybody": (
        {"exclusions": {"words_per_second": 0.05}},
        ("exclusions.words_per_second = 0.05", "hit.expected_minutes = 4"),
    ),
    "too fast for everybody who reads twenty sentences": (
        {"design": {"positions": [2, 20]}, "exclusions": {"words_per_second": 0.2}},
        ("exclusions.words_per_second = 0.2", "stories of 20 sentences"),
    ),
    "with and without a qualification": (
        {"participants": {"qualifications": [{"id": "3A", "at_least": 80}, {"id": "3A", "lacking": True}]}},
        ("participants.qualifications", "lacking = true"),
    ),
    "no more power than chance": (
        {"analysis": {"power": 0.05, "level": 0.95}},
        ("analysis.power = 0.05", "analysis.level = 0.95"),
    ),
    "comparisons with the human": (
        {"analysis": {"comparisons": [["example-good", "human"]]}},
        ("analysis.comparisons", "below_human"),
    ),
    "practice with a story of one's own and no word of why": (
        {"page": {"practice": True}, "words": {"example_3": "It rained frogs."}},
        ("page.practice = true", "words.example_3"),
    ),
    "fewer annotators than a passage needs": (
        {"design": {"annotators": 41, "responses_per_passage": 2}},
        ("annotators", "responses_per_passage"),
    ),
    "more passages than generators": (
        {"design": {"passages_per_row": 5}},
        ("passages_per_row", "4 generators"),
    ),
    "a comparison of what is not shown": (
        {"analysis": {"comparisons": [["example-good", "zz"]]}},
        ("analysis.comparisons", "generators"),
    ),
    "an effect beyond every score": (
        {"analysis": {"expected_score": 0.6, "smallest_effect": 0.4}},
        ("expected_score", "smallest_effect"),
    ),
    "one parameter for two ids": (
        {"link": {"worker_parameter": "id", "session_parameter": "id"}},
        ("worker_parameter", "session_parameter"),
    ),
    "a qualification that is lacking, and its least value": (
        {"participants": {"qualifications": [{"id": "3A", "at_least": 80, "lacking": True}]}},
        ("lacking", "at_least"),
    ),
}

DOUBTED: dict[str, tuple[Sections, tuple[str, str]]] = {
    "a control that may be good on the first scale": (
        {"question": "rate", "answers": {"scales": {"fluency": ["a", "b"], "fit": ["a", "b"]}}},
        ("answers.control", "of fluency, the first scale"),
    ),
    "more forms for a person than there are": (
        {"design": {"annotators": 2, "responses_per_passage": 2, "rows_per_annotator": 2}},
        ("design.rows_per_annotator = 2", "responses_per_passage = 2"),
    ),
    "more forms for a person than HITs": (
        {"design": {"annotators": 9, "rows_per_annotator": 2}},
        ("design.rows_per_annotator = 2", "make 1 HIT,"),
    ),
    "too few stories for a person": (
        {"design": {"stories": 7, "rows_per_annotator": 2}},
        ("design.stories = 7", "design.rows_per_annotator = 2"),
    ),
    "replacing annotators whom no rule excludes": (
        {"design": {"top_up": "auto"}, "exclusions": {"missed_control": "none", "incomplete": False}},
        ('design.top_up = "auto"', "[exclusions]"),
    ),
    "two completion codes": (
        {"link": {"completion_code": "C1", "completion_url": "https://example.org/?cc=C2"}},
        ("link.completion_code = C1", "link.completion_url"),
    ),
    "careful people excluded": (
        {"exclusions": {"straight_lining": 0.99}},
        ("exclusions.straight_lining = 0.99", "careful"),
    ),
    "a limit that no form can reach": (
        {"exclusions": {"straight_lining": 1e-6}},
        ("exclusions.straight_lining = 1e-06", "design.generators"),
    ),
    "a limit below the guess": (
        {"exclusions": {"spam": 0.04}},
        ("exclusions.spam = 0.04", "analysis.spammers = 0.05"),
    ),
    "words of a language without spaces": (
        {"page": {"story_language": "ja"}, "exclusions": {"words_per_second": 12}},
        ("exclusions.words_per_second = 12", "page.story_language"),
    ),
    "an effect that matters and is nothing": (
        {"analysis": {"equivalence_margin": 0.2, "smallest_effect": 0.1}},
        ("analysis.equivalence_margin = 0.2", "analysis.smallest_effect = 0.1"),
    ),
    "a language without words": ({"page": {"language": "id"}}, ('page.language = "id"', "[words]")),
    "a language with a few words": (
        {"page": {"language": "id"}, "words": {"send": "Kirim"}},
        ('page.language = "id"', "shown in English"),
    ),
    "a placeholder that is none": (
        {"consent": {"text": "About {minute} minutes."}},
        ("consent.text has {minute}", "{minutes}"),
    ),
    "a reward of nothing, by name": (
        {"consent": {"text": "It pays ${reward}."}, "hit": {"reward": "0.00"}},
        ("consent.text names {reward}", "hit.reward"),
    ),
}


def read(sections: Sections) -> StudyFile:
    return read_study_file(None, overrides=sections)[0]


@pytest.mark.parametrize("pair", REFUSED)
def test_X25_settings_that_contradict_each_other_are_refused_by_both_names(pair: str) -> None:
    sections, names = REFUSED[pair]
    with pytest.raises(SettingsError) as caught:
        read(sections)
    assert all(name in caught.value.message for name in names), caught.value.message


@pytest.mark.parametrize("pair", DOUBTED)
def test_X25_settings_that_hardly_fit_are_doubted_by_both_names(pair: str) -> None:
    sections, names = DOUBTED[pair]
    said = doubts(read(sections))
    assert len(said) == 1
    assert all(name in said[0] for name in names), said


def test_X25_settings_at_the_very_edge_are_accepted_without_a_doubt() -> None:
    for sections in (
        {},
        {"hit": {"assignment_minutes": 4, "expected_minutes": 4}},
        {"design": {"annotators": 10, "rows_per_annotator": 2, "stories": 8}},
        {"link": {"completion_code": "C1", "completion_url": "https://example.org/?cc=C1"}},
        {"design": {"generators": SYSTEMS}, "exclusions": {"missed_control": "none"}},
        {"analysis": {"equivalence_margin": 0.1}},
        {"page": {"language": "de-AT", "story_language": "id"}},
    ):
        assert doubts(read(sections)) == []


def test_X25_a_stored_study_with_a_contradiction_stays_readable() -> None:
    values = read({}).model_dump(mode="json")
    values["hit"]["assignment_minutes"] = 1
    assert StudyFile.model_validate(values).hit.assignment_minutes == 1
