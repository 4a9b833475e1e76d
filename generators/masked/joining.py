"""Word pieces as English text: BERT's vocabulary loses the spaces, and they are put back as in print.

BERT cuts a text at white space and around punctuation marks, and does not keep which of the two it was:
"didn't" and "didn ' t" are the same pieces. The most likely spaces are put back.
"""

from __future__ import annotations

from collections.abc import Sequence

OPENING = frozenset("([{“‘«¿¡$£€#")
"""No space after it."""
CLOSING = frozenset(".,!?;:)]}”»…%¢°")
"""No space before it."""
TIGHT = frozenset("-/–—_@")
"""No space on either side."""
APOSTROPHES = frozenset("'’")
CLITICS = frozenset(("s", "m", "d", "re", "ve", "ll", "t", "em"))
"""What follows an apostrophe within a word: it's, I'm, they'd, didn't."""
GLUED = frozenset(("o", "d", "l", "y", "ma", "s"))
"""What precedes an apostrophe within a word: o'clock, d'Arc, l'Oréal, y'all, ma'am, s'mores."""
SHORTENED = frozenset(("em", "til", "cause", "tis", "twas", "cuz", "n"))
"""Words that begin with an apostrophe."""
_CLAUSES = (
    "a an the it its he she they we i you his her their my our this that there these those"
    " and but so or just as for with then when while because if not even especially except"
)
CLAUSES = frozenset(_CLAUSES.split())
"""Words that follow a dash. Where they stand in a compound, another hyphen follows: mother-in-law."""
COMPOUNDS = frozenset((("thank", "you"), ("post", "it")))
"""Those that end in such a word all the same."""
DOMAINS = frozenset(("com", "org", "net", "edu", "gov", "co", "io", "uk", "tv"))
"""Ends of a name on the web: amazon.com."""
GRADES = frozenset("ABCDF")
"""Marks at school, which may have a plus or a minus."""


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
        if left.isdigit() and not open_quotes and '"' not in words[at + 1 :]:  # inches
            return True, False
        return _quote(word, bool(right), open_quotes)
    if word == "-":
        return _hyphen(words, at)
    if word == "+" and (left == "+" or left in GRADES):
        return True, False
    if word == "&" and 0 < len(left) <= 2 and 0 < len(right) <= 2 and 1 in (len(left), len(right)):
        return True, True  # R&B, AT&T, M&Ms
    if word == "$" and left[:1].isdigit() and not right[:1].isdigit():
        return True, False
    if word in TIGHT:
        return True, True
    if word in OPENING:
        return False, True
    if word in CLOSING:
        inside = _within_number(left, word, right) or _initials(words, at) or _within_name(left, word, right)
        return True, inside
    return False, False


def _hyphen(words: Sequence[str], at: int) -> tuple[bool, bool]:
    """Tight in a compound (well-known), none before a word after a grade (C- on), spaces around a dash."""
    left, right = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if "-" in (left, right):  # a dash of two
        return left == "-", right == "-"
    chained = "-" in (words[at - 2] if at > 1 else "", words[at + 2] if at + 2 < len(words) else "")
    compound = (left.lower(), right.lower()) in COMPOUNDS
    if right.lower() not in CLAUSES | {"on", "in"} or chained or compound:
        return True, True
    if left in GRADES:
        return True, False
    dash = right.lower() in CLAUSES
    return not dash, not dash


def _apostrophe(words: Sequence[str], at: int, open_quotes: set[str]) -> tuple[bool, bool]:
    word = words[at]
    left, right = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if right.lower() == "n" and words[at + 2 : at + 3] == [word]:  # rock 'n' roll
        return False, True
    if left.lower() == "n" and words[max(at - 2, 0) : at - 1] == [word]:
        return True, False
    glued = left.lower() in GLUED and right[:1].isalpha() and words[max(at - 2, 0)] not in APOSTROPHES
    if left[-1:].isalnum() and (right.lower() in CLITICS or glued or (left + right).isdigit()):
        return True, True
    closes = _closes_later(words, at)
    if word in open_quotes or (left.lower().endswith("s") and not closes):
        return _quote(word, False, open_quotes)
    if right.lower() in SHORTENED or right[:1].isdigit():
        return False, True
    # A right single quotation mark does not open a quotation.
    return _quote(word, bool(right) and word == "'" and closes, open_quotes)


def _closes_later(words: Sequence[str], at: int) -> bool:
    """Whether a later apostrophe like that at `at` may close a quotation: it belongs to no word."""
    for later in range(at + 1, len(words)):
        left, right = words[later - 1].lower(), "".join(words[later + 1 : later + 2]).lower()
        inside = (left[-1:].isalnum() and right in CLITICS) or right in SHORTENED or left == "n"
        if words[later] == words[at] and not inside:
            return True
    return False


def _quote(word: str, may_open: bool, open_quotes: set[str]) -> tuple[bool, bool]:
    if word in open_quotes or not may_open:
        open_quotes.discard(word)
        return True, False
    open_quotes.add(word)
    return False, True


def _within_number(left: str, mark: str, right: str) -> bool:
    """Whether a mark is within a number: 3,000 or 2.5 or 10:30."""
    if not (left.isdigit() and right[:1].isdigit()):
        return False
    thousands = right[:3].isdigit() and right[3:] in ("", "th", "st", "nd", "rd")
    return mark in ".:" or (mark == "," and len(left) <= 3 and thousands)


def _within_name(left: str, mark: str, right: str) -> bool:
    """Whether a full stop is within a name on the web, or Ph.D.: amazon.com, www.Example."""
    domain = left[-1:].isalnum() and (right in DOMAINS or left.lower() == "www")
    return mark == "." and (domain or (left, right) == ("Ph", "D"))


def _initials(words: Sequence[str], at: int) -> bool:
    """Whether this is the first full stop of p.m. or U.S.: a letter on both sides, then another full stop."""
    around = [*words[max(at - 1, 0) : at], *words[at + 1 : at + 3]]
    return (
        words[at] == "."
        and len(around) == 3
        and all(len(word) == 1 and word.isalpha() for word in around[:2])
        and around[2] == "."
    )
