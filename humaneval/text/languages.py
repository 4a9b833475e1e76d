"""The language of a text, by its script and its most frequent words: enough to find where sentences end."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import islice

ENGLISH = "en"

_FREQUENT = {
    ENGLISH: "the and to of was he she it his her they in that had is for with on my i a at but",
    "cs": "a se v na je že s do ale byl byla to jako jeho si když by jsem",
    "da": "og i at det en den til er som på de med han var for ikke hun et havde sig jeg af",
    "de": "der die das und ist nicht ein eine er sie es zu mit den war sich dem auf ich hatte im",
    "es": "el la los las y es un una que no se con por su para estaba del lo en más de",
    "et": "ja on ei see ta oli et kui aga ning tema siis mis oma kes",
    "fi": "ja on ei se hän oli että mutta kun hänen myös niin sitten joka ovat minä",
    "fr": "le la les et est un une il elle des que dans pas du au se sur pour qui était de",
    "hr": "i u je se na da su za od s bio bila ali nije koji kao što iz sam",
    "hu": "a az és hogy nem is egy volt de meg csak már ez el mint ki még",
    "it": "il la che e di un una non per si è era con del le gli sono ma lo suo",
    "nb": "og i det er på som en å til for med han var ikke hun et jeg av den hadde",
    "nl": "de het een en van is dat niet hij zij op te met was zijn voor ze haar aan had",
    "pl": "i w się nie na że z do jest to był była ale jak po jej jego",
    "pt": "o a os as e um uma que não se com para do da seu era ela ele em de",
    "sk": "a sa v na je že s do ale bol bola to ako jeho som si keď by so",
    "sl": "in je v se na da za so ni ki s bil bila po iz sem",
    "sv": "och i att det en som på är av för med den han var inte hon ett till sig de",
    "tr": "ve bir bu da de için ile o çok gibi ama sonra onun dedi",
}
_WORDS = {code: frozenset(words.split()) for code, words in _FREQUENT.items()}
_ONLY_ENGLISH = _WORDS[ENGLISH].difference(*(words for code, words in _WORDS.items() if code != ENGLISH))
_SCRIPTS = {
    "ARABIC": "ar",
    "BENGALI": "bn",
    "CJK": "zh",
    "CYRILLIC": "ru",
    "DEVANAGARI": "hi",
    "GREEK": "el",
    "HANGUL": "ko",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "MALAYALAM": "ml",
    "TAMIL": "ta",
    "THAI": "th",
}
_LOOKED_AT = 300
"""Letters by which the script is known."""
_MOST = 20_000
"""Characters that are looked at."""
_FEWEST = 4
"""Frequent words that a language must have in the text."""


_COMMA = re.compile(
    "af|az|be|bg|bs|ca|cs|da|de|el|es|et|eu|fi|fo|fr|fy|gl|hr|hu|hy|id|is|it|ka|kk|ky|lb|lt|lv|mk|mn|nb|nl|nn"
    "|no|pl|ps|pt|ro|ru|sk|sl|sq|sr|sv|tr|tt|uk|uz|vi"
)
"""Languages with a decimal comma, as in Unicode's CLDR."""
_POINT = re.compile("(?:de-(?:ch|li)|es-(?:419|mx|us|gt|hn|ni|pa|pe|pr|sv)|it-ch)(?:-.*)?")
"""Places whose language has a comma elsewhere."""


def number_in(language: str, value: Decimal | float) -> str:
    """A number with the decimal sign of `language`; amounts keep their places, others have those they need.

    >>> number_in("de", Decimal("0.80")), number_in("en", Decimal("0.80")), number_in("de", 7.5)
    ('0,80', '0.80', '7,5')
    """
    said = f"{value:g}" if isinstance(value, float) else str(value)
    code = language.lower().replace("_", "-")
    comma = _COMMA.fullmatch(code.split("-")[0]) and not _POINT.fullmatch(code)
    return said.replace(".", ",") if comma else said


@lru_cache(maxsize=4096)
def language_of(text: str) -> str:
    """The code of the language of `text`; English if that is unclear.

    >>> language_of("Der Hund war müde. Er lief zu dem Haus und schlief."), language_of("Dia pergi ke pasar.")
    ('de', 'en')
    """
    text = text[:_MOST]
    if not text.isascii() and (code := _by_script(text)):
        return code
    words = re.findall(r"[^\W\d_]+", text.lower())
    found = {code: sum(word in frequent for word in words) for code, frequent in _WORDS.items()}
    best = max(found, key=lambda code: found[code])
    return best if found[best] >= _FEWEST and found[best] > 1.5 * found[ENGLISH] else ENGLISH


@lru_cache(maxsize=8)
def looks_english(text: str) -> bool:
    """Whether a text of unknown language has one of the frequent words that only English has.

    >>> looks_english("The dog slept."), looks_english("Der 2. Weltkrieg begann.")
    (True, False)
    """
    return not _ONLY_ENGLISH.isdisjoint(re.findall(r"[^\W\d_]+", text[:_MOST].lower()))


def _by_script(text: str) -> str:
    letters = islice((one for one in text if one.isalpha()), _LOOKED_AT)
    scripts = Counter(unicodedata.name(one, "").split(" ")[0] for one in letters)
    if not scripts:
        return ""
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > 0.1 * scripts.total():
        return "ja"
    return _SCRIPTS.get(scripts.most_common(1)[0][0], "")


def between(sentences: Iterable[str]) -> str:
    """What stands between two of these sentences: a space, or nothing if most of them end as Chinese and
    Japanese ones do.

    >>> between(["他走了。", "她说：“好。”"]), between(["He left.", "그는 갔다."])
    ('', ' ')
    """
    last = [one.rstrip(_CLOSING)[-1:] for one in sentences]
    return "" if 2 * sum(one in _FULL_STOPS for one in last if one) > len(last) else " "


_CLOSING = " \"'”’」』）)》〉】"
_FULL_STOPS = frozenset("。！？｡︒")
