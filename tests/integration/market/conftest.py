"""A marketplace on a free port with a clock that tests move, a boto3 client for it, and workers who use plain
HTTP."""

from __future__ import annotations

import re
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.market import MarketServer, Mode, Trouble, open_market
from humaneval.market.faults.kinds import SITE_STEPS
from tests.pace import PATIENCE

EXTERNAL = """<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">
<ExternalURL>https://lab.example/form?study=7&amp;x=%26</ExternalURL><FrameHeight>600</FrameHeight></ExternalQuestion>"""

HTML = """<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">
<HTMLContent><![CDATA[<!DOCTYPE html><title>q</title><form method="post" action="https://www.mturk.com/mturk/externalSubmit">
<input name="assignmentId" id="assignmentId"><input name="choice" value="3"></form>]]></HTMLContent>
<FrameHeight>0</FrameHeight></HTMLQuestion>"""


@dataclass
class TestClock:
    """A clock that stands still until it is moved."""

    __test__ = False
    now: datetime = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_time(self, **units: float) -> None:
        self.now += timedelta(**units)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass
class Reply:
    """What came back over HTTP."""

    status: int
    headers: HTTPMessage
    text: str


@dataclass
class Person:
    """A worker with an HTTP client and no browser."""

    url: str
    name: str
    country: str = ""
    cookie: str = ""
    id: str = field(default="", init=False)

    def __post_init__(self) -> None:
        reply = self.post("/signin", name=self.name, country=self.country)
        assert reply.status == 303, reply.text
        self.cookie = (reply.headers["Set-Cookie"] or "").split(";")[0]
        found = re.search(r"\bA[A-Z0-9]{13}(?=<)", self.get("/hits").text)
        assert found
        self.id = found.group()

    def get(self, path: str) -> Reply:
        return self._send(path, None)

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> Reply:
        return self._send(path, urllib.parse.urlencode(fields).encode(), headers)

    def post_fields(self, path: str, fields: list[tuple[str, str]]) -> Reply:
        """Post fields in their order, including repeated ones."""
        return self._send(path, urllib.parse.urlencode(fields).encode())

    def post_file(self, path: str, name: str, filename: str, content: bytes, **fields: str) -> Reply:
        """A multipart form with one file in it."""
        boundary = "a-boundary"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
            for key, value in fields.items()
        ]
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n\r\n'
        body = b"".join([*parts, head.encode(), content, f"\r\n--{boundary}--\r\n".encode()])
        return self._send(path, body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/hits").text)
        assert found
        return found.group(1)

    def accept(self, hit_id: str) -> str:
        """Accept a HIT. Returns the assignment's id."""
        reply = self.post(f"/hits/{hit_id}/accept", csrf=self.csrf())
        assert reply.status == 303, reply.text
        return reply.headers["Location"].rpartition("/")[2]

    def submit(self, assignment_id: str, **fields: str) -> Reply:
        """Submit from the frame, which has no cookie."""
        return send(self.url + "/mturk/externalSubmit", {"assignmentId": assignment_id, **fields})

    def do(self, hit_id: str, **fields: str) -> str:
        """Accept and submit."""
        assignment_id = self.accept(hit_id)
        assert self.submit(assignment_id, **(fields or {"choice": "3"})).status == 200
        return assignment_id

    def _send(self, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> Reply:
        request = urllib.request.Request(
            self.url + path, data=body, headers={"Cookie": self.cookie, **(headers or {})}
        )
        return _read(request)


def send(url: str, fields: dict[str, str] | list[tuple[str, str]]) -> Reply:
    """A plain form POST."""
    return _read(urllib.request.Request(url, data=urllib.parse.urlencode(fields).encode()))


def _read(request: urllib.request.Request) -> Reply:
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=PATIENCE) as response:
            return Reply(response.status, response.headers, response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, error.headers, error.read().decode())


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture(scope="session")
def new_market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A marketplace's file as the migrations make it, to be copied."""
    path = tmp_path_factory.mktemp("new") / "market.db"
    open_market(path).dispose()
    return path


@pytest.fixture
def engine(tmp_path: Path, new_market: Path) -> Iterator[Engine]:
    shutil.copy(new_market, tmp_path / "market.db")
    engine = open_market(tmp_path / "market.db")
    yield engine
    engine.dispose()


@pytest.fixture
def troubles() -> list[Trouble | None]:
    """What goes wrong with the next calls, in order; empty: nothing does."""
    return []


@pytest.fixture
def mode() -> Mode:
    return Mode.LOCAL


@pytest.fixture
def server(
    engine: Engine, clock: TestClock, mode: Mode, troubles: list[Trouble | None]
) -> Iterator[MarketServer]:
    def trouble(step: str) -> Trouble | None:
        return troubles.pop(0) if troubles and step not in SITE_STEPS else None

    with MarketServer(engine, mode=mode, clock=clock, trouble=trouble) as server:
        yield server


@pytest.fixture
def connect(server: MarketServer, client_of: Callable[..., Any]) -> Callable[..., Any]:
    """Makes real boto3 clients for the marketplace."""

    def make(retries: int = 2, *, validation: bool = True) -> Any:
        how = {"mode": "standard", "max_attempts": retries}
        return client_of(server.url, retries=how, parameter_validation=validation)

    return make


@pytest.fixture
def mturk(connect: Callable[..., Any]) -> Any:
    return connect()


@pytest.fixture
def external() -> str:
    """A question on the requester's own server."""
    return EXTERNAL


@pytest.fixture
def html() -> str:
    """A question that is part of its HIT."""
    return HTML


@pytest.fixture
def person(server: MarketServer) -> Callable[..., Person]:
    """Signs a worker in by name."""

    def sign_in(name: str = "Ada", country: str = "") -> Person:
        return Person(server.url, name, country)

    return sign_in


HIT: dict[str, Any] = {
    "Title": "Which sentence did a machine write?",
    "Description": "Read a story of five sentences & mark one.",
    "Keywords": "story, reading",
    "Reward": "0.50",
    "AssignmentDurationInSeconds": 3600,
    "LifetimeInSeconds": 86400,
    "AutoApprovalDelayInSeconds": 7 * 86400,
    "MaxAssignments": 2,
    "Question": EXTERNAL,
}


@pytest.fixture
def new_hit(mturk: Any) -> Callable[..., dict[str, Any]]:
    """Creates a HIT. Keywords replace the default values."""

    def create(**changes: Any) -> dict[str, Any]:
        values = {name: value for name, value in {**HIT, **changes}.items() if value is not None}
        return mturk.create_hit(**values)["HIT"]

    return create


@pytest.fixture
def submit_raw(server: MarketServer) -> Callable[[list[tuple[str, str]]], Reply]:
    """Posts fields to externalSubmit, in their order, including repeated ones."""
    return lambda fields: send(server.url + "/mturk/externalSubmit", fields)


@pytest.fixture
def new_type(mturk: Any) -> Callable[..., str]:
    """Creates a qualification type. Returns its id."""

    def create(name: str = "Reader", **values: Any) -> str:
        values = {"Description": "Reads with care.", "QualificationTypeStatus": "Active", **values}
        created: str = mturk.create_qualification_type(Name=name, **values)["QualificationType"][
            "QualificationTypeId"
        ]
        return created

    return create
