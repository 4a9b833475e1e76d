"""What answers stand for: words put in place of others, numbers within words, "NA" as no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from humaneval.errors import InputError
from humaneval.foreign.judged import VALUE, Judged, as_number
from humaneval.text import counted, listed

NO_ANSWER = frozenset(
    ["na", "n/a", "n.a.", "nan", "null", "none", "-", "--", "–", "—", "missing", "no answer"]
)
_NUMBER = re.compile(r"(?<![\w.,])[+-]?\d+(?:\.\d+)?(?!\w|[.,]\d)")


def mapped(made: Judged, words: Mapping[str, str], *, ignore_case: bool = False, some: bool = True) -> Judged:
    """Each answer in `words` becomes what it stands for, all at once; nothing makes it no judgment.

    An answer is found as it is written, or by its number (5 for 5.0 and for "5 - very good"). Raises
    InputError if none of them was given, though `some` should be.
    """
    if not words:
        return made
    if ignore_case:
        words = dict(zip(made.spelt(list(words)), words.values(), strict=True))
    given = made.frame[VALUE].value_counts().index.tolist()
    becomes: dict[str, str] = {}
    absent = []
    for answer, text in words.items():
        found = [one for one in given if one == answer]
        if not found and (number := as_number(answer)) is not None:
            found = [one for one in given if _only_number(one) == number]
        becomes |= dict.fromkeys(found, text)
        absent += [] if found else [answer]
    if not becomes and some:
        raise InputError(
            f"no answer is one of {listed(list(words))}, named by --map; the answers are {listed(given)}",
            "Name answers as they are in the file: --map 'ANSWER=TEXT'. --ignore-case ignores case.",
        )
    told = [becomes.get(one, one) or None for one in made.frame[VALUE]]
    frame = made.frame.assign(**{VALUE: pd.Series(told, index=made.frame.index, dtype=object)})
    note = f"nobody answered {listed(absent)}, named by --map" if absent and some else ""
    return replace(made, frame=frame, sheet=made.sheet.noted(note)).complete(VALUE)


def _only_number(text: str) -> float | None:
    """The number that a value is, or the only one in its words."""
    found = _NUMBER.findall(text)
    return as_number(text) if len(found) != 1 else as_number(found[0])


def without_no_answers(made: Judged) -> Judged:
    """If all other values are numbers, words like "NA" are no judgments, and are counted."""
    values = made.frame[VALUE]
    empty = values.map(lambda text: text.casefold() in NO_ANSWER)
    others = values[~empty]
    if not empty.any() or others.empty or any(as_number(text) is None for text in others.unique()):
        return made
    words = listed(list(dict.fromkeys(values[empty])))
    told = f"{counted(int(empty.sum()), 'answer')} {words} among numbers: no judgment, left out"
    return replace(made, frame=made.frame[~empty], sheet=made.sheet.noted(told))


def as_numbers(made: Judged) -> Judged:
    """Answers in words that have one number each ("5 - very typical", "Agree (4)") become that number."""
    made = without_no_answers(made)
    texts = made.frame[VALUE].unique().tolist()
    if all(as_number(text) is not None for text in texts):
        return made
    empty = {text for text in texts if text.casefold() in NO_ANSWER}
    numbers = {text: _NUMBER.findall(text) for text in texts if text not in empty}
    if not numbers or any(len(found) != 1 for found in numbers.values()):
        return made
    becomes = {text: found[0] for text, found in numbers.items()}
    words = [f"{text} is {number}" for text, number in becomes.items() if text != number]
    frame = made.frame.assign(**{VALUE: made.frame[VALUE].map(lambda one: becomes.get(one, one))})
    note = f"answers are read by the number in their words: {listed(words)}"
    return without_no_answers(replace(made, frame=frame, sheet=made.sheet.noted(note)))
