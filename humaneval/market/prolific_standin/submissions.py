"""Submissions as the researcher sees and decides them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from humaneval.market.prolific_standin.completion_codes import actions_of, find_code
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.outcomes import carry_out, dynamic_payment, pay, set_status
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.studies import find_study, later
from humaneval.market.prolific_standin.tables import Status, Study, Submission

CATEGORIES = [
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
]
LEAST_REASON = 100
"""Characters of a rejection's message."""
NOT_OURS = ("RETURN", "START", "SCREEN_OUT", "UNREJECT", "UNRETURN")
"""Actions of the documents that a researcher may not be allowed: unverified."""


def find_submission(work: Work, submission_id: str) -> Submission:
    """The submission with this id. Raises NotFound."""
    found = work.session.scalars(select(Submission).where(Submission.id == submission_id)).first()
    if found is None:
        raise NotFound("Submission")
    return found


def transition(work: Work, submission: Submission, asked: Mapping[str, Any]) -> None:
    """Approve, reject or complete a submission. Raises Refusal for what does not go."""
    action = asked.get("action")
    act = _ACTS.get(str(action))
    if act is not None:
        act(work, submission, asked)
    elif action in NOT_OURS:
        raise Refusal(f"You are not allowed to {action} this submission.", 403)
    else:
        raise Refusal({"action": [f'"{action}" is not a valid choice.']})


def approve(work: Work, submission: Submission, asked: Mapping[str, Any] | None = None) -> None:
    """Approve and pay what awaits review. Approving twice changes nothing."""
    if submission.status == Status.APPROVED:
        return
    _refuse_unless(submission, Status.AWAITING_REVIEW, "approved")
    pay(work, submission, Status.APPROVED, submission.study.body["reward"])


def reject(work: Work, submission: Submission, asked: Mapping[str, Any]) -> None:
    """Reject what awaits review. Its place reopens."""
    message, category = asked.get("message"), asked.get("rejection_category")
    wrong: dict[str, list[str]] = {}
    if not isinstance(message, str) or len(message) < LEAST_REASON:
        wrong["message"] = [f"Ensure this field has at least {LEAST_REASON} characters."]
    if not isinstance(category, str) or category not in CATEGORIES:
        wrong["rejection_category"] = [f"{category!r} is not a valid choice."]
    if wrong:
        raise Refusal(wrong)
    if submission.status == Status.REJECTED:
        return
    _refuse_unless(submission, Status.AWAITING_REVIEW, "rejected")
    submission.note, submission.category, submission.reviewed_at = str(message), str(category), work.now
    set_status(work, submission, Status.REJECTED)


def complete(work: Work, submission: Submission, asked: Mapping[str, Any]) -> None:
    """Complete a submission for its participant, with a code of the researcher's."""
    code = find_code(submission.study.body, asked.get("completion_code"), "researcher")
    if code is None:
        raise Refusal({"completion_code": ["This is not a completion code of the researcher's."]})
    if submission.status not in (Status.ACTIVE, Status.TIMED_OUT):
        raise Refusal(f"A submission that is {submission.status} cannot be completed.")
    part = None
    if any(action["action"] == "DYNAMIC_PAYMENT" for action in actions_of(code)):
        part = dynamic_payment(asked.get("completion_code_data"))
    carry_out(work, submission, code["code"], code, part)


def request_return(work: Work, submission: Submission, reasons: object) -> None:
    """Ask a participant to give the work back. Its status stays, until the participant does so."""
    if not isinstance(reasons, list) or not reasons or not all(isinstance(each, str) for each in reasons):
        raise Refusal({"request_return_reasons": ["This field is required."]})
    if submission.status not in (Status.ACTIVE, Status.AWAITING_REVIEW):  # for which others: unverified
        raise Refusal(f"A submission that is {submission.status} cannot be returned.")
    submission.return_requested_at, submission.note = work.now, " ".join(reasons)


def bulk_approve(work: Work, asked: Mapping[str, Any]) -> None:
    """Take in which submissions to approve. It happens later, for those that await review then."""
    by_id, by_person = asked.get("submission_ids"), asked.get("participant_ids")
    mixed = by_id is not None and (by_person is not None or asked.get("study_id") is not None)
    if mixed or (by_id is None and (by_person is None or not isinstance(asked.get("study_id"), str))):
        raise Refusal("Give either submission_ids, or study_id and participant_ids.")
    wanted = by_id if by_id is not None else by_person
    if not isinstance(wanted, list) or not wanted or not all(isinstance(each, str) for each in wanted):
        raise Refusal("The ids must be a list of texts.")
    if by_id is not None:
        found = [find_submission(work, each).id for each in by_id]
    else:
        study = find_study(work, str(asked["study_id"]))
        found = [_of_participant(work, study, each).id for each in wanted]
    later(work, "approve", work.now + work.terms.delay, submissions=found)


def approve_when_due(work: Work, submission_ids: Sequence[str]) -> None:
    """Approve those of a bulk call that await review. The others are left as they are, without a word."""
    for each in submission_ids:
        submission = find_submission(work, each)
        if submission.status == Status.AWAITING_REVIEW:
            approve(work, submission)


def _of_participant(work: Work, study: Study, participant_id: str) -> Submission:
    """The participant's submission in the study: the one that awaits review, else the newest."""
    query = (
        select(Submission)
        .where(Submission.study_number == study.number, Submission.participant_id == participant_id)
        .order_by((Submission.status == Status.AWAITING_REVIEW).desc(), Submission.number.desc())
    )
    found = work.session.scalars(query).first()
    if found is None:
        raise Refusal(f"Participant {participant_id} has no submission in this study.")
    return found


def _refuse_unless(submission: Submission, status: Status, done: str) -> None:
    if submission.status != status:
        raise Refusal(f"A submission that is {submission.status} cannot be {done}.")


_ACTS: Mapping[str, Callable[[Work, Submission, Mapping[str, Any]], None]] = {
    "APPROVE": approve,
    "REJECT": reject,
    "COMPLETE": complete,
}
