"""Applying review policies: known answers when an assignment is submitted, agreement when a HIT becomes
Reviewable.

Everybody who submits waits meanwhile. So what an answer says is kept with it, in `Votes`, and hundreds of
answers are compared and decided on at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select
from sqlalchemy.orm import joinedload, lazyload, load_only

from humaneval.market.hits import add_places, find_hit
from humaneval.market.policies import results
from humaneval.market.policies.agreement import (
    Values,
    agreement,
    known_answers_met,
    known_score,
    percent,
    votes_of,
)
from humaneval.market.policies.parameters import KNOWN_ANSWERS, PLURALITY
from humaneval.market.protocol.answer_xml import answered_values
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.paging import DEFAULT_RESULTS, TOKEN, page_of
from humaneval.market.protocol.refusals import RefusedError, wrong_assignment_state
from humaneval.market.protocol.values import Params, Reply
from humaneval.market.reviews import approve, decide_all, reject
from humaneval.market.tables.assignments import FINISHED, Assignment, State, Votes
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit, ReviewLine
from humaneval.market.tables.workers import Worker
from humaneval.store.types import table


class Line(NamedTuple):
    """A result or an action, as the protocol has it."""

    level: str
    kind: str
    detail: dict[str, Any]
    made_at: datetime


def list_review_policy_results(work: Transaction, params: Params) -> Reply:
    """ListReviewPolicyResultsForHIT: results and actions, oldest first; both unless one is turned off."""
    hit = find_hit(work, params["HITId"])
    wanted = [
        kind
        for kind, name in (("result", "RetrieveResults"), ("action", "RetrieveActions"))
        if params.get(name, True)
    ]
    after, most = params.get(TOKEN, 0), params.get("MaxResults", DEFAULT_RESULTS)
    query = select(ReviewLine).where(
        ReviewLine.hit_number == hit.number,
        ReviewLine.kind.in_(wanted),
        ReviewLine.level.in_(params.get("PolicyLevels") or ("Assignment", "HIT")),
        ReviewLine.number > after,
    )
    lines = dict[int, Line]()
    for row in work.session.scalars(query.order_by(ReviewLine.number).limit(most)):
        lines |= _lines(row, after, most - len(lines))
    found, envelope = page_of(lines, params)
    reply: Reply = {"HITId": hit.id, **envelope}
    # This is the only list whose reply has no count.
    del reply["NumResults"]
    if hit.assignment_policy is not None:
        reply["AssignmentReviewPolicy"] = {"PolicyName": KNOWN_ANSWERS}
        reply["AssignmentReviewReport"] = _report(found, "Assignment")
    if hit.hit_policy is not None:
        reply["HITReviewPolicy"] = {"PolicyName": PLURALITY}
        reply["HITReviewReport"] = _report(found, "HIT")
    return reply


def _lines(row: ReviewLine, after: int, most: int) -> dict[int, Line]:
    """The first `most` of the row's lines after a place in the list, by their places."""
    if row.kind == "action" or "ActionId" in row.detail:
        return {row.number: Line(row.level, row.kind, row.detail, row.made_at)}
    first = row.number - results.count(row.detail) + 1
    since = max(0, after + 1 - first)
    found = results.lines(row.level, row.detail, since, most)
    return {
        place: Line(row.level, row.kind, detail, row.made_at)
        for place, detail in enumerate(found, first + since)
    }


def _report(lines: Sequence[Line], level: str) -> dict[str, Any]:
    mine = [line for line in lines if line.level == level]
    return {
        "ReviewResults": [line.detail for line in mine if line.kind == "result"],
        "ReviewActions": [
            {**line.detail, "CompleteTime": line.made_at} for line in mine if line.kind == "action"
        ],
    }


def take_in(work: Transaction, assignment: Assignment, values: Values) -> None:
    """Apply the assignment review policy of the HIT, if it has one, to an answer that was just submitted, and
    keep what its HIT review policy will compare.
    """
    hit = assignment.hit
    known = None if hit.assignment_policy is None else _score_known_answers(work, assignment, values)
    if hit.hit_policy is not None:
        _keep_votes(work, assignment, values, known)


def _score_known_answers(work: Transaction, assignment: Assignment, values: Values) -> int:
    hit = assignment.hit
    policy = hit.assignment_policy or {}
    right = known_answers_met(policy, values)
    score = known_score(right)
    _keep_results(work, hit, "Assignment", results.of_known_answers(assignment.id, right, score))
    counted = f"Reviewed {len(right)} known answers; {sum(right.values())}/{len(right)} correct"
    _act(work, hit, "Assignment", "review", assignment, lambda: counted)
    if policy["extend"] is not None and score < policy["extend"] and hit.max_assignments < policy["most"]:
        _act(work, hit, "Assignment", "extend", hit, lambda: _extend(work, hit, policy["seconds"]))
    if policy["approve"] is not None and score >= policy["approve"]:
        reason = policy["approve_reason"]
        _act(work, hit, "Assignment", "approve", assignment, lambda: _approve(work, assignment, reason))
    elif policy["reject"] is not None and score < policy["reject"]:
        reason = policy["reject_reason"]
        _act(work, hit, "Assignment", "reject", assignment, lambda: _reject(work, assignment, reason))
    return score


def _keep_votes(work: Transaction, assignment: Assignment, values: Values, known: int | None) -> str:
    votes = votes_of(values, (assignment.hit.hit_policy or {})["questions"])
    row = {"assignment_number": assignment.number, "votes": votes, "known_score": known}
    work.connection.execute(insert(table(Votes)), row)
    return votes


_DUE = select(Hit).where(Hit.policy_due, Hit.status == "Reviewable")
_ANY_DUE = _DUE.with_only_columns(Hit.number).limit(1)
_VOTES = (
    select(Assignment, Votes.votes, Votes.known_score)
    .outerjoin(Votes, Votes.assignment_number == Assignment.number)
    .where(Assignment.hit_number == bindparam("hit"), Assignment.state.in_(FINISHED))
    .order_by(Assignment.turn)
    .options(
        load_only(Assignment.id, Assignment.hit_number, Assignment.state),
        lazyload(Assignment.hit),
        joinedload(Assignment.worker, innerjoin=True).load_only(Worker.id),
    )
)
_LINES = table(ReviewLine)
_FORGET = delete(_LINES).where(
    _LINES.c.hit_number == bindparam("hit"),
    _LINES.c.level == "HIT",
    _LINES.c.kind == "result",
    _LINES.c.number <= bindparam("last"),
)


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
    found = agreement(list(counted.values()), policy["questions"], policy["threshold"])
    score = percent(len(found.agreed), len(policy["questions"]))
    ids = [assignment.id for assignment in counted]
    last = _keep_results(work, hit, "HIT", results.of_agreement(hit.id, found, score, ids))
    work.connection.execute(_FORGET, {"hit": hit.number, "last": last})
    if policy["extend"] is not None and score < policy["extend"] and hit.max_assignments < policy["most"]:
        _act(work, hit, "HIT", "extend", hit, lambda: _extend(work, hit, policy["seconds"]))
    if not hit.policy_due and found.agreed:
        scores = map(results.worker_score, found.marks)
        _decide(work, hit, dict(zip(counted, scores, strict=True)))


def _counted(work: Transaction, hit: Hit, policy: Mapping[str, Any]) -> dict[Assignment, str]:
    """The votes that count, in the order in which they were submitted."""
    below, counted = policy["without_below"], dict[Assignment, str]()
    for assignment, votes, known in work.session.execute(_VOTES, {"hit": hit.number}).all():
        if assignment.state is State.REJECTED and policy["without_rejected"]:
            continue
        if votes is None:  # submitted before m0003
            values = answered_values(assignment.answer or "")
            known = hit.assignment_policy and known_score(known_answers_met(hit.assignment_policy, values))
            votes = _keep_votes(work, assignment, values, known)
        if known is None or below is None or known >= below:
            counted[assignment] = votes
    return counted


def _decide(work: Transaction, hit: Hit, scores: Mapping[Assignment, int]) -> None:
    """Approve and reject by the workers' scores."""
    policy = hit.hit_policy or {}
    decided, lines = dict[Assignment, State](), list[dict[str, Any]]()
    for assignment, score in scores.items():
        if policy["approve"] is not None and score >= policy["approve"]:
            name, wanted = "approve", State.APPROVED
        elif policy["reject"] is not None and score < policy["reject"]:
            name, wanted = "reject", State.REJECTED
        else:
            continue
        if assignment.state is State.SUBMITTED:
            decided[assignment] = wanted
            said = {"Status": "Succeeded", "Result": wanted.value.capitalize()}
        elif assignment.state is wanted:
            said = {"Status": "Succeeded", "Result": f"Already {wanted.value}"}
        else:
            said = _failed(wrong_assignment_state("Submitted", assignment.id, assignment.state))
        lines.append(_action(name, assignment) | said)
    if lines:
        decide_all(work, hit, decided, policy["reject_reason"])
        _keep_actions(work, hit, "HIT", lines)


def _approve(work: Transaction, assignment: Assignment, reason: str) -> str:
    approve(work, assignment, reason)
    return "Approved"


def _reject(work: Transaction, assignment: Assignment, reason: str) -> str:
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
    detail = _action(name, target)
    try:
        with work.session.begin_nested():
            detail |= {"Status": "Succeeded", "Result": do()}
    except RefusedError as refusal:
        detail |= _failed(refusal)
    _keep_actions(work, hit, level, [detail])


def _action(name: str, target: Hit | Assignment) -> dict[str, Any]:
    return {
        "ActionId": new_entity_id(),
        "ActionName": name,
        "TargetId": target.id,
        "TargetType": "HIT" if isinstance(target, Hit) else "Assignment",
    }


def _failed(refusal: RefusedError) -> dict[str, Any]:
    return {"Status": "Failed", "Result": refusal.message, "ErrorCode": refusal.code}


def _keep_actions(work: Transaction, hit: Hit, level: str, details: Iterable[dict[str, Any]]) -> None:
    row = {"hit_number": hit.number, "level": level, "kind": "action", "made_at": work.now}
    work.connection.execute(insert(_LINES), [{**row, "detail": detail} for detail in details])


def _keep_results(work: Transaction, hit: Hit, level: str, kept: results.Kept) -> int:
    """Keep results behind all lines that there are. Returns the place of the last of these."""
    last: int = work.connection.scalar(select(func.coalesce(func.max(_LINES.c.number), 0))) or 0
    row = {"hit_number": hit.number, "level": level, "kind": "result", "made_at": work.now}
    work.connection.execute(insert(_LINES), {**row, "number": last + results.count(kept), "detail": kept})
    return last
