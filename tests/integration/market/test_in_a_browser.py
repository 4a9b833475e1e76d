"""A worker with a browser: the frame posts to externalSubmit, nothing needs a cookie or our script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from tests.chromium import profile

pytestmark = pytest.mark.browser

FORM = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>A form elsewhere</title>
<form method="post"><input type="hidden" name="assignmentId">
<label><input type="radio" name="choice" value="4" checked> The fourth</label><button>Send</button></form>
<script>const query = new URLSearchParams(location.search), form = document.forms[0];
form.assignmentId.value = query.get("assignmentId");
form.action = query.get("turkSubmitTo") + "/mturk/externalSubmit";
</script>"""

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
HTML_SCHEMA = f"{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"
BOXED = f"""<HTMLQuestion xmlns="{HTML_SCHEMA}">
<HTMLContent><![CDATA[<!DOCTYPE html><html lang="en"><title>q</title>
<form method="post" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" name="assignmentId">
<label>Reach <input name="reach"></label><button>Send</button></form>
<script>document.forms[0].assignmentId.value = new URLSearchParams(location.search).get("assignmentId");
const reach = document.forms[0].reach;
try {{ reach.value = parent.document.title + document.cookie }} catch {{ reach.value = "boxed" }}
</script></html>]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"""


class _Form(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(FORM)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of a requester's own page; localhost and 127.0.0.1 are two sites to a browser."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Form) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}/form?study=7"
        server.shutdown()
        thread.join()


def sign_in(page: Any, url: str) -> None:
    page.goto(url)
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Sign in").press("Enter")


def finish(page: Any) -> None:
    """Send the form inside the frame and follow the way on from the page around it."""
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Send").click()
    frame.get_by_role("heading", name="Thank you").wait_for()
    page.locator("[data-once-sent]").get_by_role("link", name="My work").click()
    page.wait_for_url("**/my-work")


def answer(mturk: Any, hit: dict[str, Any]) -> list[str | None]:
    (assignment,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    return [field[1].text for field in ElementTree.fromstring(assignment["Answer"])]


def test_C34_a_form_on_another_site_submits_from_its_frame(
    mturk: Any,
    new_hit: Callable[..., dict[str, Any]],
    external: str,
    elsewhere: str,
    chromium: Browser,
    server: Any,
) -> None:
    hit = new_hit(Question=re.sub("https://lab.example/[^<]+", elsewhere, external))
    page = profile(chromium).new_page()
    sign_in(page, server.url)
    page.get_by_role("button", name="Accept").click()
    finish(page)
    assert answer(mturk, hit) == ["4"]


def test_C34_a_requesters_html_submits_from_its_box_and_cannot_reach_out_of_it(
    mturk: Any, new_hit: Callable[..., dict[str, Any]], chromium: Browser, server: Any
) -> None:
    hit = new_hit(Question=BOXED)
    page = profile(chromium).new_page()
    sign_in(page, server.url)
    page.get_by_role("button", name="Accept").click()
    finish(page)
    assert answer(mturk, hit) == ["boxed"]


def test_the_pages_fit_a_narrow_screen_and_have_large_targets(
    new_hit: Callable[..., dict[str, Any]], chromium: Browser, server: Any, html: str
) -> None:
    hit = new_hit(Question=html, Title="Wort" * 32)
    context = profile(chromium, viewport={"width": 320, "height": 640})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    sign_in(page, server.url)
    page.goto(f"{server.url}/hits/{hit['HITId']}")
    page.get_by_role("button", name="Accept").click()
    page.get_by_role("button", name="Return").wait_for()
    at_work = page.url.removeprefix(server.url)
    for path in ("/signin", "/hits", f"/hits/{hit['HITId']}", at_work, "/my-work", "/help"):
        page.goto(server.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        small = (
            "[...document.querySelectorAll('button, .button, nav a, footer a, select, summary')].map(e =>"
            " e.getBoundingClientRect()).filter(box => box.height && box.height < 44).length"
        )
        assert page.evaluate(small) == 0, path
        assert page.locator("script").count() == (path == at_work), "only the frame of a HIT has one"
        assert page.locator("h1").count() == page.locator("main").count() == 1
    assert complaints == []
    context.close()
