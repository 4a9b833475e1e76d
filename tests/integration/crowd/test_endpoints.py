"""Which requests leave for where: what `--to sandbox` and `--to production` would send, caught just before
the wire.

What is caught is answered by the marketplace of the test, so that whole verbs run.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import urljoin, urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from sqlalchemy import Engine, func, select

from humaneval.crowd import endpoints
from humaneval.crowd.mturk.platform import MTurk
from humaneval.errors import SettingsError, UsageError
from humaneval.market import MarketServer
from humaneval.settings import Settings, load_settings
from humaneval.store.engine import reading
from humaneval.store.responses import response_lines
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, RowRow
from humaneval.study.stored import get_study
from humaneval.web.app import create_app
from tests.integration.crowd.test_verbs import everything
from tests.pace import PATIENCE

SITES = {
    "sandbox": (
        "mturk-requester-sandbox.us-east-1.amazonaws.com",
        "https://workersandbox.mturk.com",
        "https://workersandbox.mturk.com",
    ),
    "production": (
        "mturk-requester.us-east-1.amazonaws.com",
        "https://www.mturk.com",
        "https://worker.mturk.com",
    ),
}
"""API host, where forms are submitted, where workers look."""

COST = "3.84"
"""Of four assignments at $0.80 with their fees."""


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


@dataclass
class Wire:
    """Every request that a client was about to send."""

    answered_by: str
    sent: list[AWSPreparedRequest] = field(default_factory=list)

    def __call__(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        self.sent.append(request)
        body = request.body if isinstance(request.body, bytes) else str(request.body).encode()
        target = str(request.headers["X-Amz-Target"].decode())
        onward = urllib.request.Request(self.answered_by, data=body, headers={"X-Amz-Target": target})
        try:
            with urllib.request.urlopen(onward, timeout=PATIENCE) as reply:
                return AWSResponse(request.url, reply.status, dict(reply.headers), _Body(reply.read()))
        except urllib.error.HTTPError as error:
            with error:
                return AWSResponse(request.url, error.code, dict(error.headers), _Body(error.read()))

    @property
    def hosts(self) -> set[str]:
        return {urlsplit(request.url).netloc for request in self.sent}

    @property
    def scopes(self) -> set[str]:
        """Region and service in the signature's credential scope."""
        found = [
            re.search(r"Credential=[^/]+/\d{8}/([^,]+)/aws4_request", _text(request.headers["Authorization"]))
            for request in self.sent
        ]
        return {match[1] for match in found if match}

    @property
    def operations(self) -> list[str]:
        return [_text(request.headers["X-Amz-Target"]).rpartition(".")[2] for request in self.sent]

    def bodies(self, operation: str) -> list[dict[str, Any]]:
        return [
            json.loads(request.body)
            for request, name in zip(self.sent, self.operations, strict=True)
            if name == operation
        ]


def _text(header: str | bytes) -> str:
    return header.decode() if isinstance(header, bytes) else header


@pytest.fixture
def wire(market: MarketServer, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Every AWS client's requests, with keys in the environment that are nobody's."""
    wire, real = Wire(market.url), boto3.Session

    class Recorded(real):
        def client(self, *args: Any, **kwargs: Any) -> Any:
            client = super().client(*args, **kwargs)
            client.meta.events.register("before-send.mturk", wire)
            return client

    monkeypatch.setattr(boto3, "Session", Recorded)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody's")
    return wire


def live(endpoint: str, spend: str = COST) -> list[str]:
    return ["--live", "--spend", spend] if endpoint == "production" else []


@pytest.mark.parametrize("endpoint", ["sandbox", "production"])
@pytest.mark.parametrize("static", [False, True], ids=["form on our server", "static page"])
def test_C19_a_published_study_names_its_environment_everywhere(
    study: Engine, wire: Wire, verb: Callable, monkeypatch: pytest.MonkeyPatch, endpoint: str, static: bool
) -> None:
    if endpoint == "sandbox":  # what names the local marketplace never changes another endpoint
        monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    host, submit, worker_site = SITES[endpoint]
    done = verb("publish", "study", "--to", endpoint, "--json", *live(endpoint), *["--static"] * static)
    assert done.code == 0, done.err
    assert wire.hosts == {host}
    assert wire.scopes == {"us-east-1/mturk-requester"}
    assert {urlsplit(request.url).scheme for request in wire.sent} == {"https"}
    (preview,) = done.document["preview_urls"]
    assert preview.startswith(f"{worker_site}/mturk/preview?groupId=3")
    assert done.document["endpoint"] == endpoint
    questions = [body["Question"] for body in wire.bodies("CreateHIT")]
    assert len(questions) == (4 if static else 1)
    for question in questions:
        if static:
            assert f'action="{submit}/mturk/externalSubmit"' in _unescaped(question)
        else:
            assert ">https://study.example.org/form/" in question
    with reading(study) as session:
        assert set(session.scalars(select(HitRow.endpoint))) == {endpoint}
        assert set(session.scalars(select(OutboxRow.endpoint))) == {endpoint}
    assert endpoint in verb("status", "study").out


def _unescaped(xml: str) -> str:
    from xml.etree import ElementTree

    return "".join(ElementTree.fromstring(xml).itertext())


@pytest.mark.parametrize("endpoint", ["sandbox", "production"])
def test_C19_C33_the_form_belongs_to_the_worker_site_of_its_endpoint(
    study: Engine, wire: Wire, verb: Callable, endpoint: str
) -> None:
    _, submit, worker_site = SITES[endpoint]
    assert verb("publish", "study", "--to", endpoint, *live(endpoint)).code == 0
    with reading(study) as session:
        hit = session.scalars(select(HitRow)).one()
    client = create_app(Settings(), study).test_client()
    query = f"assignmentId=3X&workerId=W&hitId={hit.external_id}&turkSubmitTo=https://evil.example"
    shown = client.get(f"/form/{hit.key}?{query}")
    policy = shown.headers["Content-Security-Policy"]
    assert f"frame-ancestors {worker_site}" in policy
    assert "evil.example" not in policy + shown.text
    assert "X-Frame-Options" not in shown.headers
    assert ("rehearsal in the sandbox" in shown.text) == (endpoint == "sandbox")
    fields = {"token": re.search(r'name="token" value="([^"]+)"', shown.text)[1], "consent": "1"}
    sent = client.post(f"/form/{hit.key}", data=fields | {f"choice-{n}": "1" for n in (1, 2, 3, 4)})
    handed = client.get(urljoin(f"/form/{hit.key}", sent.headers["Location"]))
    assert f'action="{submit}/mturk/externalSubmit"' in handed.text
    with reading(study) as session:
        assert session.scalars(select(AssignmentRow.endpoint)).all() == [endpoint]


@pytest.mark.parametrize("endpoint", ["sandbox", "production"])
def test_C42_what_comes_back_from_the_sandbox_is_a_test_and_from_production_is_not(
    study: Engine, wire: Wire, verb: Callable, person: Callable, market: MarketServer, endpoint: str
) -> None:
    assert verb("publish", "study", "--to", endpoint, *live(endpoint)).code == 0
    with reading(study) as session:
        external = session.scalars(select(HitRow.external_id)).one()
        forms = session.scalars(select(RowRow.shown_hash).order_by(RowRow.ordinal)).all()
    fields = {"consent": "1", **{f"choice-{n}": "2" for n in (1, 2, 3, 4)}}
    first, second = (person(name).accept(f"{market.url}/hits/{external}") for name in ("Ada", "Ben"))
    for work, form in zip((first, second), forms, strict=False):
        work.submit_directly({**fields, "form": form})
    assert verb("collect", "study", "--to", endpoint, "--json").document["new"] == 2
    with reading(study) as session:
        lines = response_lines(session, get_study(session, "study"))
    assert {(line["endpoint"], line["test"]) for line in lines} == {(endpoint, endpoint == "sandbox")}
    local = verb("collect", "study", "--to", "local", "--json")
    assert local.document["submissions"] == 0  # another endpoint's objects are not touched
    assert wire.hosts == {SITES[endpoint][0]}
    with reading(study) as session:
        assert set(session.scalars(select(AssignmentRow.endpoint))) == {endpoint}
    # Money: each verb that spends asks for the sum, and calls nothing until it has it.
    for arguments, cost in (
        (["approve", "study", first.id], "0.96"),
        (["review", "study", "--approve"], "0.96"),
        (["bonus", "study", first.id, "--amount", "0.50", "--reason", "Thanks"], "0.60"),
    ):
        if endpoint == "production":
            wire.sent.clear()
            for more in (
                [],
                ["--live"],
                ["--live", "--spend", "0.01"],
                ["--spend", cost],
                ["--live", "--spend", "lots"],
            ):
                refused = verb(*arguments, "--to", endpoint, *more)
                assert refused.code == 2, (arguments, more, refused.out)
                assert cost in refused.err or "lots" in refused.err
            assert wire.sent == []
        assert verb(*arguments, "--to", endpoint, *live(endpoint, cost)).code == 0
    with reading(study) as session:
        paid = session.execute(select(PaymentRow.endpoint, PaymentRow.kind, PaymentRow.state)).all()
    assert sorted(map(tuple, paid)) == [
        (endpoint, "bonus", "paid"),
        (endpoint, "reward", "paid"),
        (endpoint, "reward", "paid"),
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "production spends real money: $3.84"),
        (["--spend", COST], "production spends real money: $3.84"),
        (["--live"], "there is no terminal to ask on"),
        (["--live", "--spend", "3.83"], "this costs $3.84, not $3.83"),
        (["--live", "--spend", ""], "not an amount of money"),
        (["--live", "--spend", "3.841"], "finer than a cent"),
        (["--live", "--spend", "all of it"], "not an amount of money"),
    ],
)
def test_C19_production_without_the_exact_word_is_refused_and_nothing_is_written(
    study: Engine, wire: Wire, verb: Callable, more: list[str], says: str
) -> None:
    before = everything(study)
    refused = verb("publish", "study", "--to", "production", *more)
    assert refused.code == 2
    assert says in refused.err
    assert everything(study) == before
    assert set(wire.operations) <= {"ListHITs"}  # what is up already costs nothing
    assert verb("publish", "study", "--to", "production", "--live", "--spend", f"${COST}").code == 0
    assert wire.operations.count("CreateHIT") == 1


@pytest.mark.parametrize(("typed", "code"), [("3.84\n", 0), ("yes\n", 2), ("\n", 2), ("3.80\n", 2)])
def test_C19_at_a_terminal_the_sum_is_typed(
    study: Engine, wire: Wire, verb: Callable, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    done = verb("publish", "study", "--to", "production", "--live")
    assert done.code == code
    assert "$3.84 of real money at production" in done.out + done.err
    assert wire.operations.count("CreateHIT") == (code == 0)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_MTURK", "AWS_ENDPOINT_URL"])
def test_C19_a_variable_that_points_elsewhere_is_an_error_with_production(
    study: Engine, wire: Wire, verb: Callable, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:8731/")
    for arguments in (["publish", "study", *live("production")], ["collect", "study"], ["expire", "study"]):
        refused = verb(*arguments, "--to", "production")
        assert refused.code == 2
        assert f"{variable} points to http://127.0.0.1:8731, but the endpoint is production" in refused.err
    assert wire.sent == []
    monkeypatch.setenv(variable, f"https://{SITES['production'][0]}")
    assert verb("publish", "study", "--to", "production", *live("production")).code == 0


@pytest.mark.parametrize("endpoint", ["sandbox", "production"])
def test_forms_behind_http_are_refused_outside_local(
    study: Engine, wire: Wire, verb: Callable, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", "http://study.example.org")
    refused = verb("publish", "study", "--to", endpoint, *live(endpoint))
    assert refused.code == 2
    assert "HUMANEVAL_PUBLIC_URL" in refused.err
    assert wire.sent == []
    with reading(study) as session:
        assert session.scalar(select(func.count()).select_from(HitRow)) == 0
    assert verb("publish", "study", "--to", endpoint, "--static", *live(endpoint)).code == 0


def test_amazons_address_is_never_taken_for_a_marketplace_of_ones_own(
    study: Engine, wire: Wire, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", f"https://{SITES['production'][0]}")
    refused = verb("publish", "study")
    assert refused.code == 2
    assert "Amazon's" in refused.err
    assert wire.sent == []


def test_an_endpoint_is_a_value() -> None:
    settings = load_settings(environment={"AWS_ENDPOINT_URL_MTURK": "http://127.0.0.1:1234/"}).settings
    local = endpoints.endpoint("local", settings, {})
    assert (local.api_url, local.submit_origin, local.spends_money) == (
        "http://127.0.0.1:1234",
        "http://127.0.0.1:1234",
        False,
    )
    assert endpoints.endpoint("sandbox", settings, {"AWS_ENDPOINT_URL": "http://x"}) is endpoints.SANDBOX
    assert endpoints.SANDBOX.is_test
    assert not endpoints.SANDBOX.spends_money
    assert endpoints.PRODUCTION.spends_money
    assert {endpoints.known(name, settings).name for name in endpoints.NAMES} == set(endpoints.NAMES)
    with pytest.raises(UsageError):
        endpoints.endpoint("nowhere", settings, {})
    with pytest.raises(SettingsError):
        endpoints.endpoint("production", settings, {"AWS_ENDPOINT_URL": "http://x"})
    assert MTurk(local).cost(Decimal("0.50"), 9).total == Decimal("5.40")
