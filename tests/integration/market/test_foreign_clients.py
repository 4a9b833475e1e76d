"""AWS's own clients, none of them ours: boto3, the AWS CLI and the SDK for JavaScript, each through a HIT's
whole life.

All are told where the marketplace is by the same three variables, and sign with a key that it checks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from sqlalchemy import Engine

from humaneval.market import Faults, Keys, MarketServer, Mode
from humaneval.market.faults.plan import read_line
from tests.conftest import ROOT, lacking

KEYS = {"AWS_ACCESS_KEY_ID": "FOREIGN", "AWS_SECRET_ACCESS_KEY": "not+a/secret+of+anyones"}
SCRIPT = Path(__file__).with_name("foreign_client.mjs")
CALLS = Path(__file__).with_name("foreign_client_cli.py")
AWS_CLI = (
    os.environ.get("HUMANEVAL_TEST_AWS_CLI")
    or shutil.which(str(ROOT / ".venv-aws" / "bin" / "aws"))
    or shutil.which("aws")
)

Call = Callable[..., dict[str, Any]]


class RefusedError(Exception):
    """What the client printed when the marketplace refused."""


@pytest.fixture
def plan() -> Faults:
    return Faults()


@pytest.fixture
def server(engine: Engine, plan: Faults) -> Iterator[MarketServer]:
    keys = Keys({KEYS["AWS_ACCESS_KEY_ID"]: KEYS["AWS_SECRET_ACCESS_KEY"]})
    with MarketServer(engine, mode=Mode.LOCAL, keys=keys, trouble=plan) as server:
        yield server


@contextmanager
def with_boto3(environment: dict[str, str]) -> Iterator[Call]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        # Not the session that all tests share: it keeps the first keys that it finds.
        mturk = boto3.Session().client("mturk")

        def call(operation: str, **parameters: Any) -> dict[str, Any]:
            try:
                return dict(getattr(mturk, xform_name(operation))(**parameters))
            except ClientError as error:
                raise RefusedError(f"{error} {error.response.get('TurkErrorCode')}") from None

        yield call
        mturk.close()


@contextmanager
def with_cli(environment: dict[str, str]) -> Iterator[Call]:
    """The command line, forked for each call from a process that has loaded it, which takes longer."""
    if AWS_CLI is None:
        lacking("the AWS CLI", "make .venv-aws/bin/aws")
    ours = str(ROOT / ".venv-aws" / "bin" / "aws") == AWS_CLI
    line = [Path(AWS_CLI).with_name("python"), CALLS] if ours else [sys.executable, CALLS, AWS_CLI]
    with subprocess.Popen(
        line, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as calls:

        def call(operation: str, **parameters: Any) -> dict[str, Any]:
            assert calls.stdin is not None
            assert calls.stdout is not None
            options = [
                part
                for name, value in parameters.items()
                for part in (f"--{xform_name(name, '-')}", str(value))
            ]
            words = ["mturk", xform_name(operation, "-"), *options, "--output", "json"]
            calls.stdin.write(json.dumps(words) + "\n")
            calls.stdin.flush()
            status, out, err = json.loads(calls.stdout.readline())
            if status:
                raise RefusedError(err)
            return dict(json.loads(out)) if out.strip() else {}

        yield call
        assert calls.stdin is not None
        calls.stdin.close()


@contextmanager
def with_javascript(environment: dict[str, str]) -> Iterator[Call]:
    if not (ROOT / "node_modules" / "@aws-sdk" / "client-mturk").is_dir():
        lacking("@aws-sdk/client-mturk", "apt-get install npm && npm ci")
    with subprocess.Popen(
        ["node", str(SCRIPT)],
        env={**os.environ, **environment, "AWS_REGION": "us-east-1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None

        def call(operation: str, **parameters: Any) -> dict[str, Any]:
            assert node.stdin is not None
            assert node.stdout is not None
            node.stdin.write(json.dumps({"operation": operation, "parameters": parameters}) + "\n")
            node.stdin.flush()
            answer = json.loads(node.stdout.readline())
            if "refusal" in answer:
                raise RefusedError(answer["refusal"])
            return dict(answer["reply"])

        yield call
        node.stdin.close()


CLIENTS = {"boto3": with_boto3, "cli": with_cli, "javascript": with_javascript}


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, server: MarketServer, tmp_path: Path) -> Iterator[Call]:
    """One of AWS's clients, told by its environment alone where to go and how to send again."""
    name, _, mode = request.param.partition(", ")
    environment = {
        "AWS_ENDPOINT_URL_MTURK": server.url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_RETRY_MODE": mode or "standard",
        "AWS_MAX_ATTEMPTS": "6",
        "HOME": str(tmp_path),
        **KEYS,
    }
    with CLIENTS[name](environment) as call:
        yield call


def hit(question: str) -> dict[str, Any]:
    return {
        "Title": "Name a colour – any colour",
        "Description": "One word.",
        "Reward": "0.75",
        "MaxAssignments": 2,
        "AssignmentDurationInSeconds": 600,
        "LifetimeInSeconds": 3600,
        "Question": question,
        "UniqueRequestToken": "colours-1",
    }


@pytest.mark.slow
def test_a_hit_lives_its_whole_life(client: Call, person: Callable[..., Any], html: str) -> None:
    before = Decimal(client("GetAccountBalance")["AvailableBalance"])
    made = client("CreateHIT", **hit(html))["HIT"]
    assert made["Title"] == "Name a colour – any colour"
    with pytest.raises(RefusedError, match=f"{made['HITId']} already exists"):
        client("CreateHIT", **hit(html))
    assert [each["HITId"] for each in client("ListHITs")["HITs"]] == [made["HITId"]]

    first, second = (person(name).do(made["HITId"], colour="blue & green") for name in ("Ada", "Grace"))

    answers = client("ListAssignmentsForHIT", HITId=made["HITId"], MaxResults=1)["Assignments"]
    if len(answers) == 1:  # the CLI has read the next page by itself
        answers = client("ListAssignmentsForHIT", HITId=made["HITId"])["Assignments"]
    assert [answer["AssignmentId"] for answer in answers] == [first, second]
    assert "<FreeText>blue &amp; green</FreeText>" in answers[0]["Answer"]
    client("ApproveAssignment", AssignmentId=first, RequesterFeedback="Thanks")
    client("RejectAssignment", AssignmentId=second, RequesterFeedback="No colour")
    with pytest.raises(RefusedError, match="status of: Submitted"):
        client("ApproveAssignment", AssignmentId=first)
    bonus = {"WorkerId": answers[0]["WorkerId"], "AssignmentId": first, "BonusAmount": "0.30"}
    client("SendBonus", **bonus, Reason="Two colours", UniqueRequestToken="bonus-1")
    with pytest.raises(RefusedError, match="already been processed"):
        client("SendBonus", **bonus, Reason="Two colours", UniqueRequestToken="bonus-1")
    (paid,) = client("ListBonusPayments", AssignmentId=first)["BonusPayments"]
    assert paid["BonusAmount"] == "0.30"

    client("UpdateExpirationForHIT", HITId=made["HITId"], ExpireAt=0)
    client("DeleteHIT", HITId=made["HITId"])
    assert client("ListHITs")["HITs"] == []
    assert client("GetHIT", HITId=made["HITId"])["HIT"]["HITStatus"] == "Disposed"
    spent = before - Decimal(client("GetAccountBalance")["AvailableBalance"])
    assert spent == Decimal("0.75") + Decimal("0.15") + Decimal("0.30") + Decimal("0.06")


@pytest.mark.parametrize(
    "client",
    [
        *(f"boto3, {mode}" for mode in ("legacy", "standard", "adaptive")),
        *(f"cli, {mode}" for mode in ("legacy", "adaptive")),
        *(f"javascript, {mode}" for mode in ("standard", "adaptive")),
    ],
    indirect=True,
)
def test_C01_C68_what_the_client_sends_again_by_itself_makes_one_hit(
    client: Call, plan: Faults, html: str
) -> None:
    plan.replace(
        read_line(
            "throttled,only=CreateHIT,times=1 unavailable,only=CreateHIT,after=1,times=1 "
            "dropped,only=CreateHIT,after=2,times=1"
        ),
        0,
    )
    with pytest.raises(RefusedError, match="already exists"):  # by the call whose connection was dropped
        client("CreateHIT", **hit(html))
    assert [fault["happened"] for fault in plan.happened()] == [1, 1, 1]
    plan.replace((), 0)
    assert len(client("ListHITs")["HITs"]) == 1


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_jumps_is_followed_by_the_javascript_client(
    server: MarketServer, plan: Faults, hours: int
) -> None:
    plan.replace(read_line(f"clock,seconds={hours * 3600},times=1"), 0)
    environment = {"AWS_ENDPOINT_URL_MTURK": server.url, **KEYS}
    with with_javascript(environment) as call:
        assert call("GetAccountBalance")["AvailableBalance"] == "10000.00"
        assert call("GetAccountBalance")["AvailableBalance"] == "10000.00"
    assert plan.happened()[0]["happened"] == 1
