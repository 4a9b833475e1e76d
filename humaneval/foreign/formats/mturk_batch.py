"""Mechanical Turk's batch results: HITId, AssignmentId, WorkerId, Input.…, Answer.…, as CSV or from Excel."""

from __future__ import annotations

from dataclasses import replace

from humaneval.foreign.document import Document
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet
from humaneval.foreign.submission_status import leave_out
from humaneval.foreign.unfold import chosen, unfolded

NAME = "mturk"
ROLES = {
    "worker": "WorkerId",
    "hit": "HITId",
    "assignment": "AssignmentId",
    "status": "AssignmentStatus",
    "accepted_at": "AcceptTime",
    "submitted_at": "SubmitTime",
    "work_seconds": "WorkTimeInSeconds",
}
LACKING = ("Approve", "Reject")
"""Mechanical Turk's own files name these columns in the header and have no cells for them."""


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does."""
    header = document.header
    if any(name.startswith("Answer.") for name in header) or {"HITId", "AssignmentId"} <= set(header):
        return ""
    return "no column Answer.…, and no columns HITId and AssignmentId"


def read(document: Document, options: Options) -> Sheet:
    """The batch, with JSON answers and option columns unfolded and without rejected work."""
    sheet = framed(document, NAME, may_lack=LACKING)
    answers = [name for name in map(str, sheet.frame.columns) if name.startswith("Answer.")]
    frame, notes = unfolded(sheet.frame, answers)
    frame, more = chosen(frame, [name for name in map(str, frame.columns) if name.startswith("Answer.")])
    roles = {role: name for role, name in ROLES.items() if name in frame.columns}
    missing = [name for role, name in ROLES.items() if role in ("worker", "hit") and role not in roles]
    sheet = replace(sheet, frame=frame, roles=roles).noted(
        *notes, *more, f"the file has no column {' or '.join(missing)}" if missing else ""
    )
    sheet = leave_out(
        sheet, roles.get("status"), unfinished=(), rejected=("rejected",), keep_rejected=options.rejected
    )
    if "Reject" in sheet.frame.columns and not options.rejected:
        marked = sheet.frame["Reject"].notna()
        sheet = sheet.without("marked for rejection (column Reject)", list(sheet.frame.index[marked]))
    return sheet
