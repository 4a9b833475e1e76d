"""Doors with a limit: what a call, a form or a pause can make the marketplace do."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, event

from humaneval.market import MarketServer, deadlines, operations
from humaneval.market import health as market_health
from humaneval.market.operations import Market
from humaneval.market.tables.database import Mode
from tests.integration.market.asking import refusal
from tests.integration.test_form_server import status_in_chunks
from tests.pace import PATIENCE

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]

MULTIPART = b'--b\r\nContent-Disposition: form-data; name="a"; '


def post(url: str, body: bytes, kind: str) -> int:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"a&" * 6000, "application/x-www-form-urlencoded", 413),
        (b"a=" + b"%ff" * 300_000, "application/x-www-form-urlencoded", 413),
        (b"a=" + b"%41%ff" * 10_000, "application/x-www-form-urlencoded", 413),
        (b"a=1&" * 6000, "text/plain", 413),
        (b"a=" + b"%61" * 300_000, "text/plain", 413),
        (MULTIPART + b"a;" * 600_000 + b"\r\n\r\n1\r\n--b--\r\n", "multipart/form-data; boundary=b", 413),
        (json.dumps({"assignmentId": "x", "a": ["1"] * 6000}).encode(), "application/json", 413),
        (b"[" * 200_000, "application/json", 400),
    ],
)
def test_an_answer_of_too_many_fields_or_too_deep_is_refused(
    server: MarketServer, body: bytes, kind: str, status: int
) -> None:
    assert post(server.url + "/mturk/externalSubmit", body, kind) == status


@pytest.mark.parametrize("body", [b"a&" * 6000, b"a=" + b"%ff" * 300_000])
def test_a_form_of_too_many_fields_or_escapes_is_refused_before_it_is_read(
    server: MarketServer, body: bytes
) -> None:
    assert post(server.url + "/signin", body, "application/x-www-form-urlencoded") == 413


def test_a_huge_body_is_refused_before_it_is_taken_in(server: MarketServer) -> None:
    answers = f"/mturk/externalSubmit?assignmentId=x&a={'x' * 200_000}"
    with urllib.request.urlopen(server.url + answers, timeout=PATIENCE) as reply:
        assert reply.status == 200  # answers may come in the address
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"POST /signin HTTP/1.1\r\nHost: x\r\nContent-Length: 99000000\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    assert status_in_chunks(server.port, "/signin") == 413


def test_a_call_with_hundreds_of_long_wrong_values_is_told_about_some(connect: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match="validation error") as caught:
        connect(validation=False).notify_workers(Subject="s", MessageText="m", WorkerIds=["?" * 5000] * 500)
    assert len(str(caught.value)) < 30_000
    assert "and more" in str(caught.value)


def test_review_policies_may_be_as_large_as_a_question(new_hit: NewHit) -> None:
    entries = [{"Key": f"question {place}", "Values": ["x" * 50]} for place in range(1000)]
    policy = {"PolicyName": "ScoreMyKnownAnswers/2011-09-01"}
    many = [{"Key": "AnswerKey", "MapEntries": entries}]
    few = [{"Key": "AnswerKey", "MapEntries": entries[:100]}]
    refused = refusal(new_hit, AssignmentReviewPolicy={**policy, "Parameters": many})
    assert refused == "InvalidParameterValue"
    new_hit(AssignmentReviewPolicy={**policy, "Parameters": few})


def test_an_overlong_name_destination_or_query_is_refused(
    server: MarketServer, mturk: Any, new_hit: NewHit
) -> None:
    name = b"name=" + b"+" * 3_000_000 + b"a"
    assert post(server.url + "/signin", name, "application/x-www-form-urlencoded") == 400
    notification = {
        "Destination": "a@" + "b" * 3000,
        "Transport": "Email",
        "Version": "2014-08-15",
        "EventTypes": ["HITExpired"],
    }
    kind = new_hit()["HITTypeId"]
    given = {"HITTypeId": kind, "Notification": notification}
    assert refusal(mturk.update_notification_settings, **given) == "InvalidParameterValue"
    asked = {"Query": "a " * 1000, "MustBeRequestable": False}
    assert refusal(mturk.list_qualification_types, **asked) == "InvalidParameterValue"


def test_after_a_long_pause_deadlines_are_applied_in_batches_and_all_of_them(
    mturk: Any, clock: Any, new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "AT_ONCE", 2)
    worker = person()
    for _ in range(5):
        worker.do(new_hit(MaxAssignments=1)["HITId"])
    clock.pass_time(days=8)
    before = mturk.get_account_balance()
    assert before["OnHoldBalance"] == "0.00"
    reviewable = mturk.list_reviewable_hits()["HITs"]
    assert [each["NumberOfAssignmentsCompleted"] for each in reviewable] == [1] * 5


def test_a_call_goes_on_although_many_deadlines_are_left(
    mturk: Any, clock: Any, new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "CATCH_UP_SECONDS", -1.0)
    hits = [new_hit(LifetimeInSeconds=60, AssignmentDurationInSeconds=60) for _ in range(3)]
    ada, grace = person(), person("Grace")
    late = ada.accept(hits[0]["HITId"])
    clock.pass_time(hours=1)
    stands = [mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] for hit in hits]
    assert stands == ["Assignable"] * 3
    assert ada.submit(late, choice="1").status == 409
    assert grace.post(f"/hits/{hits[1]['HITId']}/accept", csrf=grace.csrf()).status == 409
    group = new_hit(LifetimeInSeconds=3600, AssignmentDurationInSeconds=60)["HITGroupId"]
    asked = {"groupId": group, "csrf": grace.csrf()}
    assert grace.post(f"/hits/{hits[1]['HITId']}/accept", **asked).status == 303
    monkeypatch.undo()
    stands = [mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] for hit in hits]
    assert stands == ["Reviewable"] * 3


def test_work_that_is_due_to_be_approved_is_not_rejected_although_deadlines_are_left(
    mturk: Any, clock: Any, new_hit: NewHit, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = new_hit(MaxAssignments=1, AutoApprovalDelayInSeconds=60)["HITId"]
    person().do(hit)
    clock.pass_time(hours=1)
    with monkeypatch.context() as patched:
        patched.setattr(operations, "CATCH_UP_SECONDS", -1.0)
        (work,) = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
        assert work["AssignmentStatus"] == "Submitted"
        no = {"AssignmentId": work["AssignmentId"], "RequesterFeedback": "no"}
        assert refusal(mturk.reject_assignment, **no) == "InvalidAssignmentState"
    found = mturk.get_assignment(AssignmentId=work["AssignmentId"])["Assignment"]
    assert found["AssignmentStatus"] == "Approved"


@pytest.mark.parametrize("behind", [False, True])
def test_one_call_applies_deadlines_and_others_wait_for_it_only_if_few_are_left(
    engine: Engine,
    server: MarketServer,
    clock: Any,
    new_hit: NewHit,
    monkeypatch: pytest.MonkeyPatch,
    behind: bool,
) -> None:
    new_hit(LifetimeInSeconds=60)
    clock.pass_time(hours=1)
    market, inside, go = Market(engine, Mode.LOCAL, clock), Event(), Event()
    if behind:
        with monkeypatch.context() as patched:
            patched.setattr(operations, "CATCH_UP_SECONDS", -1.0)
            market.perform("GetAccountBalance", {})
    monkeypatch.setattr(operations, "CATCH_UP_SECONDS", PATIENCE)

    def let_time_pass(*given: Any) -> bool:
        inside.set()
        assert go.wait(PATIENCE)
        return deadlines.let_time_pass(*given)

    monkeypatch.setattr(operations, "let_time_pass", let_time_pass)

    def ask() -> str:
        return str(market.perform("ListHITs", {})["HITs"][0]["HITStatus"])

    with ThreadPoolExecutor() as pool:
        first = pool.submit(ask)
        assert inside.wait(PATIENCE)
        second = pool.submit(ask)
        with suppress(TimeoutError):
            second.result(PATIENCE if behind else 0.05)
        assert second.done() == behind
        go.set()
        assert first.result(PATIENCE) == "Reviewable"
        assert second.result(PATIENCE) == ("Assignable" if behind else "Reviewable")


def test_a_person_who_takes_part_asks_the_database_little(
    engine: Engine, server: MarketServer, new_hit: NewHit, person: SignIn
) -> None:
    """With `BEGIN`, and the look for deadlines that have passed."""
    hit, ada = new_hit()["HITId"], person()
    csrf, sent = ada.csrf(), [0]

    def count(*_: object) -> None:
        sent[0] += 1

    def statements(act: Callable[[], Any]) -> int:
        sent[0] = 0
        act()
        return sent[0]

    event.listen(engine, "before_cursor_execute", count)
    preview = statements(lambda: ada.get(f"/hits/{hit}"))
    accept = statements(lambda: ada.post(f"/hits/{hit}/accept", csrf=csrf))
    (mine,) = set(re.findall(r"/assignments/(\w+)", ada.get("/hits").text))
    work = statements(lambda: ada.get(f"/assignments/{mine}"))
    submit = statements(lambda: ada.submit(mine, choice="1"))
    ada.cookie = ""
    signed_out = statements(lambda: ada.get(f"/hits/{hit}"))
    event.remove(engine, "before_cursor_execute", count)
    assert (preview, accept, work, submit, signed_out) == (5, 9, 4, 10, 0)


def test_writers_take_turns(engine: Engine, clock: Any) -> None:
    market, inside, go = Market(engine, Mode.LOCAL, clock), Event(), Event()

    def first() -> None:
        with market.writing():
            inside.set()
            assert go.wait(PATIENCE)

    def second() -> None:
        with market.writing():
            pass

    with ThreadPoolExecutor() as pool:
        begun = pool.submit(first)
        assert inside.wait(PATIENCE)
        waiting = pool.submit(second)
        time.sleep(0.05)
        assert not waiting.done()
        go.set()
        begun.result(PATIENCE)
        waiting.result(PATIENCE)


def health(server: MarketServer) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{server.url}/health", timeout=PATIENCE) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("happens", ["log deleted", "copied over"])
def test_nothing_is_acknowledged_once_the_files_are_not_those_that_are_open(
    happens: str, server: MarketServer, person: Callable[..., Any], new_hit: NewHit, tmp_path: Path
) -> None:
    worker = person()
    assignment = worker.accept(new_hit()["HITId"])
    path = tmp_path / "market.db"
    if happens == "log deleted":
        Path(f"{path}-wal").unlink()
    else:
        with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(tmp_path / "copy")) as copy:
            live.backup(copy)
        path.write_bytes((tmp_path / "copy").read_bytes())
    assert worker.submit(assignment, choice="1").status == 503
    assert health(server)[0] == 503


def test_health_writes_and_says_what_is_wrong(
    engine: Engine,
    server: MarketServer,
    person: SignIn,
    new_hit: NewHit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(market_health, "FRESH_SECONDS", PATIENCE)
    worker = person()
    assignment = worker.accept(new_hit()["HITId"])
    assert health(server) == (200, "ok\n")
    path = tmp_path / "market.db"
    shutil.copy(path, tmp_path / "copy.db")
    path.rename(tmp_path / "away.db")
    assert health(server) == (200, "ok\n")  # asked a moment ago
    assert worker.submit(assignment, choice="1").status == 503
    (tmp_path / "copy.db").rename(path)
    assert worker.submit(assignment, choice="1").status == 503
    monkeypatch.setattr(market_health, "FRESH_SECONDS", -1)
    status, said = health(server)
    assert (status, "deleted or replaced" in said) == (503, True)
    (tmp_path / "away.db").rename(path)
    assert worker.submit(assignment, choice="1").status == 200
    assert health(server) == (200, "ok\n")
