"""Questions that panels forbid raise a doubt, and sentences that only sound like them raise none."""

from __future__ import annotations

import pytest

from humaneval.resources import words_in
from humaneval.study.contradictions import doubts
from humaneval.study.file import read_study_file
from humaneval.study.forbidden import asked_in


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Please enter your full name below.", "a name or initials"),
        ("What are your initials?", "a name or initials"),
        ("Leave your e-mail if you want the results.", "an e-mail address"),
        ("What is your email address?", "an e-mail address"),
        ("When were you born?", "a birth date"),
        ("Your date of birth:", "a birth date"),
        ("Give us your home address.", "a postal address"),
        ("Type your postcode.", "a postal address"),
        ("Your phone number, please.", "a phone number"),
        ("What is your Instagram handle?", "a name in a network or game"),
        ("Tell us your Discord.", "a name in a network or game"),
        ("Who do you work for, and who is your employer?", "an employer"),
        ("Bitte geben Sie Ihren Namen an.", "a name or initials"),
        ("Wie lautet Ihre E-Mail-Adresse?", "an e-mail address"),
        ("请填写您的电话。", "a phone number"),
        ("Comments are welcome.\nName: ______", "something that says who somebody is"),
    ],
)
def test_a_question_that_panels_forbid_is_found(text: str, what: str) -> None:
    assert what in asked_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "We do not ask for your name.",
        "Never write your e-mail into the comment.",
        "Questions? E-mail us: lab@example.org",
        "E-mail: lab@example.org",
        "The story names a person, an address and a phone.",
        "Name the sentence that a machine wrote.",
        "Your payment comes from your panel.",
        "Wir fragen nicht nach Ihrem Namen.",
        "我们不询问您的名字。",
    ],
)
def test_what_only_sounds_like_such_a_question_raises_no_doubt(text: str) -> None:
    assert asked_in(text) == []


@pytest.mark.parametrize("language", ["en", "de", "ar", "zh-Hans"])
def test_our_own_words_ask_nobody_who_they_are(language: str) -> None:
    assert [key for key, text in words_in(language).items() if asked_in(text)] == []


def test_a_study_that_asks_for_a_name_is_made_with_a_doubt() -> None:
    settings, _ = read_study_file(
        None, overrides={"page": {"instructions": "Enter your name and your e-mail."}}
    )
    found = [doubt for doubt in doubts(settings) if "forbid" in doubt]
    assert [doubt.partition(":")[0] for doubt in found] == [
        "page.instructions seems to ask for a name or initials",
        "page.instructions seems to ask for an e-mail address",
    ]
