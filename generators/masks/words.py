"""Where the words of a sentence lie, by one rule: it needs no package and no download.

The rule gives what NLTK's `word_tokenize` (Punkt, then its Treebank tokenizer; Apache 2.0,
github.com/nltk/nltk) gives for more than 99.9 % of sentences of the ROC stories;
tests/integration/test_nltk.py compares them. Punctuation marks are words; `didn't` is did + n't, `cannot` is
can + not, and a period is a word only at the end of a sentence.
"""

from __future__ import annotations

import re

_ALONE = r"\]\[(){}<>;@#$%&?!*\"«»“”‘’„‒-―"
"""Characters that are always words of their own."""

_INNER = rf"[^\s{_ALONE}.,:'`-]"
"""A character within a word."""

_CLOSING = r"[\])}>\"'»”’]*"

_ABBREVIATED = r"(?:(?<=\b[A-Z]\.)|(?<=\b[MDS][rst]\.)|(?<=\bMrs\.)|(?<=\bInc\.))"
"""A place after the period of an initial or a title: a capital letter may follow within a sentence."""

_PERIOD = rf"\.(?!\.|{_CLOSING}\s*\Z)(?:{_ABBREVIATED}|(?!{_CLOSING}\s+[\"'“‘(\[]*[A-Z]))"
"""A period inside a sentence, which belongs to its word: `p.m.`, `3.50`."""

_CLITIC = r"(?:[smdSMD]|ll|LL|re|RE|ve|VE|(?<=n')t|(?<=N')T)(?![\w/'-])"
"""What follows the apostrophe where a word is cut in two: she's, they'll, didn't; o'clock is one word."""

_JOINT = rf"-(?!-)|{_PERIOD}|[,:](?=\d)"

_WORD = re.compile(
    rf"""
    # Most words have nothing but a space or the last period after them. Only those that end as the next
    # line's compounds do need a closer look; the rest of this pattern is for what is left.
    \w++(?=\ |\.\Z)(?<![Oo][Tt])(?<![NnTtMm][AaEe]) | \.\Z
    | (?=[CcGgLlWw])(?i:can(?=not\b)|gon(?=na\b)|got(?=ta\b)|gim(?=me\b)|lem(?=me\b)|wan(?=na\s))
    | (?:{_INNER}|{_JOINT}){_INNER}*
      (?:(?:{_JOINT}|'(?={_INNER})(?!{_CLITIC})){_INNER}*)*
      (?!(?<=n)'t\b|(?<=N)'T\b)  # steps back by one letter: did|n't
    | n't\b | N'T\b
    | '' | '(?:{_CLITIC}|(?:ll|re|ve|[mtsdn])\b)?
    | \.\.+ | -- | `+ | \S
    """,
    re.VERBOSE,
)


def word_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The (start, end) of each word of the sentence `text[start:end]`, in characters of `text`, in order.

    Words do not overlap, have no white space in them, and cover everything else.

    >>> text = 'She didn\\'t say "no."'
    >>> [text[start:end] for start, end in word_spans(text, 0, len(text))]
    ['She', 'did', "n't", 'say', '"', 'no', '.', '"']
    """
    return list(map(re.Match.span, _WORD.finditer(text, start, end)))
