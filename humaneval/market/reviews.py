"""The requester's side of finished work: read answers, approve, reject, pay bonuses, read the balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, select, update

from humaneval.fees import bonus_fee
from humaneval.market.account import balance, dollars, pay_reward, pay_rewards, post
from humaneval.market.deadlines import OVERRIDE_DAYS
from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.hits import described, find_hit
from humaneval.market.protocol.paging import page
from humaneval.market.protocol.refusals import (
    RefusedError,
    invalid,
    no_such_assignment,
    wrong_assignment_state,
)
from humaneval.market.protocol.values import Params, Reply, amount, text
from humaneval.market.request_tokens import refuse_repeat, remember
from humaneval.market.tables.assignments import FINISHED, Assignment, Bonus, State
from humaneval.market.tables.database import OPENING_BALANCE, Mode, Transaction, written
from humaneval.market.tables.hits import Hit
from humaneval.store.types import table

LONGEST_MESSAGE = 1024

_READABLE = "Reviewable,Approved,Rejected"


def get_assignment(work: Transaction, params: Params) -> Reply:
    """GetAssignment: only work that was submitted can be read."""
    assignment = find_assignment(work, params["AssignmentId"])
    if assignment.state not in FINISHED:
        raise wrong_assignment_state(_READABLE, assignment.id, assignment.state)
    return {"Assignment": _description(assignment), "HIT": described(work, [assignment.hit])[0]}


def list_assignments(work: Transaction, params: Params) -> Reply:
    """ListAssignmentsForHIT: submitted work, in the order in which it was submitted."""
    hit = find_hit(work, params["HITId"])
    wanted = [State(status.lower()) for status in params.get("AssignmentStatuses", ())] or FINISHED
    query = select(Assignment).where(Assignment.hit_number == hit.number, Assignment.state.in_(wanted))
    rows, envelope = page(work.session, query, Assignment.turn, params)
    return {"Assignments": [_description(row) for row in rows], **envelope}


def approve_assignment(work: Transaction, params: Params) -> Reply:
    """ApproveAssignment: pay the reward and the fee. A rejection can be overridden for 30 days."""
    assignment = find_assignment(work, params["AssignmentId"])
    message = text(params, "RequesterFeedback", LONGEST_MESSAGE)
    approve(work, assignment, message, override=params.get("OverrideRejection", False))
    return {}


def approve(work: Transaction, assignment: Assignment, feedback: str, *, override: bool = False) -> None:
    """Pay for submitted work; with `override`, also for rejected work. Raises RefusedError."""
    override = override and assignment.state is State.REJECTED
    if assignment.state is not State.SUBMITTED and not override:
        raise wrong_assignment_state("Submitted", assignment.id, assignment.state)
    if override:
        assert assignment.submitted_at is not None
        if assignment.hit.disposed or work.now > assignment.submitted_at + timedelta(days=OVERRIDE_DAYS):
            raise RefusedError(
                "InvalidAssignmentState",
                f"A rejection can be overridden only within {OVERRIDE_DAYS} days of the submission, and only"
                " while the HIT exists.",
            )
    assignment.feedback = feedback or assignment.feedback
    # After a rejection nothing is held for the work. `refresh` takes the price from the available money, or
    # refuses.
    pay_reward(work, assignment)
    assignment.state, assignment.approved_at = State.APPROVED, work.now
    refresh(work, assignment.hit)
    note(work, "AssignmentApproved", assignment.hit, assignment)


def reject_assignment(work: Transaction, params: Params) -> Reply:
    """RejectAssignment: the worker is not paid, and the money held for the work becomes available."""
    assignment = find_assignment(work, params["AssignmentId"])
    reject(work, assignment, text(params, "RequesterFeedback", LONGEST_MESSAGE))
    return {}


def reject(work: Transaction, assignment: Assignment, feedback: str) -> None:
    """Reject submitted work. Raises RefusedError."""
    if assignment.state is not State.SUBMITTED:
        raise wrong_assignment_state("Submitted", assignment.id, assignment.state)
    if _is_due(work, assignment):
        raise wrong_assignment_state("Submitted", assignment.id, State.APPROVED)
    assignment.feedback = feedback
    assignment.state, assignment.rejected_at = State.REJECTED, work.now
    refresh(work, assignment.hit)
    note(work, "AssignmentRejected", assignment.hit, assignment)


def decide_all(work: Transaction, hit: Hit, decided: Mapping[Assignment, State], reason: str) -> None:
    """Approve or reject submitted work of one HIT, hundreds at once. `reason` is for those rejected.

    Nothing can be refused: the money is held for the HIT.
    """
    approved = [each for each, state in decided.items() if state is State.APPROVED]
    rejected = [each for each, state in decided.items() if state is State.REJECTED]
    if approved:
        pay_rewards(work, hit, approved)
        _set(work, approved, state=State.APPROVED, approved_at=work.now)
    if rejected:
        _set(work, rejected, state=State.REJECTED, rejected_at=work.now, feedback=reason)
    refresh(work, hit)
    for each, state in decided.items():
        note(work, f"Assignment{state.value.capitalize()}", hit, each)


def _is_due(work: Transaction, assignment: Assignment) -> bool:
    """Whether submitted work is to be approved by itself, and no call has come to it yet."""
    return assignment.auto_approve_at is not None and assignment.auto_approve_at <= work.now


def _set(work: Transaction, assignments: Sequence[Assignment], **values: Any) -> None:
    """Set the same in many rows: the session would take several times as long."""
    rows = table(Assignment)
    changed = update(rows).where(rows.c.number == bindparam("assignment"))
    work.connection.execute(
        changed.values({name: bindparam(name) for name in values}),
        [{"assignment": each.number, **values} for each in assignments],
    )
    for each in assignments:
        written(each, **values)


def send_bonus(work: Transaction, params: Params) -> Reply:
    """SendBonus: takes the amount and its fee from the account at once."""
    refuse_repeat(work, "SendBonus", params)
    assignment = find_assignment(work, params["AssignmentId"])
    if assignment.worker.id != params["WorkerId"]:
        raise invalid(f"Worker {params['WorkerId']} did not work on assignment {assignment.id}.")
    if assignment.state not in FINISHED:
        raise wrong_assignment_state(_READABLE, assignment.id, assignment.state)
    cents = amount(params, "BonusAmount")
    if cents < 1:
        raise invalid("BonusAmount must be at least 0.01.")
    reason = text(params, "Reason", LONGEST_MESSAGE, empty=False)
    fee = int(bonus_fee(dollars(cents)) * 100)
    bonus = Bonus(assignment=assignment, cents=cents, fee_cents=fee, reason=reason, paid_at=work.now)
    post(work, "bonus", assignment.hit, assignment, available=-(cents + fee), paid=cents, fees=fee)
    work.session.add(bonus)
    remember(work, "SendBonus", params, work.request_id)
    return {}


def list_bonus_payments(work: Transaction, params: Params) -> Reply:
    """ListBonusPayments: for one HIT or one assignment, in the order of payment."""
    if ("HITId" in params) == ("AssignmentId" in params):
        raise invalid("Give either HITId or AssignmentId, and not both.")
    query = select(Bonus).join(Bonus.assignment)
    if "HITId" in params:
        query = query.where(Assignment.hit_number == find_hit(work, params["HITId"]).number)
    else:
        query = query.where(Assignment.number == find_assignment(work, params["AssignmentId"]).number)
    rows, envelope = page(work.session, query, Bonus.number, params)
    payments = [
        {
            "WorkerId": bonus.assignment.worker.id,
            "BonusAmount": str(dollars(bonus.cents)),
            "AssignmentId": bonus.assignment.id,
            "Reason": bonus.reason,
            "GrantTime": bonus.paid_at,
        }
        for bonus in rows
    ]
    return {"BonusPayments": payments, **envelope}


def get_account_balance(work: Transaction, params: Params) -> Reply:
    """GetAccountBalance. A sandbox always has 10000.00."""
    if work.mode is Mode.SANDBOX:
        return {"AvailableBalance": str(OPENING_BALANCE), "OnHoldBalance": "0.00"}
    pots = balance(work.session)
    return {"AvailableBalance": str(dollars(pots.available)), "OnHoldBalance": str(dollars(pots.on_hold))}


def find_assignment(work: Transaction, assignment_id: str) -> Assignment:
    """The assignment with this id. Raises RefusedError."""
    assignment = work.session.scalar(select(Assignment).where(Assignment.id == assignment_id))
    if assignment is None:
        raise no_such_assignment(assignment_id)
    return assignment


def _description(assignment: Assignment) -> dict[str, Any]:
    values: dict[str, Any] = {
        "AssignmentId": assignment.id,
        "WorkerId": assignment.worker.id,
        "HITId": assignment.hit.id,
        "AssignmentStatus": assignment.state.value.capitalize(),
        "AutoApprovalTime": assignment.auto_approve_at,
        "AcceptTime": assignment.accepted_at,
        "SubmitTime": assignment.submitted_at,
        "ApprovalTime": assignment.approved_at,
        "RejectionTime": assignment.rejected_at,
        "Deadline": assignment.deadline,
        "Answer": assignment.answer,
        "RequesterFeedback": assignment.feedback or None,
    }
    return {name: value for name, value in values.items() if value is not None}
