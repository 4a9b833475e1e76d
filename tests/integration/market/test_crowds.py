"""One person who comes to the marketplace under many names takes no place from anybody else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from sqlalchemy import Engine, event

from humaneval.market import Keys, MarketServer, Mode, create_market_app
from humaneval.market.events import kept_events
from humaneval.market.operations import Market
from humaneval.market.pages.site import current_site
from humaneval.market.panel.invitations import invitation, personal_links
from tests.integration.market.conftest import HIT, TestClock
from tests.pace import PATIENCE

SITE = "http://panel.lab.example"
STRANGER, PERSON, HALL = "198.51.100.7", "192.0.2.7", "203.0.113.7"
NOTHING = "There are no tasks for you"
KEYS = Keys({"CROWDSTESTKEY0000001": "a secret of the tests"})


class Panel:
    """A marketplace that others reach, where one address may have `most` tasks in hand."""

    def __init__(self, engine: Engine, clock: TestClock, most: int | None) -> None:
        self.engine, self.clock, self.most, self.invited_only = engine, clock, most, True
        self.restart()
        self.market = Market(engine, Mode.LOCAL, clock)

    def restart(self) -> None:
        app = create_market_app(
            self.engine,
            mode=Mode.LOCAL,
            public_url=SITE,
            clock=self.clock,
            keys=KEYS,
            invited=self.invited_only,
            most_at_address=self.most,
        )
        self.client = app.test_client(use_cookies=False)

    def hit(self, places: int, **values: Any) -> str:
        made = self.market.perform("CreateHIT", {**HIT, "MaxAssignments": places, **values})
        return str(made["HIT"]["HITId"])

    def sent(self, hit: str) -> int:
        return len(
            self.market.perform("ListAssignmentsForHIT", {"HITId": hit, "MaxResults": 100})["Assignments"]
        )

    def registers(self, address: str, name: str) -> Visitor:
        token = invitation(self.engine, SITE).partition("invitation=")[2]
        return Visitor(self, address, "/signin", name=name, invitation=token)

    def invited(self, address: str, name: str) -> Visitor:
        return Visitor(self, address, personal_links(self.engine, [name], SITE)[name].removeprefix(SITE))

    def flood(self, names: int, *, look: bool = True, address: str = STRANGER) -> list[str]:
        return [self.registers(address, f"syb{each}").accepts(look=look) for each in range(names)]


class Visitor:
    """Somebody at an address who signed in by the common link, or by one of their own."""

    def __init__(self, panel: Panel, address: str, path: str, **fields: str) -> None:
        self._panel, self._address, self._cookie = panel, address, ""
        reply = self.ask("POST", path, **fields)
        self.status, self.said = reply.status_code, reply.text
        self._cookie = reply.headers.get("Set-Cookie", "").partition(";")[0]

    def ask(self, method: str, path: str, **fields: str) -> Any:
        return self._panel.client.open(
            path,
            method=method,
            data=fields,
            headers={"Cookie": self._cookie},
            base_url=SITE,
            environ_base={"REMOTE_ADDR": self._address},
        )

    def get(self, path: str) -> str:
        text: str = self.ask("GET", path).text
        return text

    def accepts(self, *, look: bool = True) -> str:
        """Press the first "Accept" of the list: the address of the work, or what is said instead."""
        page = self.get("/hits")
        form = re.search(r'action="(/hits/\w+/accept)">(.*?)</form>', page, re.DOTALL)
        if form is None:
            return NOTHING * (NOTHING in page)
        sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[2]))
        reply = self.ask("POST", form[1], **sent)
        if reply.status_code != 303:
            return f"{reply.status_code} {reply.text}"
        work: str = reply.headers["Location"]
        assert not look or 'id="return"' in self.get(work)
        return work

    def sends(self, work: str) -> int:
        fields = {"assignmentId": work.rpartition("/")[2], "choice": "3"}
        status: int = self.ask("POST", "/mturk/externalSubmit", **fields).status_code
        return status


@pytest.fixture
def panel(engine: Engine, clock: TestClock) -> Callable[[int | None], Panel]:
    return lambda most: Panel(engine, clock, most)


Make = Callable[[int | None], Panel]


def took(*said: str) -> list[bool]:
    return [each.startswith("/assignments/") for each in said]


def test_a_task_whose_page_nobody_asked_for_gives_way_to_somebody_elsewhere(
    panel: Make, clock: TestClock
) -> None:
    market = panel(100)
    hit = market.hit(5)
    kind = market.market.perform("GetHIT", {"HITId": hit})["HIT"]["HITTypeId"]
    queue = "https://sqs.us-east-1.amazonaws.com/123456789012/q"
    notification = {"Destination": queue, "Transport": "SQS", "Version": "2006-05-05"} | {
        "EventTypes": ["AssignmentReturned"]
    }
    asked = {"HITTypeId": kind, "Notification": notification, "Active": True}
    market.market.perform("UpdateNotificationSettings", asked)
    taken = market.flood(7, look=False)
    assert took(*taken) == [True] * 5 + [False] * 2
    hannah = market.registers(PERSON, "Hannah")
    assert hannah.accepts() == NOTHING
    clock.pass_time(seconds=16)
    assert "no place free now" not in hannah.get(f"/hits/{hit}")
    work = hannah.accepts()
    assert took(work) == [True]
    (told,) = kept_events(market.engine)
    gone = f"/assignments/{told['document']['Events'][0]['AssignmentId']}"
    assert gone in taken[:5]
    late, kept = market.registers(STRANGER, "syb9"), next(each for each in taken if each != gone)
    assert (hannah.sends(work), late.sends(gone), late.sends(kept)) == (200, 409, 200)
    assert late.accepts() == NOTHING  # the flood gets none of it back
    assert market.sent(hit) == 2


def test_however_many_tasks_give_way_the_list_is_shown(panel: Make, clock: TestClock) -> None:
    market = panel(100)

    def as_it_comes(connection: sqlite3.Connection, _: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)  # systems raise it

    event.listen(market.engine, "connect", as_it_comes)
    market.engine.dispose()
    with market.client.application.app_context():
        in_hand = current_site().crowds.in_hand
    for number in range(40_000):
        in_hand.begun(STRANGER, f"A{number:05}", seconds=600.0, expected=300.0)
    clock.pass_time(seconds=16)
    assert market.registers(PERSON, "Hannah").ask("GET", "/hits").status_code == 200


def test_a_group_that_is_full_of_idle_tasks_leads_to_one(panel: Make, clock: TestClock) -> None:
    market = panel(100)
    hits = [market.hit(1) for _ in range(12)]
    group = market.market.perform("GetHIT", {"HITId": hits[0]})["HIT"]["HITGroupId"]
    other = market.hit(1, Title="Another")
    assert took(*market.flood(13)) == [True] * 13
    hannah, preview = market.registers(PERSON, "Hannah"), f"/mturk/preview?groupId={group}"
    clock.pass_time(seconds=HIT["AssignmentDurationInSeconds"] / 2 - 1)
    assert hannah.ask("GET", preview).status_code == 404
    clock.pass_time(seconds=1)
    leads = urlsplit(hannah.ask("GET", preview).headers["Location"])
    found = leads.path.removeprefix("/hits/")
    assert (found in hits, leads.query) == (True, f"groupId={group}")
    page = hannah.get(f"{leads.path}?{leads.query}")
    token = re.findall(r'name="csrf" value="([^"]*)"', page)[0]
    assert f'action="/hits/{found}/accept"' in page
    for hit in (found, other):  # each alone, without its group
        assert took(hannah.ask("POST", f"/hits/{hit}/accept", csrf=token).headers["Location"]) == [True]


def test_what_has_given_way_tells_of_its_address(panel: Make, clock: TestClock) -> None:
    market = panel(100)
    market.hit(12)
    market.flood(8, look=False)
    assert took(*(market.registers(STRANGER, f"more {each}").accepts() for each in range(4))) == [True] * 4
    clock.pass_time(seconds=16)
    people = [market.registers(f"192.0.2.{each}", f"person {each}") for each in range(12)]
    assert took(*(each.accepts() for each in people)) == [True] * 8 + [False] * 4
    clock.pass_time(seconds=HIT["AssignmentDurationInSeconds"] / 2)
    assert took(*(each.accepts() for each in people[8:])) == [True] * 4


def test_people_who_answer_keep_their_tasks_for_all_of_the_time(panel: Make, clock: TestClock) -> None:
    market = panel(100)
    hit = market.hit(40)
    people = [market.registers(HALL, f"pupil {number}") for number in range(40)]
    work = [each.accepts() for each in people]
    assert [each.sends(its) for each, its in zip(people[:4], work, strict=False)] == [200] * 4
    clock.pass_time(seconds=HIT["AssignmentDurationInSeconds"] - 1)
    assert market.registers(PERSON, "Hannah").accepts() == NOTHING
    assert {each.sends(its) for each, its in zip(people, work, strict=True)} == {200}
    assert market.sent(hit) == 40


def test_an_address_has_so_many_tasks_in_hand_over_all_names(
    panel: Make, clock: TestClock, caplog: pytest.LogCaptureFixture
) -> None:
    market = panel(3)
    for _ in range(4):
        market.hit(9)
    first, second = (market.registers(STRANGER, name) for name in "ab")
    work = [first.accepts(), second.accepts(), first.accepts()]
    assert took(*work) == [True] * 3
    refused = second.accepts()
    assert refused.startswith("429")
    assert "3 tasks in hand" in refused
    assert "3 tasks are in hand at one address" in caplog.text
    assert "set trusted_proxies; otherwise open_forms_per_address" in caplog.text
    assert took(market.registers(PERSON, "Hannah").accepts()) == [True]
    assert first.sends(work[0]) == 200
    assert took(second.accepts()) == [True]
    assert second.accepts().startswith("429")
    token = re.findall(r'name="csrf" value="([^"]*)"', first.get("/hits"))[0]
    assert first.ask("POST", f"{work[2]}/return", csrf=token).status_code == 303
    again = second.accepts()
    assert took(again) == [True]
    clock.pass_time(seconds=HIT["AssignmentDurationInSeconds"] + 1)
    assert took(first.accepts()) == [True]
    assert market.registers(STRANGER, "c").status == 303  # an hour later


def test_an_address_registers_so_many_names_in_an_hour(
    panel: Make, clock: TestClock, caplog: pytest.LogCaptureFixture
) -> None:
    market = panel(3)
    assert [market.registers(STRANGER, name).status for name in "abcd"] == [303] * 3 + [429]
    assert "3 names came within an hour from one address" in caplog.text
    assert "Very many people" in market.registers(STRANGER, "e").said
    assert market.registers(PERSON, "d").status == 303
    assert market.invited(STRANGER, "f").status == 303
    clock.pass_time(seconds=3601)
    assert market.registers(STRANGER, "e").status == 303


def test_people_whom_the_requester_invited_by_name_are_not_counted(panel: Make, clock: TestClock) -> None:
    market = panel(1)
    market.hit(4)
    people = [market.invited(HALL, f"person {number}") for number in range(3)]
    assert took(*(each.accepts(look=False) for each in people)) == [True] * 3
    taken = market.registers(HALL, "Zoe")
    assert took(taken.accepts()) == [True]
    clock.pass_time(seconds=60)
    assert market.registers(PERSON, "Hannah").accepts() == NOTHING


def test_who_registered_counts_by_their_own_link_too(panel: Make) -> None:
    market = panel(1)
    for _ in range(2):
        market.hit(9)
    first = market.registers(STRANGER, "a")
    own = re.findall(r'value="http://panel.lab.example(/come/[^"]+)"', first.get("/link"))[0]
    back = Visitor(market, STRANGER, own)
    assert took(back.accepts()) == [True]
    assert back.accepts().startswith("429")


def test_where_any_name_will_do_the_names_of_invited_people_count_too(panel: Make) -> None:
    market = panel(1)
    for _ in range(2):
        market.hit(9)
    market.invited(HALL, "Ada")
    market.invited_only = False
    market.restart()
    ada = market.registers(STRANGER, "Ada")
    assert took(ada.accepts()) == [True]
    assert ada.accepts().startswith("429")


def test_after_a_restart_a_task_counts_from_when_its_page_is_asked_for(panel: Make, clock: TestClock) -> None:
    market = panel(3)
    hit = market.hit(9)
    people = [market.registers(STRANGER, name) for name in "abc"]
    work = [each.accepts() for each in people]
    market.restart()
    late = market.registers(STRANGER, "d")
    assert people[0].get(f"{work[0]}/state") == "accepted"
    assert "Return this task" in people[1].get(work[1])
    assert took(late.accepts()) == [True]
    assert market.registers(STRANGER, "e").accepts().startswith("429")
    assert people[0].sends(work[0]) == people[2].sends(work[2]) == 200
    assert took(market.registers(STRANGER, "f").accepts()) == [True]
    assert market.sent(hit) == 2


def signs_in(port: int, name: str, **headers: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    given = {"Content-Type": "application/x-www-form-urlencoded"}
    given |= {each.replace("_", "-"): value for each, value in headers.items()}
    with closing(connection):
        connection.request("POST", "/signin", urlencode({"name": name}), given)
        return connection.getresponse().status


def test_behind_a_proxy_of_its_machine_a_marketplace_believes_its_word_for_the_address(
    engine: Engine,
) -> None:
    with MarketServer(engine, mode=Mode.LOCAL, public_url=SITE, keys=KEYS, most_at_address=1) as server:
        assert signs_in(server.port, "a", X_Forwarded_For=STRANGER) == 303
        # What came with the request is not believed.
        assert signs_in(server.port, "b", X_Forwarded_For=f"{PERSON}, {STRANGER}") == 429
        assert signs_in(server.port, "c", X_Forwarded_For=f"{STRANGER}, {PERSON}") == 303


def test_a_marketplace_of_its_own_machine_counts_nobody(engine: Engine) -> None:
    with MarketServer(engine, mode=Mode.LOCAL, most_at_address=1) as server:
        names = [f"simulated-{number}" for number in range(3)]
        assert [signs_in(server.port, name) for name in names] == [303] * 3
