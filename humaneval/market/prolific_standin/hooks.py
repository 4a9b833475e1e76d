"""Hooks: secrets, subscriptions with their handshake, and the events that are due to be sent."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from sqlalchemy import select

from humaneval.market.prolific_standin.database import Work, new_id
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.study_fields import is_address
from humaneval.market.prolific_standin.tables import Event, Secret, Study, Submission, Subscription
from humaneval.market.protocol.addresses import is_loopback

SUBMISSION, STUDY = "submission.status.change", "study.status.change"
EVENT_TYPES = (SUBMISSION, STUDY, "study.progress.change", "study.has_high_return_rate")


def new_secret(work: Work) -> Secret:
    """A new secret, which replaces the old one."""
    secret = Secret(id=new_id(), value=secrets.token_urlsafe(32), made_at=work.now)
    work.session.add(secret)
    return secret


def current_secret(work: Work) -> Secret | None:
    """The secret that signs deliveries now."""
    return work.session.scalars(select(Secret).order_by(Secret.number.desc()).limit(1)).first()


def subscribe(work: Work, event_type: object, target_url: object) -> Subscription:
    """A subscription, silent until it is confirmed with its handshake. Raises Refusal."""
    if event_type not in EVENT_TYPES:
        raise Refusal(f"{event_type!r} is not a type of event.")
    if current_secret(work) is None:
        raise Refusal("Create a secret for the workspace first.")
    if not isinstance(target_url, str) or not is_address(target_url):
        raise Refusal("target_url must be a web address.")
    if not is_loopback(urlsplit(target_url).hostname or ""):
        raise Refusal("This stand-in sends events to this machine alone.")
    subscription = Subscription(
        id=new_id(), event_type=str(event_type), target_url=target_url, handshake=secrets.token_urlsafe(24)
    )
    work.session.add(subscription)
    work.session.flush()
    return subscription


def find_subscription(work: Work, subscription_id: str) -> Subscription:
    """The subscription with this id. Raises NotFound."""
    found = work.session.scalars(select(Subscription).where(Subscription.id == subscription_id)).first()
    if found is None:
        raise NotFound("Subscription")
    return found


def confirm(subscription: Subscription, secret: object) -> None:
    """End the handshake. Raises Refusal if the secret is not the one of the header."""
    if not isinstance(secret, str) or not secrets.compare_digest(secret, subscription.handshake):
        raise Refusal("The secret is not the one of the X-Hook-Secret header.")
    subscription.confirmed = True


def note_submission(work: Work, submission: Submission) -> None:
    """A submission has changed its status."""
    more = {"participant_id": submission.participant_id, "status": submission.status}
    _note(work, SUBMISSION, submission.id, more)


def note_study(work: Work, study: Study) -> None:
    """A study has changed its status."""
    _note(work, STUDY, study.id, {"status": study.status})


def note_progress(work: Work, study: Study, taken: int) -> None:
    """More or fewer places of a study are taken. What is in this event is unverified."""
    more = {"places_taken": taken, "total_available_places": study.body["total_available_places"]}
    _note(work, "study.progress.change", study.id, more)


def _note(work: Work, kind: str, resource_id: str, more: Mapping[str, object]) -> None:
    query = select(Subscription).where(
        Subscription.event_type == kind, Subscription.confirmed, Subscription.enabled
    )
    for subscription in work.session.scalars(query):
        work.session.add(
            Event(
                id=new_id(),
                subscription_number=subscription.number,
                resource_id=resource_id,
                payload={"resource_id": resource_id, **more, "event_type": kind},
                next_at=work.now,
                made_at=work.now,
            )
        )
