"""What waits at a platform to be collected. Answers are not stored; only differences from the plan are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, select

from humaneval.crowd.forgotten import left_alone
from humaneval.crowd.plan_differences import look
from humaneval.crowd.platform import UNASKED, Submission
from humaneval.crowd.published_hits import is_static, known_gone, refuse_elsewhere, submitted, to_collect, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError
from humaneval.store.engine import ASKED_FOR, batches, reading
from humaneval.store.tables import COLLECTED, AssignmentRow


class Waiting(NamedTuple):
    """What collecting would find: submissions at the HITs that our database knows, and how many are new."""

    submissions: int
    new: int


class Place(NamedTuple):
    """One submission: our id of its HIT, and the platform's id of the assignment."""

    hit_id: int
    assignment: str


class There(NamedTuple):
    """What a platform says about a study while nothing is collected."""

    new: frozenset[Place] = frozenset()
    """What is submitted there and not collected."""
    gone: frozenset[int] = frozenset()
    """HITs that should be up, and that the platform does not have."""
    silent: str = ""
    """Why the platform does not say what is submitted; empty if it does."""


def would_collect(at: StudyAtPlatform) -> Waiting:
    """Ask the platform what is submitted. Nothing is stored."""
    refuse_elsewhere(at)
    there = _submitted(at)
    return Waiting(len(there), len(still_new(at.engine, there)))


def ask(at: StudyAtPlatform, *, note: bool = True) -> There:
    """Ask the platform about the study's HITs, with one short try if nobody answers there.

    What differs from the plan is stored, unless `note` is false. The platform is not asked if our own server
    shows the forms and has no answers that wait to be collected.
    """
    hits = up(at.study, at.endpoint)
    if not hits or at.endpoint in UNASKED or not _may_wait(at):
        return There()
    try:
        at.platform.check_access()
        try:
            refuse_elsewhere(at)
        except PlatformError as error:
            return There(gone=frozenset(hit.id for hit in hits), silent=error.message)
        if note:
            look(at, hits)
        return There(
            frozenset(still_new(at.engine, _submitted(at))), frozenset(known_gone(at.study, at.endpoint))
        )
    except PlatformError as error:
        return There(silent=error.message)


def _may_wait(at: StudyAtPlatform) -> bool:
    here = (AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint)
    with reading(at.engine) as session:
        answered = session.scalar(
            select(AssignmentRow.id).where(*here, AssignmentRow.state == "answered").limit(1)
        )
    return answered is not None or is_static(at.study, at.endpoint)


def _submitted(at: StudyAtPlatform) -> list[Place]:
    return [
        Place(hit.id, work.external_id)
        for hit in to_collect(at.study, at.endpoint)
        for work in of_people_here(at, submitted(at.platform, hit.external_id) or ())
    ]


def of_people_here(at: StudyAtPlatform, work: Sequence[Submission]) -> list[Submission]:
    """Without the work of people who were forgotten here: no `collect` fetches it."""
    with reading(at.engine) as session:
        left = left_alone(session, at.endpoint, work)
    return [one for one, alone in zip(work, left, strict=True) if not alone]


def still_new(engine: Engine, there: Collection[Place]) -> list[Place]:
    """Those that are not collected."""
    collected = select(AssignmentRow.hit_id, AssignmentRow.external_id).where(
        AssignmentRow.state.in_(COLLECTED)
    )
    known: set[Place] = set()
    with reading(engine) as session:
        for some in batches({hit for hit, _ in there}, ASKED_FOR):
            found = session.execute(collected.where(AssignmentRow.hit_id.in_(some)))
            known.update(Place(*row) for row in found)
    return [one for one in there if one not in known]
