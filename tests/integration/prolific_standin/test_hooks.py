"""Hooks of the stand-in: the handshake, signed deliveries, tries, duplicates and disorder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from humaneval.market import Faults
from humaneval.market.faults.plan import read_line
from humaneval.market.prolific_standin import ProlificFault
from humaneval.market.prolific_standin.deliveries import Parcel, deliver_due, signature
from tests.integration.prolific_standin.conftest import Place

SUBMISSION = "submission.status.change"


@dataclass
class Receiver:
    """A receiver of events, which may be out of order."""

    works: bool = True
    got: list[Parcel] = field(default_factory=list)

    def __call__(self, parcel: Parcel) -> bool:
        self.got.append(parcel)
        return self.works

    def statuses(self) -> list[str]:
        return [json.loads(each.body)["status"] for each in self.got]


def subscribe(place: Place, event_type: str = SUBMISSION, *, confirmed: bool = True) -> str:
    """A subscription's id, after a handshake."""
    place.call("POST", "/hooks/secrets/", {"workspace_id": place.workspace()})
    asked = {
        "workspace_id": place.workspace(),
        "event_type": event_type,
        "target_url": "http://127.0.0.1:1/hook",
    }
    made = place.call("POST", "/hooks/subscriptions/", asked)
    assert made.status == 201
    path = f"/hooks/subscriptions/{made.body['id']}/"
    if confirmed:
        assert place.call("POST", path, {"secret": "wrong"}).status == 400
        assert place.call("POST", path, {"secret": made.headers["X-Hook-Secret"]}).status == 200
    return str(made.body["id"])


def events(place: Place, subscription: str, **query: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = place.get(f"/hooks/subscriptions/{subscription}/events/", **query)[
        "results"
    ]
    return found


def test_P19_a_subscription_without_its_handshake_stays_silent(place: Place) -> None:
    subscription, receiver = subscribe(place, confirmed=False), Receiver()
    place.person("ada").do(place.live())
    assert deliver_due(place.books, receiver) == 0
    assert events(place, subscription) == []


def test_an_event_is_signed_over_its_raw_body(place: Place) -> None:
    subscribe(place)
    secret = place.call("POST", "/hooks/secrets/", {"workspace_id": place.workspace()}).body["value"]
    receiver = Receiver()
    submission = place.person("ada").reserve(place.live())
    assert deliver_due(place.books, receiver) == 1
    (parcel,) = receiver.got
    payload = json.loads(parcel.body)
    assert payload["participant_id"] == place.get(f"/submissions/{submission}/")["participant"]
    assert (payload["resource_id"], payload["status"], payload["event_type"]) == (
        submission,
        "RESERVED",
        SUBMISSION,
    )
    stamp = parcel.headers["X-Prolific-Request-Timestamp"]
    assert stamp == str(int(place.clock.now.timestamp()))
    assert parcel.headers["X-Prolific-Request-Signature"] == signature(secret, stamp, parcel.body)


def test_events_follow_every_change_and_are_delivered_once(place: Place) -> None:
    subscription, receiver = subscribe(place), Receiver()
    submission = place.person("ada").do(place.live())
    place.decide(submission, "APPROVE")
    deliver_due(place.books, receiver)
    assert receiver.statuses() == ["RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED"]
    assert deliver_due(place.books, receiver) == 0
    assert len(events(place, subscription, status="SUCCEEDED", resource_id=submission)) == 4
    assert events(place, subscription, status="PENDING") == []


def test_events_of_a_study_name_its_states(place: Place) -> None:
    subscribe(place, "study.status.change")
    receiver = Receiver()
    study = place.live(total_available_places=1)
    place.decide(place.person("ada").do(study), "APPROVE")
    deliver_due(place.books, receiver)
    assert receiver.statuses() == ["PUBLISHING", "ACTIVE", "AWAITING REVIEW", "COMPLETED"]


def test_time_alone_causes_events_too(place: Place) -> None:
    subscribe(place)
    receiver = Receiver()
    place.person("ada").begin(place.live())
    place.clock.pass_time(minutes=30)
    deliver_due(place.books, receiver)
    assert receiver.statuses() == ["RESERVED", "ACTIVE", "TIMED-OUT"]


def test_a_delivery_is_tried_twelve_times_within_a_day_under_one_id(place: Place) -> None:
    study = place.live()
    subscription, receiver = subscribe(place, "study.status.change"), Receiver(works=False)
    place.act(study, "PAUSE")
    began = place.clock.now
    while events(place, subscription)[0]["status"] == "PENDING":
        deliver_due(place.books, receiver)
        place.clock.pass_time(minutes=10)
    assert len(receiver.got) == 12
    assert len({each.headers["X-Event-ID"] for each in receiver.got}) == 1
    assert place.clock.now - began < timedelta(days=1, hours=6)
    assert events(place, subscription)[0]["status"] == "FAILED"


def test_five_days_without_success_disable_a_subscription(place: Place) -> None:
    subscription, receiver = subscribe(place), Receiver(works=False)
    study = place.live(total_available_places=20)
    for number in range(7):
        place.person(f"p{number}").reserve(study)
        deliver_due(place.books, receiver)
        place.clock.pass_time(days=1)
    path = f"/hooks/subscriptions/{subscription}/"
    assert place.get(path)["is_enabled"] is False
    assert place.call("PATCH", path, {"is_enabled": True}).body["is_enabled"] is True
    assert place.call("DELETE", path).status == 204
    assert place.call("GET", path).status == 404


@pytest.mark.parametrize(
    ("line", "statuses"),
    [
        ("duplicate,times=1", ["RESERVED", "RESERVED", "ACTIVE", "AWAITING REVIEW"]),
        ("disordered,times=1", ["ACTIVE", "AWAITING REVIEW", "RESERVED"]),
    ],
)
def test_events_come_twice_or_out_of_order_by_plan(
    place: Place, faults: Faults, line: str, statuses: list[str]
) -> None:
    subscribe(place)
    receiver = Receiver()
    place.person("ada").do(place.live())
    faults.replace(read_line(line, ProlificFault), 0)
    for _ in range(2):
        deliver_due(place.books, receiver, faults)
        place.clock.pass_time(seconds=6)
    assert receiver.statuses() == statuses
    assert len({each.headers["X-Event-ID"] for each in receiver.got}) == 3


@pytest.mark.parametrize(
    "asked",
    [
        {"event_type": "submission.made"},
        {"target_url": "ftp://127.0.0.1/"},
        {"target_url": "https://lab.example/hook"},
        {"workspace_id": "0" * 24},
    ],
)
def test_a_subscription_that_cannot_work_is_refused(place: Place, asked: dict[str, str]) -> None:
    good = {
        "workspace_id": place.workspace(),
        "event_type": SUBMISSION,
        "target_url": "http://127.0.0.1:1/",
    }
    assert place.call("POST", "/hooks/subscriptions/", good).status == 400  # there is no secret yet
    subscribe(place)
    assert place.call("POST", "/hooks/subscriptions/", {**good, **asked}).status in (400, 404)
    assert "message" in place.call("POST", "/hooks/subscriptions/", {**good, **asked}).body
