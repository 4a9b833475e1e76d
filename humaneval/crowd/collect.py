"""Collects submitted work. The platform's answers are the record, our server's copy adds timing; both are
compared.

Collecting is incremental and repeatable: collecting twice gives the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import GONE, refuse_gone, submitted, up
from humaneval.crowd.adopt import adopt
from humaneval.crowd.answers import Answers, read_answers
from humaneval.crowd.as_planned import accept, differing, look
from humaneval.crowd.compensate import settle_compensations
from humaneval.crowd.figures import Difference
from humaneval.crowd.free_rows import row_is_free
from humaneval.crowd.ledger import rejection_done, reward_paid
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.participants import intend_exclusions, is_compensated, perform_exclusions
from humaneval.crowd.platform import Submission
from humaneval.crowd.pseudonyms import worker_row
from humaneval.crowd.review import NO_FORM, decide_exclusions
from humaneval.crowd.rewards import settle_rewards
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.take_in import accept_lost, take_in
from humaneval.crowd.unaccepted import refuse_differing
from humaneval.errors import NotAsPlannedError, PartialError
from humaneval.store.engine import reading, writing
from humaneval.store.published import names_of
from humaneval.store.tables import (
    TAKEN_IN,
    AnswerRow,
    AssignmentRow,
    HitRow,
    ResponseRow,
    RowPassageRow,
    RowRow,
    StudyRow,
    WorkerRow,
)
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


class Accepted(NamedTuple):
    """What a person accepts with this call."""

    differences: bool = False
    """Figures of HITs that are otherwise than planned."""
    lost: bool = False
    """HITs that the platform no longer has; what our server holds of their work is taken in."""


NOTHING = Accepted()


def collect_work(
    at: StudyAtPlatform,
    advance: Callable[[int], None] = lambda amount: None,
    accepted: Accepted = NOTHING,
) -> CollectedWork:
    """Fetch everything submitted for the study's HITs on this endpoint, and compare the HITs with the plan.

    Raises NotAsPlannedError at the end if HITs differ or are gone, and nobody has accepted it.
    """
    if accepted.lost:
        accept_lost(at)
    adopt(at)
    counts: Counter[str] = Counter()
    hits = up(at.study, at.endpoint)
    look(at, hits)
    for hit in hits:
        asked_at = now()
        submissions = submitted(at.platform, hit.external_id)
        if submissions is None:
            continue
        with writing(at.engine) as session:
            hold_study(session, at.id)
            for submission in submissions:
                counts["submissions"] += 1
                counts[_take_in(session, at, hit.id, submission, asked_at)] += 1
            _let_go(session, hit.id, asked_at)
        advance(1)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        if accepted.differences:
            accept(session, at.study, at.endpoint, gone=False)
        if accepted.lost:
            gone = accept(session, at.study, at.endpoint, gone=True)
            counts["taken in"] = take_in(session, at, gone)
        decide_exclusions(session, at.study, at.endpoint)
        intend_exclusions(session, at.study, at.endpoint)
    not_listed = perform_exclusions(at).failed
    settle_compensations(at)
    settle_rewards(at)
    found = _collected(at, counts, not_listed)
    try:
        gone_there = [each.hit for each in found.hits_differ if each.what == GONE]
        refuse_gone(at, gone_there, "the others were collected")
        refuse_differing(at, found.hits_differ)
    except PartialError as error:
        raise NotAsPlannedError(error.message, error.hint, found) from None
    return found


def _collected(at: StudyAtPlatform, counts: Counter[str], not_listed: tuple[str, ...]) -> CollectedWork:
    """The state now; `counts` is what this run saw."""
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
                session, select(AssignmentRow.id).where(*mine, AssignmentRow.state == "answered")
            ),
            rebuilt=counts["rebuilt"],
            strays=len(strays),
            stray_assignments=tuple(strays),
            differences=tuple(
                f"assignment {names.shown(at.endpoint, row.external_id)}: {row.differences}"
                for row in answers_differ
            ),
            unpaid=unpaid_work(session, at.study, at.endpoint),
            not_listed=not_listed,
            taken_in=counts["taken in"],
            hits_differ=hits_differ,
        )


def unpaid_work(session: Session, study: Study, endpoint: str) -> tuple[Unpaid, ...]:
    """Work whose answers are on our server only, or were taken in without the platform, and that is not
    compensated."""
    found = session.execute(
        select(AssignmentRow, WorkerRow.pseudonym)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
        .where(AssignmentRow.state.in_(("answered", TAKEN_IN)))
        .order_by(AssignmentRow.id)
    )
    names = names_of(session, session.get_one(StudyRow, study.id))
    return tuple(
        Unpaid(names.shown(endpoint, work.external_id), worker)
        for work, worker in found
        if not is_compensated(session, work)
    )


def _count(session: Session, query: Select[int]) -> int:
    return session.scalar(select(func.count()).select_from(query.subquery())) or 0


def _take_in(
    session: Session, at: StudyAtPlatform, hit_id: int, submission: Submission, asked_at: datetime
) -> str:
    """Store one submission as the platform gave it at `asked_at`. Says whether it was new, rebuilt from the
    platform's answers alone, a stray, or known."""
    worker = worker_row(session, at.endpoint, submission.worker)
    assignment = session.scalar(
        select(AssignmentRow).where(
            AssignmentRow.endpoint == at.endpoint,
            AssignmentRow.external_id == submission.external_id,
            AssignmentRow.worker_id == worker.id,
        )
    )
    hit = session.get_one(HitRow, hit_id)
    answers = read_answers({} if submission.unreadable else submission.fields)
    found = _row_of(session, hit, assignment, answers.form)
    _supersede_others(session, at.endpoint, submission.external_id, worker.id)
    if assignment is None:
        assignment = AssignmentRow(
            study_id=at.id,
            hit_id=hit_id,
            endpoint=at.endpoint,
            external_id=submission.external_id,
            worker_id=worker.id,
            holds_row=False,
            state="submitted",
        )
        session.add(assignment)
        session.flush()
    assignment.confirmed = True
    kept = session.scalar(
        select(AnswerRow).where(AnswerRow.assignment_id == assignment.id, AnswerRow.source == "platform")
    )
    if kept is None:
        if assignment.state == TAKEN_IN:  # the platform has it again: its answers count, not ours alone
            session.execute(delete(ResponseRow).where(ResponseRow.assignment_id == assignment.id))
        session.add(AnswerRow(assignment_id=assignment.id, source="platform", fields=dict(submission.fields)))
    verdict = "known"
    if found.row_id is None:
        assignment.excluded = submission.unreadable or NO_FORM
        verdict = "stray"
    elif kept is None or assignment.row_id is None:
        doubts = [doubt for doubt in (submission.unreadable, found.doubt) if doubt]
        _settle_row(session, assignment, found.row_id)
        seen = _store_responses(session, assignment, found.row_id, answers, doubts)
        verdict = "new" if seen or hit.row_id is not None else "rebuilt"
    if assignment.reviewed_at is None or assignment.reviewed_at < asked_at:
        _follow(session, at, assignment, submission)
    return verdict


class _Found(NamedTuple):
    row_id: int | None
    doubt: str = ""


def _row_of(session: Session, hit: HitRow, assignment: AssignmentRow | None, form: str) -> _Found:
    """Which row was answered: the row of a static HIT, otherwise the form that the answers name, otherwise
    the row that was handed out."""
    given = hit.row_id
    if given is None and assignment is not None:
        given = assignment.row_id
    if not form:
        return _Found(given)
    if given is not None and session.get_one(RowRow, given).shown_hash == form:
        return _Found(given)
    named = session.scalars(
        select(RowRow.id)
        .where(RowRow.study_id == hit.study_id, RowRow.shown_hash == form)
        .order_by(RowRow.ordinal)
    ).all()
    if given is not None and (hit.row_id is not None or not named):
        return _Found(given, "the answers name another form than the one that was shown")
    if not named:
        return _Found(None)
    free = [row_id for row_id in named if row_is_free(session, hit.endpoint, row_id)]
    return _Found(
        (free or named)[0],
        "" if given is None else "the answers are to another row than the one handed out last",
    )


def _settle_row(session: Session, assignment: AssignmentRow, row_id: int) -> None:
    """Let the assignment hold the row that it answered, unless another one does."""
    if assignment.row_id != row_id:
        assignment.row_id, assignment.holds_row = row_id, False
    if not assignment.holds_row:
        session.flush()
        assignment.holds_row = row_is_free(session, assignment.endpoint, row_id)
        session.flush()


def _supersede_others(session: Session, endpoint: str, external_id: str, worker_id: int) -> None:
    """The platform's worker counts: an earlier claim under the same assignment id was returned."""
    session.execute(
        update(AssignmentRow)
        .where(
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.external_id == external_id,
            AssignmentRow.worker_id != worker_id,
        )
        .values(state="superseded", holds_row=False)
    )


def _let_go(session: Session, hit_id: int, asked_at: datetime) -> None:
    """Free the rows of workers whose time was over, without a submission, when the platform was asked."""
    session.execute(
        update(AssignmentRow)
        .where(
            AssignmentRow.hit_id == hit_id,
            AssignmentRow.state.in_(("opened", "answered")),
            AssignmentRow.lease_until < asked_at,
        )
        .values(holds_row=False)
    )


def _store_responses(
    session: Session, assignment: AssignmentRow, row_id: int, answers: Answers, doubts: list[str]
) -> bool:
    """Store the platform's choices with our server's timing, and how the two differ. Says whether our server
    saw any answers."""
    server = session.scalar(
        select(AnswerRow).where(AnswerRow.assignment_id == assignment.id, AnswerRow.source == "server")
    )
    ours = (
        {choice.place: choice for choice in read_answers(server.fields).choices} if server is not None else {}
    )
    theirs = {choice.place: choice for choice in answers.choices}
    places = session.scalars(
        select(RowPassageRow).where(RowPassageRow.row_id == row_id).order_by(RowPassageRow.place)
    ).all()
    differences = list(doubts)
    for place in places:
        choice, copy = theirs.get(place.place), ours.get(place.place)
        if server is not None and (choice.choice if choice else None) != (copy.choice if copy else None):
            differences.append(
                f"passage {place.place}: platform {choice.choice if choice else 'none'}, our server"
                f" {copy.choice if copy else 'none'}"
            )
        if choice is None:
            continue
        seconds = copy.seconds if copy is not None and copy.seconds is not None else choice.seconds
        session.add(
            ResponseRow(
                assignment_id=assignment.id,
                passage_id=place.passage_id,
                place=place.place,
                choice=choice.choice,
                seconds=seconds,
                shown_hash=place.passage.shown_hash,
                source="both" if copy is not None else "platform",
            )
        )
    assignment.differences = "; ".join(differences)
    assignment.consent_version = assignment.consent_version or answers.consent
    return server is not None


def _follow(session: Session, at: StudyAtPlatform, assignment: AssignmentRow, submission: Submission) -> None:
    """Let our state follow the platform's: work is approved here only if it is approved there."""
    assignment.state = submission.state
    assignment.submitted_at = submission.submitted_at
    assignment.opened_at = assignment.opened_at or submission.accepted_at
    assignment.auto_approval_at = submission.auto_approval_at
    if submission.state == "approved":
        reward_paid(session, at, assignment, submission.approved_at)
    elif submission.state == "rejected":
        rejection_done(session, assignment)
