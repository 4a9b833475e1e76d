"""Words before a full stop that may stand inside a sentence: titles, abbreviations, initials and ordinals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

LETTERS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
"""Single letters with full stops between them: a.m, U.S, e.g."""
TITLE = re.compile(
    r"(?:Adm|Capt|Cmdr|Col|Cpl|Drs?|Gen|Gov|Hon|Lt|Maj|Messrs|Mlle|Mme|Mrs?|Ms|Prof|Rep|Rev|Sen|Sgt)"
)
"""Abbreviations that stand before a name, and not at the end of a sentence."""

_ELSEWHERE = {
    # Titles, without case.
    "title": "dhr dna doc dott dr dra drs fr frl hr hrn inż ing lic mag mevr mgr mlle mme mr mrs ms mw prof"
    " sig sigg sigra sr sra srta sta sto ste св проф акад κ κα",
    # Streets, years, “for example” and the like. Some are also words: these may end a sentence.
    "other": "al apod aprox atd av avda bd bijv bkz bul bv bzw ca cf dl enz env esim evtl ex ggf ifj inkl"
    " itd itp jf kb ks m mj mm npr np např obr os pl popř pza resp rte sog stb str sv tel tj tzn tzv tzw ud"
    " uds ul um usw vb vgl vs ym örn św г гг др напр пл пр р ст т ул",
}
"""Abbreviations before a name in languages other than English."""
_NUMBERED = {
    "sure": "abb apt bd bde bldg ca cap ch chap eq fol hft jg kap lb nº nr nris nro nrs nos núm num nums op p"
    " pag pág pp ps rm s sect sekt str tab tav ver vers vgl vol vols z гл рис с см стр табл тел",
    "perhaps": "a abs add art arts est ex fig figs max min no sec st t v",
}
"""Abbreviations before a number, without case. Those that are perhaps words may also end a sentence."""
_TITLES_ELSEWHERE, _OTHERS = (frozenset(words.split()) for words in _ELSEWHERE.values())
_BEFORE_NUMBERS, _PERHAPS_BEFORE_NUMBERS = (frozenset(words.split()) for words in _NUMBERED.values())
_NUMBER = re.compile(r"\d{1,3}|[IVX]+")
_VOWELS = re.compile(
    r"[aeiouyåäöüøæœàáâãāąèéêëēęěìíîïīıòóôõőùúûūůűýаеёиоуыэюяіїєαεηιουωάέήίόύώ]", re.IGNORECASE
)
_SHORT = 4
"""Letters of the longest word that is taken for an abbreviation because it has no vowel."""
_NEXT_PART = re.compile(r"([^\W\d_]{1,4})\.(?!\w)")
_PART = re.compile(r"[^\W\d_]\.")


class Standing(NamedTuple):
    """Whether a full stop ends a sentence after a word, and whether that is sure."""

    cut: bool
    sure: bool


def has_case(text: str) -> bool:
    """Whether `text` begins with a letter of a script that has capitals.

    >>> has_case("Ich"), has_case("ich"), has_case("他"), has_case("5")
    (True, True, False, False)
    """
    return text[:1].lower() != text[:1].upper()


def written_apart(words: Sequence[str], following: str) -> Standing | None:
    """What a full stop does inside or after an abbreviation with blanks, such as “z. B.”; None elsewhere.

    The last of `words` is the one before the full stop, which it lacks.

    >>> written_apart(["z"], "B. ein Hund"), written_apart(["plan", "B"], "Ann left.")
    (Standing(cut=False, sure=True), None)
    """
    word = words[-1]
    if not word.isalpha() or len(word) > _SHORT:
        return None
    found = _NEXT_PART.match(following)
    next = found[1] if found else ""
    if len(word) == 1 and (len(next) == 1 or next.islower()):
        return Standing(False, word.islower())
    if len(word) == len(next) == 2 and len(set(word)) == len(set(next)) == 1:  # EE. UU. is a plural
        return Standing(False, False)
    if len(words) > 1 and _PART.fullmatch(words[-2]) and words[-2].islower() == word.islower():
        return Standing(False, following[:1].islower())
    return None


def before_number(word: str, *, inside: bool) -> Standing | None:
    """What a full stop does between `word` and a number; None if `word` is no abbreviation.

    `inside` a sentence a capital shows that “No.” is not an answer.

    >>> before_number("pp", inside=True), before_number("no", inside=True), before_number("won", inside=True)
    (Standing(cut=False, sure=True), Standing(cut=False, sure=False), None)
    """
    small = word.lower()
    if small in _BEFORE_NUMBERS or (small in _PERHAPS_BEFORE_NUMBERS and inside and word[:1].isupper()):
        return Standing(False, True)
    return Standing(False, False) if small in _PERHAPS_BEFORE_NUMBERS else None


def elsewhere(word: str, following: str, cut: bool) -> Standing | None:
    """What a full stop does after `word` in a language other than English, where Punkt would `cut` or not.

    None if nothing speaks for an abbreviation or an ordinal. What follows does not begin with a small letter.

    >>> elsewhere("2", "Weltkrieg", True), elsewhere("Sra", "García", True), elsewhere("Haus", "Er", True)
    (Standing(cut=True, sure=False), Standing(cut=False, sure=True), None)
    """
    if following[:1].isdigit():  # hardly a sentence begins with a figure
        return Standing(cut, False)
    if not has_case(following):
        letters = sum(one.isalpha() for one in word)
        return Standing(cut, False) if following[:1].isalpha() and 0 < letters <= 2 else None
    if word.lower() in _TITLES_ELSEWHERE:
        return Standing(False, True) if word[:1].isupper() else Standing(cut, False)
    short = word.isalpha() and 1 < len(word) <= _SHORT and not word.isupper() and not _VOWELS.search(word)
    if short or _NUMBER.fullmatch(word) or word.lower() in _OTHERS:
        return Standing(cut, False)
    return None
