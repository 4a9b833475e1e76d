"""From a record's fields to its sentences: columns, a list, a text, or four and the right ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from humaneval.domain import SENTENCES
from humaneval.stories.headings import SENTENCE_FIELDS, sentence_fields
from humaneval.stories.result import Record
from humaneval.text import language_of, listed, split_into


def record_of(
    line: int, fields: Mapping[str, Any], shape: str, *, from_zero: bool = False, wanted: int = SENTENCES
) -> Record:
    """The record at `line` whose `fields` hold a story of `wanted` sentences in `shape`.

    `from_zero`: the right ending is given as 0 or 1, not as 1 or 2.
    """
    record = Record(line)
    if fields.get("id") is not None:  # JSON null means that there is no id; an empty cell is a missing id
        record.id = _word(fields["id"])
    for name in ("title", "split", "source"):
        if fields.get(name):
            setattr(record, name, _word(fields[name]))
    if shape == "five":
        record.sentences = [fields[name] for name in sentence_fields(wanted)]
    elif shape == "cloze":
        _take_ending(record, fields, from_zero)
    elif shape == "list":
        _take_list(record, fields["sentences"], wanted)
    elif isinstance(text := fields["text"], str):
        record.sentences, record.doubts = split_into(wanted, text, language_of(text))
    else:
        record.trouble = f"the text is {kind_of(fields['text'])}, not text"
    record.trouble = (
        record.trouble
        or _not_text(record.sentences)
        or count_trouble(record.sentences, record.doubts, wanted)
    )
    return record


def count_trouble(sentences: Sequence[str], doubts: Sequence[str] = (), wanted: int = SENTENCES) -> str:
    """What is wrong with the number of sentences; empty if there are as many as `wanted`. `doubts` say where
    it is unclear.

    >>> count_trouble(["One.", "Two."]), count_trouble(["J. Smith fell."], ["J. Smith"])
    ('2 sentences, not 5', '1 sentence, not 5 (unclear: J. Smith)')
    """
    if len(sentences) == wanted:
        return ""
    unclear = f" (unclear: {listed(doubts)})" if doubts else ""
    if len(sentences) == wanted + 1 == SENTENCES + 1:
        return f"6 sentences, not 5: there is a sixth sentence{unclear}"
    return f"{len(sentences)} sentence{'s' * (len(sentences) != 1)}, not {wanted}{unclear}"


def one_too_many(wanted: int) -> str:
    """What is wrong with a story that continues after its last sentence."""
    return "a sixth sentence" if wanted == SENTENCES else f"more than {wanted} sentences"


def spelled(sentences: int) -> str:
    """A number of sentences: five in letters, as it is usual."""
    return "five" if sentences == SENTENCES else str(sentences)


def kind_of(value: object) -> str:
    """The type of a JSON value, for a message."""
    kinds = {
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), "null")


def _take_ending(record: Record, fields: Mapping[str, Any], from_zero: bool) -> None:
    endings = [fields["ending1"], fields["ending2"]]
    answers = ["0", "1"] if from_zero else ["1", "2"]
    # A column of whole numbers that went through a data frame ends in .0.
    answer = _word(fields["answer"]).removesuffix(".0")
    if answer in answers:
        ending = endings[answers.index(answer)]
    else:
        ending = ""
        record.trouble = f"the right ending is {answer!r}, not {answers[0]} or {answers[1]}"
    record.sentences = [*(fields[name] for name in SENTENCE_FIELDS[:4]), ending]


def _take_list(record: Record, value: object, wanted: int) -> None:
    if isinstance(value, list):
        record.sentences = value
    else:
        record.trouble = f"`sentences` is {kind_of(value)}, not a list of {spelled(wanted)} sentences"


def _not_text(sentences: Sequence[object]) -> str:
    for position, sentence in enumerate(sentences, start=1):
        if not isinstance(sentence, str):
            return f"sentence {position} is {kind_of(sentence)}, not text"
    return ""


def _word(value: object) -> str:
    """A name or id as text; JSON may write ids as numbers."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)
