"""The account over the API: its user, workspace, balance and projects, advice on pay, messages, filters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import request
from sqlalchemy import func, select

from humaneval.market.prolific_standin import money, shown
from humaneval.market.prolific_standin.api.calls import Answer, api, asked, body, call, here, own_workspace
from humaneval.market.prolific_standin.database import Work, new_id
from humaneval.market.prolific_standin.filters import CATALOGUE, check_filters, passes
from humaneval.market.prolific_standin.groups import find as find_group
from humaneval.market.prolific_standin.groups import members
from humaneval.market.prolific_standin.paging import by_offset
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.studies import find_project, find_study
from humaneval.market.prolific_standin.tables import Message, Participant, Project
from humaneval.market.prolific_standin.taking_part import Candidate, known_as

blueprint = api("account")
newer = api("filters", newer=True)

FEW = 25
"""Under this, the number of people who pass the filters is given as 0."""
LOOK_BACK = timedelta(days=30)


@blueprint.get("/users/me/")
@call
def get_me(work: Work) -> Answer:
    """The owner of the token."""
    held = money.pots(work)
    return {
        "id": work.workspace.user_id,
        "email": "researcher@example.org",
        "first_name": "Re",
        "last_name": "Searcher",
        "currency_code": work.workspace.currency,
        "balance": held.available + held.locked,
        "available_balance": held.available,
    }


@blueprint.get("/workspaces/")
@call
def list_workspaces(work: Work) -> Answer:
    """The account's one workspace."""
    return by_offset([_workspace(work)], asked(), here())


@blueprint.get("/workspaces/<workspace_id>/")
@call
def get_workspace(work: Work, workspace_id: str) -> Answer:
    """The workspace in detail."""
    own_workspace(work, workspace_id)
    return _workspace(work)


@blueprint.get("/workspaces/<workspace_id>/balance/")
@call
def get_balance(work: Work, workspace_id: str) -> Answer:
    """The workspace's money, in minor units."""
    own_workspace(work, workspace_id)
    held = money.pots(work)
    total = held.available + held.locked
    # How a balance is divided before it is spent is unverified: here as one payment of all of it would be.
    fee, tax = work.terms.fee_percent / 100, work.terms.tax_percent / 100
    rewards = int(total / (1 + fee * (1 + tax)))
    fees = int(rewards * fee)
    return {
        "currency_code": work.workspace.currency,
        "total_balance": total,
        "balance_breakdown": {"rewards": rewards, "fees": fees, "vat": total - rewards - fees},
        "available_balance": held.available,
    }


@blueprint.get("/workspaces/<workspace_id>/projects/")
@call
def list_projects(work: Work, workspace_id: str) -> Answer:
    """The projects, oldest first."""
    own_workspace(work, workspace_id)
    found = work.session.scalars(select(Project).order_by(Project.number))
    return by_offset([_project(work, each) for each in found], asked(), here())


@blueprint.post("/workspaces/<workspace_id>/projects/")
@call
def create_project(work: Work, workspace_id: str) -> Answer:
    """A new project."""
    own_workspace(work, workspace_id)
    title = body().get("title")
    if not isinstance(title, str) or not title.strip():
        raise Refusal({"title": ["This field is required."]})
    project = Project(id=new_id(), title=title, made_at=work.now)
    work.session.add(project)
    return _project(work, project), 201


@blueprint.get("/projects/<project_id>/")
@call
def get_project(work: Work, project_id: str) -> Answer:
    """A project in detail."""
    project = find_project(work, project_id)
    if project is None:
        raise NotFound("Project")
    return _project(work, project)


@blueprint.get("/reward-recommendations/")
@call
def recommend_rewards(work: Work) -> Answer:
    """What to pay an hour, in minor units; the newest first."""
    own_workspace(work, request.args.get("workspace_id"))
    currency = request.args.get("currency", work.workspace.currency)
    figures = (work.terms.floor_per_hour, work.terms.advised_per_hour)
    names = ("min_reward_per_hour", "recommended_reward_per_hour")
    return [{"currency": currency, **dict(zip(names, figures, strict=True))}]


@blueprint.post("/researchers/participants/")
@call
def create_test_participant(work: Work) -> Answer:
    """A participant for tests. The part of the e-mail address before the @ is the name to come in by."""
    email = body().get("email")
    if not isinstance(email, str) or "@" not in email:
        raise Refusal({"email": ["Enter a valid email address."]})
    return {"participant_id": known_as(work, email.partition("@")[0], email).id}, 201


@blueprint.post("/messages/")
@call
def send_message(work: Work) -> Answer:
    """A message to one participant."""
    given = body()
    return _send(work, [given.get("recipient_id")], given)


@blueprint.post("/messages/bulk/")
@call
def send_messages(work: Work) -> Answer:
    """The same message to many."""
    given = body()
    return _send(work, given.get("ids"), given)


@blueprint.post("/messages/participant-group/")
@call
def message_group(work: Work) -> Answer:
    """The same message to a group."""
    given = body()
    group = find_group(work, str(given.get("participant_group_id")))
    return _send(work, [each.participant_id for each in members(work, group.id)], given, study=False)


@blueprint.get("/messages/")
@call
def list_messages(work: Work) -> Answer:
    """Messages with one participant, or since a moment."""
    query = select(Message).order_by(Message.number)
    if user := request.args.get("user_id"):
        query = query.where((Message.sender_id == user) | (Message.recipient_id == user))
    elif since := request.args.get("created_after"):
        try:
            moment = datetime.fromisoformat(since)
            moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise Refusal({"created_after": ["This is not a moment."]}) from None
        if work.now - moment > LOOK_BACK:
            raise Refusal({"created_after": ["This can be at most 30 days ago."]})
        query = query.where(Message.made_at >= moment)
    else:
        raise Refusal("Give user_id or created_after.")
    return {"results": [shown.message(each) for each in work.session.scalars(query)]}


@blueprint.get("/messages/unread/")
@call
def list_unread_messages(work: Work) -> Answer:
    """Messages that the researcher has not read."""
    query = select(Message).where(Message.recipient_id == work.workspace.user_id, Message.unread)
    return {"results": [shown.message(each) for each in work.session.scalars(query)]}


@newer.get("/filters/")
@call
def list_filters(work: Work) -> Answer:
    """The filters that there are."""
    return by_offset(CATALOGUE, asked(), here(), limit=25)


@newer.post("/eligibility-count/")
@call
def count_eligible(work: Work) -> Answer:
    """How many of those who came so far pass the filters; 0 if they are few."""
    given = body()
    own_workspace(work, given.get("workspace_id"))
    filters: Any = given.get("filters")
    check_filters(filters)
    people = work.session.scalars(select(Participant.id))
    count = sum(passes(filters, Candidate(work, each)) for each in people)
    return {"count": count if count >= FEW else 0}


def _send(work: Work, ids: Any, given: dict[str, Any], *, study: bool = True) -> Answer:
    text = given.get("body")
    if not isinstance(text, str) or not text.strip():
        raise Refusal({"body": ["This field is required."]})
    if not isinstance(ids, list) or not ids or not all(isinstance(each, str) for each in ids):
        raise Refusal("There is nobody to send it to.")
    study_id = find_study(work, str(given.get("study_id"))).id if study else None
    known = select(func.count()).where(Participant.id.in_(ids))
    if work.session.scalar(known) != len(set(ids)):
        raise Refusal("There is no such participant.")
    for each in ids:
        work.session.add(
            Message(
                id=new_id(),
                sender_id=work.workspace.user_id,
                recipient_id=each,
                study_id=study_id,
                body=text,
                made_at=work.now,
            )
        )
    return None, 204


def _workspace(work: Work) -> dict[str, Any]:
    return {"id": work.workspace.id, "title": "Workspace", "description": "", "owner": work.workspace.user_id}


def _project(work: Work, each: Project) -> dict[str, Any]:
    return {
        "id": each.id,
        "title": each.title,
        "workspace": work.workspace.id,
        "owner": work.workspace.user_id,
    }
