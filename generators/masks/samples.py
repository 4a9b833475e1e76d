"""Two examples of custom mask functions: `generators.masks.samples:Punctuation` and `:ProperNouns`."""

from __future__ import annotations

import random
import re
import unicodedata

# A word without its 's; O'Brien and Jean-Luc are one word each.
_WORD = r"[^\W\d_]\w*(?:['’-](?=[^\W\d_a-z])\w+)*"
_OPENING = re.compile(rf"(?:\A|[\r\n]|[.?!…][\"'”’)\]]*\s)[\s\"'“‘(\[]*({_WORD})")
_ANY = re.compile(rf"(?<!\w)(?<!\w['’]){_WORD}")


class Punctuation:
    """Masks each punctuation mark with probability 0.5, in two types: those that end a sentence, and the
    others."""

    types = ("sentence_terminal", "other_punctuation")

    def mask(self, text: str, rng: random.Random) -> list[tuple[str, int, int]]:
        """Spans of one character each: `.`, `?` and `!`, and all other punctuation of Unicode."""
        return [
            (self.types[character not in ".?!"], at, 1)
            for at, character in enumerate(text)
            if unicodedata.category(character).startswith("P") and rng.random() < 0.5
        ]


class ProperNouns:
    """Masks all names, as found by a rule without a tagger; adjacent names are one span.

    A word is a name if it has a capital and does not open a sentence, or if it opens a sentence and is a name
    elsewhere in the text. So the rule misses names that only open sentences. It takes *Monday*, words in
    capitals and most words of a title for names.
    """

    types = ("proper_noun",)

    def mask(self, text: str) -> list[tuple[str, int, int]]:
        """Nothing is random here, so there is no `rng`."""
        opening = {found.start(1) for found in _OPENING.finditer(text)}
        capitals = [found for found in _ANY.finditer(text) if found[0][0].isupper() and found[0] != "I"]
        names = {found[0] for found in capitals if found.start() not in opening}
        spans: list[tuple[int, int]] = []
        for found in capitals:
            if found[0] not in names:
                continue
            start, end = found.span()
            if spans and text[spans[-1][1] : start] == " ":
                start = spans.pop()[0]
            spans.append((start, end))
        return [("proper_noun", start, end - start) for start, end in spans]
