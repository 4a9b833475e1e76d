"""Pseudonyms in place of worker ids, before anything else is done with a response file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hmac import digest

import pandas as pd

from humaneval.errors import InputError
from humaneval.foreign.sheet import Sheet, at
from humaneval.text import counted

TELLING = 6
"""Characters: an id of this length or more is replaced in the row's other cells, too."""
PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
ROUNDED = r"\d(\.\d+)?[eE]\+\d+"


def pseudonymised(
    sheet: Sheet, column: str, rename: Callable[[str], str], ids_in: Callable[[str], list[str]] | None = None
) -> Sheet:
    """The sheet with the worker ids in `column` renamed by `rename`, also inside the row's other cells.

    `ids_in` gives the ids of a cell that names several; they become a JSON list. Spaces around ids are
    dropped; blank ids stay blank. Ids that a spreadsheet has rounded (1.2E+10) are refused: several workers
    may share a rounded one.
    """
    told = sheet.frame[column]
    stripped = [
        str(cell).strip() or None if there else None for cell, there in zip(told, told.notna(), strict=True)
    ]
    ids = pd.Series(stripped, index=told.index, dtype=object)
    rounded = ids.dropna()[ids.dropna().str.fullmatch(ROUNDED)]
    if len(rounded):
        raise InputError(
            f"{column}: a spreadsheet has rounded {counted(len(rounded), 'id')}, "
            f"for example {rounded.iloc[0]}: {at(list(rounded.index))}",
            "Workers may share a rounded id. Download the file again and do not save it in a spreadsheet.",
        )
    several = {one: [one] if ids_in is None else ids_in(one) for one in ids.dropna().unique()}
    names = {one: rename(one) for cell in several.values() for one in cell if one}
    rows = [several[one] if one is not None else [] for one in ids]
    frame = sheet.frame.copy()
    hidden = 0
    for name in frame.columns:
        if name == column:
            continue
        cells = [_without_ids(cell, mine, names) for cell, mine in zip(frame[name], rows, strict=True)]
        hidden += sum(new != old for new, old in zip(cells, frame[name], strict=True))
        frame[name] = pd.Series(cells, index=frame.index, dtype=object)  # None stays None
    renamed = [
        None
        if not mine
        else names[mine[0]]
        if len(mine) == 1
        else json.dumps([names.get(one) for one in mine])
        for mine in rows
    ]
    frame[column] = pd.Series(renamed, index=frame.index, dtype=object)
    return replace(sheet, frame=frame.astype(object)).noted(
        f"{counted(hidden, 'other cell')} contained the worker's id, now the pseudonym" if hidden else ""
    )


def _without_ids(cell: object, ids: list[str], names: dict[str, str]) -> object:
    for one in ids:
        if isinstance(cell, str) and len(one) >= TELLING and one in cell:
            cell = cell.replace(one, names[one])
    return cell


def file_pseudonyms(sheet: Sheet) -> Callable[[str], str]:
    """Pseudonyms that are the same whenever this file is read. Nobody can undo them without the file."""
    return partial(_pseudonym, sheet.key)


def are_ours(sheet: Sheet, column: str) -> bool:
    """Whether the ids in `column` are pseudonyms that this toolkit exported or imported.

    Its tables have columns for the study and the endpoint, and its pseudonyms have a form of their own.
    """
    if not {"study", "endpoint"} <= set(sheet.frame.columns):
        return False
    ids = sheet.frame[column].dropna()
    return bool(len(ids)) and bool(ids.map(lambda one: PSEUDONYM.fullmatch(str(one)) is not None).all())


def _pseudonym(key: bytes, one: str) -> str:
    return "w" + digest(key, one.encode(), "sha256").hex()[:12]
