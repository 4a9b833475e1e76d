"""What becomes of a submission: its status, its pay, and the actions of its completion code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from humaneval.market.prolific_standin.completion_codes import actions_of, fixed_screen_out
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.groups import join, leave
from humaneval.market.prolific_standin.hooks import note_progress, note_submission
from humaneval.market.prolific_standin.money import pay_submission, settle
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.studies import places_taken, refresh
from humaneval.market.prolific_standin.tables import Status, Submission

LEAST_PERCENT, MOST_PERCENT = 8, 99
NO_CODE = "NOCODE"
"""What the API shows as the code of a submission without one."""


def set_status(work: Work, submission: Submission, status: Status) -> None:
    """Change a submission's status, and with it its study, its money and the events of subscribers."""
    submission.status = status
    submission.due_at = work.now + work.terms.auto_approve if status == Status.AWAITING_REVIEW else None
    note_submission(work, submission)
    refresh(work, submission.study)
    settle(work, submission.study)
    note_progress(work, submission.study, places_taken(work, submission.study))


def pay(work: Work, submission: Submission, status: Status, reward: int) -> None:
    """Pay a submission, and give it the status that says so."""
    pay_submission(work, submission, reward)
    submission.reviewed_at = work.now
    set_status(work, submission, status)


def carry_out(
    work: Work,
    submission: Submission,
    text: str | None,
    code: Mapping[str, Any] | None,
    part: int | None = None,
) -> None:
    """The submission is completed with this text: with one of the study's codes, whose actions are carried
    out, or with another. `part` is the percentage of the reward that the researcher chose."""
    submission.code, submission.completed_at = text, work.now
    actions = actions_of(code) if code is not None else ()
    names = [each["action"] for each in actions]
    screened_out = fixed_screen_out(code) if code is not None else None
    if screened_out is not None:
        pay(work, submission, Status.SCREENED_OUT, screened_out["fixed_screen_out_reward"])
    elif part is not None:
        pay(work, submission, Status.PARTIALLY_APPROVED, submission.study.body["reward"] * part // 100)
    else:
        set_status(work, submission, Status.AWAITING_REVIEW)
        if "AUTOMATICALLY_APPROVE" in names:
            pay(work, submission, Status.APPROVED, submission.study.body["reward"])
    for action in actions:
        if action["action"] == "ADD_TO_PARTICIPANT_GROUP":
            join(work, action["participant_group"], [submission.participant_id])
        elif action["action"] == "REMOVE_FROM_PARTICIPANT_GROUP":
            leave(work, action["participant_group"], [submission.participant_id])
        elif action["action"] == "REQUEST_RETURN":
            submission.return_requested_at, submission.note = work.now, action["return_reason"]


def dynamic_payment(data: Any) -> int:
    """The percentage of the reward that `completion_code_data` names. Raises Refusal."""
    percent = data.get("percentage_of_reward") if isinstance(data, dict) else None
    if type(percent) is not int or not LEAST_PERCENT <= percent <= MOST_PERCENT:
        why = f"percentage_of_reward must be from {LEAST_PERCENT} to {MOST_PERCENT}."
        raise Refusal({"completion_code_data": [why]})
    return percent
