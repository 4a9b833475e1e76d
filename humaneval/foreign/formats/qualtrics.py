"""Qualtrics' CSV export. It has three header rows: names, questions, and JSON with ImportId."""

from __future__ import annotations

import json
from dataclasses import replace

from humaneval.foreign.document import Document
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet

NAME = "qualtrics"
ROLES = {
    "assignment": "ResponseId",
    "accepted_at": "StartDate",
    "submitted_at": "EndDate",
    "work_seconds": "Duration (in seconds)",
}
PERSONAL = (
    "IPAddress",
    "RecipientLastName",
    "RecipientFirstName",
    "RecipientEmail",
    "ExternalReference",
    "LocationLatitude",
    "LocationLongitude",
)
NOT_REAL = {
    "1": "a preview",
    "survey preview": "a preview",
    "2": "a test",
    "survey test": "a test",
    "8": "spam",
    "spam": "spam",
}
"""Values of the column Status, as labels or numbers."""


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does."""
    return "" if _ids(document) else 'no row below the header has cells like {"ImportId": …}'


def read(document: Document, options: Options) -> Sheet:
    """The responses without previews, tests, spam, unfinished ones and personal columns."""
    place = _ids(document)
    sheet = framed(document, NAME, skip=place + 1)
    personal = [name for name in PERSONAL if name in sheet.frame.columns]
    frame = sheet.frame.drop(columns=personal)
    sheet = replace(
        sheet,
        frame=frame,
        time_zone=time_zone(document),
        roles={role: name for role, name in ROLES.items() if name in frame.columns},
    ).noted(
        f"personal columns that are not read: {', '.join(personal)}" if personal else "",
        f"times are in the zone {found}" if (found := time_zone(document)) else "",
    )
    if "Status" in frame.columns:
        words = frame["Status"].map(lambda cell: str(cell).strip().casefold())
        for word, what in NOT_REAL.items():
            sheet = sheet.without(f"{what} (Status {word})", list(words.index[words == word]))
    if "Finished" in frame.columns:
        words = sheet.frame["Finished"].map(lambda cell: str(cell).strip().casefold())
        unfinished = words.isin(("false", "0"))
        sheet = sheet.without("not finished (Finished)", list(words.index[unfinished]))
    return sheet


def time_zone(document: Document) -> str:
    """The time zone in the third header row, for example America/Denver; empty if there is none."""
    for cell in document.rows[_ids(document)]:
        try:
            name = json.loads(cell).get("timeZone", "")
        except (ValueError, AttributeError, RecursionError):
            continue
        if name:
            return "UTC" if name == "Z" else str(name)
    return ""


def _ids(document: Document) -> int:
    """The row, counted from 0, that holds the import ids; 0 if there is none."""
    for place, row in enumerate(document.rows[1:3], 1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if cells and all(cell.startswith('{"ImportId"') for cell in cells):
            return place
    return 0
