"""Collects submitted work. The platform's answers are the record, our server's copy adds timing; both are
compared.

Collecting is incremental and repeatable: collecting twice gives the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.adopt import adopt
from humaneval.crowd.compensate import settle_compensations
from humaneval.crowd.hit_terms import Difference
from humaneval.crowd.outbox import TOGETHER, hold_study
from humaneval.crowd.panel_postbacks import Told, perform_postbacks
from humaneval.crowd.participants import COMPENSATION, intend_exclusions, perform_exclusions
from humaneval.crowd.plan_differences import accept, differing, look
from humaneval.crowd.published_hits import GONE, refuse_gone, submitted, to_collect
from humaneval.crowd.reopened import delete_returned, free_reopened
from humaneval.crowd.review import decide_exclusions
from humaneval.crowd.rewards import settle_rewards
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.submissions import Arrived, let_go, store_submissions
from humaneval.crowd.take_in import accept_lost, take_in
from humaneval.crowd.unaccepted import refuse_differing
from humaneval.errors import NotAsPlannedError, PartialError
from humaneval.store.engine import reading, writing
from humaneval.store.export_pseudonyms import names_of
from humaneval.store.tables import TAKEN_IN, AssignmentRow, PaymentRow, ResponseRow, StudyRow, WorkerRow
from humaneval.store.types import now
from humaneval.study.stored import Study


@dataclass(frozen=True, slots=True)
class Unpaid:
    """Work that our server has and the platform does not, and that was not compensated."""

    assignment: str
    worker: str


@dataclass(frozen=True, slots=True)
class CollectedWork:
    """The state after collecting. `new` counts submissions that were not collected before, including rebuilt
    ones."""

    submissions: int
    new: int
    responses: int
    not_handed_over: int
    """Forms whose answers are on our server but were never submitted at the platform."""
    rebuilt: int
    """Submissions that never reached our server; taken from the platform's answers."""
    strays: int
    """Undecided submissions at our HITs that match no form of the study: kept, not scored."""
    differences: tuple[str, ...]
    stray_assignments: tuple[str, ...] = ()
    """The platform's ids of the strays."""
    unpaid: tuple[Unpaid, ...] = ()
    """Work whose answers were never submitted at the platform."""
    not_listed: tuple[str, ...] = ()
    """Why people could not be put on the study's exclusion list; the next collection tries again."""
    taken_in: int = 0
    """Forms of HITs that the platform lost, and that this call took in."""
    hits_differ: tuple[Difference, ...] = ()
    """How HITs differ from the plan, accepted or not."""
    told: int = 0
    """People about whom a panel was told in this run."""
    not_told: tuple[str, ...] = ()
    """Why a panel does not credit others; the next collection tries again."""
    unsure_told: int = 0
    """People whom the panel may have credited: its reply was lost."""
    notes: tuple[str, ...] = ()
    """Matters of the platform itself that a person must look at."""


class Accepted(NamedTuple):
    """What a person accepts with this call."""

    differences: bool = False
    """Figures of HITs that differ from the plan."""
    lost: bool = False
    """HITs that the platform no longer has; what our server holds of their work is taken in."""
    again: bool = False
    """A panel is told again about people whom it may have credited already."""


NOTHING = Accepted()


def collect_work(
    at: StudyAtPlatform,
    advance: Callable[[int], None] = lambda amount: None,
    accepted: Accepted = NOTHING,
) -> CollectedWork:
    """Fetch everything submitted for the study's HITs on this endpoint, and compare the HITs with the plan.

    Raises NotAsPlannedError at the end if HITs differ or are gone, and nobody has accepted it.
    """
    since = now()
    if accepted.lost:
        accept_lost(at)
    adopt(at)
    counts: Counter[str] = Counter()
    hits = to_collect(at.study, at.endpoint)
    look(at, hits)
    waiting: list[Arrived] = []
    asked: dict[int, datetime] = {}
    notes: list[str] = []
    for hit in hits:
        asked_at = now()
        submissions = submitted(at.platform, hit.external_id)
        if submissions is None:
            continue
        counts["submissions"] += len(submissions)
        waiting += [Arrived(hit.id, submission, asked_at) for submission in submissions]
        asked[hit.id] = asked_at
        if len(waiting) >= TOGETHER:
            counts += store_submissions(at, waiting)
            waiting = []
        advance(1)
    counts += store_submissions(at, waiting)
    let_go(at, asked)
    for hit in hits:
        if hit.id in asked:
            free_reopened(at, hit.id, at.platform.given_up(hit.external_id))
            notes += delete_returned(at, hit.id, at.platform.returned(hit.external_id))
            notes += at.platform.notes(hit.external_id)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        if accepted.differences:
            accept(session, at.study, at.endpoint, gone=False)
        gone = accept(session, at.study, at.endpoint, gone=True) if accepted.lost else []
    counts["taken in"] = take_in(at, gone)
    decide_exclusions(at.study, at.endpoint)
    intend_exclusions(at.study, at.endpoint)
    not_listed = perform_exclusions(at).failed
    settle_compensations(at)
    settle_rewards(at)
    found = _collected(at, counts, not_listed, perform_postbacks(at, again=accepted.again), since)
    found = replace(found, notes=tuple(notes))
    try:
        gone_there = [each.hit for each in found.hits_differ if each.what == GONE]
        refuse_gone(at, gone_there, "the others were collected")
        refuse_differing(at, found.hits_differ)
    except PartialError as error:
        raise NotAsPlannedError(error.message, error.hint, found) from None
    return found


def _collected(
    at: StudyAtPlatform, counts: Counter[str], not_listed: tuple[str, ...], told: Told, since: datetime
) -> CollectedWork:
    """The state now; `counts` is what this run saw, which began at `since`. What was answered since then is
    not called lost: the platform was perhaps asked before."""
    hits_differ = differing(at.study, at.endpoint)
    with reading(at.engine) as session:
        mine = (AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint)
        answers_differ = session.scalars(
            select(AssignmentRow).where(*mine, AssignmentRow.differences != "").order_by(AssignmentRow.id)
        )
        strays = session.scalars(
            select(AssignmentRow.external_id)
            .where(*mine, AssignmentRow.is_stray, AssignmentRow.state == "submitted")
            .order_by(AssignmentRow.id)
        ).all()
        names = names_of(session, session.get_one(StudyRow, at.id))
        return CollectedWork(
            submissions=counts["submissions"],
            new=counts["new"] + counts["rebuilt"],
            responses=_count(session, select(ResponseRow.id).join(AssignmentRow).where(*mine)),
            not_handed_over=_count(
                session,
                select(AssignmentRow.id).where(
                    *mine, AssignmentRow.state == "answered", AssignmentRow.answered_at < since
                ),
            ),
            rebuilt=counts["rebuilt"],
            strays=len(strays),
            stray_assignments=tuple(names.shown(at.endpoint, each) for each in strays),
            differences=tuple(
                f"assignment {names.shown(at.endpoint, row.external_id)}: {row.differences}"
                for row in answers_differ
            ),
            unpaid=unpaid_work(session, at.study, at.endpoint, since),
            not_listed=not_listed,
            taken_in=counts["taken in"],
            hits_differ=hits_differ,
            told=told.told,
            not_told=told.failed,
            unsure_told=told.unsure,
        )


def unpaid_work(
    session: Session, study: Study, endpoint: str, before: datetime | None = None
) -> tuple[Unpaid, ...]:
    """Work whose answers are on our server only, or were taken in without the platform, and that is not
    compensated; by default whenever it was answered."""
    made_good = select(PaymentRow.id).where(
        PaymentRow.endpoint == endpoint,
        PaymentRow.assignment_id == AssignmentRow.id,
        PaymentRow.kind == COMPENSATION,
    )
    found = session.execute(
        select(AssignmentRow.external_id, WorkerRow.pseudonym)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
        .where(AssignmentRow.state.in_(("answered", TAKEN_IN)), ~made_good.exists())
        .where(*((AssignmentRow.answered_at < before,) if before else ()))
        .order_by(AssignmentRow.id)
    )
    names = names_of(session, session.get_one(StudyRow, study.id))
    return tuple(Unpaid(names.shown(endpoint, work), worker) for work, worker in found)


def _count(session: Session, query: Select[int]) -> int:
    return session.scalar(select(func.count()).select_from(query.subquery())) or 0
