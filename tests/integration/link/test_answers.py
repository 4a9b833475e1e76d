"""Answers by link: committed before anybody is told so, once, and only under an address that is theirs."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.settings import Settings
from humaneval.simulated.browser import Browser, Page
from humaneval.store import engine as store
from humaneval.store.engine import reading, writing
from humaneval.store.identity import DATABASE_ID
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow, MetaRow
from humaneval.study.signs import signs_of
from humaneval.study.stored import open_study
from humaneval.web.app import create_app
from tests.integration.link.people import LinkStudy, begin, form_on, heading, panel, send

CODE = "C0DE-4711"


class Killed(BaseException):
    """The process dies here."""


@contextmanager
def dying_at_the_commit() -> Iterator[None]:
    """The server dies when it would commit answers."""

    def handler(session: Session) -> None:
        if session.scalar(select(func.count()).select_from(AnswerRow)):
            raise Killed

    event.listen(Session, "before_commit", handler)
    try:
        with pytest.raises(Killed):
            yield
    finally:
        event.remove(Session, "before_commit", handler)


def filled(page: Page) -> dict[str, str]:
    form = form_on(page)
    return {**form.values, **form.boxes, **dict.fromkeys(form.choices, "2")}


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("url", ["", "https://panel.example/done?cc=1"], ids=["code", "redirect"])
def test_C76_P25_killed_before_the_commit_nothing_is_said_and_sent_again_it_is(
    engine: Engine, by_link: Callable, url: str
) -> None:
    study = by_link(engine, link={"completion_code": CODE, "completion_url": url})
    page = begin(study.open_link())
    path = page.url.removeprefix(study.url)
    client = create_app(Settings(), engine).test_client()
    with dying_at_the_commit():
        client.post(path, data=filled(page))
    assert study.answers() == []
    assert CODE not in Browser().get(page.url).html
    sent = client.post(path, data=filled(page))
    assert (sent.status_code, len(study.answers())) == (303, 1)
    assert sent.headers["Location"].startswith(url or "../")
    assert CODE in Browser().get(page.url).html


def test_C76_while_the_database_is_locked_the_code_is_not_shown_and_the_answers_come_back(
    sqlite_engine: Engine, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = by_link(sqlite_engine, link={"completion_code": CODE})
    page = begin(study.open_link())
    monkeypatch.setattr(store, "BUSY_SECONDS", 0)
    sqlite_engine.dispose()
    holder = sqlite3.connect(str(sqlite_engine.url.database), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    busy = send(page, 3)
    holder.close()
    assert (busy.status, heading(busy), CODE in busy.html) == (503, "Please send once more", False)
    assert study.answers() == []
    thanks = Browser().submit(busy, busy.forms[0], {})
    assert (heading(thanks), CODE in thanks.html) == ("Thank you", True)
    assert study.answers()[0]["choice-4"] == "3"


def test_who_begins_while_the_database_is_locked_can_try_again(
    sqlite_engine: Engine, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    monkeypatch.setattr(store, "BUSY_SECONDS", 0)
    sqlite_engine.dispose()
    holder = sqlite3.connect(str(sqlite_engine.url.database), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    busy = begin(link)
    holder.close()
    assert (busy.status, "answers" in busy.html, "Try again" in busy.html) == (503, False, True)
    assert form_on(Browser().submit(busy, busy.forms[0], {}))
    assert study.states() == {"opened": 1}


def test_the_form_may_go_on_to_the_completion_page_and_nowhere_else(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    url = "https://panel.example:8443/done?cc=1&x=<2>"
    study = by_link(sqlite_engine, link={"completion_url": url})
    page = begin(study.open_link())
    client = create_app(Settings(), sqlite_engine).test_client()
    path = page.url.removeprefix(study.url)
    policy = client.get(path).headers["Content-Security-Policy"]
    assert "form-action 'self' https://panel.example:8443;" in policy
    assert "frame-ancestors 'none'" in policy
    sent = send(page)
    assert sent.status == 303
    done = client.get(path)
    assert 'href="https://panel.example:8443/done?cc=1&amp;x=&lt;2&gt;"' in done.text


def test_no_completion_address_gets_past_the_policy_of_the_page(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    from humaneval.errors import SettingsError

    for url in (
        "javascript:alert(1)",
        "https://a;script-src*/x",
        "https:///x",
        "https://a'b/",
        "ftp://a/b",
        "https://ä.example/",
    ):
        with pytest.raises(SettingsError, match="completion_url"):
            by_link(sqlite_engine, link={"completion_url": url})


def test_answers_sent_twice_change_nothing(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine)
    page = begin(study.open_link())
    assert heading(send(page, 1)) == heading(send(page, 5)) == "Thank you"
    assert [answers["choice-1"] for answers in study.answers()] == ["1"]
    assert {line["choice"] for line in study.responses()} == {1}
    assert study.collect().new == 0


def test_a_form_with_gaps_comes_back_with_what_was_filled_in(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    page = begin(study.open_link())
    back = Browser().submit(page, form_on(page), {"choice-2": "4"})
    assert back.status == 422
    assert "Story 1: please mark one sentence." in back.html
    assert "Story 2: please" not in back.html
    assert study.answers() == []


@pytest.fixture
def two(sqlite_engine: Engine, by_link: Callable) -> tuple[LinkStudy, Page, str]:
    study = by_link(sqlite_engine)
    link = study.open_link()
    return study, begin(link), link


def both(client: Any, path: str) -> set[tuple[int, str]]:
    """What GET and POST of an address answer."""
    answers = [client.get(path), client.post(path, data={"choice-1": "1"})]
    return {(answer.status_code, re.findall("<h1>(.*)</h1>", answer.text)[0]) for answer in answers}


def test_P30_addresses_that_were_tampered_with_are_unknown(two: tuple[LinkStudy, Page, str]) -> None:
    study, page, _ = two
    client = create_app(Settings(), study.engine).test_client()
    key, token = page.url.rsplit("/", 2)[1:]
    other = study.panel_link().rpartition("/")[2]
    with reading(study.engine) as session:
        form_token = create_app(Settings(), study.engine).extensions["humaneval"].signer.dumps([1, "x"])
        assert set(session.scalars(select(HitRow.key))) == {key, other}
    tampered = [
        token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1],
        token.replace(".", ""),
        "x",
        "Mg" + token[2:],
        form_token,
    ]
    for path in [f"/take/{key}/{t}" for t in tampered] + [
        f"/take/{other}/{token}",
        f"/take/x/{token}",
        "/take/x",
    ]:
        assert both(client, path) == {(404, "There is no such link")}, path
    assert both(client, f"/form/{key}?assignmentId=A1&workerId=W1") == {(404, "There is no such form")}
    assert study.states() == {"opened": 1}


def test_a_persons_token_of_another_study_is_unknown(sqlite_engine: Engine, by_link: Callable) -> None:
    first, second = by_link(sqlite_engine, "first"), by_link(sqlite_engine, "second")
    page = begin(first.open_link())
    token = page.url.rpartition("/")[2]
    assert Browser().get(f"{second.open_link()}/{token}").status == 404


def test_a_hit_of_the_marketplace_is_no_link(
    sqlite_engine: Engine, by_link: Callable, platform: MTurk
) -> None:
    study = by_link(sqlite_engine)
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=study.url)
    with reading(sqlite_engine) as session:
        key = session.scalars(select(HitRow.key)).one()
    client = create_app(Settings(), sqlite_engine).test_client()
    assert both(client, f"/take/{key}") == {(404, "There is no such link")}
    assert not study.states()


def test_pages_that_are_not_there_speak_of_links_and_not_of_hits(two: tuple[LinkStudy, Page, str]) -> None:
    study, page, link = two
    for html in (Browser().get(link).html, page.html, send(page).html, Browser().get(f"{page.url}/x").html):
        assert not re.search(r"\bHIT\b|marketplace|you accepted", html)
    assert study.states() == {"answered": 1}


def test_no_page_by_link_promises_a_reward_that_nobody_pays(sqlite_engine: Engine, by_link: Callable) -> None:
    unpaid = by_link(sqlite_engine, "unpaid")
    paid = by_link(sqlite_engine, "paid", link={"pay": "elsewhere"})
    link = paid.panel_link()
    for study, opening, promised in (
        (unpaid, unpaid.open_link(), False),
        (paid, panel(link, "P1", "S1"), True),
    ):
        for html in (Browser().get(opening).html, begin(opening).html):
            assert ("$0.80" in html) == promised, study.name


def test_answers_come_back_if_the_database_is_another_study_s(engine: Engine, by_link: Callable) -> None:
    page = begin(by_link(engine).open_link())
    with writing(engine) as session:  # as PostgreSQL, where another database can get the same name
        session.execute(update(MetaRow).where(MetaRow.key == DATABASE_ID).values(value="another"))
        session.execute(update(HitRow).values(key="another"))
    said = send(page, 3)
    assert said.status == 503
    assert said.forms[0].values["choice-1"] == "3"


@pytest.mark.parametrize("said", ["15", "", "?"], ids=["too many", "none", "no number"])
def test_nobody_has_read_for_longer_than_the_form_was_open(
    sqlite_engine: Engine, by_link: Callable[..., LinkStudy], said: str
) -> None:
    study = by_link(sqlite_engine)
    page = begin(study.open_link())
    times = {name: said for name in form_on(page).values if name.startswith("seconds-")}
    assert times
    send(page, 1, **times)
    study.collect()
    with reading(sqlite_engine) as session:
        (worker,) = session.scalars(select(AssignmentRow.worker_id))
        (found,) = signs_of(session, open_study(sqlite_engine, "study"), [worker]).values()
    assert "faster than anyone can read" in found
