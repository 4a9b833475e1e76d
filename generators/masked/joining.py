"""Word pieces as English: where BERT's vocabulary has lost the spaces, they are put as print has them.

BERT cuts text at every white space and around every punctuation mark, and forgets which of the two it was:
"didn't" and "didn ' t" are the same pieces. What is done here is the likeliest way back.
"""

from __future__ import annotations

from collections.abc import Sequence

OPENING = frozenset("([{“‘«¿¡$£€#")
"""No space behind it."""
CLOSING = frozenset(".,!?;:)]}”»…%")
"""No space before it."""
TIGHT = frozenset("-/–—_@")
"""No space on either side."""
APOSTROPHES = frozenset("'’")
CLITICS = frozenset(("s", "m", "d", "re", "ve", "ll", "t", "em"))
"""What stands behind an apostrophe within a word: it's, I'm, they'd, didn't."""
GLUED = frozenset(("o", "d", "l", "y", "ma"))
"""What stands before one: o'clock, d'Arc, l'Oréal, y'all, ma'am."""
SHORTENED = frozenset(("em", "til", "cause", "tis", "twas", "cuz", "n"))
"""What an apostrophe may begin."""


def words_of(pieces: Sequence[str], continuing: str = "##") -> list[str]:
    """Pieces joined to words and punctuation marks; what continues a word begins with `continuing`.

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
    >>> join(["At", "10", ":", "30", "the", "well", "-", "known", "boys", "'", "band", "(", "$", "3", ",", "000", ")", "…"])
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
    """Whether the word at `at` joins what stands before it and what stands behind it."""
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
    # A right single quotation mark never opens a quotation.
    return _quote(word, bool(right) and word == "'" and word in words[at + 1 :], open_quotes)


def _quote(word: str, may_open: bool, open_quotes: set[str]) -> tuple[bool, bool]:
    if word in open_quotes or not may_open:
        open_quotes.discard(word)
        return True, False
    open_quotes.add(word)
    return False, True


def _within_number(left: str, mark: str, right: str) -> bool:
    """3,000 and 2.5 and 10:30."""
    if not (left.isdigit() and right.isdigit()):
        return False
    return mark in ".:" or (mark == "," and len(left) <= 3 and len(right) == 3)


def _initials(words: Sequence[str], at: int) -> bool:
    """The first full stop of p.m. and U.S.: a letter on both sides, and another full stop."""
    around = [*words[max(at - 1, 0) : at], *words[at + 1 : at + 3]]
    return (
        words[at] == "."
        and len(around) == 3
        and all(len(word) == 1 and word.isalpha() for word in around[:2])
        and around[2] == "."
    )
