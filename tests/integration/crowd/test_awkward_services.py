"""A service that is slow, wrong or silent: what is asked again, what is not, and what is found by asking
alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from sqlalchemy import Engine, select

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.notify import notify_workers
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.workers import list_workers
from humaneval.errors import PartialError, PlatformError
from humaneval.market import Trouble
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow
from humaneval.study.stored import open_study


class _Body:
    def stream(self) -> Any:
        yield b"<html>HTTP Version Not Supported</html>"


@pytest.mark.parametrize("status", [505, 520])
def test_C69_an_odd_status_on_a_read_is_an_error_to_run_again_and_on_an_approval_is_never_sent_again(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, status: int
) -> None:
    answer(put_up(sqlite_engine, design={"annotators": 4}))
    sent: list[str] = []

    def odd(request: Any, **_: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        sent.append(operation)
        return AWSResponse(request.url, status, {}, _Body())

    name = "before-send.mturk.ListAssignmentsForHIT"
    platform.client.meta.events.register(name, odd)
    try:
        with pytest.raises(PlatformError, match="list assignments"):
            collect_work(open_study_at(sqlite_engine, "study", platform))
    finally:
        platform.client.meta.events.unregister(name, odd)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 1
    name = "before-send.mturk.ApproveAssignment"
    platform.once.meta.events.register(name, odd)
    sent.clear()
    with pytest.raises(PartialError):
        approve_work(open_study_at(sqlite_engine, "study", platform))
    platform.once.meta.events.unregister(name, odd)
    assert sent == ["ApproveAssignment"]
    assert study_status(open_study(sqlite_engine, "study"))[0].unconfirmed == 1
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1


JSON = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-RequestId": "r"}
PAGES = {
    "a page": ({"Content-Type": "text/html"}, b"<html>Please sign in to the network</html>"),
    "other JSON": ({"Content-Type": "application/json"}, b"{}"),
    "cut off": ({**JSON, "Content-Length": "900"}, b'{"HIT": {"HITId": "3ABC"}'),
    "cut off without a length": (JSON, b'{"HIT": {"HITId": "3A'),
}
"""Replies with HTTP 200 that no marketplace sends."""


@pytest.fixture
def replied(platform: MTurk) -> Callable[..., Any]:
    """Once, or for ever, an operation is replied to by something on the way, which passes nothing on."""

    @contextmanager
    def replying(operation: str, kind: str, *, ever: bool = False) -> Iterator[None]:
        headers, body = PAGES[kind]
        left = [1]

        def reply(request: Any, **_: Any) -> AWSResponse | None:
            if not (ever or (left and left.pop())):
                return None
            return AWSResponse(request.url, 200, headers, SimpleNamespace(stream=lambda: iter([body])))

        name = f"before-send.mturk.{operation}"
        clients = (platform.client, platform.once)
        for client in clients:
            client.meta.events.register(name, reply)
        yield
        for client in clients:
            client.meta.events.unregister(name, reply)

    return replying


@pytest.mark.parametrize("kind", PAGES)
def test_a_reply_that_no_marketplace_sends_confirms_nothing(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, replied: Callable, kind: str
) -> None:
    work = answer(put_up(sqlite_engine, design={"annotators": 4}))
    at = open_study_at(sqlite_engine, "study", platform)
    with replied("ListAssignmentsForHIT", kind), replied("GetHIT", kind):  # asked again, as after a fault
        assert collect_work(at).new == 1
    with replied("ApproveAssignment", kind), pytest.raises(PartialError):
        approve_work(at)
    bonus = {"assignment": work, "amount": Decimal("0.10"), "reason": "x", "purpose": "x"}
    with replied("SendBonus", kind, ever=True), pytest.raises(PlatformError, match="no reply of a market"):
        pay_bonus(at, **bonus)
    (worker,) = [line.worker for line in list_workers(at.study, "local")]
    with replied("NotifyWorkers", kind):
        notify_workers(at, subject="s", text="t", workers=[worker])
    assert study_status(at.study)[0].unconfirmed == 3
    assert list(platform.bonuses(work)) == []
    assert pay_bonus(at, **bonus).paid_now
    assert approve_work(at) == 1
    assert [paid.amount for paid in platform.bonuses(work)] == [Decimal("0.10")]


@pytest.mark.parametrize("kind", PAGES)
def test_a_hit_of_which_the_reply_was_cut_off_is_made_once(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, replied: Callable, kind: str
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at)
    with replied("CreateHIT", kind):
        assert publish_hits(at, public_url="http://localhost:9").made == 1
    with (
        replied("GetHIT", kind, ever=True),
        pytest.raises(PlatformError, match="did not say whether it could"),
    ):
        collect_work(at)


class _Refusal:
    def stream(self) -> Any:
        yield b'{"__type": "RequestError", "Message": "Not now."}'


def test_C10_an_approval_of_which_nobody_knows_is_not_called_refused(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, troubles: Any
) -> None:
    answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(open_study_at(sqlite_engine, "study", platform))
    looks = iter((None, AWSResponse("", 400, {}, _Refusal())))
    name = "before-send.mturk.GetAssignment"

    def second_look_fails(**_: Any) -> AWSResponse | None:
        return next(looks)

    platform.client.meta.events.register(name, second_look_fails)
    troubles.coming["ApproveAssignment"] = [Trouble.REPLY_LOST]
    with pytest.raises(PartialError):
        approve_work(open_study_at(sqlite_engine, "study", platform))
    platform.client.meta.events.unregister(name, second_look_fails)
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.unconfirmed, status.refused, status.approved) == (1, 0, 0)
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1
    assert study_status(open_study(sqlite_engine, "study"))[0].unconfirmed == 0


def test_C24_C37_everything_is_found_by_asking_no_notification_is_set_up_or_needed(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, troubles: Any
) -> None:
    up_there = put_up(sqlite_engine, design={"annotators": 4})
    first = answer(up_there, "Ada")
    platform.client.reject_assignment(AssignmentId=first, RequesterFeedback="By hand, elsewhere")
    answer(up_there, "Ben")
    collect_work(open_study_at(sqlite_engine, "study", platform))
    with reading(sqlite_engine) as session:
        states = session.scalars(select(AssignmentRow.state).order_by(AssignmentRow.id)).all()
    assert states == ["rejected", "submitted"]
    assert {"UpdateNotificationSettings", "SendTestEventNotification"}.isdisjoint(troubles.seen)


def test_C15_more_rows_are_carried_by_new_hits_never_by_stretching_one_past_nine(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    troubles: Any,
    listed: Callable,
) -> None:
    up_there = put_up(sqlite_engine, design={"annotators": 9, "top_up": "ask"})
    assignment = answer(up_there)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[assignment], reason="No.")
    plan_hits(open_study_at(sqlite_engine, "study", platform), top_up=True)
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=up_there.forms)
    assert sorted(hit["MaxAssignments"] for hit in listed()) == [1, 9]
    assert "CreateAdditionalAssignmentsForHIT" not in troubles.seen
    asked = next(hit for hit in listed() if hit["MaxAssignments"] == 1)["QualificationRequirements"]
    assert [requirement["Comparator"] for requirement in asked] == ["DoesNotExist"]  # Ada cannot take it


def test_C16_the_moment_of_automatic_approval_is_the_studys_and_status_counts_down_to_it(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    verb: Callable,
    listed: Callable,
) -> None:
    answer(put_up(sqlite_engine, design={"annotators": 4}, hit={"auto_approval_days": 2}))
    assert {hit["AutoApprovalDelayInSeconds"] for hit in listed()} == {2 * 86_400}
    collect_work(open_study_at(sqlite_engine, "study", platform))
    (line,) = review_work(open_study(sqlite_engine, "study"), "local")
    (status,) = study_status(open_study(sqlite_engine, "study"))
    with reading(sqlite_engine) as session:
        submitted = session.scalars(select(AssignmentRow.submitted_at)).one()
    assert submitted is not None
    assert line.auto_approval_at == status.next_auto_approval == submitted + timedelta(days=2)
    assert "local will approve the oldest form that waits, in 48 hours" in verb("status", "study").out
