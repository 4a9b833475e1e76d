"""Pages that requesters wrote for Mechanical Turk: they have an origin with storage, and their answers arrive
whichever way a page sends them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect

from humaneval.market import MarketServer, Mode, open_market
from tests.chromium import profile
from tests.fixtures import nobodys_session
from tests.integration.market.conftest import EXTERNAL, HIT
from tests.pace import PATIENCE

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
AMAZON = "https://www.mturk.com/mturk/externalSubmit"
BY_SCRIPT = """<script>
const given = new URLSearchParams(location.search);
const assignment = given.get("assignmentId"), turk = given.get("turkSubmitTo") + "/mturk/externalSubmit";
const amazon = ["https://www", "mturk", "com/mturk/externalSubmit"].join(".");
const fields = { assignmentId: assignment, choice: "3" }, data = new URLSearchParams(fields);
const make = (action, method, target) => {
  const form = document.createElement("form");
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    field.type = "hidden"; field.name = name; field.value = value;
    form.appendChild(field);
  }
  form.action = action; form.method = method; form.target = target || "";
  document.body.appendChild(form);
  return form;
};
const go = () => { %s };
</script><button id="go" onclick="go()">Send</button>"""


def plain(form: str, script: str = "") -> str:
    """A form that stands in the page, with a script that fills in its hidden field."""
    return (
        f'<form {form}><input type="hidden" name="assignmentId"><input name="choice" value="3">'
        "<button>Send</button></form><script>const form = document.forms[0]; form.assignmentId.value ="
        f' new URLSearchParams(location.search).get("assignmentId"); {script}</script>'
    )


PARTS = f'method="post" enctype="multipart/form-data" action="{AMAZON}"'
IN_PARTS = '["https://www", "mturk", "com/mturk/externalSubmit"].join(".")'
"""Amazon's address in a script, so that nobody finds it by looking at the page."""

STANDING = {
    "an absolute address": plain(f'method="post" action="{AMAZON}"'),
    "an absolute address by http": plain(f'method="post" action="{AMAZON.replace("https", "http")}"'),
    "the sandbox's address in other letters": plain(
        'method=POST action="HTTPS://WORKERSANDBOX.MTURK.COM/mturk/externalSubmit"'
    ),
    "an address from the root": plain('method="post" action="/mturk/externalSubmit"'),
    "a relative address": plain('method="post" action="mturk/externalSubmit"'),
    "an address without a scheme": plain('method="post" action="//www.mturk.com/mturk/externalSubmit"'),
    "a base address": '<base href="https://www.mturk.com/">'
    + plain('method="post" action="mturk/externalSubmit"'),
    "no address": plain('method="post"'),
    "by GET": plain(f'method="get" action="{AMAZON}"'),
    "several parts": plain(PARTS),
    "an empty file": plain(PARTS).replace("<button>", '<input type="file" name="file"><button>'),
    "the address in a button": plain('method="post"').replace("<button>", f'<button formaction="{AMAZON}">'),
    "at the top": plain(f'method="post" target="_top" action="{AMAZON}"'),
    "at the parent": plain(f'method="post" target="_parent" action="{AMAZON}"'),
    "in a new window": plain(f'method="post" target="_blank" action="{AMAZON}"'),
    "in a hidden frame": '<iframe name="hidden" hidden></iframe>'
    + plain(f'method="post" target="hidden" action="{AMAZON}"'),
    "an id that nobody filled in": f'<form method="post" action="{AMAZON}">'
    '<input name="assignmentId" type="hidden"><input name="choice" value="3"><button>Send</button></form>',
    "an id in other letters": plain(f'method="post" action="{AMAZON}"').replace(
        'name="assignmentId"', 'name="AssignmentID" id="assignmentId"'
    ),
    "half of the address in a script": plain(
        'method="post"', 'const host = "https://www.mturk.com"; form.action = host + "/mturk/externalSubmit";'
    ),
    "the parts of the address in a script": plain(
        'method="post"', 'form.action = "https://www." + "mturk.com" + "/mturk/externalSubmit";'
    ),
    "the address from a handler": plain(
        'method="post"', f'form.onsubmit = () => {{ form.setAttribute("action", {IN_PARTS}); }};'
    ),
    "a handler that stops the event": plain(
        'method="post"',
        'form.addEventListener("submit", (event) => { event.stopImmediatePropagation();'
        f" form.action = {IN_PARTS}; }});",
    ),
    "turkSubmitTo": plain(
        'method="post"',
        'form.action = new URLSearchParams(location.search).get("turkSubmitTo") + "/mturk/externalSubmit";',
    ),
    "turkSetAssignmentID": '<form id="mturk_form" method="post">'
    '<input type="hidden" id="assignmentId" name="assignmentId"><input name="choice" value="3">'
    '<input type="submit" id="submitButton" value="Send"></form>'
    '<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>'
    "<script>turkSetAssignmentID();</script>",
}
POST = '{ method: "POST", body: data }'
LINK = "const a = document.createElement('a'); document.body.append(a); a.href = `${amazon}?${data}`;"
SCRIPTED = {
    "a form that a script writes": "document.body.innerHTML = `<form id=f method=post action=${amazon}>"
    "<input name=assignmentId value=${assignment}><input name=choice value=3></form>`;"
    " document.getElementById('f').submit();",
    "form.submit()": 'make(turk, "post").submit();',
    "form.submit() to Amazon": 'make(amazon, "post").submit();',
    "the prototype's submit": 'HTMLFormElement.prototype.submit.call(make(amazon, "post"));',
    "requestSubmit()": 'make(amazon, "post").requestSubmit();',
    "form.submit() by GET": 'make(amazon, "get").submit();',
    "form.submit() at the top": 'make(turk, "post", "_top").submit();',
    "form.submit() long after the click": 'setTimeout(() => make(turk, "post", "_top").submit(), 5500);',
    "fetch": f"fetch(turk, {POST});",
    "fetch to Amazon": f"fetch(amazon, {POST});",
    "fetch without an answer": 'fetch(amazon, { method: "POST", mode: "no-cors", body: data });',
    "fetch with cookies": 'fetch(turk, { method: "POST", credentials: "include", body: data });',
    "fetch of JSON": 'fetch(turk, { method: "POST", headers: { "Content-Type": "application/json" },'
    " body: JSON.stringify(fields) });",
    "fetch of a form's data": 'fetch(amazon, { method: "POST", body: new FormData(make(turk, "post")) });',
    "fetch of a Request": f"fetch(new Request(amazon, {POST}));",
    "fetch by GET": "fetch(`${amazon}?${data}`);",
    "XMLHttpRequest": 'const r = new XMLHttpRequest(); r.open("POST", amazon); r.send(data);',
    "XMLHttpRequest of a text": "const r = new XMLHttpRequest();"
    ' r.open("POST", turk, true); r.send(data.toString());',
    "XMLHttpRequest by GET": "const r = new XMLHttpRequest();"
    ' r.open("GET", `${amazon}?${data}`, false); r.send();',
    "sendBeacon": "navigator.sendBeacon(amazon, data);",
    "sendBeacon of a text": "navigator.sendBeacon(turk, data.toString());",
    "location.href": "location.href = `${turk}?${data}`;",
    "location.href to Amazon": "window.location.href = `${amazon}?${data}`;",
    "location.replace": "location.replace(`${amazon}?${data}`);",
    "location.assign, escaped twice": "location.assign(`${turk}?assignmentId=${assignment}&amp;choice=3`);",
    "the top's location": "top.location.href = `${turk}?${data}`;",
    "window.open": "window.open(`${amazon}?${data}`);",
    "a link": f"{LINK} a.click();",
    "a link at the top": f"{LINK} a.target = '_top'; a.click();",
}
BY_ANOTHER_NAME = ("form.submit() to Amazon",)
ON_A_SERVER_TOO = (
    *("turkSubmitTo", "form.submit() at the top", "fetch with cookies", "fetch of JSON"),
    *("XMLHttpRequest of a text", "sendBeacon of a text", "location.assign, escaped twice"),
)
"""Every run tries them from a requester's own server."""
HABITS = {**STANDING, **{name: BY_SCRIPT % script for name, script in SCRIPTED.items()}}
NO_OTHER_FAULT = {
    "an absolute address by http": "an address without a scheme",
    "an address from the root": "a relative address",
    "several parts": "an empty file",
    "at the parent": "at the top",
    "half of the address in a script": "the parts of the address in a script",
    "a form that a script writes": "form.submit() long after the click",
    "form.submit()": "form.submit() long after the click",
    "the prototype's submit": "form.submit() long after the click",
    "form.submit() by GET": "by GET",
    "the top's location": "form.submit() long after the click",
    "fetch": "fetch to Amazon",
    "location.href": "location.href to Amazon",
    "location.replace": "location.href to Amazon",
    "a link at the top": "a link",
}
"""A habit that takes the same way through page and marketplace as the other, which every run tries."""


def rarely(habits: Iterable[str], *more: str) -> list[Any]:
    """The habits, of which those that show no other fault and `more` are left to `make test-long`."""
    return [
        pytest.param(each, marks=[pytest.mark.long] * (each in NO_OTHER_FAULT or each in more))
        for each in habits
    ]


def question(body: str) -> str:
    """An HTMLQuestion with this body."""
    return (
        f'<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!DOCTYPE html>'
        f'<html lang="en"><head><meta charset="utf-8"><title>A page</title></head><body>{body}</body></html>'
        "]]></HTMLContent><FrameHeight>400</FrameHeight></HTMLQuestion>"
    )


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MarketServer]:
    """One marketplace for all pages: each has a HIT of its own."""
    engine = open_market(tmp_path_factory.mktemp("requesters") / "market.db")
    with MarketServer(engine, mode=Mode.LOCAL) as server:
        yield server
    engine.dispose()


@pytest.fixture(scope="module")
def mturk(market: MarketServer) -> Iterator[Any]:
    """Its requester."""
    client = nobodys_session().client("mturk", endpoint_url=market.url, region_name="us-east-1")
    with closing(client):
        yield client


@pytest.fixture(scope="module")
def ada(_one_chromium: Browser, market: MarketServer) -> Iterator[Page]:
    """One page for all HITs, in a profile in which Ada is signed in: making another takes as long as a test
    does."""
    with profile(_one_chromium) as context:
        page = context.new_page()
        page.goto(f"{market.url}/hits")
        sign_in(page)
        page.locator(".who .name").wait_for()
        yield page


@pytest.fixture
def page(ada: Page) -> Iterator[Page]:
    """Ada's, alone."""
    yield ada
    for other in ada.context.pages:
        if other is not ada:
            other.wait_for_load_state()  # closing it on its way may never end
            other.close()


@pytest.fixture
def stranger(chromium: Browser) -> Iterator[BrowserContext]:
    """A profile in which nobody is signed in."""
    with profile(chromium) as context:
        yield context


def take(page: Page, mturk: Any, market: MarketServer, asked: str) -> None:
    """Show a HIT with this question, accepted."""
    hit = mturk.create_hit(**{**HIT, "Question": asked})["HIT"]
    csrf = re.search(r'name="csrf" value="([^"]+)"', page.request.get(f"{market.url}/hits").text())
    assert csrf
    accepted = page.request.post(f"{market.url}/hits/{hit['HITId']}/accept", form={"csrf": csrf[1]})
    page.goto(accepted.url)


def sign_in(page: Page) -> None:
    """Enter a name and send it."""
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Sign in").click()


def accept(page: Page, address: str) -> None:
    """Sign in at the address of a HIT and accept it."""
    page.goto(address)
    sign_in(page)
    page.get_by_role("button", name="Accept").click()


def answers(page: Page, mturk: Any) -> list[tuple[str, str]]:
    """What the marketplace has, as soon as it has something."""
    hit = mturk.list_hits()["HITs"][0]  # the newest
    until = monotonic() + PATIENCE
    while monotonic() < until:
        found = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
        if found:
            return [
                (str(each[0].text), str(each[1].text)) for each in ElementTree.fromstring(found[0]["Answer"])
            ]
        page.wait_for_timeout(50)
    return []


@pytest.mark.parametrize("habit", rarely(HABITS, *ON_A_SERVER_TOO, *BY_ANOTHER_NAME))
def test_X45_answers_arrive_whichever_way_a_page_sends_them(
    page: Page, mturk: Any, market: MarketServer, habit: str
) -> None:
    elsewhere: list[str] = []

    def asked(request: Request) -> None:
        elsewhere.append(request.url)

    page.context.on("request", asked)
    take(page, mturk, market, question(HABITS[habit]))
    page.frame_locator("iframe").get_by_role("button", name="Send").click()
    sent = answers(page, mturk)
    page.context.remove_listener("request", asked)
    assert [each for each in sent if each[0] != "id"] == [("choice", "3")]
    assert {urlsplit(url).hostname for url in elsewhere if url.startswith("http")} == {"127.0.0.1"}


ON_A_SERVER = (
    *BY_ANOTHER_NAME,
    *ON_A_SERVER_TOO,
    *("form.submit()", "fetch", "location.href", "the top's location"),
)


class _Habits(BaseHTTPRequestHandler):
    """A requester's own server: `/3` is the page of the habit number 3."""

    def do_GET(self) -> None:
        number = self.path.partition("?")[0].strip("/")
        page = "<!doctype html><meta charset=utf-8><title>A page</title><body>"
        body = (page + HABITS[ON_A_SERVER[int(number)]]).encode() if number.isdecimal() else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of a requester's own server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Habits) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("habit", rarely(ON_A_SERVER[1:]))
def test_X45_so_they_do_from_a_requesters_own_server(
    page: Page, mturk: Any, market: MarketServer, elsewhere: str, habit: str
) -> None:
    asked = EXTERNAL.replace(
        "https://lab.example/form?study=7", f"{elsewhere}/{ON_A_SERVER.index(habit)}?a=1"
    )
    take(page, mturk, market, asked)
    page.frame_locator("iframe").get_by_role("button", name="Send").click()
    assert answers(page, mturk) == [("choice", "3")]


def test_X45_a_worker_is_told_if_a_page_elsewhere_sends_the_answers_to_amazon(
    page: Page, mturk: Any, market: MarketServer, elsewhere: str
) -> None:
    asked = EXTERNAL.replace("https://lab.example/form?study=7", f"{elsewhere}/0?a=1")
    take(page, mturk, market, asked)
    told = page.get_by_text("what it sent was not stored")
    expect(told).to_be_hidden()
    page.frame_locator("iframe").get_by_role("button", name="Send").click()
    expect(told).to_be_visible()


@pytest.mark.parametrize("habit", ["fetch", "XMLHttpRequest", "sendBeacon", "form.submit()"])
def test_X52_the_page_around_the_frame_knows_whatever_way_the_answers_went(
    page: Page, mturk: Any, market: MarketServer, habit: str
) -> None:
    take(page, mturk, market, question(HABITS[habit]))
    page.frame_locator("iframe").get_by_role("button", name="Send").click()
    expect(page.get_by_text("Your work was submitted and is waiting for review.")).to_be_visible()
    expect(page.get_by_role("button", name="Return this task")).to_have_count(0)


@pytest.mark.parametrize("habit", ["an absolute address", *BY_ANOTHER_NAME, "location.href"])
def test_X45_so_they_do_if_the_worker_knows_this_machine_by_another_name(
    stranger: BrowserContext, mturk: Any, market: MarketServer, habit: str
) -> None:
    hit = mturk.create_hit(**{**HIT, "Question": question(HABITS[habit])})["HIT"]
    page = stranger.new_page()
    accept(page, f"http://localhost:{market.port}/hits/{hit['HITId']}")
    page.frame_locator("iframe").get_by_role("button", name="Send").click()
    assert answers(page, mturk) == [("choice", "3")]
    page.frame_locator("iframe").get_by_role("heading", name="Thank you").wait_for()


STORING = """<script>
localStorage.seen = Number(localStorage.seen || 0) + 1;
sessionStorage.seen = Number(sessionStorage.seen || 0) + 1;
document.cookie = "seen=" + localStorage.seen + "; path=/";
const put = (name, value) => {
  const p = document.createElement("p");
  p.id = name; p.textContent = value; document.body.append(p);
};
const kept = document.cookie.includes("seen=" + localStorage.seen);
put("stored", [localStorage.seen, sessionStorage.seen, kept].join());
const attempt = (name, what) => {
  try { put(name, "read " + what()); } catch (error) { put(name, error.name); }
};
attempt("parent", () => parent.document.title);
attempt("top", () => top.localStorage.length);
put("cookies", document.cookie.replace(/seen=\\d+/, "").trim());
const site = new URLSearchParams(location.search).get("turkSubmitTo") ?? "";
(async () => {
  for (const path of ["/my-work", "/hits"]) {
    for (const credentials of ["include", "omit"]) {
      await fetch(site + path, { credentials }).then((r) => r.text()).then((t) => put("leak", t), () => {});
    }
  }
  for (const path of ["/hits", "/my-work", "/signin", "/"]) {
    const reply = await fetch(path); put("own", path + " " + reply.status);
  }
  const headers = { "X-Amz-Target": "MTurkRequesterServiceV20170117.GetAccountBalance" };
  put("api", (await fetch("/", { method: "POST", headers, body: "{}" })).status);
  await fetch(site + "/signout", { method: "POST", mode: "no-cors", credentials: "include" });
  put("done", "yes");
})();
</script>"""


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_X44_a_page_has_storage_and_cookies_of_its_own_and_none_of_the_worker_sites(
    stranger: BrowserContext, mturk: Any, market: MarketServer, name: str
) -> None:
    hit = mturk.create_hit(**{**HIT, "Question": question(STORING)})["HIT"]
    site = f"http://{name}:{market.port}"
    page = stranger.new_page()
    accept(page, f"{site}/hits/{hit['HITId']}")
    frame = page.frame_locator("iframe")
    expect(frame.locator("#stored")).to_have_text("2,2,true")  # the preview was the first
    page.reload()
    expect(frame.locator("#stored")).to_have_text("3,3,true")
    expect(frame.locator("#done")).to_have_text("yes")
    assert frame.locator("#parent").inner_text() == frame.locator("#top").inner_text() == "SecurityError"
    assert frame.locator("#cookies").inner_text() == ""
    assert frame.locator("#leak").count() == 0
    assert [text.split()[1] for text in frame.locator("#own").all_inner_texts()] == ["404"] * 4
    assert frame.locator("#api").inner_text() in ("404", "405")
    page.goto(f"{site}/my-work")
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, "seen=3"]
    expect(page.locator(".who .name")).to_have_text("Ada")


def test_X44_a_cookie_that_a_page_sets_signs_nobody_in(page: Page, mturk: Any, market: MarketServer) -> None:
    tossing = """<script>for (const name of ["market_worker", "market_worker_0000000000000000"]) {
    for (const path of ["/", "/hits", "/my-work"]) document.cookie = `${name}=forged; path=${path}`; }
    document.body.append("done");</script>"""
    take(page, mturk, market, question(tossing))
    expect(page.frame_locator("iframe").get_by_text("done")).to_be_visible()
    page.goto(f"{market.url}/my-work")
    expect(page.locator(".who .name")).to_have_text("Ada")
