"""Lower-case words as people write them: capital letters and spaces are put back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_TO_THE_LEFT = re.compile(r"[,.;:?!%)\]}”»…]|\.\.+|''|n't|'(?:s|m|d|ll|re|ve|t)|’", re.IGNORECASE)
"""Words that no space precedes."""
_TO_THE_RIGHT = frozenset("([{$#@“‘«`") | {"``"}
"""Words that no space follows."""
_ONE = frozenset({("can", "not"), ("gon", "na"), ("got", "ta"), ("gim", "me"), ("lem", "me"), ("wan", "na")})
"""Words that the rule for words cuts in two."""
_SHORTENED = frozenset({"em", "cause", "til", "bout", "n", "round"})
"""Words that begin with an apostrophe."""
_AFTER_APOSTROPHE = frozenset({"t", "s", "ll", "re", "ve", "m", "d"})


def detokenise(words: Sequence[str]) -> str:
    """Words as running text.

    >>> detokenise(['"', 'I', 'ca', "n't", ',', '"', 'said', 'Ben', "'s", 'mom', '(', '40', ')', '.'])
    '"I can\\'t," said Ben\\'s mom (40).'
    """
    text, glued = "", True
    opened: set[str] = set()
    for at, word in enumerate(words):
        before = words[at - 1].lower() if at else ""
        after = words[at + 1].lower() if at + 1 < len(words) else ""
        left = bool(_TO_THE_LEFT.fullmatch(word)) or (before, word.lower()) in _ONE
        right = word in _TO_THE_RIGHT or (word == "’" and after in _AFTER_APOSTROPHE)
        if word == "'" and word not in opened:
            # It opens a quotation only if that is closed later, and no plural comes before it: the boys'
            # room.
            right = after in _SHORTENED or ("'" in words[at + 1 :] and not before.endswith("s"))
            left = not right
            if right and after not in _SHORTENED:
                opened.add(word)
        elif word in ('"', "'"):
            left, right = word in opened, word not in opened
            opened ^= {word}
        text += word if glued or left else f" {word}"
        glued = right
    return text


def truecase(words: Sequence[str], cases: Mapping[str, str]) -> list[str]:
    """Lower-case words of a sentence with their capital letters: names as in `cases`, I, and the first word.

    >>> truecase(['"', 'hi', ',', '"', 'i', 'told', 'ben', '.'], {'ben': 'Ben'})
    ['"', 'Hi', ',', '"', 'I', 'told', 'Ben', '.']
    """
    found = []
    starts, quoted = True, False
    for at, word in enumerate(words):
        form = "I" if word == "i" else cases.get(word, word)
        before = words[at - 1] if at else ""
        if word == '"':
            # "Why?" she asked: the end of a quotation does not end the sentence, unless it is a period.
            starts = before == "." or (not quoted and before in ("", ",", ":", "!", "?"))
            quoted = not quoted
        elif word in (".", "!", "?"):
            starts = True
        elif word[0].isalnum():
            form = form[0].upper() + form[1:] if starts else form
            starts = False
        found.append(form)
    return found
