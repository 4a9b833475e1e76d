"""Flags on collected work: why it does not count, and what the report flags about its worker."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from humaneval.crowd.review import MISSED_CONTROL, MISSED_ELSEWHERE, Reviewed
from humaneval.scoring.analysis.annotators import MISSED
from humaneval.store.engine import reading
from humaneval.store.tables import COLLECTED, AssignmentRow, WorkerRow
from humaneval.study.signs import signs_of
from humaneval.study.stored import Study

AT_ONCE = 500
"""Workers of one query."""


def stood_out(state: str, excluded: str, signs: Sequence[str]) -> str:
    """Why a form does not count and what its person's answers show, in words; each of them once."""
    if state not in COLLECTED:
        return excluded
    more = [one for one in signs if not (one == MISSED and excluded in (MISSED_CONTROL, MISSED_ELSEWHERE))]
    return ", ".join([excluded] * bool(excluded) + more)


def flagged(study: Study, work: Sequence[Reviewed]) -> dict[str, tuple[str, ...]]:
    """What the answers of each worker show, as the report flags it: by pseudonym."""
    with reading(study.engine) as session:
        of_study = select(AssignmentRow.worker_id).where(AssignmentRow.study_id == study.id)
        named = select(WorkerRow.id, WorkerRow.pseudonym).where(WorkerRow.id.in_(of_study))
        known = {line.worker for line in work}
        workers = [(row.id, row.pseudonym) for row in session.execute(named) if row.pseudonym in known]
        found: dict[str, tuple[str, ...]] = {}
        for start in range(0, len(workers), AT_ONCE):
            names = dict(workers[start : start + AT_ONCE])
            found |= {names[id]: signs for id, signs in signs_of(session, study, list(names)).items()}
    return found
