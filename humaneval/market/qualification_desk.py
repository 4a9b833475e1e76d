"""A worker and the qualifications: what they hold, what they may ask for, and their tests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select

from humaneval.market.answer_key import read_answer_key
from humaneval.market.answers import Answered, answered_values, answers_xml
from humaneval.market.database import Transaction
from humaneval.market.identifiers import new_entity_id
from humaneval.market.qualification_tables import Qualification, QualificationRequest, QualificationType
from humaneval.market.qualifications import grant, holding
from humaneval.market.questions import read_test
from humaneval.market.tables import Worker
from humaneval.market.wording import NotPossibleError, moment_text


@dataclass(frozen=True, slots=True)
class Standing:
    """How a worker stands to one type: what they hold or held, their last request, and why they cannot ask now."""

    kind: QualificationType
    held: Qualification | None
    request: QualificationRequest | None
    in_test: bool
    obstacle: str

    @property
    def holds(self) -> bool:
        """Whether they have it and it was not revoked."""
        return self.held is not None and not self.held.revoked


def standings(work: Transaction, worker: Worker) -> list[Standing]:
    """All that can be asked for, and what this worker holds or held besides; by name."""
    mine = select(Qualification.type_number).where(Qualification.worker_number == worker.number)
    offered = QualificationType.active & QualificationType.deleted.is_(False)
    query = select(QualificationType).where(offered | QualificationType.number.in_(mine))
    kinds = work.session.scalars(query.order_by(QualificationType.name, QualificationType.number))
    return [_standing(work, worker, kind) for kind in kinds]


def standing(work: Transaction, worker: Worker, type_id: str) -> Standing:
    """How this worker stands to one type. Raises NotPossibleError where there is none that they may see."""
    kind = work.session.scalar(select(QualificationType).where(QualificationType.id == type_id))
    found = _standing(work, worker, kind) if kind is not None else None
    if found is None or (not _offered(found.kind) and found.held is None):
        raise NotPossibleError("There is no such qualification.", 404)
    return found


def ask(work: Transaction, worker: Worker, type_id: str) -> QualificationRequest:
    """Ask for a qualification: granted at once, kept for the requester, or the beginning of a test.

    Asking again during a test gives the same one. Raises NotPossibleError.
    """
    now = standing(work, worker, type_id)
    if now.in_test and now.request is not None:
        return now.request
    if now.obstacle:
        raise NotPossibleError(now.obstacle)
    kind = now.kind
    deadline = None if kind.test_seconds is None else work.now + timedelta(seconds=kind.test_seconds)
    request = QualificationRequest(
        id=new_entity_id(),
        type=kind,
        worker=worker,
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
        grant(work, kind, worker, kind.auto_value)
    work.session.flush()
    return request


def hand_in(work: Transaction, request: QualificationRequest, answers: list[Answered]) -> None:
    """Keep a test's answers; with an answer key the qualification is granted with the score. Raises UnusableAnswerError."""
    request.answer = answers_xml(answers)
    request.submitted_at = work.now
    request.state = "submitted"
    if request.answer_key is not None and request.test is not None:
        key = read_answer_key(request.answer_key, read_test(request.test))
        request.state = "granted"
        grant(work, request.type, request.worker, key.value(answered_values(request.answer)))
    work.session.flush()


def _standing(work: Transaction, worker: Worker, kind: QualificationType) -> Standing:
    last = work.session.scalar(
        select(QualificationRequest)
        .where(
            QualificationRequest.type_number == kind.number,
            QualificationRequest.worker_number == worker.number,
        )
        .order_by(QualificationRequest.number.desc())
        .limit(1)
    )
    held = holding(work, kind, worker)
    in_test = last is not None and _under_way(last, work.now)
    return Standing(kind, held, last, in_test, "" if in_test else _obstacle(work.now, kind, held, last))


def _obstacle(
    now: datetime, kind: QualificationType, held: Qualification | None, last: QualificationRequest | None
) -> str:
    if not _offered(kind):
        return "This qualification can no longer be asked for."
    if last is not None and last.state == "submitted":
        return "You have asked for it. The requester has not decided yet."
    if held is not None and not held.revoked and kind.test is None:
        return "You hold it."
    if last is None:
        return ""
    if kind.retry_seconds is None:
        return "It can be asked for only once."
    again = last.asked_at + timedelta(seconds=kind.retry_seconds)
    return f"You can ask for it again from {moment_text(again)}." if now < again else ""


def _offered(kind: QualificationType) -> bool:
    return kind.active and not kind.deleted


def _under_way(request: QualificationRequest, now: datetime) -> bool:
    return request.state == "testing" and request.deadline is not None and now < request.deadline
