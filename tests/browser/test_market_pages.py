"""The worker site's own pages: qualifications, tests, messages, and QuestionForms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from humaneval.market import MarketServer, Mode, open_market
from humaneval.market.panel.invitations import invitation, personal_links
from tests.integration.market.conftest import HIT
from tests.integration.market.forms import form, question, selection, text_answer

OVERVIEW = """<Overview><Title>About it</Title><Text>Look and answer.</Text><List>
<ListItem>Take your time.</ListItem></List>
<FormattedContent><![CDATA[<h3>Rules</h3><p>Be <b>kind</b>, see
<a href='https://lab.example/'>the rules</a>.</p>
<table><tr><th scope='col'>a</th></tr><tr><td>b</td></tr></table>]]></FormattedContent></Overview>"""
ASKED = form(
    OVERVIEW,
    question(
        "words", text_answer(rest="<NumberOfLinesSuggestion>3</NumberOfLinesSuggestion>"), required=True
    ),
    question("age", text_answer('<IsNumeric minValue="18"/>')),
    question("one", selection("cat", "dog", other="<OtherSelection/>"), required=True),
    question("several", selection("red", "W" * 60, style="checkbox", most=2)),
    question("columns", selection("a", "b", "c", style="multichooser", most=3)),
    question("drop", selection("yes", "no", style="dropdown")),
    question("list", selection("Mon", "Tue", style="list", most=2)),
    question("combo", selection("en", "fr", style="combobox", other="<OtherSelection/>")),
    question("file", "<FileUploadAnswer/>"),
)


@pytest.fixture
def market(tmp_path: Path) -> Iterator[MarketServer]:
    """A marketplace of its own."""
    engine = open_market(tmp_path / "market.db")
    with MarketServer(engine, mode=Mode.LOCAL) as server:
        yield server
    engine.dispose()


@pytest.fixture
def mturk(market: MarketServer, client_of: Callable[..., Any]) -> Any:
    """Its requester."""
    return client_of(market.url)


def sign_in(page: Page, market: MarketServer) -> str:
    """Sign in. Returns the worker's id."""
    page.goto(f"{market.url}/signin")
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Sign in").click()
    return page.locator(".who .id").inner_text()


def shown(page: Page) -> Iterator[str]:
    """Show the page narrow and dark, then wide and light."""
    for width, scheme in ((320, "dark"), (1280, "light")):
        page.set_viewport_size({"width": width, "height": 700})
        page.emulate_media(color_scheme=scheme)
        yield f"{width}, {scheme}"


def press(page: Page, button: str) -> None:
    """Press a button and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("button", name=button).click()


def test_axe_finds_nothing_and_nothing_is_cut_off(
    visit: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    market: MarketServer,
    mturk: Any,
) -> None:
    page = visit()
    found: list[str] = []

    def audit(state: str) -> None:
        for where in shown(page):
            found.extend(f"{state}, {where}: {broken}" for broken in axe(page))
            beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beyond <= 0, f"{state}, {where}"
            small = (
                "[...document.querySelectorAll('button, .button, nav a, select, .choice, summary,"
                " input[type=text]')].map(e => e.getBoundingClientRect())"
                ".filter(box => box.height < 44).length"
            )
            assert page.evaluate(small) == 0, f"{state}, {where}"

    worker = sign_in(page, market)
    create = mturk.create_qualification_type
    rest = {"Description": "Reads with care.", "QualificationTypeStatus": "Active"}
    test = {"Test": ASKED.replace(question("file", "<FileUploadAnswer/>"), ""), "TestDurationInSeconds": 600}
    kinds = [
        create(Name=name, **rest, **more)["QualificationType"]["QualificationTypeId"]
        for name, more in (("A test", test), ("Decided by hand", {}), ("Revoked", {}))
    ]
    mturk.associate_qualification_with_worker(QualificationTypeId=kinds[2], WorkerId=worker)
    mturk.disassociate_qualification_from_worker(
        QualificationTypeId=kinds[2], WorkerId=worker, Reason="A mistake"
    )
    needs = [{"QualificationTypeId": kinds[0], "Comparator": "Exists"}]
    guarded = mturk.create_hit(**{**HIT, "QualificationRequirements": needs})["HIT"]["HITId"]
    hit = mturk.create_hit(**{**HIT, "Question": ASKED})["HIT"]["HITId"]
    for path in ("/hits", f"/hits/{guarded}", f"/hits/{hit}", "/messages", "/qualifications"):
        page.goto(market.url + path)
        audit(path)
    for kind in kinds:
        page.goto(f"{market.url}/qualifications/{kind}")
        audit(kind)
    page.goto(f"{market.url}/qualifications/{kinds[1]}")
    press(page, "Request it")
    audit("asked")
    page.goto(f"{market.url}/qualifications/{kinds[0]}")
    press(page, "Begin the test")
    audit("test")
    page.goto(f"{market.url}/hits/{hit}")
    press(page, "Accept")
    audit("form")
    page.eval_on_selector_all("[required]", "fields => fields.forEach(field => field.required = false)")
    press(page, "Send the answers")
    audit("faults")
    assert page.get_by_role("alert").count() == 1
    assert not found, "\n".join(found)


def test_a_test_is_taken_with_the_keyboard_and_without_scripts(
    visit: Callable[..., Page], market: MarketServer, mturk: Any
) -> None:
    page = visit(java_script_enabled=False)
    worker = sign_in(page, market)
    asked = form(question("sky", selection("blue", "green")), question("why", text_answer(), required=True))
    mturk.create_qualification_type(
        Name="Sky",
        Description="D",
        QualificationTypeStatus="Active",
        Test=asked,
        TestDurationInSeconds=600,
    )
    page.goto(f"{market.url}/qualifications")
    page.get_by_role("link", name="Sky").press("Enter")
    page.get_by_role("button", name="Begin the test").press("Enter")
    page.get_by_role("group", name="Question 1").get_by_label("blue").press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("It is")
    page.keyboard.press("Enter")
    page.get_by_text("You have requested it").wait_for()
    (request,) = mturk.list_qualification_requests()["QualificationRequests"]
    assert request["WorkerId"] == worker
    assert "<FreeText>It is</FreeText>" in request["Answer"]
    mturk.accept_qualification_request(QualificationRequestId=request["QualificationRequestId"])
    page.reload()
    assert "Your score is 1" in page.get_by_role("status").inner_text()


def test_axe_finds_nothing_on_the_ways_in_to_a_panel(
    visit: Callable[..., Page], axe: Callable[[Page], list[str]], tmp_path: Path
) -> None:
    engine = open_market(tmp_path / "panel.db")
    page = visit()
    found: list[str] = []
    with MarketServer(engine, mode=Mode.LOCAL, invited=True) as server:
        own = personal_links(engine, ["Ada Lovelace"], server.url)["Ada Lovelace"]
        for address in (f"{server.url}/signin", invitation(engine, server.url), own):
            page.goto(address)
            for where in shown(page):
                found.extend(f"{where}: {broken}" for broken in axe(page))
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, address
        press(page, "Sign in")
        page.goto(f"{server.url}/link")
        assert page.get_by_label("Link").input_value() == own
        for _ in shown(page):
            found.extend(axe(page))
    engine.dispose()
    assert found == []
