"""Prolific's export of submissions: the participants, the times, and the statuses. It has no answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from humaneval.errors import InputError, UsageError
from humaneval.foreign.document import Document, open_document
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet
from humaneval.foreign.submission_status import leave_out
from humaneval.text import counted, listed

NAME = "prolific"
ROLES = {
    "worker": ("participantid",),
    "assignment": ("submissionid", "sessionid"),
    "status": ("status",),
    "accepted_at": ("startedat", "starteddatetime"),
    "submitted_at": ("completedat", "completeddatetime"),
    "work_seconds": ("timetaken",),
}
"""The column names without case and punctuation: Prolific has renamed them more than once."""
UNFINISHED = ("returned", "timed-out", "timed out", "active", "reserved", "screened out")
REJECTED = ("rejected",)
WITHDRAWN = ("CONSENT_REVOKED", "CONSENT REVOKED", "DATA_EXPIRED", "DATA EXPIRED")


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does."""
    plain = {_plain(name) for name in document.header}
    if "participantid" in plain and "status" in plain and plain & set(ROLES["assignment"]):
        return ""
    return "no columns Participant id, Submission id and Status"


def read(document: Document, options: Options) -> Sheet:
    """The submissions that were not returned, timed out or rejected."""
    sheet = submissions(document)
    return leave_out(
        sheet,
        sheet.roles.get("status"),
        unfinished=UNFINISHED,
        rejected=REJECTED,
        keep_rejected=options.rejected,
    )


def submissions(document: Document) -> Sheet:
    """All submissions, whatever their status. Data that participants withdrew is blank."""
    sheet = framed(document, NAME)
    withdrawn = sheet.frame.isin(WITHDRAWN)
    frame = sheet.frame.mask(withdrawn, None)
    roles = {
        role: str(name)
        for role, names in ROLES.items()
        for name in frame.columns
        if _plain(str(name)) in names
    }
    cells = int(withdrawn.to_numpy().sum())
    return replace(sheet, frame=frame, roles=roles, time_zone="UTC").noted(
        f"{counted(cells, 'cell')} withdrawn by the participants, read as blank" if cells else ""
    )


def only_counted(sheet: Sheet, column: str, export: Path, options: Options) -> Sheet:
    """The sheet without workers whose submission does not count, according to Prolific's `export`.

    `column` holds Prolific's own ids, so call this before they become pseudonyms. Workers who are not in the
    export are kept and counted in a note. Raises UsageError if `export` is another kind of file, and
    InputError if it has none of the workers.
    """
    document = open_document(export, options)
    if cause := recognise(document):
        raise UsageError(f"{export} is not Prolific's export of submissions: {cause}")
    made = submissions(document)
    state = {
        str(one).strip().casefold(): str(word).strip().casefold()
        for one, word in zip(made.frame[made.roles["worker"]], made.frame[made.roles["status"]], strict=True)
    }
    ids = sheet.frame[column].map(lambda cell: str(cell).strip().casefold())
    unknown = set(ids) - set(state)
    if unknown and unknown == set(ids):
        raise InputError(
            f"{export} has none of the workers who answered. Workers in the export:"
            f" {_beginnings(state)}; in the answers: {_beginnings(ids)}",
            "Check that both files are of the same study, and that the column of workers has Prolific's ids.",
        )
    for status in UNFINISHED + (() if options.rejected else REJECTED):
        gone = ids.map(lambda one, status=status: state.get(one) == status)
        sheet = sheet.without(f"{status} on Prolific", list(ids.index[gone]))
        ids = ids[~gone]
    silent = set(state) - set(ids)
    return sheet.noted(
        f"{counted(len(unknown), 'worker')} not in Prolific's export: kept" if unknown else "",
        f"{counted(len(silent), 'worker')} in Prolific's export without an answer that counts"
        if silent
        else "",
    )


def _beginnings(ids: Iterable[str]) -> str:
    """How three of these ids begin: enough to see if they are of another kind. No whole id is printed."""
    return listed([f"{one[:4]}… ({len(one)} characters)" for one in dict.fromkeys(ids)], most=3)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.casefold())
