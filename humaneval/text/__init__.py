"""Text: which characters may be stored and shown, where sentences end, and the wording of messages.

This module is the door."""

from humaneval.text.characters import (
    as_read,
    has_words,
    is_path,
    mojibake,
    normalise,
    printable,
    refused_characters,
    shown_hash,
    unshowable,
)
from humaneval.text.invisible import hidden_characters
from humaneval.text.languages import ENGLISH, language_of, number_in
from humaneval.text.sentences import (
    Parts,
    Span,
    clear_sentences,
    doubts,
    ends_a_sentence,
    sentence_spans,
    split_into,
    split_sentences,
)
from humaneval.text.wording import (
    PAYING,
    WRITING,
    Answerers,
    alike,
    command,
    counted,
    every,
    listed,
    not_among,
    quoted,
    same_name,
    use_global_options,
    without_password,
)

__all__ = [
    "ENGLISH",
    "PAYING",
    "WRITING",
    "Answerers",
    "Parts",
    "Span",
    "alike",
    "as_read",
    "clear_sentences",
    "command",
    "counted",
    "doubts",
    "ends_a_sentence",
    "every",
    "has_words",
    "hidden_characters",
    "is_path",
    "language_of",
    "listed",
    "mojibake",
    "normalise",
    "not_among",
    "number_in",
    "printable",
    "quoted",
    "refused_characters",
    "same_name",
    "sentence_spans",
    "shown_hash",
    "split_into",
    "split_sentences",
    "unshowable",
    "use_global_options",
    "without_password",
]
