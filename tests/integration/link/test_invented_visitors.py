"""Who invents visitors of a link takes no form from anybody else."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, func, select

from humaneval import open_forms
from humaneval.domain import PROGRAM
from humaneval.settings import Settings
from humaneval.simulated import Skills, crowd_for
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, WorkerIdentityRow, WorkerRow
from humaneval.study.stored import mark_simulated, open_study, program_name, who_answered
from humaneval.web.app import create_app
from tests.integration.link.people import LinkStudy, begin, form_on
from tests.integration.link.people import panel as panel_address

STRANGER, PERSON, OTHER = "198.51.100.7", "192.0.2.7", "203.0.113.7"


class Visits:
    """People at several addresses who press "Begin" at a link."""

    program = ""
    """How their browsers name themselves."""

    def __init__(self, study: LinkStudy, link: str, most: int = 100) -> None:
        settings = Settings(open_forms_per_address=most)
        self.client: FlaskClient = create_app(settings, study.engine).test_client()
        self.path = urlsplit(link).path

    def begin(self, address: str, number: int, *, look: bool = False, panel: bool = False) -> int | str:
        """The status, or the address of the form that was begun."""
        given = {"PROLIFIC_PID": f"5f{number:06}", "SESSION_ID": f"a{number}"} if panel else {}
        given = given or {"ticket": f"{number:032x}"}
        headers = {"User-Agent": self.program} if self.program else {}
        said = self.client.post(self.path, data=given, headers=headers, environ_base={"REMOTE_ADDR": address})
        if said.status_code != 303:
            return said.status_code
        address = f"/take/{said.location.partition('take/')[2]}"
        if look:
            assert self.client.get(address).status_code == 200
        return address

    def got(self, *outcomes: int | str) -> list[bool]:
        return [isinstance(outcome, str) for outcome in outcomes]


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("panel", [False, True], ids=["open", "panel"])
def test_a_form_that_a_program_began_gives_way_to_a_person(
    engine: Engine, by_link: Callable, monkeypatch: pytest.MonkeyPatch, panel: bool
) -> None:
    monkeypatch.setattr(open_forms, "NEVER_SHOWN_SECONDS", 0.0)
    study = by_link(engine)
    visits = Visits(study, study.panel_link() if panel else study.open_link())
    first = visits.begin(PERSON, 1000, look=True, panel=panel)
    taken = [visits.begin(STRANGER, number, panel=panel) for number in range(30)]
    assert visits.got(*taken) == [True] * 3 + [False] * 27  # 200: all forms are taken
    assert visits.begin(OTHER, 2000, look=True, panel=panel) != 200
    assert len(set(study.held_rows())) == len(study.held_rows()) == 4
    assert isinstance(first, str)
    assert visits.client.get(first).status_code == 200  # the person at work keeps the row
    assert study.states() == {"opened": 4, "superseded": 1}


@pytest.mark.parametrize("rehearsed", [False, True])
def test_X51_who_says_to_be_a_program_is_none(
    sqlite_engine: Engine, by_link: Callable, rehearsed: bool
) -> None:
    study = by_link(sqlite_engine)
    opened, link = open_study(sqlite_engine, study.name), study.panel_link()
    if rehearsed:
        mark_simulated(opened)
    known = crowd_for(opened, 1, Skills()).program
    visits = Visits(study, link, most=1)
    visits.program = known
    assert visits.got(*(visits.begin(STRANGER, number, panel=True) for number in range(2))) == [True] * 2
    for number, said in enumerate((PROGRAM, f"{PROGRAM}/é", known[:-1], program_name(b"", opened.id)), 2):
        visits.program = said
        assert (visits.begin(STRANGER, number, panel=True) == 429) == (number > 2), said
    browser = Browser(program=PROGRAM)
    page = begin(panel_address(link, "5f9", "a9"), browser)
    browser.submit(page, form_on(page), {**form_on(page).boxes, **dict.fromkeys(form_on(page).choices, "2")})
    with reading(sqlite_engine) as session:
        assert sorted(session.scalars(select(AssignmentRow.by_program))) == [False, False, True, True]
    assert str(who_answered(opened)) == "1 annotator: 0 simulated, 1 person"


def test_an_address_begins_only_so_many_forms_and_who_has_begun_goes_on(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 12})
    visits = Visits(study, study.panel_link(), most=3)
    outcomes = [visits.begin(STRANGER, number, panel=True) for number in range(6)]
    assert visits.got(*outcomes) == [True] * 3 + [False] * 3
    assert outcomes[3] == 429
    assert visits.begin(STRANGER, 1, panel=True) == outcomes[1]
    assert visits.got(visits.begin(PERSON, 7, panel=True)) == [True]
    page = visits.client.post(
        visits.path,
        data={"PROLIFIC_PID": "5f99", "SESSION_ID": "a99"},
        environ_base={"REMOTE_ADDR": STRANGER},
    )
    assert "3 forms" in page.text
    assert study.states() == {"opened": 4}


def test_of_visitors_who_get_no_form_nothing_is_kept(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine)
    visits = Visits(study, study.open_link())
    assert visits.got(*(visits.begin(STRANGER, number) for number in range(12))) == [True] * 4 + [False] * 8
    with reading(engine) as session:
        kept = [
            session.scalar(select(func.count()).select_from(each)) for each in (WorkerRow, WorkerIdentityRow)
        ]
    assert kept == [4, 4]


def test_a_class_behind_one_address_gets_all_forms_of_a_study(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 40})
    visits = Visits(study, study.open_link())
    outcomes = [visits.begin(STRANGER, number, look=True) for number in range(41)]
    assert visits.got(*outcomes) == [True] * 40 + [False]
    assert outcomes[40] == 200
