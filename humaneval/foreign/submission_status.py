"""A platform's own status of each submission: work that was never submitted, or was rejected, is left out."""

from __future__ import annotations

from collections.abc import Collection

from humaneval.foreign.sheet import Sheet
from humaneval.text import listed

DONE = {"submitted", "approved", "accepted", "awaiting review", "partially approved", "complete", "completed"}


def leave_out(
    sheet: Sheet,
    column: str | None,
    *,
    unfinished: Collection[str],
    rejected: Collection[str],
    keep_rejected: bool,
) -> Sheet:
    """The sheet without the work that the status `column` calls unfinished or rejected, in any case.

    Work of an unknown status is kept, and a note names the status.
    """
    if column is None or column not in sheet.frame.columns:
        return sheet
    words = sheet.frame[column].map(
        lambda cell: str(cell).strip().casefold().replace("_", " ") if cell else ""
    )
    strange = sorted(set(words) - set(unfinished) - set(rejected) - DONE - {""})
    sheet = sheet.noted(f"unknown statuses, kept: {listed(strange)}" if strange else "")
    for word in sorted(set(words)):
        if word in unfinished or (word in rejected and not keep_rejected):
            sheet = sheet.without(f"{column} is {word}", list(words.index[words == word]))
    return sheet
