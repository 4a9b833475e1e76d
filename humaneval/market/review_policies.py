"""Applying review policies: known answers when an assignment is submitted, agreement when a HIT becomes
Reviewable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from humaneval.market.hits import add_places, find_hit
from humaneval.market.policies.agreement import Agreed, compared, known_answers_met, percent, plurality
from humaneval.market.policies.parameters import KNOWN_ANSWERS, PLURALITY
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.paging import page
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.protocol.values import Params, Reply
from humaneval.market.reviews import approve, reject
from humaneval.market.tables.assignments import FINISHED, Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit, ReviewLine


def list_review_policy_results(work: Transaction, params: Params) -> Reply:
    """ListReviewPolicyResultsForHIT: results and actions, oldest first; both unless one is turned off."""
    hit = find_hit(work, params["HITId"])
    wanted = [
        kind
        for kind, name in (("result", "RetrieveResults"), ("action", "RetrieveActions"))
        if params.get(name, True)
    ]
    query = select(ReviewLine).where(
        ReviewLine.hit_number == hit.number,
        ReviewLine.kind.in_(wanted),
        ReviewLine.level.in_(params.get("PolicyLevels") or ("Assignment", "HIT")),
    )
    rows, envelope = page(work.session, query, ReviewLine.number, params)
    reply: Reply = {"HITId": hit.id, **envelope}
    # This is the only list whose reply has no count.
    del reply["NumResults"]
    if hit.assignment_policy is not None:
        reply["AssignmentReviewPolicy"] = {"PolicyName": KNOWN_ANSWERS}
        reply["AssignmentReviewReport"] = _report(rows, "Assignment")
    if hit.hit_policy is not None:
        reply["HITReviewPolicy"] = {"PolicyName": PLURALITY}
        reply["HITReviewReport"] = _report(rows, "HIT")
    return reply


def score_known_answers(work: Transaction, assignment: Assignment) -> None:
    """Apply the assignment review policy of the HIT, if it has one, to an answer that was just submitted."""
    hit, policy = assignment.hit, assignment.hit.assignment_policy
    if policy is None:
        return
    right = known_answers_met(policy, assignment)
    score = percent(sum(right.values()), len(right))
    of_it = {"SubjectId": assignment.id, "SubjectType": "Assignment"}
    for question, met in right.items():
        _result(
            work, hit, "Assignment", **of_it, QuestionId=question, Key="KnownAnswerCorrect", Value=f"{met:d}"
        )
    _result(work, hit, "Assignment", **of_it, Key="KnownAnswerScore", Value=str(score))
    counted = f"Reviewed {len(right)} known answers; {sum(right.values())}/{len(right)} correct"
    _act(work, hit, "Assignment", "review", assignment, lambda: counted)
    if policy["extend"] is not None and score < policy["extend"] and hit.max_assignments < policy["most"]:
        _act(work, hit, "Assignment", "extend", hit, lambda: _extend(work, hit, policy["seconds"]))
    if policy["approve"] is not None and score >= policy["approve"]:
        _act(
            work,
            hit,
            "Assignment",
            "approve",
            assignment,
            lambda: _approve(work, assignment, policy["approve_reason"]),
        )
    elif policy["reject"] is not None and score < policy["reject"]:
        _act(
            work,
            hit,
            "Assignment",
            "reject",
            assignment,
            lambda: _reject(work, assignment, policy["reject_reason"]),
        )


_DUE = select(Hit).where(Hit.policy_due, Hit.status == "Reviewable")
_ANY_DUE = _DUE.with_only_columns(Hit.number).limit(1)


def apply_due_policies(work: Transaction) -> None:
    """Apply the HIT review policy of every HIT that has become Reviewable, once each time it does so."""
    work.session.flush()
    if work.session.connection().scalar(_ANY_DUE) is None:  # as nearly always, and quick to know
        return
    for hit in work.session.scalars(_DUE).all():
        hit.policy_due = False
        _measure_agreement(work, hit)
        work.session.flush()


def _measure_agreement(work: Transaction, hit: Hit) -> None:
    """SimplePlurality. If it extends the HIT, it decides nothing: the scores may still change."""
    policy = hit.hit_policy or {}
    counted = _counted(work, hit, policy)
    if not counted:
        return
    work.session.execute(
        delete(ReviewLine).where(
            ReviewLine.hit_number == hit.number, ReviewLine.level == "HIT", ReviewLine.kind == "result"
        )
    )
    given = {each.id: compared(each, policy["questions"]) for each in counted}
    agreed = {
        question: found
        for question in policy["questions"]
        if (found := plurality([answers[question] for answers in given.values()], policy["threshold"]))
    }
    score = percent(len(agreed), len(policy["questions"]))
    scores = _worker_scores(work, hit, given, agreed)
    of_it = {"SubjectId": hit.id, "SubjectType": "HIT"}
    for question, found in agreed.items():
        on = {**of_it, "QuestionId": question}
        _result(work, hit, "HIT", **on, Key="PluralityAnswer", Value="|".join(found.answer))
        _result(work, hit, "HIT", **on, Key="PluralityLevel", Value=str(found.level))
    _result(work, hit, "HIT", **of_it, Key="HITAgreementScore", Value=str(score))
    if policy["extend"] is not None and score < policy["extend"] and hit.max_assignments < policy["most"]:
        _act(work, hit, "HIT", "extend", hit, lambda: _extend(work, hit, policy["seconds"]))
    if hit.policy_due:
        return
    for assignment in counted:
        if assignment.id in scores:
            _decide(work, assignment, policy, scores[assignment.id])


def _counted(work: Transaction, hit: Hit, policy: Mapping[str, Any]) -> list[Assignment]:
    query = select(Assignment).where(Assignment.hit_number == hit.number, Assignment.state.in_(FINISHED))
    found = work.session.scalars(query.order_by(Assignment.turn)).all()
    known, below = hit.assignment_policy, policy["without_below"]

    def counts(assignment: Assignment) -> bool:
        if assignment.state is State.REJECTED and policy["without_rejected"]:
            return False
        if known is None or below is None:
            return True
        right = known_answers_met(known, assignment)
        least: int = below
        return percent(sum(right.values()), len(right)) >= least

    return [assignment for assignment in found if counts(assignment)]


def _worker_scores(
    work: Transaction,
    hit: Hit,
    given: Mapping[str, Mapping[str, tuple[str, ...]]],
    agreed: Mapping[str, Agreed],
) -> dict[str, int]:
    """For each assignment, the percentage of questions with an agreed answer for which it gives that answer.

    Empty if no question has an agreed answer.
    """
    scores: dict[str, int] = {}
    for assignment_id, answers in given.items():
        of_it = {"SubjectId": assignment_id, "SubjectType": "Assignment"}
        same = {question: answers[question] == found.answer for question, found in agreed.items()}
        for question, agrees in same.items():
            _result(
                work,
                hit,
                "HIT",
                **of_it,
                QuestionId=question,
                Key="AgreedWithPlurality",
                Value=f"{agrees:d}",
            )
        if same:
            scores[assignment_id] = percent(sum(same.values()), len(same))
            _result(work, hit, "HIT", **of_it, Key="WorkerAgreementScore", Value=str(scores[assignment_id]))
    return scores


def _decide(work: Transaction, assignment: Assignment, policy: Mapping[str, Any], score: int) -> None:
    hit = assignment.hit
    if policy["approve"] is not None and score >= policy["approve"]:
        _act(work, hit, "HIT", "approve", assignment, lambda: _approve(work, assignment, ""))
    elif policy["reject"] is not None and score < policy["reject"]:
        reason = policy["reject_reason"]
        _act(work, hit, "HIT", "reject", assignment, lambda: _reject(work, assignment, reason))


def _approve(work: Transaction, assignment: Assignment, reason: str) -> str:
    if assignment.state is State.APPROVED:
        return "Already approved"
    approve(work, assignment, reason)
    return "Approved"


def _reject(work: Transaction, assignment: Assignment, reason: str) -> str:
    if assignment.state is State.REJECTED:
        return "Already rejected"
    reject(work, assignment, reason)
    return "Rejected"


def _extend(work: Transaction, hit: Hit, seconds: int) -> str:
    hit.expires_at = max(hit.expires_at, work.now + timedelta(seconds=seconds))
    hit.expired = hit.expires_at <= work.now
    add_places(work, hit, 1)
    return f"Extended to {hit.max_assignments} assignments"


def _act(
    work: Transaction, hit: Hit, level: str, name: str, target: Hit | Assignment, do: Callable[[], str]
) -> None:
    """Take an action and record its result. An action that is refused changes nothing else."""
    detail = {
        "ActionId": new_entity_id(),
        "ActionName": name,
        "TargetId": target.id,
        "TargetType": "HIT" if isinstance(target, Hit) else "Assignment",
    }
    try:
        with work.session.begin_nested():
            detail |= {"Status": "Succeeded", "Result": do()}
    except RefusedError as refusal:
        detail |= {"Status": "Failed", "Result": refusal.message, "ErrorCode": refusal.code}
    _line(work, hit, level, "action", detail)


def _result(work: Transaction, hit: Hit, level: str, **detail: str) -> None:
    _line(work, hit, level, "result", {"ActionId": new_entity_id(), **detail})


def _line(work: Transaction, hit: Hit, level: str, kind: str, detail: dict[str, Any]) -> None:
    work.session.add(
        ReviewLine(hit_number=hit.number, level=level, kind=kind, detail=detail, made_at=work.now)
    )


def _report(rows: Sequence[ReviewLine], level: str) -> dict[str, Any]:
    mine = [row for row in rows if row.level == level]
    return {
        "ReviewResults": [row.detail for row in mine if row.kind == "result"],
        "ReviewActions": [
            {**row.detail, "CompleteTime": row.made_at} for row in mine if row.kind == "action"
        ],
    }
