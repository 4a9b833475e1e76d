"""The stand-in as a server: real HTTP, real deliveries, the command, and simulated people."""

from __future__ import annotations

import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.errors import SettingsError
from humaneval.market.prolific_standin import Faults, ProlificFault, ProlificServer, open_prolific
from humaneval.market.prolific_standin.deliveries import signature
from humaneval.simulated import Crowd, Skills, take_part
from humaneval.study.stored import open_study, study_key
from tests.forking.program import Program
from tests.integration.link.conftest import by_link  # noqa: F401 - a fixture
from tests.integration.prolific_standin.conftest import BODY, CODE
from tests.pace import PATIENCE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ProlificServer]:
    engine = open_prolific(tmp_path / "prolific.db")
    with ProlificServer(engine, faults=Faults(of=ProlificFault)) as server:
        yield server
    engine.dispose()


def call(server: ProlificServer, method: str, path: str, body: object = None) -> Any:
    """One call of the API that goes well."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{server.url}/api/v1{path}", data, method=method)
    asked.add_header("Authorization", f"Token {server.token}")
    with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
        text = response.read()
        return (json.loads(text) if text else None), response.headers


def live(server: ProlificServer, **changed: object) -> str:
    """A study that takes people."""
    study, _ = call(server, "POST", "/studies/", {**BODY, **changed})
    call(server, "POST", f"/studies/{study['id']}/transition/", {"action": "PUBLISH"})
    return str(study["id"])


def test_simulated_people_take_a_study_answer_it_and_come_back(
    server: ProlificServer,
    sqlite_engine: Engine,
    by_link: Callable,  # noqa: F811 - the fixture
) -> None:
    """Four of them, one for each row; the fifth finds no place. The link is a panel's."""
    back = f"https://app.prolific.com/submissions/complete?cc={CODE}"
    study = by_link(sqlite_engine, link={"completion_url": back})
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    query = "&".join(f"{name}={{{{%{name}%}}}}" for name in names)
    there = live(server, external_study_url=f"{study.panel_link()}?{query}", total_available_places=4)
    crowd = Crowd(5, Skills(1.0))
    key = study_key(open_study(sqlite_engine, "study"))
    assert take_part(crowd, server.url, there, key, at_once=1) == (4, 1)
    counts, _ = call(server, "GET", f"/studies/{there}/submissions/counts/")
    assert (counts["AWAITING REVIEW"], counts["TOTAL"]) == (4, 4)
    listed, _ = call(server, "GET", f"/submissions/?study={there}")
    assert {each["study_code"] for each in listed["results"]} == {CODE}
    assert len(study.responses()) == 16
    assert study.states() == Counter({"submitted": 4})


def test_events_reach_a_receiver_over_http(server: ProlificServer) -> None:
    got: list[tuple[dict[str, str], bytes]] = []
    came = threading.Event()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(302 if len(got) == 1 else 200)  # a redirect is no success
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
            came.set()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        workspace = {"workspace_id": server.workspace_id}
        secret, _ = call(server, "POST", "/hooks/secrets/", workspace)
        target = f"http://127.0.0.1:{receiver.server_port}/hook"
        asked = {**workspace, "event_type": "study.status.change", "target_url": target}
        made, headers = call(server, "POST", "/hooks/subscriptions/", asked)
        path = f"/hooks/subscriptions/{made['id']}/"
        call(server, "POST", path, {"secret": headers["X-Hook-Secret"]})
        call(server, "POST", "/studies/", BODY)
        study = live(server)
        assert came.wait(PATIENCE)
        receiver.shutdown()
    named, body = got[0]
    stamp = named["X-Prolific-Request-Timestamp"]
    assert named["X-Prolific-Request-Signature"] == signature(secret["value"], stamp, body)
    assert json.loads(body)["resource_id"] == study


def test_a_connection_is_dropped_after_the_work_was_done(server: ProlificServer) -> None:
    assert server.faults is not None
    server.faults.replace((ProlificFault(kind="dropped", only=("create_study",), times=1),), 0)
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        call(server, "POST", "/studies/", BODY)
    assert call(server, "GET", "/studies/")[0]["meta"]["count"] == 1


def test_only_this_machine_is_served(tmp_path: Path) -> None:
    engine = open_prolific(tmp_path / "other.db")
    with pytest.raises(SettingsError, match="not this machine"):
        ProlificServer(engine, host="0.0.0.0")
    engine.dispose()


def test_the_command_prints_what_points_a_program_at_it(tmp_path: Path) -> None:
    words = ["prolific", "serve", "--port", "0", "--database", str(tmp_path / "p.db"), "--json"]
    words += ["--clock", "2026-11-02T09:00", "--faults", "none", "--balance", "12.50", "--currency", "USD"]
    with Program(*words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            asked = urllib.request.Request(f"{told['environment']['PROLIFIC_URL']}/api/v1/users/me/")
            asked.add_header("Authorization", f"Token {told['environment']['PROLIFIC_TOKEN']}")
            with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
                found = json.load(response)
            assert (found["balance"], found["currency_code"]) == (1250, "USD")
            assert told["faults"]["url"].endswith("/faults")
        finally:
            process.terminate()
    assert process.returncode == 0
