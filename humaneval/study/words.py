"""The words of a study's pages: the study's own, else those of its language, else English ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from humaneval.errors import HumanEvalError, InputError, SettingsError
from humaneval.plugins import FAULT
from humaneval.resources import bundled, word_languages, words_in
from humaneval.scoring.questions.question import CHOICE, DETECT, load_question
from humaneval.text import command, number_in

if TYPE_CHECKING:
    from humaneval.study.file import StudyFile

Channel = Literal["task", "hit", "open", "personal", "panel"]
"""How people come to a form: through our marketplace, through Mechanical Turk, or by one of three kinds of
link."""
AT_MARKETPLACES = ("task", "hit")
ENGLISH = "en"
SETTINGS = {
    "title": "hit",
    "description": "hit",
    "keywords": "hit",
    "question": "page",
    "instructions": "page",
    "consent": "consent",
}
"""Words that are settings of the study file, and their sections. The consent is `consent.text`."""
ANY = "_any"
"""The end of the keys of texts for stories of another number of sentences than the example."""
SCALE = "scale_"
"""The beginning of the keys of words that name the scales of a study on its page."""
CONSENT_PLACEHOLDERS = ("minutes", "reward", "pay", "kept", "stopping")
"""What is filled in in `consent.text`. The last three are sentences that depend on channel and pay."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_RIGHT_TO_LEFT = re.compile("ar|arc|ckb|dv|fa|glk|he|iw|ji|ks|lrc|mzn|nqo|pnb|ps|sd|syr|ug|ur|yi")
_SCRIPTS = re.compile("adlm|arab|aran|hebr|mand|nkoo|rohg|samr|syrc|thaa")
"""The scripts that are written from right to left."""


def right_to_left(language: str) -> bool:
    """Whether `language` is written from right to left. A script, as in `az-Arab`, has the last word.

    >>> right_to_left("ar-EG"), right_to_left("en"), right_to_left("az-Arab"), right_to_left("ur-Latn")
    (True, False, True, False)
    """
    first, *others = language.lower().split("-")
    script = next((part for part in others if len(part) == 4 and part.isalpha()), "")
    return bool(_SCRIPTS.fullmatch(script) if script else _RIGHT_TO_LEFT.fullmatch(first))


def filled_in(text: str, values: Mapping[str, object]) -> str:
    """`text` with the value of each placeholder that `values` has. Values are not looked through again.

    >>> filled_in("{done} of {total}, {other}", {"done": 1, "total": "{done}"})
    '1 of {done}, {other}'
    """
    return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), text)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of pages. `language` is that of the page: English if nothing of it is in another."""

    language: str
    own: Mapping[str, str]
    """In the language of the page, by key."""
    mturk: bool = False
    """Whether what is not of its own has Mechanical Turk's words."""
    question: Path | None = None
    """The folder of the question whose words they are; None for pages without a study."""

    def plain(self, key: str, **values: object) -> str:
        """The text of `key`, filled in. Numbers have the decimal sign of the text's language."""
        text = self.own.get(key) or words_in(ENGLISH, self.mturk, self.question)[key]
        return filled_in(text, self.in_language(key, values))

    def in_language(self, key: str, values: Mapping[str, object]) -> dict[str, object]:
        """`values` for the text of `key`: amounts and other numbers as its language writes them."""
        language = self.language_of(key)
        return {
            name: number_in(language, value) if isinstance(value, (Decimal, float)) else value
            for name, value in values.items()
        }

    def language_of(self, key: str) -> str:
        """The language of `key`: English if the page's language lacks it."""
        return self.language if key in self.own else ENGLISH

    @property
    def lacking(self) -> tuple[str, ...]:
        """The keys that are shown in English on a page in another language, settings of the study aside.

        The control's sentence is on no page.
        """
        every = words_in(ENGLISH, question=self.question)
        there = {*self.own, *SETTINGS, "control"} if self.language != ENGLISH else every
        return tuple(key for key in every if key.removesuffix(ANY) not in there)

    def consent(self, study: StudyFile, channel: Channel) -> str:
        """The text of the consent, with the sentences that fit the way people come, and their pay."""
        pay = self._pay(study) if study.hit.reward else self._unpaid(channel)
        language = ENGLISH if _same(study.consent.text, words_in(ENGLISH)["consent"]) else study.page.language
        values = {
            "minutes": number_in(language, float(study.hit.expected_minutes)),
            "reward": number_in(language, study.hit.reward),
            "pay": pay,
            "kept": self._kept(study, channel),
            "stopping": self.plain("stopping_hit" if channel in AT_MARKETPLACES else "stopping_link"),
        }
        return filled_in(study.consent.text, values)

    def _pay(self, study: StudyFile) -> str:
        if study.hit.currency == "USD":
            return self.plain("pay", reward=study.hit.reward)
        return self.plain("pay_in", amount=self.amount(study))

    def amount(self, study: StudyFile) -> str:
        """The reward with its currency; in English with its sign."""
        if self.language_of("pay_in") == ENGLISH:
            return f"{study.hit.sign}{study.hit.reward}"
        return f"{number_in(self.language, study.hit.reward)} {study.hit.currency}"

    def _kept(self, study: StudyFile, channel: Channel) -> str:
        """What is kept, and when it is deleted. Nobody can find what came through an open link again."""
        said = [self.plain("kept_hit" if channel in AT_MARKETPLACES else f"kept_{channel}")]
        if channel != "open":
            said.append(self.plain("deleting_paid" if study.hit.reward else "deleting"))
            if not study.consent.contact:  # no promise without a way to ask for it
                said.append(self.plain(f"ask_{channel}"))
        if study.consent.retention_days:
            said.append(self.plain("retained", days=study.consent.retention_days))
        return " ".join(said)

    def compensation_title(self, study: StudyFile) -> str:
        """The title of a HIT that pays for lost work, as long as a platform accepts."""
        return self.plain("compensation_title", title=study.hit.title)[:128]

    def _unpaid(self, channel: Channel) -> str:
        """Of a panel we do not know what it pays, so nothing is said."""
        return "" if channel == "panel" else self.plain("pay_none")


def channel_at(endpoint: str) -> Channel:
    """How people come to what is up at `endpoint`, if it is no link. People from Prolific come from a panel.
    Some words are only for workers of Mechanical Turk, who know them."""
    if endpoint == "prolific":
        return "panel"
    return "hit" if endpoint in ("sandbox", "production") else "task"


def words_of(study: StudyFile | None, channel: Channel = "task") -> Words:
    """The words of the study's pages for people who come by `channel`; English ones for a page without a
    study."""
    mturk = channel == "hit"
    if study is not None:
        language, question = study.page.language, load_question(study.question).folder
        own = {**words_in(language, mturk, question), **study.words}
        if own:
            return Words(language, own, mturk, question)
        return Words(ENGLISH, words_in(ENGLISH, mturk, question), mturk, question)
    return Words(ENGLISH, words_in(ENGLISH, mturk), mturk)


@dataclass(frozen=True, slots=True)
class Example:
    """The story that is shown before a form, and its language."""

    sentences: tuple[str, ...]
    language: str
    other: str = ""
    """A second sentence for the position, if the question shows two."""


def example_of(study: StudyFile) -> Example:
    """The example story: the study's own, else one in the stories' language, else in the page's."""
    words, stories = words_of(study), study.page.language_of_stories
    question = load_question(study.question)
    there = words_in(stories, question=question.folder)
    if "example_1" in there and not any(key.startswith("example_") for key in study.words):
        words = Words(stories, there, question=question.folder)
    sentences = tuple(words.plain(f"example_{at}") for at in range(1, question.example.sentences + 1))
    other = words.plain("example_other") if len(question.example.generators) > 1 else ""
    return Example(sentences, words.language_of("example_1"), other)


def with_texts(values: dict[str, Any]) -> None:
    """Fill in the texts that a study file leaves out with those of its question and language.

    An English one that `init` wrote counts as left out if the page has another language, or another question.
    """
    page, question = values.get("page", {}), values.get("question", DETECT)
    language = page.get("language", ENGLISH) if isinstance(page, dict) else ENGLISH
    if not isinstance(language, str):  # pydantic says what is wrong
        language = ENGLISH
    try:
        folder = load_question(str(question)).folder
    except HumanEvalError:  # and here, the check of the question
        folder = None
    english, own = words_in(ENGLISH, question=folder), words_in(language, question=folder)
    usual = words_in(ENGLISH)
    if lacking := [key for key in SETTINGS if key not in english]:
        raise InputError(f"question {question!r}: words/en.toml has no {lacking[0]}", FAULT)
    for key, section in SETTINGS.items():
        settings, name = values.setdefault(section, {}), "text" if key == "consent" else key
        if not isinstance(settings, dict):  # pydantic says what is wrong
            continue
        if name not in settings or _same(settings[name], english[key]) or _same(settings[name], usual[key]):
            text = own.get(key) or english[key]
            settings[name] = text.split(", ") if key == "keywords" else text


def worded_for(study: StudyFile, sentences: int) -> StudyFile:
    """The study with our own texts as they are for stories of so many sentences: some name the usual number.

    A text `KEY_any` takes the place of KEY.
    """
    question = load_question(study.question)
    if sentences == question.example.sentences:
        return study
    english = words_in(ENGLISH, question=question.folder)
    own = {**english, **words_in(study.page.language, question=question.folder)}
    for key, section in SETTINGS.items():
        there, text = getattr(study, section), own.get(f"{key}{ANY}")
        if text and _same(getattr(there, key), own[key]):
            told = filled_in(text, {"sentences": sentences}).strip()
            study = study.model_copy(update={section: there.model_copy(update={key: told})})
    return study


def _same(setting: object, english: str) -> bool:
    if isinstance(setting, list):
        return setting == english.split(", ")
    return isinstance(setting, str) and setting.strip() == english.strip()


def refuse_words(study: StudyFile, where: str) -> None:
    """Raise SettingsError for a word that no page has, and for a text with other placeholders than the word
    that it replaces."""
    folder = study.asked.folder
    scales = study.asked.fields(study.answer_settings, study.asked.example.sentences)
    english = {
        **words_in(ENGLISH, question=folder),
        **{f"{SCALE}{field.name}": field.name for field in scales if field.name != CHOICE},
    }
    for key, text in study.words.items():
        if (base := key.removesuffix(ANY)) in SETTINGS:
            setting = f"{SETTINGS[base]}.{'text' if base == 'consent' else base}"
            raise SettingsError(f"{where}: words.{key} is a setting of its own", f"Set {setting} instead.")
        if key == "control":
            raise SettingsError(
                f"{where}: words.control is on no page: the control keeps the sentence it was made with",
                "Make one with your sentence: `"
                + command("generate", "--generator", "control", "--as", "NAME", "--option", "wordings=TEXT")
                + "`.",
            )
        if key not in english:
            near = get_close_matches(key, english, n=1, cutoff=0)
            raise SettingsError(
                f"{where}: words.{key}: there is no such word; the nearest is {near[0]}",
                f"Every word is in {bundled('hit_templates/words') / 'en.toml'} or in"
                f" {folder / 'words' / 'en.toml'}.",
            )
        wanted, given = _placeholders(english[key]), _placeholders(text)
        if wanted != given:
            raise SettingsError(
                f"{where}: words.{key} must have {_listed(wanted)}, but has {_listed(given)}",
                f"In English it is: {english[key].strip()}",
            )


def _placeholders(text: str) -> list[str]:
    return sorted(set(_PLACEHOLDER.findall(text)))


def _listed(names: list[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names) or "no placeholder"


def lacking_words(study: StudyFile) -> str:
    """A sentence about the words that are shown in English because there are no others; empty if there are
    none."""
    words, language = words_of(study), study.page.language
    if language.lower().split("-")[0] == ENGLISH:
        return ""
    if words.language == ENGLISH:
        return (
            f'page.language = "{language}" has no words, so the page is in English. There are words in'
            f" {', '.join(word_languages())}; give your own in [words]"
        )
    if not words.lacking:
        return ""
    return (
        f'page.language = "{language}" lacks {len(words.lacking)} words, which are shown in English:'
        f" {', '.join(words.lacking)}"
    )
