"""A worker's standing to qualifications: what they hold, what they can request, and their tests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Select, and_, delete, func, or_, select
from sqlalchemy.orm import defer

from humaneval.market.protocol.answer_xml import Answered, answered_values, answers_xml
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.qualifications.holders import grant
from humaneval.market.questions.answer_key import read_answer_key
from humaneval.market.questions.question import read_test
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.qualifications import Qualification, QualificationRequest, QualificationType
from humaneval.market.wording import moment_text
from humaneval.market.workers import Person

TYPES_ON_A_PAGE = 100
_WITHOUT_TESTS = (defer(QualificationType.test), defer(QualificationType.answer_key))


@dataclass(frozen=True, slots=True)
class Standing:
    """One type for one worker: what they hold or held, their last request, why they cannot request it now."""

    kind: QualificationType
    held: Qualification | None
    request: QualificationRequest | None
    in_test: bool
    obstacle: str

    @property
    def holds(self) -> bool:
        """Whether they hold it and it was not revoked."""
        return self.held is not None and not self.held.revoked

    @property
    def visible(self) -> bool:
        """Whether the worker sees it: it is offered, or they hold, requested or began it."""
        waits = self.request is not None and self.request.state == "submitted"
        return _offered(self.kind) or self.held is not None or self.in_test or waits


class Standings(NamedTuple):
    """A page of them. `older`: where the next page begins; None after the last."""

    shown: list[Standing]
    older: int | None


def standings(work: Transaction, worker: Person, *, before: int | None = None) -> Standings:
    """A page of the qualifications that this worker sees, the newest, by name; `before`: of those older than
    the one of this number."""
    mine = [
        QualificationType.number.in_(select(each.type_number).where(each.worker_number == worker.number))
        for each in (Qualification, QualificationRequest)
    ]
    offered = and_(QualificationType.active, ~QualificationType.deleted)
    query = select(QualificationType).where(or_(offered, *mine))
    if before is not None:
        query = query.where(QualificationType.number < before)
    page = query.order_by(QualificationType.number.desc()).limit(TYPES_ON_A_PAGE).options(*_WITHOUT_TESTS)
    found = _standings(work, worker, page)
    shown = sorted((each for each in found if each.visible), key=lambda each: each.kind.name)
    return Standings(shown, found[-1].kind.number if len(found) == TYPES_ON_A_PAGE else None)


def standing(work: Transaction, worker: Person, type_id: str) -> Standing:
    """This worker's standing to one type. Raises NotPossibleError if they cannot see such a type."""
    found = _standings(work, worker, select(QualificationType).where(QualificationType.id == type_id))
    if not found or not found[0].visible:
        raise NotPossibleError("There is no such requirement.", 404)
    return found[0]


def ask(work: Transaction, worker: Person, type_id: str) -> QualificationRequest:
    """Request a qualification. It is granted at once, waits for the requester, or begins a test.

    A second request during a test gives the same test. Raises NotPossibleError.
    """
    now = standing(work, worker, type_id)
    if now.in_test and now.request is not None:
        return now.request
    if now.obstacle:
        raise NotPossibleError(now.obstacle)
    kind = now.kind
    if now.request is not None:
        # Each holds a whole test, and only the last one counts. It stays: lists go on after its number.
        earlier = QualificationRequest.number < now.request.number
        mine = (QualificationRequest.type == kind, QualificationRequest.worker_number == worker.number)
        work.session.execute(delete(QualificationRequest).where(*mine, earlier))
    deadline = None if kind.test_seconds is None else work.now + timedelta(seconds=kind.test_seconds)
    request = QualificationRequest(
        id=new_entity_id(),
        type=kind,
        worker_number=worker.number,
        state="submitted" if deadline is None else "testing",
        test=kind.test,
        answer_key=kind.answer_key,
        reason="",
        asked_at=work.now,
        deadline=deadline,
        submitted_at=work.now if deadline is None else None,
    )
    work.session.add(request)
    if kind.auto_value is not None:
        request.state = "granted"
        grant(work, kind, worker.number, kind.auto_value)
    work.session.flush()
    return request


@dataclass(frozen=True, slots=True)
class BegunTest:
    """A test that a worker has begun, as it stood then."""

    request_id: str
    test: str
    answer_key: str | None


@dataclass(frozen=True, slots=True)
class DoneTest:
    """The answers to a test, and its score if it has an answer key."""

    request_id: str
    document: str
    score: int | None


def begun_test(work: Transaction, worker: Person, type_id: str) -> BegunTest | None:
    """The test of this type that the worker is in, if any. Raises NotPossibleError if its time ran out."""
    now = standing(work, worker, type_id)
    request = now.request
    if now.in_test and request is not None and request.test is not None:
        return BegunTest(request.id, request.test, request.answer_key)
    if request is not None and request.state == "testing":
        raise NotPossibleError("The time for this test ran out, so no answer was stored.")
    return None


def marked(begun: BegunTest, answers: list[Answered]) -> DoneTest:
    """The answers, and their score. Raises UnusableAnswerError."""
    document = answers_xml(answers)
    if begun.answer_key is None:
        return DoneTest(begun.request_id, document, None)
    key = read_answer_key(begun.answer_key, read_test(begun.test))
    # Only selections: a text written instead may look like the right one.
    return DoneTest(
        begun.request_id, document, key.value(answered_values(document, only="SelectionIdentifier"))
    )


def hand_in(work: Transaction, worker: Person, done: DoneTest) -> None:
    """Keep a test's answers. With an answer key, grant the qualification with its score."""
    request = work.session.scalars(
        select(QualificationRequest).where(QualificationRequest.id == done.request_id)
    ).one()
    request.answer, request.submitted_at, request.state = done.document, work.now, "submitted"
    if done.score is not None:
        request.state = "granted"
        grant(work, request.type, worker.number, done.score)
    work.session.flush()


def _standings(work: Transaction, worker: Person, kinds: Select[QualificationType]) -> list[Standing]:
    these = work.session.scalars(kinds).all()
    held_by, latest = (
        query.where(
            table.worker_number == worker.number, table.type_number.in_([each.number for each in these])
        )
        for table, query in (
            (Qualification, select(Qualification)),
            (QualificationRequest, select(func.max(QualificationRequest.number))),
        )
    )
    # A later request replaces an earlier one.
    newest = latest.group_by(QualificationRequest.type_number)
    asked_by = select(QualificationRequest).where(QualificationRequest.number.in_(newest))
    held = {each.type_number: each for each in work.session.scalars(held_by)}
    last = {each.type_number: each for each in work.session.scalars(asked_by)}
    return [_standing(work.now, kind, held.get(kind.number), last.get(kind.number)) for kind in these]


def _standing(
    now: datetime, kind: QualificationType, held: Qualification | None, last: QualificationRequest | None
) -> Standing:
    in_test = last is not None and _under_way(last, now)
    return Standing(kind, held, last, in_test, "" if in_test else _obstacle(now, kind, held, last))


def _obstacle(
    now: datetime, kind: QualificationType, held: Qualification | None, last: QualificationRequest | None
) -> str:
    if last is not None and last.state == "submitted":
        return "You have requested it. The requester has not decided yet."
    if not _offered(kind):
        return "This requirement can no longer be asked for."
    if held is not None and not held.revoked and kind.test_seconds is None:
        return "You hold it."
    if last is None:
        return ""
    if kind.retry_seconds is None:
        return "It can be requested only once."
    again = last.asked_at + timedelta(seconds=kind.retry_seconds)
    return f"You can request it again from {moment_text(again)}." if now < again else ""


def _offered(kind: QualificationType) -> bool:
    return kind.active and not kind.deleted


def _under_way(request: QualificationRequest, now: datetime) -> bool:
    return request.state == "testing" and request.deadline is not None and now < request.deadline
