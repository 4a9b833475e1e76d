"""An open link gives each visitor a row, never more than its places, and looking at it claims nothing."""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine

from humaneval.simulated.browser import Browser, Page
from tests.integration.link.people import begin, form_hash, form_on, heading, headings, send, take
from tests.pace import PATIENCE

MANY = 30


@pytest.mark.parametrize(("rows", "places"), [(40, 12), (30, 30)], ids=["places run out", "as many as rows"])
def test_C39_thirty_at_once_never_pass_the_cap_and_nobody_is_refused_before_it(
    engine: Engine, by_link: Callable, rows: int, places: int
) -> None:
    study = by_link(engine, design={"annotators": rows})
    link = study.open_link(places)
    barrier = Barrier(MANY)

    def come(_: int) -> Page:
        browser = Browser()
        page = browser.get(link)
        barrier.wait(PATIENCE)
        return browser.submit(page, page.forms[0], {})

    with ThreadPoolExecutor(MANY) as pool:
        pages = list(pool.map(come, range(MANY)))
    given = [page for page in pages if page.form(field="form")]
    assert len(given) == places
    assert headings([page for page in pages if page not in given]) == Counter(
        {"All forms are taken": MANY - places} if places < MANY else {}
    )
    assert len({form_hash(page) for page in given}) == places
    assert len(set(study.held_rows())) == len(study.held_rows()) == places


def _ask(method: str, url: str, **headers: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request(
        method, parts.path, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    status = connection.getresponse().status
    connection.close()
    return status


def test_mail_scanners_and_previews_that_look_at_a_link_claim_nothing(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    for method, headers in (
        ("GET", {}),
        ("HEAD", {}),
        ("OPTIONS", {}),
        ("GET", {"Sec_Purpose": "prefetch;prerender"}),
        ("GET", {"Purpose": "prefetch"}),
    ):
        assert _ask(method, link, **headers) in (200, 204)
    assert not study.states()


def test_a_scanner_on_a_persons_own_address_takes_no_new_row_for_them(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 1})
    link = study.open_link(2)
    mine = begin(link).url
    study.let_leases_run_out()
    begin(link)  # somebody else has the row now
    study.let_leases_run_out()
    before = study.held_rows(), study.states()
    assert _ask("HEAD", mine) == _ask("GET", mine, Sec_Purpose="prefetch") == 204
    assert (study.held_rows(), study.states()) == before


def test_pressing_begin_twice_takes_one_place(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine)
    browser = Browser()
    page = browser.get(study.open_link())
    first, second = (browser.submit(page, page.forms[0], {}) for _ in range(2))
    assert first.url == second.url
    assert study.states() == {"opened": 1}


@pytest.mark.parametrize("ticket", ["", "1", "x" * 5000, "person 1", "\x00", "{{ticket}}"])
def test_a_ticket_that_we_did_not_make_is_as_good_as_none(
    sqlite_engine: Engine, by_link: Callable, ticket: str
) -> None:
    study = by_link(sqlite_engine)
    page = Browser().get(study.open_link())
    for _ in range(2):
        assert form_on(Browser().submit(page, page.forms[0], {"ticket": ticket}))
    assert study.states() == {"opened": 2}


def test_who_reloads_or_comes_back_finds_the_same_form_on_any_browser(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine)
    page = begin(study.open_link())
    assert form_hash(Browser().get(page.url)) == form_hash(page)
    assert heading(send(page)) == "Thank you"
    assert heading(Browser().get(page.url)) == "Thank you"
    assert study.states() == {"answered": 1}


def test_publishing_again_changes_nothing_and_places_can_be_changed(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link(1)
    take(link)
    assert study.open_link() == link
    assert heading(begin(link)) == "All forms are taken"
    assert study.open_link(2) == link
    assert heading(take(link)) == "Thank you"
    assert heading(begin(link)) == "All forms are taken"


def test_the_hit_and_assignment_in_exports_do_not_give_the_address_away(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    take(link)
    lines = study.responses()
    assert len(lines) == 4
    key = link.rpartition("/")[2]
    assert key not in str(lines)
    assert not str(lines[0]["assignment"]).startswith("-")
