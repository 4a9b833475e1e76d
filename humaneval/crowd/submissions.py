"""Stores what a platform says was submitted: in transactions of ten forms, so that annotators never wait.

What is stored already is found without holding the study. Only what would change something is written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.answers import CONSENT, FORM, LONGEST, in_words, read_answers, seconds_of
from humaneval.crowd.costs import rejection_done, reward_paid
from humaneval.crowd.forgotten import left_alone
from humaneval.crowd.outbox import TOGETHER, hold_study
from humaneval.crowd.platform import Submission
from humaneval.crowd.pseudonyms import seen_worker
from humaneval.crowd.review import NO_FORM
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import ASKED_FOR, batches, in_turns, reading, writing
from humaneval.store.tables import (
    TAKEN_IN,
    AnswerRow,
    AssignmentRow,
    HitRow,
    PassageRow,
    ResponseRow,
    RowPassageRow,
    RowRow,
    WorkerIdentityRow,
)
from humaneval.study.asked import Asked, asked_by


class Arrived(NamedTuple):
    """One submission as the platform gave it, at which of our HITs, and when it was asked."""

    hit_id: int
    submission: Submission
    asked_at: datetime


def store_submissions(at: StudyAtPlatform, arrived: Sequence[Arrived]) -> Counter[str]:
    """Store what is new in `arrived`. Counts what was new, and what was rebuilt from the platform alone."""
    counts: Counter[str] = Counter()
    with reading(at.engine) as session:
        left = left_alone(session, at.endpoint, [one.submission for one in arrived])
        kept = [one for one, alone in zip(arrived, left, strict=True) if not alone]
        changing = list(_changing(session, at.endpoint, kept))
    for batch in in_turns(changing, TOGETHER):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            known = _known(session, at, batch)
            counts.update([_store(session, at, one, known) for one in batch])
            if known.answers_new:
                session.execute(insert(AnswerRow), known.answers_new)
            if known.responses_new:
                session.execute(insert(ResponseRow), known.responses_new)
    return counts


def let_go(at: StudyAtPlatform, hits: Mapping[int, datetime]) -> None:
    """Free the rows of workers whose time was over, without a submission, when the platform was asked.

    `hits` are our ids, each with the time of asking.
    """
    if not hits:
        return
    late = (
        AssignmentRow.state.in_(("opened", "answered")),
        AssignmentRow.holds_row,
        AssignmentRow.lease_until < max(hits.values()),
    )
    here = select(AssignmentRow.id, AssignmentRow.hit_id, AssignmentRow.lease_until).where(
        AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint, *late
    )
    with reading(at.engine) as session:
        found = session.execute(here).all()
    gone = [row.id for row in found if row.hit_id in hits and row.lease_until < hits[row.hit_id]]
    for batch in in_turns(gone, ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            these = update(AssignmentRow).where(AssignmentRow.id.in_(batch), *late)
            session.execute(these.values(holds_row=False))


def _changing(session: Session, endpoint: str, arrived: Sequence[Arrived]) -> Iterator[Arrived]:
    """Those of `arrived` that are not stored yet, or not in the state that the platform gives."""
    kept = select(AnswerRow.assignment_id).where(
        AnswerRow.assignment_id == AssignmentRow.id, AnswerRow.source == "platform"
    )
    for batch in batches(arrived, ASKED_FOR):
        ids = {one.submission.external_id for one in batch}
        lines = session.execute(
            select(
                AssignmentRow.external_id,
                WorkerIdentityRow.external_id.label("worker"),
                AssignmentRow.state,
                AssignmentRow.row_id,
                AssignmentRow.holds_row,
                AssignmentRow.submitted_at,
                AssignmentRow.auto_approval_at,
                AssignmentRow.opened_at,
                AssignmentRow.confirmed,
                kept.exists().label("kept"),
            )
            .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
            .where(AssignmentRow.endpoint == endpoint, AssignmentRow.external_id.in_(ids))
        )
        stored = defaultdict(list)
        for line in lines:
            stored[line.external_id].append(line)
        for one in batch:
            there, said = stored[one.submission.external_id], one.submission
            mine = next((line for line in there if line.worker == said.worker), None)
            if (
                mine is None
                or not (mine.kept and mine.confirmed)
                or mine.row_id is None
                or (mine.state, mine.submitted_at, mine.auto_approval_at)
                != (said.state, said.submitted_at, said.auto_approval_at)
                or (mine.opened_at is None and said.accepted_at is not None)
                or any(line is not mine and (line.state != "superseded" or line.holds_row) for line in there)
            ):
                yield one


class _Known(NamedTuple):
    """What the database has for a batch of submissions, read in one go, and what is to be added in one go."""

    workers: dict[str, int]
    """The platform's id of a worker → ours."""
    assignments: dict[str, list[AssignmentRow]]
    """By the platform's id."""
    answers: dict[tuple[int, str], Mapping[str, str]]
    """(assignment, source) → fields."""
    hits: dict[int, HitRow]
    rows: dict[int, str]
    """Row → the hash of what it shows."""
    named: dict[str, list[int]]
    """Hash → the rows of the study that show this, in their order."""
    places: dict[int, list[_Place]]
    holders: dict[int, int]
    """Row → the assignment that holds it here."""
    answers_new: list[dict[str, object]]
    responses_new: list[dict[str, object]]


class _Place(NamedTuple):
    place: int
    passage_id: int
    shown_hash: str
    sentences: int


def _known(session: Session, at: StudyAtPlatform, batch: Collection[Arrived]) -> _Known:
    endpoint = at.endpoint
    people = select(WorkerIdentityRow.external_id, WorkerIdentityRow.worker_id).where(
        WorkerIdentityRow.endpoint == endpoint,
        WorkerIdentityRow.external_id.in_({one.submission.worker for one in batch}),
    )
    assignments = _assignments(session, endpoint, {one.submission.external_id for one in batch})
    work = [row for rows in assignments.values() for row in rows]
    answers = session.execute(
        select(AnswerRow.assignment_id, AnswerRow.source, AnswerRow.fields).where(
            AnswerRow.assignment_id.in_([row.id for row in work])
        )
    )
    hits = session.scalars(select(HitRow).where(HitRow.id.in_({one.hit_id for one in batch}))).all()
    readable = [one.submission.fields for one in batch if not one.submission.unreadable]
    forms = {fields.get(FORM, "") for fields in readable} - {""}
    given = {row.row_id for row in work} | {hit.row_id for hit in hits}
    found = session.execute(
        select(RowRow.id, RowRow.shown_hash, RowRow.study_id)
        .where((RowRow.study_id == at.id) & RowRow.shown_hash.in_(forms) | RowRow.id.in_(given - {None}))
        .order_by(RowRow.ordinal)
    ).all()
    rows = {line.id: line.shown_hash for line in found}
    named: dict[str, list[int]] = defaultdict(list)
    for line in found:
        if line.study_id == at.id:
            named[line.shown_hash].append(line.id)
    holders = session.execute(
        select(AssignmentRow.row_id, AssignmentRow.id).where(
            AssignmentRow.endpoint == endpoint, AssignmentRow.row_id.in_(rows), AssignmentRow.holds_row
        )
    )
    return _Known(
        workers=dict(session.execute(people).all()),
        assignments=assignments,
        answers={(line.assignment_id, line.source): line.fields for line in answers},
        hits={hit.id: hit for hit in hits},
        rows=rows,
        named=named,
        places=_places(session, rows),
        holders={line.row_id: line.id for line in holders},
        answers_new=[],
        responses_new=[],
    )


def _assignments(session: Session, endpoint: str, ids: Collection[str]) -> dict[str, list[AssignmentRow]]:
    found: dict[str, list[AssignmentRow]] = defaultdict(list)
    for row in session.scalars(
        select(AssignmentRow)
        .where(AssignmentRow.endpoint == endpoint, AssignmentRow.external_id.in_(ids))
        .order_by(AssignmentRow.id)
    ):
        found[row.external_id].append(row)
    return found


def _places(session: Session, rows: Collection[int]) -> dict[int, list[_Place]]:
    """Row → what it shows, in order."""
    found: dict[int, list[_Place]] = defaultdict(list)
    for shown in session.execute(
        select(
            RowPassageRow.row_id,
            RowPassageRow.place,
            RowPassageRow.passage_id,
            PassageRow.shown_hash,
            func.json_array_length(PassageRow.sentences).label("sentences"),
        )
        .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
        .where(RowPassageRow.row_id.in_(rows))
        .order_by(RowPassageRow.row_id, RowPassageRow.place)
    ):
        found[shown.row_id].append(_Place._make(shown[1:]))
    return found


def _store(session: Session, at: StudyAtPlatform, one: Arrived, known: _Known) -> str:
    """Store one submission. Says whether it was new, rebuilt from the platform's answers alone, a stray, or
    known; or left alone, because its worker was forgotten since it was read."""
    submission, hit = one.submission, known.hits[one.hit_id]
    worker_id = known.workers.get(submission.worker)
    if worker_id is None:
        worker = seen_worker(session.connection(), at.endpoint, submission.worker)
        if worker is None:
            return "left alone"
        worker_id = known.workers[submission.worker] = worker.id
    there = known.assignments.setdefault(submission.external_id, [])
    assignment = next((row for row in there if row.worker_id == worker_id), None)
    fields = {} if submission.unreadable else submission.fields
    found = _row_of(hit, assignment, fields.get(FORM, ""), known)
    _supersede(session, [row for row in there if row.worker_id != worker_id], known)
    if assignment is None:
        assignment = AssignmentRow(
            study_id=at.id,
            hit_id=hit.id,
            endpoint=at.endpoint,
            external_id=submission.external_id,
            worker_id=worker_id,
            holds_row=False,
            state="submitted",
        )
        session.add(assignment)
        session.flush()
        there.append(assignment)
    assignment.confirmed = True
    is_kept = (assignment.id, "platform") in known.answers
    if not is_kept:
        if assignment.state == TAKEN_IN:  # the platform has it again: its answers count, not ours alone
            session.execute(delete(ResponseRow).where(ResponseRow.assignment_id == assignment.id))
        kept = {name: value[:LONGEST] for name, value in submission.fields.items()}
        known.answers[assignment.id, "platform"] = kept
        known.answers_new.append({"assignment_id": assignment.id, "source": "platform", "fields": kept})
    verdict = "known"
    if found.row_id is None:
        assignment.excluded = submission.unreadable or NO_FORM
        verdict = "stray"
    elif not is_kept or assignment.row_id is None:
        doubts = [doubt for doubt in (submission.unreadable, found.doubt) if doubt]
        _settle_row(session, assignment, found.row_id, known)
        seen = _store_responses(asked_by(at.settings), assignment, found.row_id, fields, doubts, known)
        verdict = "new" if seen or hit.row_id is not None else "rebuilt"
    if assignment.reviewed_at is None or assignment.reviewed_at < one.asked_at:
        _follow(session, at, assignment, submission)
    return verdict


class _Found(NamedTuple):
    row_id: int | None
    doubt: str = ""


def _row_of(hit: HitRow, assignment: AssignmentRow | None, form: str, known: _Known) -> _Found:
    """Which row was answered: the row of a static HIT, else that of the form named by the answers, else the
    row that was handed out."""
    given = hit.row_id
    if given is None and assignment is not None:
        given = assignment.row_id
    if not form or (given is not None and known.rows[given] == form):
        return _Found(given)
    named = known.named.get(form, [])
    if given is not None and (hit.row_id is not None or not named):
        return _Found(given, "the answers name another form than the one that was shown")
    if not named:
        return _Found(None)
    free = [row_id for row_id in named if row_id not in known.holders]
    return _Found(
        (free or named)[0],
        "" if given is None else "the answers are to another row than the one handed out last",
    )


def _settle_row(session: Session, assignment: AssignmentRow, row_id: int, known: _Known) -> None:
    """Let the assignment hold the row that it answered, unless another one does."""
    if assignment.row_id != row_id:
        _free(assignment, known)
        assignment.row_id = row_id
    if not assignment.holds_row:
        session.flush()
        assignment.holds_row = row_id not in known.holders
        known.holders.setdefault(row_id, assignment.id)
        session.flush()


def _free(assignment: AssignmentRow, known: _Known) -> None:
    """Take the assignment's row from it."""
    assignment.holds_row = False
    if assignment.row_id is not None and known.holders.get(assignment.row_id) == assignment.id:
        del known.holders[assignment.row_id]


def _supersede(session: Session, others: Collection[AssignmentRow], known: _Known) -> None:
    """The platform's worker counts: an earlier claim under the same assignment id was returned."""
    for other in others:
        _free(other, known)
        other.state = "superseded"
    if others:
        session.flush()


def _store_responses(
    asked: Asked,
    assignment: AssignmentRow,
    row_id: int,
    fields: Mapping[str, str],
    doubts: list[str],
    known: _Known,
) -> bool:
    """Store the platform's answers with our server's timing, and how the two differ. Says whether our server
    saw any answers."""
    server, places = known.answers.get((assignment.id, "server")), known.places[row_id]
    counts = {place.place: place.sentences for place in places}
    ours, theirs = read_answers(server or {}, asked, counts).given, read_answers(fields, asked, counts).given
    differences = list(doubts)
    opened = None if assignment.by_program else assignment.opened_at
    seconds = seconds_of(ours, theirs, opened, assignment.answered_at)
    for place in places:
        given, copy = theirs.get(place.place), ours.get(place.place)
        if server is not None and (given.answer if given else {}) != (copy.answer if copy else {}):
            differences.append(
                f"passage {place.place}: platform {in_words(given)}, our server {in_words(copy)}"
            )
        if given is None:
            continue
        known.responses_new.append(
            {
                "assignment_id": assignment.id,
                "passage_id": place.passage_id,
                "place": place.place,
                **asked.stored(given.answer),
                "seconds": seconds[place.place],
                "shown_hash": place.shown_hash,
                "source": "both" if copy is not None else "platform",
            }
        )
    assignment.consent_version = assignment.consent_version or fields.get(CONSENT, "")
    if fields and not assignment.consent_version:
        differences.append("no consent came with the answers")
    assignment.differences = "; ".join(differences)
    return server is not None


def _follow(session: Session, at: StudyAtPlatform, assignment: AssignmentRow, submission: Submission) -> None:
    """Let our state follow the platform's: work is approved here only if it is approved there."""
    assignment.state = submission.state
    assignment.submitted_at = submission.submitted_at
    assignment.opened_at = assignment.opened_at or submission.accepted_at
    assignment.auto_approval_at = submission.auto_approval_at
    if submission.state == "approved":
        reward_paid(session, at, assignment, submission.approved_at, submission.part)
    elif submission.state == "rejected":
        rejection_done(session, assignment)
