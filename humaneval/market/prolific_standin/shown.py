"""What the API shows: studies, submissions, groups, messages, events. Names differ in list and detail."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from humaneval.market.prolific_standin import groups, money
from humaneval.market.prolific_standin.bonuses import cost_of, paid_to
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.studies import places_taken
from humaneval.market.prolific_standin.tables import (
    BonusBatch,
    Event,
    Group,
    Message,
    Status,
    Study,
    StudyStatus,
    Submission,
    Subscription,
)
from humaneval.market.prolific_standin.terms import Cost


def moment(value: datetime | None) -> str | None:
    """A moment as ISO 8601 in UTC."""
    return None if value is None else f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond:06d}Z"


def study(work: Work, each: Study) -> dict[str, Any]:
    """A study in detail."""
    cost = money.study_cost(work, each)
    hourly = round(each.body["reward"] * 60 / each.body["estimated_completion_time"])
    return {
        **each.body,
        "id": each.id,
        "status": each.status,
        "is_ready_to_publish": each.status == StudyStatus.UNPUBLISHED,
        "has_credentials": False,
        "places_taken": places_taken(work, each),
        "number_of_submissions": sum(money.counts(work, each).values()),
        "date_created": moment(each.made_at),
        "published_at": moment(each.published_at),
        "publish_at": moment(each.publish_at),
        "total_cost": cost.total,
        "fees_per_submission": work.terms.cost(each.body["reward"]).fees,
        "fees_percentage": float(work.terms.fee_percent),
        "vat_percentage": float(work.terms.tax_percent),
        "estimated_reward_per_hour": hourly,
        "minimum_reward_per_hour": work.terms.floor_per_hour,
        "is_underpaying": hourly < work.terms.floor_per_hour,
        "currency_code": work.workspace.currency,
        "presentment_currency_code": work.workspace.currency,
        "researcher": {"id": work.workspace.user_id, "name": "Researcher"},
        "workspace": work.workspace.id,
    }


def study_in_list(work: Work, each: Study) -> dict[str, Any]:
    """A study in a list: short."""
    return {
        "id": each.id,
        "name": each.body["name"],
        "internal_name": each.body["internal_name"],
        "status": each.status,
        "reward": each.body["reward"],
        "total_available_places": each.body["total_available_places"],
        "places_taken": places_taken(work, each),
        "number_of_submissions": sum(money.counts(work, each).values()),
        "date_created": moment(each.made_at),
        "published_at": moment(each.published_at),
        "is_underpaying": study(work, each)["is_underpaying"],
    }


def study_costs(work: Work, each: Study) -> dict[str, Any]:
    """What a study's places cost, and what its bonuses have cost."""
    return {
        "rewards": _parts(work, money.study_cost(work, each)),
        "bonuses": _parts(work, money.bonus_cost(work, each)),
    }


def submission_in_list(each: Submission) -> dict[str, Any]:
    """A submission in a list."""
    return {
        "id": each.id,
        "participant_id": each.participant_id,
        "status": each.status,
        "started_at": moment(each.started_at),
        "completed_at": moment(each.completed_at),
        "has_siblings": False,
        "study_code": each.code,
        "return_requested": moment(each.return_requested_at),
    }


def submission_of_study(work: Work, each: Submission) -> dict[str, Any]:
    """A submission in the list of its study, which shows more."""
    took = each.completed_at - each.started_at if each.completed_at is not None else None
    return {
        **submission_in_list(each),
        "time_taken": None if took is None else round(took.total_seconds(), 3),
        "reward": each.reward or each.study.body["reward"],
        "ip": "192.0.2.1",  # an address for documents: nobody's
        "strata": {"date of birth": "", "ethnicity (simplified)": "", "sex": ""},
        "star_awarded": False,
        "bonus_payments": paid_to(work, each),
    }


def submission(work: Work, each: Submission) -> dict[str, Any]:
    """A submission in detail."""
    return {
        "id": each.id,
        "participant": each.participant_id,
        "study_id": each.study.id,
        "parent_study_id": None,
        "started_at": moment(each.started_at),
        "completed_at": moment(each.completed_at),
        "status": each.status,
        "entered_code": each.code,
        "bonus_payments": paid_to(work, each),
        "return_requested": moment(each.return_requested_at),
    }


def submission_counts(work: Work, each: Study) -> dict[str, int]:
    """How many submissions of each status a study has, and all of them."""
    found = money.counts(work, each)
    return {**{status.value: found.get(status, 0) for status in Status}, "TOTAL": sum(found.values())}


def bonus_batch(work: Work, each: BonusBatch, study_id: str) -> dict[str, Any]:
    """A bonus set-up, in minor units."""
    cost = cost_of(work, each)
    return {
        "id": each.id,
        "study": study_id,
        "amount": cost.reward,
        "fees": cost.fees,
        "vat": cost.tax,
        "total_amount": cost.total,
    }


def group(work: Work, each: Group) -> dict[str, Any]:
    """A participant group."""
    return {
        "id": each.id,
        "name": each.name,
        "description": each.description,
        "project_id": None,
        "workspace_id": work.workspace.id,
        "organisation_id": None,
        "participant_count": groups.size(work, each.id),
        "is_deleted": each.deleted,
        "feeder_studies": [],
    }


def message(each: Message) -> dict[str, Any]:
    """A message, with the names of the documents and those that were seen."""
    return {
        "id": each.id,
        "sender_id": each.sender_id,
        "sender": each.sender_id,
        "study_id": each.study_id,
        "body": each.body,
        "sent_at": moment(each.made_at),
        "datetime_created": moment(each.made_at),
    }


def subscription(work: Work, each: Subscription) -> dict[str, Any]:
    """A subscription to events."""
    return {
        "id": each.id,
        "event_type": each.event_type,
        "target_url": each.target_url,
        "is_enabled": each.enabled,
        "workspace_id": work.workspace.id,
    }


def event(each: Event) -> dict[str, Any]:
    """An event, and how far its delivery is."""
    return {
        "id": each.id,
        "event_type": each.payload["event_type"],
        "resource_id": each.resource_id,
        "payload": each.payload,
        "status": each.status,
        "datetime_created": moment(each.made_at),
        "tries": each.tries,
    }


def _parts(work: Work, cost: Cost) -> dict[str, Any]:
    amounts = {"rewards": cost.reward, "fees": cost.fees, "tax": cost.tax}
    return {name: {"amount": amount, "currency": work.workspace.currency} for name, amount in amounts.items()}
