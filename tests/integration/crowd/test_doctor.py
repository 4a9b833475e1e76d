"""`doctor STUDY` says what would fail before anything is published; nothing it does is seen anywhere."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from humaneval.crowd import doctor, endpoints
from humaneval.crowd.doctor import Finding, look
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PlatformError
from humaneval.store.engine import reading
from humaneval.store.types import Base
from tests.fixtures import nobodys_session
from tests.ports import free_port


@pytest.fixture
def study(sqlite_engine: Engine, study_factory: Callable) -> Engine:
    study_factory(sqlite_engine, design={"annotators": 12})
    return sqlite_engine


def findings(engine: Engine, platform: MTurk, url: str, name: str = "study") -> dict[str, Finding]:
    return {found.what: found for found in look(open_study_at(engine, name, platform), url)}


def contents(engine: Engine) -> dict[str, int]:
    with reading(engine) as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def posing_as(platform: MTurk, endpoint: Any) -> MTurk:
    """`endpoint`, answered by the marketplace of the test."""
    return MTurk(replace(endpoint, api_url=platform.endpoint.api_url), session=nobodys_session())


def test_C53_a_pretend_worker_goes_all_the_way_and_leaves_nothing_behind(
    study: Engine,
    platform: MTurk,
    form_server: Callable,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
    troubles: Any,
    listed: Callable,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", form_server(study).url)
    before = contents(study)
    done = verb("doctor", "study", "--json")
    told = {found["what"]: (found["ok"], found["detail"]) for found in done.document}
    assert done.code == 0, told
    assert told["Taking part"] == (
        True,
        "a simulated worker took a HIT, saw the form, answered and submitted",
    )
    assert told["Taking part again"] == (True, "is not possible")
    assert told["Paying"] == (True, "$0.96 with fees, and the books agree")
    for what in ("Address", "Form server", "Frames", "Keys", "Clock", "Balance", "Qualifications"):
        assert told[what][0], told[what]
    said = verb("doctor", "study").out
    assert "No problem was found. Nothing was published.\nNext: humaneval up study" in said
    assert contents(study) == before
    assert listed() == []
    assert set(troubles.seen) == {"GetAccountBalance", "ListHITs"}


def test_X25_an_english_control_in_a_study_of_another_language_is_named(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, page={"story_language": "de"})
    found = {one.what: one for one in look(open_study_at(sqlite_engine, "study", platform), "http://[::1]:9")}
    assert not found["Settings"].ok
    assert "the stories are in de, and the control says “" in found["Settings"].detail


def test_C53_screening_that_locks_everyone_out_is_found(
    sqlite_engine: Engine,
    study_factory: Callable,
    verb: Callable,
    platform: MTurk,
    form_server: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(sqlite_engine, participants={"min_approved_hits": 1000, "countries": ["DE"]})
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", form_server(sqlite_engine).url)
    done = verb("doctor", "study")
    assert done.code == 1
    assert "MISSING After publishing: the simulated worker found no HIT that it may take" in done.out


@pytest.mark.parametrize(
    ("url", "trouble"),
    [
        ("http://study.example.org", "is not https"),
        ("https://localhost:8730", "can be reached from this machine or network only"),
        ("https://192.168.1.7", "can be reached from this machine or network only"),
        ("https://[::1]:8730", "can be reached from this machine or network only"),
        ("https://lab.internal", "can be reached from this machine or network only"),
    ],
)
def test_an_address_that_workers_cannot_reach_is_found(
    study: Engine, platform: MTurk, url: str, trouble: str
) -> None:
    sandbox = posing_as(platform, endpoints.SANDBOX)
    found = next(look(open_study_at(study, "study", sandbox), url))
    assert (found.what, found.ok) == ("Address", False)
    assert trouble in found.detail


@contextmanager
def proxy(headers: dict[str, str], body: bytes = b"ok\n", status: int = 200) -> Iterator[str]:
    """Something in front of a form server that answers in its own way."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name is http.server's

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("headers", "trouble"),
    [
        ({"X-Frame-Options": "SAMEORIGIN"}, "X-Frame-Options"),
        ({"Content-Security-Policy": "default-src 'self'; frame-ancestors 'self'"}, "does not let"),
    ],
)
def test_C33_headers_that_keep_the_form_out_of_the_frame_are_found(
    study: Engine, platform: MTurk, headers: dict[str, str], trouble: str
) -> None:
    with proxy(headers) as url:
        found = findings(study, platform, url)
    assert found["Form server"].ok
    assert not found["Frames"].ok
    assert trouble in found["Frames"].detail


def test_the_form_server_is_asked_at_the_way_that_people_come() -> None:
    known = (
        endpoints.SANDBOX,
        endpoints.link("https://lab.example"),
        endpoints.prolific("https://api.example"),
    )
    with proxy({}, status=404) as url:
        said = [next(doctor._form_server(each, url)).detail for each in known]
    assert said == [f"{url}/{way}/health says: HTTP 404" for way in ("form", "take", "prolific")]


def test_a_proxy_of_the_environment_is_for_other_machines(
    study: Engine, platform: MTurk, form_server: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = findings(study, MTurk(platform.endpoint), form_server(study).url)
    assert found["Form server"].ok
    assert found["Keys"].ok
    assert "s from local" in found["Clock"].detail


def test_another_server_in_our_place_and_none_at_all_are_found(study: Engine, platform: MTurk) -> None:
    assert not findings(study, platform, platform.endpoint.api_url)["Form server"].ok
    with proxy({}, b"<h1>It works!</h1>") as url:
        assert "something else answers" in findings(study, platform, url)["Form server"].detail
    assert "does not answer" in findings(study, platform, url)["Form server"].detail


def test_a_clock_that_is_wrong_is_found(
    study: Engine, platform: MTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = datetime.now(UTC) + timedelta(minutes=7)
    monkeypatch.setattr(doctor, "datetime", SimpleNamespace(now=lambda zone: later))
    found = findings(study, platform, "http://127.0.0.1:1")["Clock"]
    assert not found.ok
    assert found.detail.endswith("s from local's")


@pytest.mark.parametrize("balance", ["5.00"], indirect=True)
def test_C13_a_balance_that_does_not_carry_the_study_is_found(
    study: Engine, platform: MTurk, form_server: Callable
) -> None:
    found = findings(study, platform, form_server(study).url)["Balance"]
    assert not found.ok
    assert "$5.00, and the study costs $11.52" in found.detail


@pytest.fixture
def balance(request: pytest.FixtureRequest) -> Any:
    from decimal import Decimal

    return Decimal(request.param) if hasattr(request, "param") else None


def test_C55_a_qualification_that_is_not_there_is_found(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, form_server: Callable
) -> None:
    study_factory(sqlite_engine, participants={"qualifications": [{"id": "3NOBODYHASTHIS"}]})
    found = findings(sqlite_engine, platform, form_server(sqlite_engine).url)["Qualifications"]
    assert not found.ok
    assert "local has no qualification 3NOBODYHASTHIS" in found.detail


@pytest.mark.parametrize(
    "date", ["soon", "Mon, 30 Nov 2026 10:00:00 -0000", "Mon, 99 Nov 99999 10:00:00 GMT"]
)
def test_a_clock_that_nobody_can_read_is_none(monkeypatch: pytest.MonkeyPatch, date: str) -> None:
    monkeypatch.setattr(doctor, "_headers", lambda url: {"Date": date})
    assert doctor._clock(endpoints.local("http://127.0.0.1:9")).detail == "local does not give its time"


@pytest.mark.parametrize("how", ["refused", "403", "no such host"])
def test_a_service_that_has_closed_is_said_to_have_closed(study: Engine, how: str) -> None:
    closed = "Mechanical Turk closed on 30 September 2026"
    gone = {"refused": f"http://127.0.0.1:{free_port()}", "no such host": "http://mturk.invalid"}
    with proxy({"Content-Type": "text/html"}, b"<html>Forbidden</html>", 403) as url:
        endpoint = replace(endpoints.PRODUCTION, api_url=gone.get(how, url))
        platform = MTurk(endpoint, session=nobodys_session())
        found = findings(study, platform, "https://study.example.org")
        assert found["Keys"].detail.startswith(closed)
        assert "Balance" not in found
        plan_hits(open_study_at(study, "study", platform))
        with pytest.raises(PlatformError, match=closed) as refused:
            publish_hits(open_study_at(study, "study", platform), public_url="https://study.example.org")
    assert "market serve" in refused.value.hint
    assert refused.value.nothing_done


def test_a_marketplace_of_ones_own_that_is_not_running_did_not_close(study: Engine) -> None:
    platform = MTurk(endpoints.local(f"http://127.0.0.1:{free_port()}"))
    found = findings(study, platform, "http://127.0.0.1:1")["Keys"]
    assert "market serve" in found.detail
    assert "closed" not in found.detail


def test_X28_words_that_are_shown_in_english_are_named_before_anything_is_published(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, form_server: Callable
) -> None:
    study_factory(sqlite_engine, "id", design={"annotators": 4}, page={"language": "id"})
    study_factory(
        sqlite_engine, "de", design={"annotators": 4}, page={"language": "de", "story_language": "en"}
    )
    url = form_server(sqlite_engine).url
    found = findings(sqlite_engine, platform, url, "id")["Settings"]
    assert (found.ok, found.needed) == (False, False)
    assert 'page.language = "id" has no words' in found.detail
    assert findings(sqlite_engine, platform, url, "de")["Settings"].ok
