"""Rules for stored text: NFC, one line a sentence, no characters that cannot be shown or stored."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# White space as people understand it. `str.split` also splits at U+001C to U+001F, U+000B, U+000C and U+0085.
# Those are control characters: they must be refused, not silently dropped.
_SPACES = re.compile(r"[^\S\x0b\x0c\x1c-\x1f\x85]+")

_SPACE = re.compile(r"\s")

_HIDDEN = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\u00ad]")
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

# The characters that the bytes 0x80–0xBF become if UTF-8 is read as Windows-1252 (or Latin-1).
_TAIL = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
# Those that also close a quotation or a sentence. After a capital, as in «AMANHÃ», they are genuine.
_CLOSING = "’”»›…–—\xa0"
_MISREAD = re.compile(
    "ï»¿|ï¿½"
    "|â€|â[„†ˆ‰œ˜\x80-\x9f]|ðŸ"
    f"|[ÃÂ](?![{_CLOSING}])[{_TAIL}]"
    f"|(?<![^\\W\\d_a-zß-öø-ÿ])[ÃÂ][{_CLOSING}]"
    "|[ÃÂ][’”»›](?=[^\\W\\d_])"
    "|[ÄÅ][¡-ª¬-º¼-¿‚ƒ„†‡ˆ‰Š‹ŒŽ•˜™š›œžŸ]"
    f"|(?:[ÐÑÎÏ×Ø][{_TAIL}]){{2}}"
)
# "hadn????t" and "don?t" have lost a character; "What??" and "watch?v=t" have not.
_LOST = re.compile(r"[^\W\d_]\?{2,}[a-zß-öø-ÿ]|[a-z]\?(?:s|t|re|ll|ve|m|d)(?![\w=])")


def normalise(text: str) -> str:
    """`text` as it is stored: NFC, trimmed, each run of white space (also line ends) as one space.

    >>> normalise("  Anne\\r\\n  met\\u00a0Jose\\u0301. ")
    'Anne met José.'
    """
    if text.isascii():
        return " ".join(text.split()) if text.isprintable() else _SPACES.sub(" ", text).strip(" ")
    return _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip(" ")


def refused_characters(text: str) -> str:
    """Names of the characters in `text` that XML, HTML or PostgreSQL cannot carry; empty if there are none.

    These are control characters other than tab and line ends, U+FFFE, U+FFFF and lone surrogates.

    >>> refused_characters("a\\x07b\\x00")
    'U+0007, U+0000'
    """
    if text.isprintable():  # never true for a control character, a surrogate or U+FFFE
        return ""
    return ", ".join(dict.fromkeys(f"U+{ord(found):04X}" for found in _REFUSED.findall(text)))


def hidden_characters(text: str) -> str:
    """Names of invisible characters that change the text: zero-width ones and those that change direction.

    They would betray a machine's sentence or show it in another order. Joiners in words and emoji are fine.

    >>> hidden_characters("a\u202eb\u200b"), hidden_characters("👩\u200d🚀")
    ('U+202E, U+200B', '')
    """
    if text.isascii():
        return ""
    return ", ".join(dict.fromkeys(f"U+{ord(found):04X}" for found in _HIDDEN.findall(text)))


def mojibake(text: str) -> str | None:
    """Why `text` seems damaged by a wrong encoding, or None. Pass the text before `normalise`.

    >>> mojibake("It donâ€™t matter."), mojibake("What??? São Paulo?")
    ("mojibake: 'â€' is UTF-8 read in another encoding", None)
    """
    if "?" in text and (found := _LOST.search(text)):
        return f"mojibake: {found.group()!r} is a character lost in another encoding"
    if text.isascii():
        return None
    if "\ufffd" in text:
        return "mojibake: U+FFFD stands for a character that could not be read"
    if found := _MISREAD.search(text):
        return f"mojibake: {found.group()!r} is UTF-8 read in another encoding"
    return None


def has_words(text: str) -> bool:
    """Whether `text` contains a letter or a digit, of any script.

    >>> has_words("Да!"), has_words(" …”")
    (True, False)
    """
    return any(character.isalnum() for character in text)


def split_sentences(text: str) -> list[str]:
    """The sentences of running English `text`. For free text only: a story's sentences are never split."""
    text = normalise(text)
    return [text[start:end] for start, end in sentence_spans(text)]


class Span(NamedTuple):
    """A part of a text, in characters: from `start` up to, not including, `end`."""

    start: int
    end: int


def sentence_spans(text: str) -> list[Span]:
    """Where each sentence of English `text` is, without the white space around it; none is empty.

    >>> sentence_spans("  It rained.\u00a0 Why? ")
    [Span(start=2, end=12), Span(start=14, end=18)]
    """
    # Here, so that masks can be drawn with the standard library alone.
    from sentencex import segment

    # The splitter fails on some white space other than spaces. One space for each keeps the offsets.
    text = _SPACE.sub(" ", text)
    spans = []
    at = 0
    for sentence in segment("en", text):
        # It may drop white space between sentences, so each sentence is searched for.
        if stripped := sentence.strip():
            start = text.index(stripped, at)
            at = start + len(stripped)
            spans.append(Span(start, at))
    return spans


def shown_hash(forms: Iterable[Sequence[str]]) -> str:
    """SHA-256 (hex) of all sentences on a form, in order: NFC, UTF-8, joined by line feeds.

    >>> shown_hash([["a", "b"], ["c"]]) == hashlib.sha256(b"a\\nb\\nc").hexdigest()
    True
    """
    shown = "\n".join(unicodedata.normalize("NFC", sentence) for form in forms for sentence in form)
    return hashlib.sha256(shown.encode("utf-8")).hexdigest()


def same_name(wanted: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `wanted` means: itself, or else the only one that differs in case or in blanks
    around it. None if there is none, or if there are several.

    >>> same_name(" Item", ["item", "ok"]), same_name("a", ["A", "A "])
    ('item', None)
    """
    names = list(names)
    if wanted in names:
        return wanted
    same = [name for name in names if name.strip().casefold() == wanted.strip().casefold()]
    return same[0] if len(same) == 1 else None


def counted(number: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """A number with its noun, and the verb that agrees with it.

    >>> counted(1, "row"), counted(1200, "row"), counted(1, "row", "is", "are")
    ('1 row', '1,200 rows', '1 row is')
    """
    said = f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
    return f"{said} {verb if number == 1 else verbs}".strip()


def listed(values: Sequence[object], most: int = 5) -> str:
    """The first `most` of `values`, each at most 40 characters long, and the number of the others.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = [text if text.strip() else "(no name)" for text in map(str, values[:most])]
    shown = [text if len(text) <= 40 else text[:39] + "…" for text in shown]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
