"""Where a form may be shown, what is shown before it is accepted, and what stands in the addresses."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select, update
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.study_at import open_study_at
from humaneval.settings import Settings
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, PassageRow
from humaneval.store.types import now
from humaneval.web.app import create_app, running
from tests.browser.people import PublishedStudy, assignment_of, chosen, fill_in, send, sign_in, worker_of
from tests.chromium import profile
from tests.fixtures import signed
from tests.pace import PATIENCE

NOT_SHOWN = "chrome-error://chromewebdata/"


class _Framing(BaseHTTPRequestHandler):
    """A site whose pages are one frame: `/?http://…` frames that address."""

    def do_GET(self) -> None:
        inner = html.escape(self.path.removeprefix("/?"))
        page = f'<!doctype html><title>outer</title><iframe src="{inner}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def sites() -> Iterator[tuple[str, str]]:
    """The addresses of two sites that frame any page. They are real servers: Chromium tells them from mocked
    responses, which it keeps away from the ports of this machine whatever a page's policy says."""
    with ExitStack() as stack:
        urls = []
        for _ in range(2):
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), _Framing))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            urls.append(f"http://127.0.0.1:{server.server_port}")
        yield urls[0], urls[1]


def _framed(chromium: Browser, outer: str, inner: str) -> str:
    """What a person sees of `inner` in a frame on `outer`; NOT_SHOWN where the browser refuses."""
    with profile(chromium) as context, context.new_page() as page:
        page.goto(f"{outer}/?{inner}")
        until = monotonic() + PATIENCE
        while monotonic() < until:  # neither a refusal nor a page has an event of its own to wait for
            frame = page.frames[-1]
            if frame.url == NOT_SHOWN:
                return NOT_SHOWN
            if frame is not page.main_frame and frame.locator("main").count():
                return frame.locator("main").inner_text()
            page.wait_for_timeout(50)
        raise AssertionError(f"nothing came of {inner}")


def test_C33_the_worker_site_may_frame_a_form_and_no_other_site_may(
    chromium: Browser, study: PublishedStudy, sites: tuple[str, str]
) -> None:
    worker_site, elsewhere = sites
    settings = Settings(market_url=study.market_url, market_site=worker_site)
    key = study.hit_keys()[0]
    with running(create_app(settings, study.engine)) as port:
        forms = f"http://localhost:{port}"
        for path, words in (
            (study.address("A", "W").removeprefix(study.forms_url), "Story 1 of 4"),
            (f"/form/{key}?assignmentId=A&workerId=W", "not opened from the marketplace"),
            (f"/form/{key}", "This is only an example of what you will see."),
            (f"/form/{key}?assignmentId=A", "Your worker id is missing from it."),
            ("/form/unknown?assignmentId=A&workerId=W", "There is no such form"),
        ):
            assert words in _framed(chromium, worker_site, forms + path)
            assert _framed(chromium, elsewhere, forms + path) == NOT_SHOWN
        assert _framed(chromium, worker_site, forms + "/") == NOT_SHOWN


def test_the_headers_keep_everything_else_out(study: PublishedStudy, page: Page) -> None:
    got = page.goto(study.accept())
    assert got is not None
    policy = got.headers["content-security-policy"]
    assert "x-frame-options" not in got.headers
    assert "set-cookie" not in got.headers
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["cache-control"] == "no-store"
    assert "unsafe" not in policy
    assert f"form-action 'self' {study.market_url} " in policy
    assert policy.endswith(f"frame-ancestors {study.market_url}")


def test_C35_a_preview_shows_an_example_and_stores_nothing(page: Page, study: PublishedStudy) -> None:
    with reading(study.engine) as session:
        stories = session.scalars(select(PassageRow.sentences)).all()
    assert stories
    for query in ("", "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H", "?workerId=W"):
        page.goto(f"{study.forms_url}/form/{study.hit_keys()[0]}{query}")
        expect(page.get_by_text("This is only an example of what you will see.")).to_be_visible()
        expect(page.get_by_role("group", name="Example story")).to_be_visible()
        assert page.locator("input, textarea, button").count() == 6
        assert page.locator("input:enabled, textarea:enabled, button:enabled").count() == 0
        shown = page.content()
        assert not [sentence for story in stories for sentence in story if sentence in shown]
    assert study.stored() == (0, 0)


def test_C35_looking_ahead_claims_no_row(study: PublishedStudy) -> None:
    client = Client(create_app(Settings(market_url=study.market_url), study.engine))
    address = study.accept().removeprefix(study.forms_url)
    assert client.head(address).status_code == 204
    assert client.get(address, headers={"Sec-Purpose": "prefetch;prerender"}).status_code == 204
    assert client.get(address, headers={"Purpose": "prefetch"}).status_code == 204
    assert study.stored() == (0, 0)


def test_C35_an_address_without_a_worker_is_explained(page: Page, study: PublishedStudy) -> None:
    for query in ("assignmentId=A1", "assignmentId=A1&workerId=", f"assignmentId={'A' * 65}&workerId=W"):
        got = page.goto(f"{study.forms_url}/form/{study.hit_keys()[0]}?{query}")
        assert got is not None
        assert got.status == 400
        expect(page.get_by_role("heading", name="This address is incomplete")).to_be_visible()
    assert study.stored() == (0, 0)


@pytest.mark.parametrize(
    "query",
    [
        "amp;assignmentId=A1&amp;workerId=W1",
        "amp;amp;assignmentId=A1&workerId=W1",
        "AssignmentID=A1&WorkerID=W1",
        "assignmentid=A1&workerid=W1",
        "ASSIGNMENTID=A1&WORKERID=W1",
        "assignment_id=A1&worker-id=W1",
        "assignmentId=&workerId=&assignmentId=A1&workerId=W1",
        "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&assignmentId=A1&workerId=W1",
        "study=7&amp;assignmentId=A1&amp;workerId=W1",
    ],
)
def test_X47_the_ids_are_understood_however_the_address_spells_them(
    study: PublishedStudy, query: str
) -> None:
    client = Client(create_app(Settings(market_url=study.market_url), study.engine))
    with reading(study.engine) as session:
        hit = session.scalars(select(HitRow).order_by(HitRow.id).limit(1)).one()
    assert hit.external_id
    for external_hit, rest in (
        ("", "&turkSignature="),
        (hit.external_id, f"&hitId={hit.external_id}&turkSignature="),
        (hit.external_id, f"&amp;HIT_ID={hit.external_id}&amp;turksignature="),
    ):
        signature = signed(hit.secret, "A1", "W1", external_hit).rpartition("=")[2]
        page = client.get(f"/form/{hit.key}?{query}{rest}{signature}")
        assert (page.status_code, "Story 1 of 4" in page.text) == (200, True), rest
    with reading(study.engine) as session:
        assert session.scalars(select(AssignmentRow.external_id)).all() == ["A1"]


def test_X48_a_hit_is_for_somebody_too(study: PublishedStudy) -> None:
    client = Client(create_app(Settings(market_url=study.market_url), study.engine))
    for id in ("undefined", "null", "NaN", "0", "{{workerId}}", "${workerId}", "workerId"):
        for query in (f"assignmentId=A1&workerId={id}", f"assignmentId={id}&workerId=W1"):
            page = client.get(f"/form/{study.hit_keys()[0]}?{query}")
            assert (page.status_code, "This address is incomplete" in page.text) == (400, True), query
    assert study.stored() == (0, 0)


def test_who_comes_again_or_too_late_reads_why(page: Page, publish: Callable[..., PublishedStudy]) -> None:
    study = publish(design={"annotators": 1})
    address = study.accept()
    page.goto(address)
    fill_in(page, [1, 1, 1, 1])
    page.goto(study.address("A2", worker_of(address)))
    assert chosen(page) == [0, 0, 0, 0], "another assignment is shown what was chosen under this one"
    page.goto(address)
    assert chosen(page) == [1, 1, 1, 1]
    send(page)
    page.get_by_role("heading", name="Thank you").wait_for()
    page.goto(study.address("A3", worker_of(address)))
    expect(page.get_by_role("heading", name="You have already taken part")).to_be_visible()
    expect(page.get_by_text("as many forms as one person can in this study (1)")).to_be_visible()
    page.goto(study.address("A4", "W4"))
    expect(page.get_by_role("heading", name="All forms are taken")).to_be_visible()


def test_C77_no_address_looks_like_advertising_and_nothing_comes_from_elsewhere(
    page: Page, study: PublishedStudy
) -> None:
    urls: list[str] = []
    weights: dict[str, int] = {}
    page.on("request", lambda request: urls.append(request.url))
    page.on("requestfinished", lambda request: weights.update({request.url: _weight(request)}))
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    fill_in(frame, [1, 2, 3, 4])
    send(frame)
    frame.get_by_role("heading", name="Thank you").wait_for()
    fetched = [url for url in urls if not url.startswith("data:")]
    assert {f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" for url in fetched} == {
        study.market_url,
        study.forms_url,
    }
    keys = "|".join(map(re.escape, study.hit_keys()))
    for url in fetched:
        path = re.sub(keys, "KEY", urlsplit(url).path)
        assert not re.search(
            r"/ad|[-_.]ads?[-_./]|banner|track|analytic|beacon|pixel|count|stat\b", path, re.I
        ), path
    form_page = {url: size for url, size in weights.items() if url.startswith(study.forms_url)}
    first_load = [size for url, size in form_page.items() if "handover" not in url]
    assert len(first_load) >= 3
    assert sum(first_load) < 30_000
    assert sum(size for url, size in form_page.items() if url.endswith("/form.js")) <= 4096


def _weight(request: object) -> int:
    response = request.response()
    return len(response.body()) if response.ok and request.method == "GET" else 0


def test_a_proxy_may_have_the_forms_in_a_folder(study: PublishedStudy) -> None:
    app = create_app(Settings(market_url=study.market_url), study.engine)
    client = Client(DispatcherMiddleware(lambda environ, start: [], {"/lab/forms": app}))
    address = "/lab/forms" + study.accept().removeprefix(study.forms_url)
    linked = re.findall(r'(?:href|src|action)="([^"#:]+)"', client.get(address).text)
    assert len(linked) == 4
    for link in linked:
        path = urljoin(f"http://h{address}", link).removeprefix("http://h")
        assert path.startswith("/lab/forms/")
        assert client.get(path).status_code == (405 if path.endswith("/decline") else 200)  # which is posted
    assert assignment_of(address) not in "".join(linked)


def test_C23_C40_what_is_not_done_again_leads_to_the_button_that_returns_it(
    visit: Callable[..., Page], study: PublishedStudy, axe: Callable
) -> None:
    page = visit(viewport={"width": 320, "height": 700})
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text("Story 1 of")).to_be_visible()
    assignment = urlsplit(page.url).path.rpartition("/")[2]
    with writing(study.engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=now() - timedelta(minutes=1)))
    compensate_worker(
        open_study_at(study.engine, "study", study.platform),
        assignment=assignment,
        amount=Decimal("0.80"),
        reason="Our server was away.",
    )
    page.reload()
    expect(frame.get_by_role("heading", name="Another task pays for this work")).to_be_visible()
    assert axe(page.frames[1]) == []
    frame.get_by_role("link", name="Return this task").click()
    expect(page).to_have_url(re.compile(r"#return$"))
    button = page.get_by_role("button", name="Return this task")
    expect(button).to_be_in_viewport()
    assert button.evaluate("button => getComputedStyle(button).outlineStyle") == "solid", "it is pointed out"
    button.click()
    expect(page).to_have_url(f"{study.market_url}/hits")
    expect(page.get_by_role("heading", name="Payment for your work", exact=False)).to_have_count(1)
