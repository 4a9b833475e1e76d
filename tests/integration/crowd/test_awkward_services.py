"""A service that is slow, wrong or silent: what is asked again, what is not, and what is found by asking
alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from sqlalchemy import Engine, select

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
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
