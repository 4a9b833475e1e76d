"""`extend` and `expire`: nobody loses work in hand, and only the study's own HITs change."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from sqlalchemy import Engine, select

from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.extend import Expired, expire_all, extend_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow


def expiries(engine: Engine) -> list[datetime]:
    with reading(engine) as session:
        return [moment for moment in session.scalars(select(HitRow.expires_at)) if moment]


def test_C23_who_has_accepted_may_finish_and_is_paid_after_expire(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 20})
    ada = person("Ada").accept(up.preview)
    ada.open()
    assert expire_all(open_study_at(engine, "study", platform)) == Expired(3, 1)
    assert person("Ben").browser.get(up.preview).status == 404
    ada.do()
    found = collect_work(open_study_at(engine, "study", platform))  # C24: nothing but asking tells us
    assert (found.new, found.responses) == (1, 4)
    assert approve_work(open_study_at(engine, "study", platform)) == 1
    assert expire_all(open_study_at(engine, "study", platform)) == Expired(3, 0)


def test_C22_expire_uses_a_moment_long_past_and_extend_brings_the_hits_back(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, listed: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 20})
    expire_all(open_study_at(sqlite_engine, "study", platform))
    assert {(hit["Expiration"].year, hit["HITStatus"]) for hit in listed()} == {(2015, "Reviewable")}
    assert all(moment <= datetime.now(UTC) for moment in expiries(sqlite_engine))
    assert extend_all(open_study_at(sqlite_engine, "study", platform), 2.5) == 3
    until = datetime.now(UTC) + timedelta(days=2.5)
    for moment in [hit["Expiration"] for hit in listed()] + expiries(sqlite_engine):
        assert abs(moment - until) < timedelta(minutes=1)
    person("Ada").accept(up.preview).do()
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 1


def test_C03_a_hit_that_an_interrupted_publish_left_is_taken_down_too(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, die: Callable, listed: Callable
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with die("response-received", "CreateHIT", 2):
        publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    assert expire_all(open_study_at(sqlite_engine, "study", platform)) == Expired(2, 0)
    assert {hit["HITStatus"] for hit in listed()} == {"Reviewable"}


@pytest.mark.parametrize(("call", "made"), [(2, 10), (12, 20)])
def test_publishing_stops_when_another_program_takes_the_study_down(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, listed: Callable, call: int, made: int
) -> None:
    study_factory(sqlite_engine, design={"annotators": 24})
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at, static=True)
    calls: list[str] = []

    def meanwhile(**_: object) -> None:
        calls.append("CreateHIT")
        if len(calls) == call:
            assert expire_all(open_study_at(sqlite_engine, "study", platform)).hits == call - 1

    platform.client.meta.events.register("before-send.mturk.CreateHIT", meanwhile)
    with pytest.raises(PartialError, match=f"taken down at local meanwhile: {made} HITs were put up") as told:
        publish_hits(at, public_url="http://localhost:9")
    assert "humaneval expire study --to local" in told.value.hint
    assert len(listed()) == made
    assert expire_all(at).hits == made
    assert {hit["HITStatus"] for hit in listed()} == {"Reviewable"}


def test_what_is_not_published_cannot_be_extended(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine)
    for verb in (
        lambda: extend_all(open_study_at(sqlite_engine, "study", platform), 1),
        lambda: expire_all(open_study_at(sqlite_engine, "study", platform)),
    ):
        with pytest.raises(UsageError, match="has no HITs at local"):
            verb()


class _Body:
    def stream(self) -> Any:
        yield (
            b'{"__type": "RequestError", "Message": "The idempotency token \\"x\\" has already been'
            b' processed."}'
        )


def test_an_expiry_that_was_sent_twice_counts_as_done_and_another_refusal_does_not(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})

    def twice(request: Any, **_: Any) -> AWSResponse:
        sent = json.loads(request.body)
        platform.once.update_expiration_for_hit(HITId=sent["HITId"], ExpireAt=sent["ExpireAt"])
        return AWSResponse(request.url, 400, {}, _Body())

    platform.client.meta.events.register("before-send.mturk.UpdateExpirationForHIT", twice)
    assert extend_all(open_study_at(sqlite_engine, "study", platform), 3) == 1
    platform.client.meta.events.unregister("before-send.mturk.UpdateExpirationForHIT", twice)
    with pytest.raises(PlatformError, match="365 days"):
        extend_all(open_study_at(sqlite_engine, "study", platform), 400)
