"""Prolific's export of a study's submissions: who took part, when, and what became of it. It holds no
answers."""

from __future__ import annotations

import re
from dataclasses import replace

from humaneval.foreign.document import Document
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet
from humaneval.foreign.submission_status import leave_out

NAME = "prolific"
ROLES = {
    "worker": ("participantid",),
    "assignment": ("submissionid", "sessionid"),
    "status": ("status",),
    "accepted_at": ("startedat", "starteddatetime"),
    "submitted_at": ("completedat", "completeddatetime"),
    "work_seconds": ("timetaken",),
}
"""The columns, without case and punctuation: Prolific has renamed them more than once."""
UNFINISHED = ("returned", "timed-out", "timed out", "active", "reserved", "screened out")
WITHDRAWN = ("CONSENT_REVOKED", "CONSENT REVOKED", "DATA_EXPIRED", "DATA EXPIRED")


def recognise(document: Document) -> str:
    """Why the file is not of this format; empty where it is."""
    plain = {_plain(name) for name in document.header}
    if "participantid" in plain and "status" in plain and plain & set(ROLES["assignment"]):
        return ""
    return "no columns Participant id, Submission id and Status"


def read(document: Document, options: Options) -> Sheet:
    """The submissions, those that were returned, timed out or rejected left out."""
    sheet = submissions(document)
    return leave_out(
        sheet,
        sheet.roles.get("status"),
        unfinished=UNFINISHED,
        rejected=("rejected",),
        keep_rejected=options.rejected,
    )


def submissions(document: Document) -> Sheet:
    """All submissions, whatever became of them; what people withdrew is blank."""
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
        f"{cells} cells were withdrawn by the people they are about, and count as blank" if cells else ""
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.casefold())
