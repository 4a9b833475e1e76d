"""Two mask functions to take as patterns for your own: `generators.masks.samples:Punctuation` and
`:ProperNouns`."""

from __future__ import annotations

import random
import re
import unicodedata

# A word without its 's; O'Brien and Jean-Luc are one.
_WORD = r"[^\W\d_]\w*(?:['’-](?=[^\W\d_a-z])\w+)*"
_OPENING = re.compile(rf"(?:\A|[\r\n]|[.?!…][\"'”’)\]]*\s)[\s\"'“‘(\[]*({_WORD})")
_ANY = re.compile(rf"(?<!\w)(?<!\w['’]){_WORD}")


class Punctuation:
    """Each punctuation mark with probability 0.5: those that end a sentence, and the others."""

    types = ("sentence_terminal", "other_punctuation")

    def mask(self, text: str, rng: random.Random) -> list[tuple[str, int, int]]:
        """One character a span: `.`, `?` and `!`, and whatever else Unicode calls punctuation."""
        return [
            (self.types[character not in ".?!"], at, 1)
            for at, character in enumerate(text)
            if unicodedata.category(character).startswith("P") and rng.random() < 0.5
        ]


class ProperNouns:
    """All names, as a rule without a tagger guesses them; names side by side are one span.

    A word is a name if it has a capital and does not open a sentence, or if it opens one and is a name
    elsewhere in the text. So the rule misses names that only ever open sentences, and takes *Monday*, words
    in capitals, and most words of a title for names.
    """

    types = ("proper_noun",)

    def mask(self, text: str) -> list[tuple[str, int, int]]:
        """There is nothing random here, so it asks for no `rng`."""
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
