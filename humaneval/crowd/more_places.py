"""Gives an offer that is up more places, where a study has one offer for everybody."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from humaneval.crowd.outbox import Intent, intend, pending, settle, withdraw
from humaneval.crowd.published_hits import hits_of
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.tables import HitRow, OutboxRow

PLACES = "places"
"""The outbox operation that gives an offer which is up more places."""


class MorePlaces(NamedTuple):
    """An intended change: an offer that is up takes `places` people, `more` than before."""

    intent: Intent
    hit_id: int
    places: int
    more: int


def places_to_give(session: Session, at: StudyAtPlatform) -> list[MorePlaces]:
    """The changes of places that are not confirmed yet."""
    found = []
    for intent in pending(session, study_id=at.id, endpoint=at.endpoint, operation=PLACES):
        asked = session.get_one(OutboxRow, intent.id).request
        found.append(MorePlaces(intent, asked["hit"], asked["places"], asked["more"]))
    return found


def add_places(session: Session, at: StudyAtPlatform, more: int) -> None:
    """Intend to give the study's offer so many places more, beyond what is intended already."""
    hit = hits_of(session, at.study, at.endpoint)[-1]
    if not more:
        return
    if hit.external_id is None:  # nobody has seen it
        hit.assignments += more
        return
    waiting = [each.places for each in places_to_give(session, at)]
    places = max([hit.assignments, *waiting]) + more
    intend(
        session,
        study_id=at.id,
        endpoint=at.endpoint,
        operation=PLACES,
        subject=f"hit {hit.id} places {places}",
        key=hit.key,
        request={"hit": hit.id, "places": places, "more": more},
    )


def confirm_places(session: Session, at: StudyAtPlatform, given: MorePlaces) -> None:
    """Confirm a change of places that the platform shows, although the program that asked for it died."""
    session.get_one(HitRow, given.hit_id).assignments = given.places
    settle(session, at.endpoint, PLACES, given.intent.subject)


def withdraw_places(session: Session, at: StudyAtPlatform, hit_id: int) -> None:
    """Withdraw the changes of places that were never confirmed: the offer is closed."""
    for each in places_to_give(session, at):
        if each.hit_id == hit_id:
            withdraw(session, at.endpoint, PLACES, each.intent.subject, "the study was closed before")
