"""Submissions and bonuses over the API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Response, request
from sqlalchemy import Select, select

from humaneval.market.prolific_standin import bonuses, shown, submissions
from humaneval.market.prolific_standin.api.calls import Answer, api, asked, body, call, here
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.faults import disguise
from humaneval.market.prolific_standin.paging import by_offset, by_page
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.studies import find_study
from humaneval.market.prolific_standin.tables import Status, Study, Submission

blueprint = api("submissions")

TRUTHS: Mapping[str, Status] = {
    "approved": Status.APPROVED,
    "awaiting_review": Status.AWAITING_REVIEW,
    "rejected": Status.REJECTED,
    "reserved": Status.RESERVED,
    "returned": Status.RETURNED,
    "timeout": Status.TIMED_OUT,
    "active": Status.ACTIVE,
}
"""Parameters that are true or false, and the status for which they stand."""
APPROVING = "The request to bulk approve has been made successfully."


@blueprint.get("/submissions/")
@call
def list_submissions(work: Work) -> Answer:
    """The submissions of a study, newest first."""
    if "study" not in request.args:
        raise Refusal({"study": ["This field is required."]})
    query = _chosen(select(Submission).where(_of(find_study(work, request.args["study"]))))
    listed = [shown.submission_in_list(each) for each in work.session.scalars(query)]
    return disguise(by_page(listed, asked(), here(), work.terms.most_on_a_page))


@blueprint.get("/studies/<study_id>/submissions/")
@call
def list_submissions_of_study(work: Work, study_id: str) -> Answer:
    """The submissions of a study, with more about each."""
    query = _chosen(select(Submission).where(_of(find_study(work, study_id))))
    listed = [shown.submission_of_study(work, each) for each in work.session.scalars(query)]
    return disguise(by_offset(listed, asked(), here()))


@blueprint.get("/studies/<study_id>/submissions/counts/")
@call
def count_submissions(work: Work, study_id: str) -> Answer:
    """How many submissions of each status there are."""
    return shown.submission_counts(work, find_study(work, study_id))


@blueprint.get("/submissions/<submission_id>/")
@call
def get_submission(work: Work, submission_id: str) -> Answer:
    """A submission in detail."""
    return disguise(shown.submission(work, submissions.find_submission(work, submission_id)))


@blueprint.post("/submissions/<submission_id>/transition/")
@call
def transition_submission(work: Work, submission_id: str) -> Answer:
    """Approve, reject or complete."""
    submission = submissions.find_submission(work, submission_id)
    submissions.transition(work, submission, body())
    return shown.submission(work, submission)


@blueprint.post("/submissions/<submission_id>/request-return/")
@call
def request_return(work: Work, submission_id: str) -> Answer:
    """Ask the participant to give the work back."""
    submission = submissions.find_submission(work, submission_id)
    submissions.request_return(work, submission, body().get("request_return_reasons"))
    return {
        "id": submission.id,
        "status": submission.status,
        "participant": submission.participant_id,
        "return_requested": shown.moment(submission.return_requested_at),
    }


@blueprint.post("/submissions/bulk-approve/")
@call
def bulk_approve(work: Work) -> Answer:
    """Approve many, a little later. The answer is a text, and no JSON."""
    submissions.bulk_approve(work, body())
    return Response(APPROVING, content_type="text/plain; charset=utf-8")


@blueprint.post("/submissions/bonus-payments/")
@call
def set_up_bonuses(work: Work) -> Answer:
    """Write down bonuses. Nothing is paid yet."""
    given = body()
    batch = bonuses.set_up(work, given.get("study_id"), given.get("csv_bonuses"))
    return shown.bonus_batch(work, batch, str(given["study_id"])), 201


@blueprint.post("/bulk-bonus-payments/<batch_id>/pay/")
@call
def pay_bonuses(work: Work, batch_id: str) -> Answer:
    """Pay bonuses, a little later. Each call pays them."""
    bonuses.pay(work, batch_id)
    return {}, 202


def _of(study: Study) -> Any:
    return Submission.study_number == study.number


def _chosen(query: Select[Any]) -> Select[Any]:
    """The submissions that the parameters ask for, in their order."""
    if wanted := request.args.get("status"):
        # TIMED_OUT stands for TIMED-OUT, and other underscores for spaces.
        status = "TIMED-OUT" if wanted.replace("_", "-") == "TIMED-OUT" else wanted.replace("_", " ")
        query = query.where(Submission.status == status)
    for name, status in TRUTHS.items():
        if name in request.args:
            is_so = Submission.status == status
            query = query.where(is_so if request.args[name].lower() == "true" else ~is_so)
    if since := request.args.get("submitted_from"):
        query = query.where(Submission.completed_at >= _day(since))
    if before := request.args.get("submitted_before"):
        query = query.where(Submission.completed_at < _day(before))
    order = request.args.get("ordering", "-started_at")
    columns = {"started_at": Submission.started_at, "submission_reward": Submission.reward}
    column = columns.get(order.removeprefix("-"), Submission.started_at)
    if order.startswith("-"):
        return query.order_by(column.desc(), Submission.number.desc())
    return query.order_by(column, Submission.number)


def _day(given: str) -> datetime:
    try:
        return datetime.strptime(given, "%d/%m/%Y").replace(tzinfo=UTC)
    except ValueError:
        raise Refusal(f"{given} is not a date such as 31/12/2026.") from None
