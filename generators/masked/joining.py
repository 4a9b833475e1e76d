"""Word pieces as English text: BERT's vocabulary loses the spaces, and they are put back as in print.

BERT cuts a text at white space and around punctuation marks, and does not keep which of the two it was:
"didn't" and "didn ' t" are the same pieces. The most likely spaces are put back.
"""

from __future__ import annotations

from collections.abc import Sequence

OPENING = frozenset("([{“‘«¿¡$£€#")
"""No space after it."""
CLOSING = frozenset(".,!?;:)]}”»…%")
"""No space before it."""
TIGHT = frozenset("-/–—_@")
"""No space on either side."""
APOSTROPHES = frozenset("'’")
CLITICS = frozenset(("s", "m", "d", "re", "ve", "ll", "t", "em"))
"""What follows an apostrophe within a word: it's, I'm, they'd, didn't."""
GLUED = frozenset(("o", "d", "l", "y", "ma"))
"""What precedes an apostrophe within a word: o'clock, d'Arc, l'Oréal, y'all, ma'am."""
SHORTENED = frozenset(("em", "til", "cause", "tis", "twas", "cuz", "n"))
"""Words that begin with an apostrophe."""


def words_of(pieces: Sequence[str], continuing: str = "##") -> list[str]:
    """Pieces joined to words and punctuation marks; pieces that continue a word begin with `continuing`.

    >>> words_of(["favor", "##ite", "!"])
    ['favorite', '!']
    """
    words: list[str] = []
    for piece in pieces:
        if piece.startswith(continuing):
            rest = piece.removeprefix(continuing)
            words[-1:] = [words[-1] + rest] if words else [rest]
        else:
            words.append(piece)
    return words


def join(words: Sequence[str]) -> str:
    """Words and punctuation marks as a line of text.

    >>> join(["I", "didn", "'", "t", "say", "\\"", "no", ",", "\\"", "did", "I", "?"])
    'I didn\\'t say "no," did I?'
    >>> join("At 10 : 30 the well - known boys ' band ( $ 3 , 000 ) …".split())
    "At 10:30 the well-known boys' band ($3,000)…"
    """
    text = ""
    open_quotes: set[str] = set()
    tight = True  # no space is due before the next word
    for at, word in enumerate(words):
        before, after = _sides(words, at, open_quotes)
        text += word if tight or before else f" {word}"
        tight = after
    return text


def _sides(words: Sequence[str], at: int, open_quotes: set[str]) -> tuple[bool, bool]:
    """Whether no space goes before and after the word at `at`."""
    word = words[at]
    left, right = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if word in APOSTROPHES:
        return _apostrophe(words, at, open_quotes)
    if word == '"':
        return _quote(word, bool(right), open_quotes)
    if word == "-" and "-" in (left, right):  # a dash of two
        return left == "-", right == "-"
    if word in TIGHT:
        return True, True
    if word in OPENING:
        return False, True
    if word in CLOSING:
        return True, _within_number(left, word, right) or _initials(words, at)
    return False, False


def _apostrophe(words: Sequence[str], at: int, open_quotes: set[str]) -> tuple[bool, bool]:
    word = words[at]
    left, right = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if left[-1:].isalnum() and (right.lower() in CLITICS or (left.lower() in GLUED and right[:1].isalpha())):
        return True, True
    if word in open_quotes or (left.lower().endswith("s") and word not in words[at + 1 :]):
        return _quote(word, False, open_quotes)
    if right.lower() in SHORTENED or right[:1].isdigit():
        return False, True
    # A right single quotation mark does not open a quotation.
    return _quote(word, bool(right) and word == "'" and word in words[at + 1 :], open_quotes)


def _quote(word: str, may_open: bool, open_quotes: set[str]) -> tuple[bool, bool]:
    if word in open_quotes or not may_open:
        open_quotes.discard(word)
        return True, False
    open_quotes.add(word)
    return False, True


def _within_number(left: str, mark: str, right: str) -> bool:
    """Whether a mark is within a number: 3,000 or 2.5 or 10:30."""
    if not (left.isdigit() and right.isdigit()):
        return False
    return mark in ".:" or (mark == "," and len(left) <= 3 and len(right) == 3)


def _initials(words: Sequence[str], at: int) -> bool:
    """Whether this is the first full stop of p.m. or U.S.: a letter on both sides, then another full stop."""
    around = [*words[max(at - 1, 0) : at], *words[at + 1 : at + 3]]
    return (
        words[at] == "."
        and len(around) == 3
        and all(len(word) == 1 and word.isalpha() for word in around[:2])
        and around[2] == "."
    )
