"""The words of SA: the most frequent of the training texts, in lower case, and the usual case of each
within a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from generators.checkpoints.weights import first_line
from generators.masks.words import word_spans
from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, read_whole
from humaneval.text import sentence_spans

SPECIAL = ("<PAD>", "<BOS>", "<EOS>", "<UNK>", "<m>", "<BOA>", "<EOA>")
PAD, BOS, EOS, UNK, MASK, BOA, EOA = range(len(SPECIAL))
"""The first ids: padding, beginning and end of a text, an unknown word, a blank, beginning and end of an
answer."""
IN_FRONT = 4
"""This many of them do not count as entries: the paper's tool puts them before a vocabulary of 10,000."""
UNWRITTEN = (PAD, BOS, EOS, UNK, MASK, BOA)
"""Ids that no answer may contain."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Vocabulary:
    """Words by id, after the special ones. `cases`: words that are usually not in lower case within a
    sentence."""

    words: tuple[str, ...]
    cases: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: len(SPECIAL) + at for at, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(SPECIAL) + len(self.words)

    def ids(self, words: Iterable[str]) -> list[int]:
        """The ids of words in any case; UNK for unknown words. No text is read as another special id."""
        return [self._ids.get(word.lower(), UNK) for word in words]

    def word(self, id: int) -> str:
        """The word of an id, in lower case."""
        return SPECIAL[id] if id < len(SPECIAL) else self.words[id - len(SPECIAL)]

    def read(self, text: str) -> list[int]:
        """The ids of the words of a text."""
        return self.ids(words_of(text, sentence_spans(text)))


def words_of(text: str, sentences: Iterable[Span]) -> list[str]:
    """The words of the sentences at these spans of `text`, as they are written.

    >>> words_of("It's Ben. Go!", [(0, 9), (10, 13)])
    ['It', "'s", 'Ben', '.', 'Go', '!']
    """
    return [text[a:b] for start, end in sentences for a, b in word_spans(text, start, end)]


def save_vocabulary(vocabulary: Vocabulary, path: Path) -> None:
    """Write a vocabulary as JSON."""
    values = {"words": vocabulary.words, "cases": vocabulary.cases}
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def open_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary. Raises InputError if the file is not one."""
    try:
        values = json.loads(read_whole(path, most=DOCUMENT))
        words, cases = values["words"], values["cases"]
        texts = [*words, *cases, *cases.values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a vocabulary: {first_line(error)}", "Restore it.") from None
    if not all(isinstance(text, str) and text for text in texts) or len(set(words)) < len(words):
        raise InputError(f"{path} is not a vocabulary: a word is not a text, or occurs twice", "Restore it.")
    return Vocabulary(tuple(words), cases)
