"""A stand-in for Prolific with a clock that tests move, a client for its API, and people who take part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from humaneval.market.prolific_standin import Faults, ProlificFault, Terms, open_prolific
from humaneval.market.prolific_standin.app import create_prolific_app
from humaneval.market.prolific_standin.database import Books
from tests.integration.market.conftest import TestClock

CODE, AUTO, AWAY, OURS, PART = "C7Q2XK9D", "AUTO4711", "NOCONSENT", "OURS0815", "PART0816"
CODES = [
    {
        "code": CODE,
        "code_type": "COMPLETED",
        "actor": "participant",
        "actions": [{"action": "MANUALLY_REVIEW"}],
    },
    {"code": AUTO, "code_type": "OTHER", "actions": [{"action": "AUTOMATICALLY_APPROVE"}]},
    {
        "code": AWAY,
        "code_type": "NO_CONSENT",
        "actions": [{"action": "REQUEST_RETURN", "return_reason": "You did not agree."}],
    },
    {
        "code": OURS,
        "code_type": "COMPLETED",
        "actor": "researcher",
        "actions": [{"action": "MANUALLY_REVIEW"}],
    },
    {"code": PART, "code_type": "OTHER", "actor": "researcher", "actions": [{"action": "DYNAMIC_PAYMENT"}]},
]
BODY: dict[str, Any] = {
    "name": "Pick the machine sentence",
    "internal_name": "r3-b1",
    "description": "<p>Read <b>eight</b> stories.</p>",
    "external_study_url": "https://lab.example/p/r3?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
    "&SESSION_ID={{%SESSION_ID%}}",
    "prolific_id_option": "url_parameters",
    "completion_codes": CODES,
    "total_available_places": 3,
    "estimated_completion_time": 10,
    "maximum_allowed_time": 29,
    "reward": 150,
    "device_compatibility": ["desktop"],
    "peripheral_requirements": [],
    "filters": [],
    "submissions_config": {"max_submissions_per_participant": 1},
    "study_labels": ["ai_evaluation"],
}
REASON = (
    "You chose the first sentence in all eight stories, each in under two seconds, and missed both controls. "
    * 2
)


@dataclass
class Reply:
    """What the API answered."""

    status: int
    body: Any
    headers: Any

    @property
    def detail(self) -> Any:
        return self.body["error"]["detail"]


@dataclass
class Place:
    """A stand-in, and its researcher."""

    app: Flask
    books: Books
    clock: TestClock

    def __post_init__(self) -> None:
        self._client = self.app.test_client()

    def call(self, method: str, path: str, body: object = None, **query: object) -> Reply:
        """One call of the API."""
        reply = self._client.open(
            f"/api/v1{path}",
            method=method,
            json=body,
            query_string=query,
            headers={"Authorization": f"Token {self.books.token}"},
        )
        return Reply(reply.status_code, reply.get_json(silent=True), reply.headers)

    def get(self, path: str, **query: object) -> Any:
        """What a call that must go well answers."""
        reply = self.call("GET", path, **query)
        assert reply.status == 200, reply.body
        return reply.body

    def draft(self, **changed: object) -> str:
        """The id of a new draft."""
        reply = self.call("POST", "/studies/", {**BODY, **changed})
        assert reply.status == 201, reply.body
        return str(reply.body["id"])

    def live(self, **changed: object) -> str:
        """The id of a new study that takes people."""
        study = self.draft(**changed)
        assert self.act(study, "PUBLISH").body["status"] == "ACTIVE"
        return study

    def act(self, study: str, action: str, **more: object) -> Reply:
        """A transition of a study."""
        return self.call("POST", f"/studies/{study}/transition/", {"action": action, **more})

    def decide(self, submission: str, action: str, **more: object) -> Reply:
        """A transition of a submission."""
        return self.call("POST", f"/submissions/{submission}/transition/", {"action": action, **more})

    def state(self, study: str) -> str:
        """The state of a study."""
        return str(self.get(f"/studies/{study}/")["status"])

    def status(self, submission: str) -> str:
        """The status of a submission."""
        return str(self.get(f"/submissions/{submission}/")["status"])

    def money(self) -> int:
        """The available balance."""
        return int(self.get("/users/me/")["available_balance"])

    def workspace(self) -> str:
        """The id of the workspace."""
        return str(self.get("/workspaces/")["results"][0]["id"])

    def person(self, name: str) -> Person:
        """A participant."""
        return Person(self.app.test_client(), name)


@dataclass
class Person:
    """A participant in a browser."""

    browser: FlaskClient
    name: str

    def __post_init__(self) -> None:
        assert self.browser.post("/enter", data={"name": self.name}).status_code == 303

    def reserve(self, study: str) -> str:
        """Hold a place. Returns the submission's id."""
        reply = self.browser.post(f"/studies/{study}/reserve")
        assert reply.status_code == 303, reply.text
        return str(reply.headers["Location"].rpartition("/")[2])

    def start(self, submission: str) -> str:
        """Begin the work. Returns the address that it is at."""
        reply = self.browser.post(f"/submissions/{submission}/start")
        assert reply.status_code == 302, reply.text
        return str(reply.headers["Location"])

    def come_back(self, code: str = CODE) -> TestResponse:
        """Follow the study's completion link."""
        return self.browser.get("/submissions/complete", query_string={"cc": code} if code else {})

    def give_back(self, submission: str) -> TestResponse:
        """Return the work."""
        return self.browser.post(f"/submissions/{submission}/return")

    def begin(self, study: str) -> str:
        """Reserve and start."""
        submission = self.reserve(study)
        self.start(submission)
        return submission

    def do(self, study: str, code: str = CODE) -> str:
        """Reserve, start and submit."""
        submission = self.begin(study)
        assert self.come_back(code).status_code == 303
        return submission


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def faults() -> Faults:
    """Nothing goes wrong until a test replaces the plan."""
    return Faults(of=ProlificFault)


@pytest.fixture
def terms() -> Terms:
    return Terms()


@pytest.fixture
def place(tmp_path: Path, clock: TestClock, faults: Faults, terms: Terms) -> Iterator[Place]:
    engine = open_prolific(tmp_path / "prolific.db")
    books = Books(engine, terms=terms, clock=faults.moved(clock))
    yield Place(create_prolific_app(books, faults), books, clock)
    engine.dispose()
