"""Judgments compared with the right answers, which stand in another file or in a column of the same one."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.judged import LINE, NUMBER, VALUE, as_number, cell_text, column_at
from humaneval.foreign.sheet import Sheet, at
from humaneval.foreign.splitting import number_of
from humaneval.text import counted, listed


def correct(frame: pd.DataFrame, sheet: Sheet, gold: Sequence[str | None]) -> pd.DataFrame:
    """The same judgments as 1 if they equal the right answer in `gold`, else 0.

    `gold` has an entry for each HIT and number (1-2-3… of the file's first HIT, then of its second), like
    forms whose passages follow the order of a file. Text with one number is compared by that number
    (Paragraph 2 equals paragraph_2), other text in any case. Raises InputError if the counts differ or a
    right answer is blank.
    """
    if "hit_number" not in sheet.frame.columns or frame[NUMBER].isna().any():
        raise UsageError("--gold needs a file in the format hits-json and a --value with {}")
    places = sorted(set(frame[NUMBER]))
    hits = sheet.frame["hit_number"].astype(int)
    expected = int(hits.max()) * len(places)
    if expected != len(gold):
        raise InputError(
            f"{int(hits.max())} HITs with {len(places)} passages each need {expected} right answers; the file"
            f" has {len(gold)}",
            "Choose the passages to compare, for example --numbers 1-5.",
        )
    blank = [place for place, answer in enumerate(gold, 1) if not cell_text(answer)]
    if blank:
        raise InputError(
            f"{len(blank)} of {len(gold)} right answers are blank: {listed(blank)} (counted from 1)",
            "Fill them in: an answer cannot be compared with nothing.",
        )
    rank = {number: place for place, number in enumerate(places)}
    right = [
        _key(value) == _key(gold[(int(hits[line]) - 1) * len(places) + rank[number]] or "")
        for line, number, value in zip(frame[LINE], frame[NUMBER], frame[VALUE], strict=True)
    ]
    return frame.assign(**{VALUE: [str(int(one)) for one in right]})


def correct_by_row(frame: pd.DataFrame, sheet: Sheet, name: str) -> pd.DataFrame:
    """The same judgments as 1 if they equal the right answer in the column `name` of their own row, else 0.

    {} in the name stands for the number of the judgment. Raises InputError if a right answer is blank.
    """
    columns = {
        number: column_at(sheet.frame, name, number, "--gold-column") for number in frame[NUMBER].unique()
    }
    gold = [
        cell_text(sheet.frame.at[line, columns[number]])
        for line, number in zip(frame[LINE], frame[NUMBER], strict=True)
    ]
    blank = [line for line, answer in zip(frame[LINE], gold, strict=True) if not answer]
    if blank:
        raise InputError(
            f"{counted(len(blank), 'right answer', 'is', 'are')} blank in {name}: {at(blank)}",
            "Fill them in: an answer cannot be compared with nothing.",
        )
    right = [_same(value, answer) for value, answer in zip(frame[VALUE], gold, strict=True)]
    return frame.assign(**{VALUE: [str(int(one)) for one in right]})


def _same(value: str, answer: str) -> bool:
    number = as_number(value)
    return _key(value) == _key(answer) or (number is not None and number == as_number(answer))


def _key(text: str) -> str:
    number = number_of(text)
    return text.strip().casefold() if number is None else str(number)
