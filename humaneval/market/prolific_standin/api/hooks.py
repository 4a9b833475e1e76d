"""Hooks over the API."""

from __future__ import annotations

from typing import Any

from flask import request
from sqlalchemy import delete, select

from humaneval.market.prolific_standin import hooks, shown
from humaneval.market.prolific_standin.api.calls import (
    Answer,
    answer,
    api,
    asked,
    body,
    call,
    here,
    own_workspace,
)
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.paging import by_offset
from humaneval.market.prolific_standin.tables import Event, Secret, Subscription

blueprint = api("hooks", newer=True)


@blueprint.get("/hooks/event-types/")
@call
def list_event_types(work: Work) -> Answer:
    """The types of events."""
    return {"results": [{"event_type": each, "description": ""} for each in hooks.EVENT_TYPES]}


@blueprint.get("/hooks/secrets/")
@call
def list_secrets(work: Work) -> Answer:
    """The secret that signs deliveries."""
    own_workspace(work, request.args.get("workspace_id"))
    current = hooks.current_secret(work)
    return {"results": [] if current is None else [_secret(work, current)]}


@blueprint.post("/hooks/secrets/")
@call
def create_secret(work: Work) -> Answer:
    """A new secret. It replaces the old one."""
    own_workspace(work, body().get("workspace_id"))
    return _secret(work, hooks.new_secret(work)), 201


@blueprint.get("/hooks/subscriptions/")
@call
def list_subscriptions(work: Work) -> Answer:
    """The subscriptions of the workspace."""
    found = work.session.scalars(select(Subscription).order_by(Subscription.number))
    return by_offset([shown.subscription(work, each) for each in found], asked(), here())


@blueprint.post("/hooks/subscriptions/")
@call
def create_subscription(work: Work) -> Answer:
    """A subscription. The header of the answer has what confirms it."""
    given = body()
    own_workspace(work, given.get("workspace_id"))
    subscription = hooks.subscribe(work, given.get("event_type"), given.get("target_url"))
    response = answer(shown.subscription(work, subscription), 201)
    response.headers["X-Hook-Secret"] = subscription.handshake
    return response


@blueprint.get("/hooks/subscriptions/<subscription_id>/")
@call
def get_subscription(work: Work, subscription_id: str) -> Answer:
    """A subscription in detail."""
    return shown.subscription(work, hooks.find_subscription(work, subscription_id))


@blueprint.post("/hooks/subscriptions/<subscription_id>/")
@call
def confirm_subscription(work: Work, subscription_id: str) -> Answer:
    """End the handshake."""
    subscription = hooks.find_subscription(work, subscription_id)
    hooks.confirm(subscription, body().get("secret"))
    return shown.subscription(work, subscription)


@blueprint.patch("/hooks/subscriptions/<subscription_id>/")
@call
def change_subscription(work: Work, subscription_id: str) -> Answer:
    """Enable or disable a subscription."""
    subscription = hooks.find_subscription(work, subscription_id)
    enabled = body().get("is_enabled")
    if isinstance(enabled, bool):
        subscription.enabled = enabled
        subscription.failing_since = None
    return shown.subscription(work, subscription)


@blueprint.delete("/hooks/subscriptions/<subscription_id>/")
@call
def delete_subscription(work: Work, subscription_id: str) -> Answer:
    """Delete a subscription and its events."""
    subscription = hooks.find_subscription(work, subscription_id)
    work.session.execute(delete(Event).where(Event.subscription_number == subscription.number))
    work.session.delete(subscription)
    return None, 204


@blueprint.get("/hooks/subscriptions/<subscription_id>/events/")
@call
def list_events(work: Work, subscription_id: str) -> Answer:
    """The events of a subscription, newest first."""
    subscription = hooks.find_subscription(work, subscription_id)
    query = select(Event).where(Event.subscription_number == subscription.number)
    if status := request.args.get("status"):
        query = query.where(Event.status == status)
    if resource := request.args.get("resource_id"):
        query = query.where(Event.resource_id == resource)
    found = work.session.scalars(query.order_by(Event.number.desc()))
    return by_offset([shown.event(each) for each in found], asked(), here())


def _secret(work: Work, secret: Secret) -> dict[str, Any]:
    return {"id": secret.id, "value": secret.value, "workspace_id": work.workspace.id}
