"""Toloka's annotation results: TSV with INPUT:, OUTPUT:, GOLDEN:, HINT: and ASSIGNMENT: columns."""

from __future__ import annotations

from dataclasses import replace

from humaneval.errors import InputError
from humaneval.foreign.document import Document
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet
from humaneval.foreign.submission_status import leave_out
from humaneval.foreign.unfold import from_python, unfolded
from humaneval.text import counted

NAME = "toloka"
ROLES = {
    "worker": "ASSIGNMENT:worker_id",
    "assignment": "ASSIGNMENT:assignment_id",
    "status": "ASSIGNMENT:status",
    "accepted_at": "ASSIGNMENT:started",
    "submitted_at": "ASSIGNMENT:submitted",
}
UNFINISHED = ("expired", "skipped", "active")


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does. Raises InputError for Toloka tasks without
    answers."""
    header = document.header
    if not any(name.startswith(("INPUT:", "ASSIGNMENT:")) for name in header):
        return "no column INPUT:… or ASSIGNMENT:…"
    if not any(name.startswith("OUTPUT:") for name in header):
        raise InputError(
            f"{document.path} has Toloka tasks and no answers: there is no column OUTPUT:…",
            "Download the pool's results instead.",
        )
    return ""


def read(document: Document, options: Options) -> Sheet:
    """The results, with b'…' read as text and without unfinished and rejected work."""
    sheet = framed(document, NAME)
    frame = sheet.frame.map(from_python)
    changed = int((frame.ne(sheet.frame) & sheet.frame.notna()).to_numpy().sum())
    outputs = [name for name in map(str, frame.columns) if name.startswith("OUTPUT:")]
    frame, notes = unfolded(frame, outputs)
    golden = frame[[name for name in frame.columns if str(name).startswith("GOLDEN:")]].notna().any(axis=1)
    sheet = replace(
        sheet,
        frame=frame,
        time_zone="UTC",
        roles={role: name for role, name in ROLES.items() if name in frame.columns},
    ).noted(
        *notes,
        f"{counted(changed, 'cell')} with Python's b'…', read as text" if changed else "",
        f"{counted(int(golden.sum()), 'answer')} to control questions (GOLDEN:), kept"
        if golden.any()
        else "",
    )
    return leave_out(
        sheet,
        sheet.roles.get("status"),
        unfinished=UNFINISHED,
        rejected=("rejected",),
        keep_rejected=options.rejected,
    )
