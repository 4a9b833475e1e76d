"""Where Punkt cuts a text, in each language: what `sentences` begins with."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from punkt import PunktParameters, PunktSentenceTokenizer

_LANGUAGES = {
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "fi": "finnish",
    "fr": "french",
    "it": "italian",
    "ml": "malayalam",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "sl": "slovene",
    "sv": "swedish",
    "tr": "turkish",
}
"""Codes of the languages whose parameters Punkt has."""
UNSPACED = frozenset({"ja", "th", "zh"})
"""Languages that put no white space between sentences."""
_ARABIC_MARKS = frozenset({"ar", "fa", "ps"})
"""Languages that end sentences with the marks of Urdu."""

_ENDS = "。！？!?"
_PIECE = re.compile(
    rf"[{_ENDS}](?=[\u3040-\u30ff\u3400-\u9fff])|(?:(?![{_ENDS}][\u3040-\u30ff\u3400-\u9fff])\S){{200}}"
)
"""A sentence of Chinese or Japanese, where Punkt always cuts, or far more than a sentence of them has."""


def punkt_cuts(text: str, code: str) -> dict[int, int]:
    """Where the sentences of `text` end for Punkt, and where the next ones begin.

    Without spaces, it looks at all that follows each mark: 20,000 characters took it a minute. So it gets
    such a text in pieces.
    """
    ends = [piece.end() for piece in _PIECE.finditer(text)] if code in UNSPACED else []
    spans = [
        (at + start, at + end)
        for at, until in pairwise([0, *ends, len(text)])
        for start, end in _tokenizer(code).span_tokenize(text[at:until])
    ]
    cuts = {before[1]: after[0] for before, after in pairwise(spans)}
    for at in ends:
        if text[at - 1] not in _ENDS:
            cuts.pop(at, None)
    return cuts


def parameters(code: str) -> PunktParameters:
    """What Punkt knows of a language: nothing, for some."""
    return _tokenizer(code).params


@cache
def _tokenizer(code: str) -> PunktSentenceTokenizer:
    """Punkt for a language. Without parameters for it, marks and white space alone decide."""
    # Here, so that masks can be drawn with the standard library alone.
    import punkt

    params, rules = punkt.PunktParameters(), None
    if language := _LANGUAGES.get(code):
        # Words such as “No.” bind to a number only; they keep no sentence from ending.
        params = punkt.with_nonbreaking_prefixes(punkt.load_model(language), language, include_always=False)
    with suppress(LookupError):
        rules = punkt.rules_for_language("ur" if code in _ARABIC_MARKS else code)
    return punkt.PunktSentenceTokenizer(params, rules=rules)
