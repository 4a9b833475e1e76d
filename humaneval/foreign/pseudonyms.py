"""Pseudonyms in place of worker ids, before anything else is done with a file of judgments."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hmac import digest

import pandas as pd

from humaneval.errors import InputError
from humaneval.foreign.sheet import Sheet, at, many

TELLING = 6
"""Characters from which on an id is looked for in the other cells of its row too: shorter ones are in any
text."""
PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
ROUNDED = r"\d(\.\d+)?[eE]\+\d+"


def pseudonymised(sheet: Sheet, column: str, rename: Callable[[str], str]) -> Sheet:
    """The sheet with the ids of people in `column` replaced by what `rename` makes of them, also inside other
    cells.

    Ids are stripped of spaces around them; blank ones stay blank. Ids that a spreadsheet has rounded
    (1.2E+10) are refused, since different people have become one.
    """
    told = sheet.frame[column]
    stripped = [
        str(cell).strip() or None if there else None for cell, there in zip(told, told.notna(), strict=True)
    ]
    ids = pd.Series(stripped, index=told.index, dtype=object)
    rounded = ids.dropna()[ids.dropna().str.fullmatch(ROUNDED)]
    if len(rounded):
        raise InputError(
            f"{column}: {many(len(rounded), 'id', 'was', 'were')} rounded by a spreadsheet, "
            f"for example {rounded.iloc[0]}: {at(list(rounded.index))}",
            "Different people may have become one. Fetch the file again and do not save it in a spreadsheet.",
        )
    names = {one: rename(one) for one in ids.dropna().unique()}
    frame = sheet.frame.copy()
    hidden = 0
    for name in frame.columns:
        if name == column:
            continue
        cells = [
            (
                cell.replace(one, names[one])
                if isinstance(cell, str) and one and len(one) >= TELLING and one in cell
                else cell
            )
            for cell, one in zip(frame[name], ids, strict=True)
        ]
        hidden += sum(new is not old for new, old in zip(cells, frame[name], strict=True))
        frame[name] = pd.Series(cells, index=frame.index, dtype=object)  # None stays None
    renamed = [names[one] if one is not None else None for one in ids]
    frame[column] = pd.Series(renamed, index=frame.index, dtype=object)
    return replace(sheet, frame=frame.astype(object)).noted(
        f"{many(hidden, 'other cell')} held the id of the row's worker, now the pseudonym" if hidden else ""
    )


def passing_pseudonyms() -> Callable[[str], str]:
    """Pseudonyms under a key of this process that is kept nowhere: good for counting people, and nothing
    else."""
    return partial(_pseudonym, secrets.token_bytes(32))


def are_ours(sheet: Sheet, column: str) -> bool:
    """Whether the ids in `column` are pseudonyms that an export or import of this toolkit has made.

    Its tables say which study and which endpoint a response belongs to, and the pseudonyms have a form of
    their own.
    """
    if not {"study", "endpoint"} <= set(sheet.frame.columns):
        return False
    ids = sheet.frame[column].dropna()
    return bool(len(ids)) and bool(ids.map(lambda one: PSEUDONYM.fullmatch(str(one)) is not None).all())


def _pseudonym(key: bytes, one: str) -> str:
    return "w" + digest(key, one.encode(), "sha256").hex()[:12]


def only_counted(sheet: Sheet, column: str, submissions: Sheet, unfinished: tuple[str, ...]) -> Sheet:
    """The sheet without people whose submission, as another file says, does not count; ids are not hashed yet.

    `submissions` is an export of who took part, all statuses in it; with `unfinished` those that do not
    count. People who are not in it are kept, and counted in a remark.
    """
    worker, status = submissions.roles["worker"], submissions.roles["status"]
    state = {
        str(one).strip(): str(word).strip().casefold()
        for one, word in zip(submissions.frame[worker], submissions.frame[status], strict=True)
    }
    ids = sheet.frame[column].map(lambda cell: str(cell).strip())
    unknown = sorted(set(ids) - set(state))
    for word in unfinished:
        gone = ids.map(lambda one, word=word: state.get(one) == word)
        sheet = sheet.without(f"{word} at the platform that paid", list(ids.index[gone]))
        ids = ids[~gone]
    return sheet.noted(
        f"{len(unknown)} people are not in the file of submissions, and are kept" if unknown else "",
        (
            f"{len(set(state) - set(ids))} people are in the file of submissions and have no answers that"
            " count"
            if set(state) - set(ids)
            else ""
        ),
    )
