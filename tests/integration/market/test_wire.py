"""The protocol itself, byte by byte: what no well-behaved client sends must not break the marketplace
either."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from humaneval.market import Mode, create_market_app, open_market, wire
from humaneval.market.operations import OPERATIONS, Operation
from humaneval.market.protocol.shapes import service_model


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    engine: Engine = open_market(Path(tmp_path_factory.mktemp("market")) / "market.db")
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="http://localhost:1")
    with app.test_client() as client:
        yield client
    engine.dispose()


def call(client: FlaskClient, operation: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    target = {"X-Amz-Target": f"MTurkRequesterServiceV20170117.{operation}", **headers}
    response = client.post("/", data=data, headers=target, content_type="application/x-amz-json-1.1")
    return response.status_code, json.loads(response.data)


@pytest.mark.parametrize(
    ("operation", "body", "kind"),
    [
        ("GetHIT", b"{", "SerializationException"),
        ("GetHIT", b"[]", "SerializationException"),
        ("GetHIT", b"\xff", "SerializationException"),
        ("GetHIT", b"[" * 100_000, "SerializationException"),
        ("UpdateExpirationForHIT", b'{"HITId": "3A", "ExpireAt": NaN}', "SerializationException"),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": 1e300}, "ValidationException"),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": True}, "ValidationException"),
        ("UpdateExpirationForHIT", {"HITId": "3A", "ExpireAt": "2026-01-01"}, "ValidationException"),
        ("GetHIT", {}, "ValidationException"),
        ("GetHIT", {"HITId": None}, "ValidationException"),
        ("GetHIT", {"HITId": "3a"}, "ValidationException"),
        ("GetHIT", {"HITId": "3A\n"}, "ValidationException"),
        ("GetHIT", {"HITId": "3A", "Other": 1}, "ValidationException"),
        ("ListHITs", {"MaxResults": 101}, "ValidationException"),
        ("ListHITs", {"MaxResults": True}, "ValidationException"),
        ("ListHITs", {"MaxResults": 10**30}, "ValidationException"),
        ("ListAssignmentsForHIT", {"HITId": "3A", "AssignmentStatuses": ["Lost"]}, "ValidationException"),
        ("RejectAssignment", {"AssignmentId": "3A", "RequesterFeedback": "\ud800"}, "ValidationException"),
        ("GetHIT", {"HITId": "3A"}, "RequestError"),
        ("NoSuchOperation", {}, "UnknownOperationException"),
    ],
)
def test_what_breaks_the_model_is_refused_as_aws_would(
    client: FlaskClient, operation: str, body: Any, kind: str
) -> None:
    status, reply = call(client, operation, body)
    assert (status, reply["__type"]) == (400, kind)


def test_a_null_is_a_member_left_out_however_deep_it_stands(client: FlaskClient) -> None:
    kind = {"Title": "T", "Description": "D", "Reward": "0.10", "AssignmentDurationInSeconds": 60}
    known = {"QualificationTypeId": "00000000000000000071", "Comparator": "Exists"}
    replies = [
        call(client, "CreateHITType", {**kind, **rest})
        for rest in (
            {"QualificationRequirements": [known]},
            {"QualificationRequirements": [{**known, "IntegerValues": None}], "Keywords": None},
        )
    ]
    assert replies[0] == replies[1]
    assert replies[0][0] == 200


def test_a_call_that_is_too_large_is_refused_in_the_protocols_own_form(client: FlaskClient) -> None:
    status, reply = call(client, "GetHIT", b" " * 5_000_000)
    assert (status, reply["__type"]) == (413, "RequestEntityTooLargeException")


@pytest.mark.parametrize(
    "body",
    [
        {"QualificationRequirements": [{}] * 300_000},
        {"QualificationRequirements": [{"LocaleValues": [[]] * 500}] * 500},
        {f"Title{number}": 1 for number in range(200_000)},
    ],
)
def test_a_call_of_a_million_values_is_refused_before_each_is_looked_at(
    client: FlaskClient, body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "faults", lambda *_: pytest.fail("they are looked at"))
    status, reply = call(client, "CreateHIT", body)
    assert (status, reply["__type"]) == (400, "ValidationException")
    assert "30,000 values" in reply["message"]


def test_what_is_refused_is_not_quoted_whole(client: FlaskClient) -> None:
    hit = {"Title": "T", "Description": "D", "AssignmentDurationInSeconds": 60, "Reward": "9" * 1_000_000}
    status, reply = call(client, "CreateHITType", hit)
    assert (status, len(reply["message"]) < 2000) == (400, True)


def test_every_operation_of_the_api_is_answered(client: FlaskClient) -> None:
    assert set(OPERATIONS) == set(service_model().operation_names)
    assert client.post("/").status_code == 400


def test_no_web_page_may_spend_the_accounts_money(client: FlaskClient) -> None:
    assert call(client, "GetAccountBalance", {})[0] == 200
    assert call(client, "GetAccountBalance", {}, Origin="https://evil.example")[0] == 403


def test_a_reply_that_breaks_the_model_is_our_fault_and_is_logged(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(
        OPERATIONS, "GetAccountBalance", Operation(lambda *_: {"AvailableBalance": "-1"}, False)
    )
    with caplog.at_level(logging.ERROR):
        status, reply = call(client, "GetAccountBalance", {})
    assert (status, reply["__type"]) == (500, "ServiceFault")
    assert "breaks the model" in caplog.text


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(
        ["3A", "A1", "0.10", "1.", "Submitted", "000000000000000000L0", "Exists", "<a/>", "MTpudW1iZXI6MQ=="]
    ),
)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=4)


@given(st.data())
@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_request_brings_the_marketplace_down(client: FlaskClient, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(sorted(OPERATIONS)))
    shape = service_model().operation_model(operation).input_shape
    assert shape is not None
    members = shape.members
    required = dict.fromkeys(shape.required_members, _VALUES)
    optional = {name: _VALUES for name in members if name not in required}
    body = data.draw(st.fixed_dictionaries(required, optional=optional))
    status, _ = call(client, operation, body)
    assert status in (200, 400)
