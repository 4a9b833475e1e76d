"""Events from Prolific: signed over what came, fresh, handled once, in the order in which things happened."""

from __future__ import annotations

import base64
import hmac
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import urllib3
from sqlalchemy import event, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.ask_return import ask_returns
from humaneval.crowd.prolific.events import SECRET, event_in
from humaneval.errors import InputError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import EventRow, MetaRow
from tests.integration.prolific.people import Person, World

KEY = "a-secret"
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def request(
    body: bytes, *, key: str = KEY, at: datetime = NOW, happened: datetime | None = None, id: str = "e1"
) -> dict[str, str]:
    """The headers of an event, by Prolific's description."""
    seconds = str(int(at.timestamp()))
    digest = hmac.digest(key.encode(), seconds.encode() + body, "sha256")
    return {
        "X-Prolific-Request-Timestamp": seconds,
        "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
        "X-Event-ID": id,
        "X-Timestamp": str(int((happened or at).timestamp())),
    }


def body_of(submission: str, status: str) -> bytes:
    told = {"event_type": "submission.status.change", "resource_id": submission, "status": status}
    return json.dumps({**told, "participant_id": "P"}, indent=1).encode()


def test_the_signature_is_over_the_raw_body() -> None:
    body = body_of("S", "RETURNED")
    found = event_in(request(body), body, KEY, NOW)
    assert (found.about, found.status) == ("S", "RETURNED")
    for unread in ("soon", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        assert event_in({**request(body), "X-Timestamp": unread}, body, KEY, NOW).happened_at == NOW
    for headers, sent in (
        (request(body), json.dumps(json.loads(body)).encode()),  # the same in other words
        (request(body, key="another"), body),
        ({**request(body), "X-Prolific-Request-Timestamp": str(int(NOW.timestamp()) + 1)}, body),
        ({}, body),
        ({**request(body), "X-Prolific-Request-Signature": "ä"}, body),
    ):
        with pytest.raises(InputError, match="wrong"):
            event_in(headers, sent, KEY, NOW)


@pytest.mark.parametrize(
    "body",
    [
        body_of("\ud800", "RETURNED"),
        body_of("a\0b", "RETURNED"),
        body_of("S", "\0"),
        b"[" * 5_000 + b"]" * 5_000,
        b"9" * 5_000,
    ],
    ids=["half a character", "zero byte", "zero byte in the status", "nested", "a long number"],
)
def test_an_event_that_no_database_can_hold_is_refused(body: bytes) -> None:
    with pytest.raises(InputError, match="an event"):
        event_in(request(body), body, KEY, NOW)


@pytest.mark.parametrize("off", [timedelta(minutes=6), -timedelta(minutes=6)])
def test_a_signature_that_is_not_fresh_is_refused(off: timedelta) -> None:
    body = body_of("S", "RETURNED")
    with pytest.raises(InputError, match="old"):
        event_in(request(body, at=NOW + off), body, KEY, NOW)


def listens(world: World) -> World:
    world.publish()
    with writing(world.engine) as session:
        session.add(MetaRow(key=SECRET, value=KEY))
    return world


@pytest.fixture
def listening(world: World) -> World:
    return listens(world)


def send(world: World, person: Person, status: str, **signed: Any) -> int:
    body = body_of(person.submission, status)
    headers = request(body, **{"at": datetime.now(UTC), **signed})
    answer = urllib3.request("POST", f"{world.forms}/prolific/events", body=body, headers=headers)
    return int(answer.status)


def handled(world: World) -> int:
    with reading(world.engine) as session:
        return session.scalar(select(func.count()).select_from(EventRow)) or 0


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "TIMED_OUT", "REJECTED"])
def test_a_place_that_is_open_again_is_free_at_once_and_once(listening: World, status: str) -> None:
    ann = listening.person("Ann")
    ann.take()
    (row,) = listening.rows()
    assert send(listening, ann, status, key="somebody else's") == 400
    assert listening.rows() == [row]
    assert send(listening, ann, status) == 204
    assert listening.rows() == []
    ann.give_back()
    ben = listening.person("Ben")
    ben.take()
    assert listening.rows() == [row]
    assert send(listening, ann, status) == 204  # the same event again
    assert (listening.rows(), handled(listening)) == ([row], 1)


def test_a_flood_of_forged_events_makes_one_line_in_the_log(
    listening: World, caplog: pytest.LogCaptureFixture
) -> None:
    ann = listening.person("Ann")
    ann.take()
    assert {send(listening, ann, "RETURNED", key="somebody else's") for _ in range(20)} == {400}
    assert len([each for each in caplog.records if each.levelno == logging.WARNING]) == 1


@pytest.mark.parametrize("by", ["event", "newcomer", "collection"])
def test_P05_the_place_of_work_that_was_returned_after_it_was_submitted_is_free(
    listening: World, by: str
) -> None:
    people = listening.answered_by("Ann", "Ben", "Cleo", "Dan")
    listening.collect()
    ask_returns(listening.at(), [people[0].submission], "It was our fault; please return it.", dry_run=False)
    people[0].give_back()
    if by == "event":
        assert send(listening, people[0], "RETURNED") == 204
        assert len(listening.rows()) == 3
    if by == "collection":
        listening.collect()
    assert listening.person("Eve").take().form(field="form") is not None
    assert len(set(listening.rows())) == 4
    assert listening.states() == {"superseded": 1, "submitted": 3, "opened": 1}


def test_P05_somebody_at_work_keeps_the_row_while_others_return_theirs(listening: World) -> None:
    ann = listening.person("Ann")
    ann.take()
    (row,) = listening.rows()
    people = listening.answered_by("Ben", "Cleo", "Dan")
    listening.collect()
    ask_returns(listening.at(), [people[0].submission], "It was our fault; please return it.", dry_run=False)
    people[0].give_back()
    listening.answered_by("Eve")
    ann.answer()
    ann.finish()
    assert listening.collect().new == 2
    assert (len(listening.rows()), row in listening.rows()) == (4, True)


def test_an_event_counts_once_on_either_database(anywhere: World) -> None:
    listening = listens(anywhere)
    ann = listening.person("Ann")
    ann.take()
    ann.give_back()
    assert [send(listening, ann, "RETURNED") for _ in range(2)] == [204, 204]
    assert (listening.rows(), handled(listening)) == ([], 1)


def test_what_happened_before_does_not_count_after_what_happened_later(listening: World) -> None:
    ann, moment = listening.person("Ann"), datetime.now(UTC)
    ann.take()
    assert send(listening, ann, "ACTIVE", id="later", happened=moment) == 204
    assert send(listening, ann, "RETURNED", id="earlier", happened=moment - timedelta(seconds=9)) == 204
    assert len(listening.rows()) == 1


@pytest.mark.parametrize("written", ["soon", "9999999999", "2026-11-29T12:00:00Z", "1796000000123", ""])
def test_a_time_in_another_form_stops_nothing_and_overtakes_nothing(written: str) -> None:
    body = body_of("S", "RETURNED")
    found = event_in({**request(body), "X-Timestamp": written}, body, KEY, NOW)
    assert (found.status, found.happened_at <= NOW) == ("RETURNED", True)


@pytest.mark.parametrize("status", ["AWAITING REVIEW", "PROCESSING", "ON HOLD", ""])
def test_other_states_free_nothing(listening: World, status: str) -> None:
    ann = listening.person("Ann")
    ann.take()
    assert send(listening, ann, status) == 204
    assert len(listening.rows()) == 1


@pytest.mark.parametrize("nth", [1, 2])
def test_an_event_counts_as_handled_only_with_what_it_changes(listening: World, nth: int) -> None:
    ann = listening.person("Ann")
    ann.take()
    commits = 0

    def handler(session: Session) -> None:
        nonlocal commits
        commits += 1
        if commits == nth:
            raise RuntimeError("the server dies")

    event.listen(Session, "before_commit", handler)
    try:
        assert (send(listening, ann, "RETURNED") >= 500) is (commits >= nth)
    finally:
        event.remove(Session, "before_commit", handler)
    assert send(listening, ann, "RETURNED") == 204
    assert (handled(listening), listening.rows()) == (1, [])
