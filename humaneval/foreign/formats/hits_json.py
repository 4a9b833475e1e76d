"""JSON by HIT, as scripts around Mechanical Turk's API write it: {"HIT": {"Answers": [{"WorkerID": …}]}}."""

from __future__ import annotations

from dataclasses import replace

from humaneval.foreign.document import Document
from humaneval.foreign.header import from_records
from humaneval.foreign.sheet import Options, Sheet
from humaneval.text import counted

NAME = "hits-json"
LISTS = ("Answers", "Assignments")
WORKER = ("WorkerId", "WorkerID", "worker_id")
ASSIGNMENT = ("AssignmentId", "AssignmentID", "assignment_id")
HIT, NUMBER = "hit", "hit_number"


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does."""
    value = document.json
    if isinstance(value, dict) and value and all(_answers(one) is not None for one in value.values()):
        return ""
    return 'not JSON of the form {"HIT": {"Answers": […]}}'


def read(document: Document, options: Options) -> Sheet:
    """One row an assignment: the HIT, its number in the file (from 1), and the answers."""
    records = [
        {HIT: hit, NUMBER: number, **answers}
        for number, (hit, value) in enumerate(document.json.items(), 1)
        for answers in _answers(value) or []
    ]
    sheet = from_records(document, NAME, records)
    roles = {HIT: HIT}
    for role, names in (("worker", WORKER), ("assignment", ASSIGNMENT)):
        found = next((name for name in names if name in sheet.frame.columns), None)
        if found:
            roles[role] = found
    empty = sum(not _answers(value) for value in document.json.values())
    return replace(sheet, roles=roles).noted(
        f"{counted(empty, 'HIT', 'has', 'have')} no answers" if empty else ""
    )


def _answers(value: object) -> list[dict[str, object]] | None:
    if not isinstance(value, dict):
        return None
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and all(isinstance(one, dict) for one in found):
            return found
    return None
