"""Toloka's annotation results: TSV with INPUT:, OUTPUT:, GOLDEN:, HINT: and ASSIGNMENT: columns."""

from __future__ import annotations

from dataclasses import replace

from humaneval.errors import InputError
from humaneval.foreign.document import Document
from humaneval.foreign.form_cells import from_python, unfolded
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet, many
from humaneval.foreign.submission_status import leave_out

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
    """Why the file is not of this format; empty where it is. Raises InputError for a file of tasks without
    answers."""
    header = document.header
    if not any(name.startswith(("INPUT:", "ASSIGNMENT:")) for name in header):
        return "no column is called INPUT:… or ASSIGNMENT:…"
    if not any(name.startswith("OUTPUT:") for name in header):
        raise InputError(
            f"{document.path} holds Toloka tasks and no answers: no column is called OUTPUT:…",
            "Fetch the pool's results instead.",
        )
    return ""


def read(document: Document, options: Options) -> Sheet:
    """The results, b'…' turned into the text it stands for, unfinished and rejected work left out."""
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
        f"{many(changed, 'cell')} held Python's b'…', read as the text it stands for" if changed else "",
        f"{many(int(golden.sum()), 'answer')} to control questions (GOLDEN:), kept" if golden.any() else "",
    )
    return leave_out(
        sheet,
        sheet.roles.get("status"),
        unfinished=UNFINISHED,
        rejected=("rejected",),
        keep_rejected=options.rejected,
    )
