"""The words of pages: complete in every language, replaced one by one, checked by their placeholders."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from generators.control import build
from humaneval.crowd.page_words import PageWords
from humaneval.domain import GeneratorRequest
from humaneval.errors import SettingsError, UsageError
from humaneval.resources import bundled, word_languages, words_in
from humaneval.scoring.questions.question import load_question, question_names
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.words import SETTINGS, lacking_words, right_to_left, words_of

ENGLISH = words_in("en")


def study(**sections: dict[str, Any]) -> StudyFile:
    return read_study_file(None, overrides=sections)[0]


@cache
def code() -> str:
    """All of the toolkit's."""
    return "\n".join(
        path.read_text(encoding="utf-8")
        for path in (bundled("hit_templates").parent / "humaneval").rglob("*.py")
    )


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{\w*\}", text))


@pytest.mark.parametrize("question", question_names())
@pytest.mark.parametrize("language", word_languages())
def test_X28_every_language_has_every_word_with_its_placeholders(language: str, question: str) -> None:
    folder = load_question(question).folder
    words, english = words_in(language, question=folder), words_in("en", question=folder)
    assert list(words) == list(english)
    assert not [key for key in english if placeholders(words[key]) != placeholders(english[key])]
    assert not [key for key, text in words.items() if not text.strip() or "<" in text]
    assert len(words["title"]) <= 128


@pytest.mark.parametrize("language", [one for one in word_languages() if one != "en"])
def test_X28_a_language_that_comes_along_says_that_nobody_checked_it(language: str) -> None:
    for file in bundled("hit_templates").rglob(f"words/{language}.toml"):
        assert "Not checked by native speakers" in file.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("question", question_names())
def test_X28_every_word_is_used_and_every_used_word_is_there(question: str) -> None:
    folder = load_question(question).folder
    english = words_in("en", question=folder)
    templates = [*bundled("hit_templates").glob("*.html"), *folder.glob("*.html")]
    pages = "\n".join(path.read_text(encoding="utf-8") for path in templates)
    built = re.compile(r"example_\d|kept_\w+|ask_\w+|\w+_any")
    assert not [key for key in english if not built.fullmatch(key) and f'"{key}"' not in pages + code()]
    used = re.findall(r'words(?:\.plain)?\("(\w+)"', pages)
    assert not set(used) - set(english)


def test_X28_no_template_has_words_of_its_own() -> None:
    for path in bundled("hit_templates").rglob("*.html"):
        if path.parent.name == "infilling":
            continue
        bare = re.sub(
            r"<script>.*?</script>|\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", "", path.read_text(), flags=re.S
        )
        assert not re.search(r"[A-Za-z]{2}", bare), (path.name, bare.split())


@pytest.mark.parametrize(
    ("tag", "has"),
    [
        *(("de", "de"), ("DE-at", "de"), ("ar-EG", "ar"), ("zh", "zh-Hans"), ("zh-CN", "zh-Hans")),
        *(("zh-Hans-SG", "zh-Hans"), ("zh-TW", ""), ("zh-Hant", ""), ("zh-hk", ""), ("id", ""), ("den", "")),
    ],
)
def test_X28_the_words_of_a_language_are_found_by_its_tag(tag: str, has: str) -> None:
    assert words_in(tag) == (words_in(has) if has else {})


def test_X28_the_side_to_read_from_follows_from_language_and_script() -> None:
    rtl = ("ar", "he-IL", "fa", "ur-PK", "ckb", "az-Arab", "pa-Arab-PK")
    assert all(map(right_to_left, rtl))
    assert not any(map(right_to_left, ("en", "zh", "ku", "ur-Latn", "az", "are", "ja-Jpan")))


def test_X28_a_file_of_init_changes_its_language_with_one_setting() -> None:
    arabic = study(page={"language": "ar"})
    words = words_in("ar")
    assert (arabic.hit.title, arabic.page.question) == (words["title"], words["question"])
    assert arabic.consent.text == words["consent"].strip()
    assert arabic.hit.keywords == tuple(words["keywords"].split(", "))
    own = study(page={"language": "ar", "question": "؟"})
    assert own.page.question == "؟"
    english = study()
    assert english.consent.text == ENGLISH["consent"].strip()
    assert english.page.instructions == ENGLISH["instructions"].strip()


def test_X28_a_study_replaces_any_word_and_names_the_nearest_for_an_unknown_one() -> None:
    own = study(words={"send": "Submit", "separator": " / "})
    assert words_of(own).plain("send") == "Submit"
    assert words_of(own).plain("separator") == " / "
    for key, nearest in (("sned", "send"), ("thank_text", "thanks_text"), ("Send", "send")):
        with pytest.raises(SettingsError, match=rf"words.{key}: .* nearest is {nearest}$"):
            study(words={key: "x"})
    for key in SETTINGS:
        with pytest.raises(SettingsError, match=f"words.{key} is a setting of its own"):
            study(words={key: "x"})


def test_X25_a_word_of_the_control_is_refused_because_it_would_change_nothing() -> None:
    with pytest.raises(SettingsError, match=r"words\.control is on no page") as told:
        read_study_file(None, overrides={"words": {"control": "Ein Satz."}})
    assert "generate --generator control --as NAME --option wordings=TEXT" in told.value.hint


def test_X28_a_replaced_word_keeps_its_placeholders() -> None:
    assert study(words={"story": "{total}: {place}"})
    for text, has in (("Story", "no placeholder"), ("{place}", "{place}"), ("{place} {total} {x}", "{x}")):
        with pytest.raises(SettingsError, match=r"words.story must have {place}, {total}, but has") as caught:
            study(words={"story": text})
        assert has in caught.value.message
    with pytest.raises(SettingsError, match=r"words.send must have no placeholder, but has {x}"):
        study(words={"send": "{x}"})
    for bad in ("", "  ", "a\x07"):
        with pytest.raises(SettingsError, match=r"words\.send"):
            study(words={"send": bad})


def test_X28_words_that_are_missing_are_named() -> None:
    assert lacking_words(study()) == lacking_words(study(page={"language": "en-GB"})) == ""
    assert lacking_words(study(page={"language": "ar"})) == ""
    assert 'page.language = "id" has no words' in lacking_words(study(page={"language": "id"}))
    said = lacking_words(study(page={"language": "id"}, words={"send": "Kirim"}))
    assert " send," not in said
    assert "begin, continue" in said
    every = {
        key: text for key, text in ENGLISH.items() if key.removesuffix("_any") not in {*SETTINGS, "control"}
    }
    assert lacking_words(study(page={"language": "id"}, words=every)) == ""


def test_X28_values_are_filled_in_once_and_are_text() -> None:
    words = words_of(study())
    assert words.plain("error_title", title="{title} {{7*7}}") == "Error: {title} {{7*7}}"


def test_X28_the_control_sentence_comes_in_the_stories_language() -> None:
    (control,) = build(GeneratorRequest("control", options={"language": "de-CH"}))
    assert control.provenance.settings == {"wordings": [words_in("de")["control"]]}
    with pytest.raises(UsageError, match="no control sentence in language 'id'") as caught:
        build(GeneratorRequest("control", options={"language": "id"}))
    assert "wordings=TEXT" in caught.value.hint
    with pytest.raises(UsageError, match="exclude each other"):
        build(GeneratorRequest("control", options={"language": "de", "wordings": "x"}))


@pytest.mark.parametrize(
    ("language", "minutes", "reward"),
    [
        ("de", "7,5", "0,80"),
        ("de-CH", "7.5", "0.80"),
        ("en", "7.5", "0.80"),
        ("ar", "7.5", "0.80"),
        ("zh-Hans", "7.5", "0.80"),
    ],
)
def test_X28_numbers_have_the_decimal_sign_of_the_language(language: str, minutes: str, reward: str) -> None:
    german = language.startswith("de")
    file = study(
        page={"language": language},
        hit={"expected_minutes": 7.5, "reward": "0.80"},
        consent={"text": "Nur {minutes} Min. für {reward} US-Dollar."} if german else {},
    )
    words = words_of(file)
    consent = words.consent(file, "hit")
    assert minutes in consent
    assert reward in consent
    page = PageWords(words, language)
    assert minutes in page("facts_minutes", minutes=file.hit.expected_minutes) or language == "de-CH"
    assert reward in page("facts_reward", reward=file.hit.reward) or language == "de-CH"


def test_X28_a_text_in_english_has_english_numbers_on_a_page_in_another_language() -> None:
    file = study(
        page={"language": "fr"}, hit={"reward": "0.80", "expected_minutes": 7.5}, words={"send": "Envoyer"}
    )
    words = words_of(file)
    assert "0.80" in PageWords(words, "fr")("facts_reward", reward=file.hit.reward)
    assert "7.5" in words.consent(file, "hit")
    own = study(page={"language": "fr"}, hit={"reward": "0.80"}, consent={"text": "Pour {reward} dollars."})
    assert words_of(own).consent(own, "hit") == "Pour 0,80 dollars."


def test_only_pages_of_mechanical_turk_speak_of_hits() -> None:
    for language in word_languages():
        assert not [key for key, text in words_in(language).items() if re.search(r"\bHITs?\b", text)]
        there = words_in(language, True)
        assert list(there) == list(ENGLISH)
        assert not [key for key in ENGLISH if placeholders(there[key]) != placeholders(ENGLISH[key])]
    own = study(words={"return_hit": "Give it back"})
    assert words_of(own, "hit").plain("return_hit") == "Give it back"
    assert words_of(study(), "hit").plain("return_hit") == "Return this HIT"
    assert words_of(study(), "task").plain("return_hit") == "Return this task"


def test_the_texts_of_another_question_take_the_place_of_those_that_init_wrote() -> None:
    rate = read_study_file(None, overrides={"question": "rate"}).settings
    words = words_in("en", question=load_question("rate").folder)
    assert (rate.hit.title, rate.page.question) == (words["title"], words["question"])
    assert rate.consent.text == ENGLISH["consent"].strip()
    own = read_study_file(None, overrides={"question": "rate", "page": {"question": "Good?"}}).settings
    assert own.page.question == "Good?"
    assert words_of(own).plain("missing_sentence") == "Please answer on every scale."
    with pytest.raises(SettingsError, match=r"words\.gap: there is no such word"):
        read_study_file(None, overrides={"question": "rate", "words": {"gap": "…"}})
    with pytest.raises(SettingsError, match="no question 'rte'"):
        read_study_file(None, overrides={"question": "rte"})


@pytest.mark.parametrize("language", word_languages())
def test_our_own_texts_name_the_number_of_sentences_that_the_stories_have(language: str) -> None:
    file = study(page={"language": language})
    assert file.with_sentences(5) is file
    longer = file.with_sentences(11)
    assert "11" in longer.page.instructions
    assert longer.hit.description != file.hit.description
    own = study(page={"language": language, "instructions": "Mark one."}).with_sentences(11)
    assert own.page.instructions == "Mark one."
    with pytest.raises(SettingsError, match=r"words.instructions_any is a setting of its own"):
        study(words={"instructions_any": "x"})
