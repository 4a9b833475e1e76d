"""A program that does not know this toolkit: boto3, urllib and a HIT of its own, against the command."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import boto3
import pytest

from tests.forking.program import Program
from tests.pace import PATIENCE

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
QUESTION = f"""<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd">
<HTMLContent><![CDATA[<!DOCTYPE html><form action="https://www.mturk.com/mturk/externalSubmit" method="post">
<input name="assignmentId"><input name="colour"></form>]]></HTMLContent>
<FrameHeight>300</FrameHeight></HTMLQuestion>"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Starts the command as a user would. Returns the variables that it prints."""
    command = ["market", "serve", "--port", "0", "--balance", "20.00", "--json"]
    command += ["--database", str(tmp_path / "market.db")]
    with Program(*command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["environment"]
        finally:
            process.terminate()


def test_a_foreign_boto3_program_runs_a_hit_of_its_own_and_pays_to_the_cent(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with closing(boto3.client("mturk")) as mturk:
        before = Decimal(mturk.get_account_balance()["AvailableBalance"])
        hit = mturk.create_hit(
            Title="Name a colour",
            Description="Any colour.",
            Reward="0.75",
            MaxAssignments=1,
            AssignmentDurationInSeconds=600,
            LifetimeInSeconds=3600,
            Question=QUESTION,
        )["HIT"]

        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        browser = urllib.request.build_opener(cookies)

        def visit(path: str, **fields: str) -> tuple[str, str]:
            body = urllib.parse.urlencode(fields).encode() if fields else None
            with browser.open(environment["AWS_ENDPOINT_URL_MTURK"] + path, body, timeout=PATIENCE) as page:
                return page.geturl(), page.read().decode()

        _, listed = visit("/signin", name="Grace", country="US")
        token = re.search(r'name="csrf" value="([^"]+)"', listed)
        assert "Name a colour" in listed
        assert token
        working_at, _ = visit(f"/hits/{hit['HITId']}/accept", csrf=token.group(1))
        assignment_id = working_at.rpartition("/")[2]
        visit("/mturk/externalSubmit", assignmentId=assignment_id, colour="blue & green")

        (answer,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
        assert answer["AssignmentId"] == assignment_id
        assert "<FreeText>blue &amp; green</FreeText>" in answer["Answer"]
        mturk.approve_assignment(AssignmentId=assignment_id)
        mturk.send_bonus(
            WorkerId=answer["WorkerId"], AssignmentId=assignment_id, BonusAmount="0.30", Reason="Two colours!"
        )

        spent = before - Decimal(mturk.get_account_balance()["AvailableBalance"])
        assert spent == Decimal("0.75") + Decimal("0.15") + Decimal("0.30") + Decimal("0.06")
        assert "$1.05" in visit("/my-work")[1]
