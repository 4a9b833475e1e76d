"""Finds questions that panels forbid, because they tell who somebody is: name, address, birth date, employer.

Only words are looked at, so this is a doubt and never a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from humaneval.study.section import texts_within

if TYPE_CHECKING:
    from humaneval.study.file import StudyFile

ASKED: Mapping[str, str] = {
    "a name or initials": (
        r"\byour (?:\w+[ -]){0,2}names?\b|\byour initials\b"
        r"|\bIhren? (?:\w+ )?(?:Vor|Nach|Familien)?namen?\b|姓名|您的名字|اسمك"
    ),
    "an e-mail address": r"\byour (?:\w+ )?e-?mail\b|\bIhren? (?:\w+ )?E-?Mail|电子邮|邮箱|بريدك",
    "a birth date": (
        r"\byour (?:exact )?(?:date of birth|birth ?date|birthday)\b|\bwere you born\b"
        r"|\bGeburts(?:datum|tag)\b|出生日期|生日|تاريخ ميلادك"
    ),
    "a postal address": (
        r"\byour (?:home |postal |street |full )*(?:address|postcode|post code|zip code)\b"
        r"|\bwhere do you live\b"
        r"|\bIhren? (?:Anschrift|Wohn\w+|Post\w+|Adresse)\b|住址|您的地址|عنوانك"
    ),
    "a phone number": (
        r"\byour (?:\w+ )?(?:phone|telephone|mobile|cell)\b"
        r"|\bIhren? (?:Telefon|Handy|Mobil)\w*|电话|手机号|هاتفك"
    ),
    "a name in a network or game": (
        r"\byour (?:\w+ )?(?:handle|username|user name|screen name|gamertag|social media|instagram|facebook"
        r"|twitter|tiktok|discord|linkedin|reddit)\b|\bIhren? (?:Benutzer|Nutzer)namen?\b|微信|用户名"
    ),
    "an employer": (
        r"\byour (?:\w+ )?(?:employer|workplace|company)\b|\b(?:who|where|company) do you work\b"
        r"|\bIhren? Arbeitgeber\b|雇主|工作单位|جهة عملك"
    ),
}
"""What a question must not ask for on a panel such as Prolific, and the words that ask for it."""
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟]?")
_NOT_ASKED = re.compile(
    r"\b(?:not|never|no|nothing|without|cannot)\b|n[’']t\b|\b(?:nicht|nie|kein\w*|ohne)\b|不|勿|无需|لا |لن ",
    re.IGNORECASE,
)
"""A sentence with such a word says that nobody is asked."""
_FIELD = re.compile(
    r"^\W*(?:full |first |last )?(?:name|e-?mail|phone|telephone|address|birth ?date|date of birth|birthday"
    r"|employer|telefon|geburtsdatum|anschrift|adresse|arbeitgeber)(?: address| number)?\s*[:_][\s_]*$",
    re.IGNORECASE,
)
"""A line to be filled in: `Name: ____`."""


def forbidden_questions(study: StudyFile) -> Iterator[str]:
    """Doubts about the texts of a study that ask people who they are."""
    texts = {
        "page.question": study.page.question,
        "page.instructions": study.page.instructions,
        "consent.text": study.consent.text,
        "hit.title": study.hit.title,
        "hit.description": study.hit.description,
        **{f"words.{key}": text for key, text in study.words.items()},
        "answers": "\n".join(texts_within(study.answers)),
    }
    for where, text in texts.items():
        for what in asked_in(text):
            yield (
                f"{where} seems to ask for {what}: Prolific and other panels forbid that, and answers would"
                " say who somebody is"
            )


def asked_in(text: str) -> list[str]:
    """What a text asks for and must not, each once.

    >>> asked_in("Please enter your e-mail."), asked_in("We do not ask for your name."), asked_in("Name: ___")
    (['an e-mail address'], [], ['something that says who somebody is'])
    """
    found: dict[str, None] = {}
    for sentence in _SENTENCE.findall(text):
        if _FIELD.search(sentence):
            found["something that says who somebody is"] = None
        if not _NOT_ASKED.search(sentence):
            found |= {
                what: None for what, words in ASKED.items() if re.search(words, sentence, re.IGNORECASE)
            }
    return list(found)
