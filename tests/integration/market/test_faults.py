"""Faults on demand: by line, file or call, the same for the same seed, each with what a client and a worker
see."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from click.testing import CliRunner
from sqlalchemy import Engine

from humaneval.cli.main import cli
from humaneval.errors import UsageError
from humaneval.market import Faults, MarketServer, Mode, create_market_app
from humaneval.market.faults.admin import TOKEN_HEADER
from humaneval.market.faults.plan import read_line
from tests.forking.program import Program
from tests.pace import PATIENCE

HIT = {
    "Title": "t",
    "Description": "d",
    "Reward": "0.05",
    "MaxAssignments": 1,
    "AssignmentDurationInSeconds": 60,
    "LifetimeInSeconds": 3600,
}


@pytest.fixture
def plan() -> Faults:
    """The faults of `server`, none at first. Waiting is only recorded."""
    return Faults(sleep=lambda seconds: None)


@pytest.fixture
def server(engine: Engine, clock: Any, plan: Faults) -> Iterator[MarketServer]:
    with MarketServer(engine, mode=Mode.LOCAL, clock=clock, trouble=plan) as server:
        yield server


@pytest.mark.parametrize(
    ("kind", "status", "done"),
    [("throttled", 400, 0), ("unavailable", 503, 0), ("odd-status", 505, 0), ("reply-lost", 500, 1)],
)
def test_C68_C69_a_refused_call_did_nothing_and_a_lost_reply_did_it(
    connect: Callable[..., Any], external: str, plan: Faults, kind: str, status: int, done: int
) -> None:
    plan.replace(read_line(f"{kind},only=CreateHIT,times=1"), 0)
    mturk = connect(retries=0)
    with pytest.raises(ClientError) as caught:
        mturk.create_hit(**HIT, Question=external)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    if kind == "throttled":
        assert caught.value.response["Error"]["Code"] == "ThrottlingException"
    assert mturk.list_hits()["NumResults"] == done


def test_C01_C68_a_dropped_connection_left_its_work_behind(
    connect: Callable[..., Any], external: str, plan: Faults
) -> None:
    plan.replace(read_line("dropped,only=CreateHIT,times=1"), 0)
    mturk = connect(retries=0)
    with pytest.raises(ConnectionClosedError):
        mturk.create_hit(**HIT, Question=external, UniqueRequestToken="t")
    with pytest.raises(ClientError, match="already exists"):
        mturk.create_hit(**HIT, Question=external, UniqueRequestToken="t")
    assert mturk.list_hits()["NumResults"] == 1


def test_a_slow_call_is_carried_out_after_the_wait(engine: Engine, client_of: Callable[..., Any]) -> None:
    with MarketServer(engine, mode=Mode.LOCAL, trouble=Faults(read_line("slow,seconds=0.2"))) as server:
        mturk = client_of(server.url)
        began = time.monotonic()
        assert mturk.get_account_balance()["AvailableBalance"] == "10000.00"
        assert time.monotonic() - began >= 0.2


def test_a_clock_that_jumps_takes_everything_along_and_can_be_put_right(
    mturk: Any, new_hit: Callable[..., Any], plan: Faults, clock: Any
) -> None:
    hit = new_hit()
    plan.replace(read_line(f"clock,seconds={3 * 86400},only=GetAccountBalance,times=1"), 0)
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Assignable"
    mturk.get_account_balance()
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"
    later = new_hit(Title="Later")
    assert later["CreationTime"] == clock.now + timedelta(days=3)
    plan.replace((), 0)
    assert new_hit(Title="Now")["CreationTime"] == clock.now
    plan.replace(read_line("clock,seconds=-3600,times=1"), 0)
    assert new_hit(Title="Before")["CreationTime"] == clock.now - timedelta(hours=1)


def test_C26_pages_that_come_back_empty_in_the_middle_lose_nothing_to_who_reads_on(
    mturk: Any, new_hit: Callable[..., Any], plan: Faults
) -> None:
    ids = [new_hit(Title=f"HIT {number}")["HITId"] for number in range(5)]
    plan.replace(read_line("empty-page"), 0)
    pages = list(mturk.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 2}))
    assert [hit["HITId"] for page in pages for hit in page["HITs"]] == ids[::-1]
    assert [page["NumResults"] for page in pages] == [0, 2, 0, 2, 0, 1, 0]
    assert "NextToken" not in pages[-1]
    with pytest.raises(ClientError, match="NextToken"):
        mturk.list_assignments_for_hit(HITId=ids[0], NextToken=pages[2]["NextToken"])


def test_C06_work_that_someone_returned_gives_its_id_to_the_next_worker(
    mturk: Any, new_hit: Callable[..., Any], person: Callable[..., Any], plan: Faults
) -> None:
    hit = new_hit(MaxAssignments=1)
    plan.replace(read_line("reused-id"), 0)
    ada, grace = person("Ada"), person("Grace")
    returned = ada.accept(hit["HITId"])
    ada.post(f"/assignments/{returned}/return", csrf=ada.csrf())
    assert grace.accept(hit["HITId"]) == returned
    assert grace.accept(hit["HITId"]) == returned  # asking again changes nothing
    assert ada.get(f"/assignments/{returned}").status == 404
    grace.submit(returned, choice="2")
    (answer,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert (answer["AssignmentId"], answer["WorkerId"]) == (returned, grace.id)


class _Requester(BaseHTTPRequestHandler):
    """A requester's own server, which records its requests."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(f"GET {self.path}")
        body = (
            b"<!doctype html><html><head><title>Form</title></head><body><form method='post'"
            b" action='/save?x=1' id=f><input name='choice' value='4'></form></body></html>"
        )
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def requester() -> Iterator[tuple[str, list[str]]]:
    """The address of a requester's page, and the requests to its server."""
    handler = type("Handler", (_Requester,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as own:
        threading.Thread(target=own.serve_forever, daemon=True).start()
        yield f"http://localhost:{own.server_port}/form", handler.asked
        own.shutdown()


def test_C07_a_form_that_the_requesters_server_never_gets_is_submitted_all_the_same(
    mturk: Any,
    new_hit: Callable[..., Any],
    person: Callable[..., Any],
    plan: Faults,
    external: str,
    requester: Any,
) -> None:
    address, asked = requester
    question = re.sub(r"<ExternalURL>.*?</ExternalURL>", f"<ExternalURL>{address}</ExternalURL>", external)
    hit = new_hit(Question=question)
    plan.replace(read_line("unseen,times=1"), 0)
    ada = person()
    assignment = ada.accept(hit["HITId"])
    page = ada.get(f"/assignments/{assignment}").text
    assert f'src="/unseen/{assignment}"' in page
    shown = ada.get(f"/unseen/{assignment}")
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    (form,) = re.findall(r"<form[^>]*>.*?</form>", shown.text, re.S)
    assert form.count("action=") == 1
    assert f'action="{ada.url}/mturk/externalSubmit"' in form
    assert f'name="assignmentId" value="{assignment}"' in form
    ada.submit(assignment, choice="4")
    (answer,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert "<FreeText>4</FreeText>" in answer["Answer"]
    (opened,) = asked  # the page, and nothing from its form
    assert opened.startswith(f"GET /form?assignmentId={assignment}&hitId={hit['HITId']}&workerId={ada.id}")
    assert ada.get(f"/unseen/{assignment}").status == 404
    # The fault happens once: the next form goes to its own address.
    grace = person("Grace")
    assert f'src="{address}' in grace.get(f"/assignments/{grace.accept(hit['HITId'])}").text


def test_a_submission_whose_reply_was_lost_is_there_and_one_that_was_refused_can_be_sent_again(
    mturk: Any, new_hit: Callable[..., Any], person: Callable[..., Any], plan: Faults
) -> None:
    hit = new_hit()
    ada = person()
    assignment = ada.accept(hit["HITId"])
    plan.replace(read_line("unavailable,only=submit,times=1 reply-lost,only=submit,after=1,times=1"), 0)
    assert ada.submit(assignment, choice="2").status == 503
    assert mturk.list_assignments_for_hit(HITId=hit["HITId"])["NumResults"] == 0
    assert ada.submit(assignment, choice="2").status == 500
    assert mturk.list_assignments_for_hit(HITId=hit["HITId"])["NumResults"] == 1
    assert ada.submit(assignment, choice="3").status == 200
    (answer,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert "<FreeText>2</FreeText>" in answer["Answer"]


def admin(url: str, token: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={TOKEN_HEADER: token, **headers},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_faults_are_changed_while_the_marketplace_runs(
    server: MarketServer, connect: Callable[..., Any]
) -> None:
    url, token = server.faults_url, server.faults_token
    mturk = connect(retries=0)
    assert admin(url, token) == (200, {"seed": 0, "faults": []})
    assert admin(url, token, "PUT", {"faults": "throttled,times=2", "seed": 9})[0] == 200
    for _ in range(2):
        with pytest.raises(ClientError, match="ThrottlingException"):
            mturk.get_account_balance()
    mturk.get_account_balance()
    assert admin(url, token)[1] == {"seed": 9, "faults": [{"kind": "throttled", "times": 2, "happened": 2}]}
    assert admin(url, token, "PUT", {"faults": [{"kind": "unavailable"}]})[1]["seed"] == 0
    for wrong in (
        {"faults": "thunder"},
        {"faults": 3},
        {},
        [],
        {"faults": [], "seed": "x"},
        {"faults": [], "more": 1},
    ):
        assert admin(url, token, "PUT", wrong)[0] == 400
    with pytest.raises(ClientError, match="ServiceFault"):
        mturk.get_account_balance()
    assert admin(url, token, "DELETE")[1] == {"seed": 0, "faults": []}
    mturk.get_account_balance()


def test_nobody_else_changes_faults(server: MarketServer, engine: Engine, plan: Faults) -> None:
    url, token = server.faults_url, server.faults_token
    throttle = {"faults": "throttled"}
    assert admin(url, "", "PUT", throttle)[0] == 403
    assert admin(url, token + "x", "PUT", throttle)[0] == 403
    # What a browser would send from a page of another site, even one that knew the token.
    assert admin(url, token, "PUT", throttle, Origin="https://evil.example")[0] == 403
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1", trouble=plan)
    elsewhere = {"REMOTE_ADDR": "192.0.2.7"}
    reply = app.test_client().get("/faults", headers={TOKEN_HEADER: token}, environ_overrides=elsewhere)
    assert reply.status_code == 403
    without = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1")
    assert without.test_client().get("/faults", headers={TOKEN_HEADER: token}).status_code == 404
    assert plan.plan.faults == ()


def test_the_command_refuses_a_plan_that_makes_no_sense() -> None:
    refused = CliRunner().invoke(cli, ["market", "serve", "--faults", "thunder"])
    assert isinstance(refused.exception, UsageError)


def test_the_command_serves_with_faults_and_says_how_to_change_them(tmp_path: Path) -> None:
    command = ["market", "serve", "--port", "0", "--json"]
    command += ["--database", str(tmp_path / "market.db"), "--faults", "throttled=0.5", "--fault-seed", "4"]
    with Program(*command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())["faults"]
        status, state = admin(found["url"], found["token"])
        process.terminate()
    assert (status, state) == (
        200,
        {"seed": 4, "faults": [{"kind": "throttled", "chance": 0.5, "happened": 0}]},
    )


@pytest.mark.parametrize("retries", ["off", "legacy", "standard", "adaptive"])
@pytest.mark.parametrize("seed", [1, 2])
def test_C01_C68_with_a_token_no_fault_makes_a_second_hit_however_boto3_sends_again(
    server: MarketServer,
    client_of: Callable[..., Any],
    plan: Faults,
    external: str,
    retries: Any,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # botocore waits between attempts with this; the test does not.
    monkeypatch.setattr(
        "botocore.endpoint.time", type("Time", (), {"sleep": staticmethod(lambda seconds: None)})
    )
    plan.replace(read_line("throttled=0.15 unavailable=0.15 reply-lost=0.15 dropped=0.15"), seed)
    how = {"total_max_attempts": 1, "mode": "standard"} if retries == "off" else {"mode": retries}
    mturk = client_of(server.url, retries=how)
    made = {publish_one(mturk, f"hit-{number}", external) for number in range(8)}
    plan.replace((), 0)
    assert {hit["HITId"] for hit in mturk.list_hits(MaxResults=100)["HITs"]} == made
    assert len(made) == 8
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.48"


@pytest.mark.parametrize("kind", ["throttled", "unavailable", "odd-status", "reply-lost", "dropped"])
def test_C04_C15_with_a_token_no_fault_pays_a_bonus_or_adds_places_twice(
    connect: Callable[..., Any],
    new_hit: Callable[..., Any],
    person: Callable[..., Any],
    plan: Faults,
    kind: str,
) -> None:
    hit = new_hit()
    ada = person()
    assignment = ada.do(hit["HITId"])
    mturk = connect(retries=0)
    plan.replace(read_line(f"{kind},only=SendBonus+CreateAdditionalAssignmentsForHIT,times=1"), 0)

    def insist(call: Callable[..., Any], **parameters: Any) -> None:
        """Twice: the first answer is the fault's."""
        with pytest.raises((ClientError, ConnectionClosedError)):
            call(**parameters)
        with suppress(mturk.exceptions.RequestError):
            call(**parameters)

    bonus = {"WorkerId": ada.id, "AssignmentId": assignment, "BonusAmount": "1.00", "Reason": "Thanks"}
    insist(mturk.send_bonus, **bonus, UniqueRequestToken="b")
    insist(
        mturk.create_additional_assignments_for_hit,
        HITId=hit["HITId"],
        NumberOfAdditionalAssignments=3,
        UniqueRequestToken="a",
    )
    assert mturk.list_bonus_payments(AssignmentId=assignment)["NumResults"] == 1
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["MaxAssignments"] == 5
    # 10,000 less the bonus with its fee, and five places at 0.60 held.
    balance = mturk.get_account_balance()
    assert (balance["AvailableBalance"], balance["OnHoldBalance"]) == ("9995.80", "3.00")


def publish_one(mturk: Any, token: str, question: str) -> str:
    """Create a HIT as a careful script does: again with the same token until an answer says which HIT it
    is."""
    for _ in range(50):
        try:
            hit = mturk.create_hit(**HIT, Question=question, UniqueRequestToken=token)["HIT"]
            return str(hit["HITId"])
        except ConnectionClosedError:
            continue
        except ClientError as error:
            found = re.search(r"Hit (\w+) already exists", str(error))
            if found:
                return found.group(1)
    raise AssertionError("fifty times is enough")
