"""Any panel with ids in the address: whom it sends is known by them, has one form, and learns what is
wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Engine, delete, select

from humaneval import patterns
from humaneval.crowd.personal_data import find_person
from humaneval.crowd.review import MISSED_CONTROL
from humaneval.errors import SettingsError, UsageError
from humaneval.simulated.browser import Browser, Page
from humaneval.store.engine import reading, writing
from humaneval.store.responses import TOOK_PART_ELSEWHERE
from humaneval.store.tables import AssignmentRow, StudyRow, WorkerIdentityRow
from humaneval.study.file import read_study_file
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, form_hash, heading, panel, send, take

ONCE = "You have already taken part"


def test_C43_a_member_who_comes_again_resumes_and_then_has_taken_part(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine)
    link = study.panel_link()
    page = begin(panel(link, "P1", "S1"))
    assert form_hash(begin(panel(link, "P1", "S1"))) == form_hash(page)
    assert form_hash(begin(panel(link, "P2", "S2"))) != form_hash(page)
    send(page)
    assert heading(begin(panel(link, "P1", "S1"))) == "Thank you"
    assert heading(begin(panel(link, "P1", "S9"))) == ONCE
    assert study.states() == {"answered": 1, "opened": 1}


def test_C40_a_second_session_of_the_same_person_leads_to_the_same_form(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine)
    link = study.panel_link()
    first = begin(panel(link, "P1", "S1"))
    second = begin(panel(link, "P1", "S2"))
    assert form_hash(first) == form_hash(second)
    assert study.states() == {"opened": 1}
    assert heading(send(first, 1)) == heading(send(second, 2)) == "Thank you"
    assert [answers["choice-1"] for answers in study.answers()] == ["1"]
    with reading(engine) as session:
        assert session.scalars(select(AssignmentRow.external_id)).one().startswith("S2-")


def test_C40_two_sessions_after_the_time_is_over_still_give_one_set_of_answers(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine, design={"annotators": 2})
    link = study.panel_link()
    late = begin(panel(link, "P1", "S1"))
    study.let_leases_run_out()
    begin(panel(link, "P2", "S2"))  # has the row now
    again = begin(panel(link, "P1", "S3"))
    assert form_hash(again) != form_hash(late)
    send(late)
    send(again, 2)
    assert len(study.answers()) == 1
    assert study.states() == {"answered": 1, "opened": 1}
    assert heading(begin(panel(link, "P1", "S4"))) == ONCE
    found = study.collect()
    assert (found.new, found.responses) == (1, 4)


def test_C39_one_member_in_twelve_windows_at_once_has_one_form(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine)
    link = study.panel_link()
    with ThreadPoolExecutor(12) as pool:
        pages = list(pool.map(lambda n: begin(panel(link, "P1", f"S{n % 3}")), range(12)))
    assert len({form_hash(page) for page in pages}) == 1
    assert study.states() == {"opened": 1}


def test_the_names_of_the_parameters_are_the_studys_own(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine, link={"worker_parameter": "rid", "session_parameter": ""})
    link = study.panel_link()
    assert heading(take(f"{link}?rid=R1&PROLIFIC_PID=P1")) == "Thank you"
    assert heading(begin(f"{link}?rid=R1")) == "Thank you"
    page = Browser().get(f"{link}?PROLIFIC_PID=P1&SESSION_ID=S1")
    assert (page.status, "It should contain: rid." in page.html) == (400, True)


def test_the_same_member_takes_part_in_pilot_and_main_study(sqlite_engine: Engine, by_link: Callable) -> None:
    names = {"worker_parameter": "rid", "session_parameter": ""}
    pilot = by_link(sqlite_engine, "pilot", design={"pilot": True}, link=names)
    main = by_link(sqlite_engine, "main", link=names)
    assert heading(take(f"{pilot.panel_link()}?rid=R1")) == "Thank you"
    assert heading(take(f"{main.panel_link()}?rid=R1")) == "Thank you"
    assert (len(pilot.responses()), len(main.responses())) == (4, 4)


EXCLUDING = {"participants": {"exclude_studies": ["first"]}, "link": {"screened_out": "AWAY"}}


def test_C40_a_member_of_an_excluded_study_gets_no_form_of_the_next(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    first = by_link(sqlite_engine, "first")
    second = by_link(sqlite_engine, "second", **EXCLUDING)
    old, new = first.panel_link(), second.panel_link()
    assert heading(take(panel(old, "P1", "S1"))) == "Thank you"
    told = begin(panel(new, "P1", "S2"))
    assert (form_there(told), "AWAY" in told.html) == (False, True)
    assert form_there(begin(panel(new, "P2", "S3")))


def test_C40_a_member_of_two_studies_at_once_counts_in_the_second_only_before_meeting_the_first(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    first = by_link(sqlite_engine, "first")
    second = by_link(sqlite_engine, "second", **EXCLUDING)
    old, new = first.panel_link(), second.panel_link()
    at_once = begin(panel(new, "P1", "S1")), begin(panel(old, "P1", "S2"))
    for page in reversed(at_once):
        assert heading(send(page)) == "Thank you"
    assert heading(take(panel(new, "P2", "S3"))) == "Thank you"
    assert heading(take(panel(old, "P2", "S4"))) == "Thank you"  # after the second study
    for study in (first, second):
        assert study.collect().submissions == 2
    assert excluded(first) == {}
    assert excluded(second) == {"S1": TOOK_PART_ELSEWHERE}


def test_C40_whoever_publishes_an_open_link_reads_that_nobody_of_it_is_known_elsewhere(
    sqlite_engine: Engine, sqlite_database: str, study_factory: Callable, command: Command, monkeypatch: Any
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study_factory(sqlite_engine, "first")
    study_factory(sqlite_engine, "second", participants={"exclude_studies": ["first"]})
    told = [
        command("publish", "second", "--to", "link", *more, "--dry-run").err for more in ([], ["--panel"])
    ]
    assert ["is known in another study" in each for each in told] == [True, False]


def form_there(page: Page) -> bool:
    return page.form(field="form") is not None


def excluded(study: LinkStudy) -> dict[str, str]:
    """Why forms do not count, by the panel's session, but for answers that miss the control."""
    with reading(study.engine) as session:
        query = select(AssignmentRow.external_id, AssignmentRow.excluded).join(
            StudyRow, StudyRow.id == AssignmentRow.study_id
        )
        found = session.execute(query.where(StudyRow.name == study.name)).all()
    return {id.partition("-")[0]: why for id, why in found if why and why != MISSED_CONTROL}


def test_forms_for_one_person_as_many_as_the_study_says(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine, design={"rows_per_annotator": 2, "annotators": 8})
    link = study.panel_link()
    assert heading(take(panel(link, "P1", "S1"))) == "Thank you"
    assert heading(take(panel(link, "P1", "S2"))) == "Thank you"
    page = begin(panel(link, "P1", "S3"))
    assert heading(page) == ONCE
    assert "as many forms as one person can in this study (2)" in page.html


BAD = [
    "",
    " ",
    "{{%PROLIFIC_PID%}}",
    "${e://Field/PID}",
    "[ID]",
    "<id>",
    "%%ID%%",
    "PROLIFIC_PID",
    "x" * 129,
    "a b",
    "a\x00b",
    "a\x1bb",
    "a\u0085b",
    "a\ufffeb",
    "a\nb",
    "\ufffd",
]


@pytest.mark.parametrize("id", BAD, ids=[ascii(id)[:24] for id in BAD])
def test_ids_that_are_none_get_a_clear_page_and_claim_nothing(
    sqlite_engine: Engine, by_link: Callable, id: str
) -> None:
    study = by_link(sqlite_engine)
    link = study.panel_link()
    for query in (f"PROLIFIC_PID={quote(id)}&SESSION_ID=S1", f"SESSION_ID={quote(id)}&PROLIFIC_PID=P1"):
        page = Browser().get(f"{link}?{query}")
        assert (page.status, heading(page)) == (400, "This address is incomplete")
        assert "PROLIFIC_PID, SESSION_ID" in page.html
        assert not page.forms
    good = Browser().get(panel(link, "P1", "S1"))
    posted = Browser().submit(good, good.forms[0], {"PROLIFIC_PID": id})
    assert (posted.status, heading(posted)) == (400, "This address is incomplete")
    assert not study.states()


NOBODY = [
    *(
        "undefined",
        "null",
        "NaN",
        "None",
        "0",
        "[object Object]",
        "{{PID}}",
        "${PID}",
        "%%PID%%",
        "UNDEFINED",
    ),
    *("nan", "false", "N/A", "-", "000000000000", "00000000-0000-0000-0000-000000000000", "P-undefined"),
    *(
        "undefined_undefined",
        "null.null",
        "__PROLIFIC_PID__",
        "prolific_pid",
        "session-id",
        "#SESSION_ID#",
        "?",
    ),
    *("%7B%7BPID%7D%7D", "<%= pid %>", "@@PROLIFIC_PID@@", "None-0"),
]


def test_X48_an_id_at_which_the_pattern_comes_to_no_end_holds_nobody_up(
    sqlite_engine: Engine, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.5)
    study = by_link(sqlite_engine, panel={"id_pattern": "([0-9A-Za-z]+ ?)+"})
    link = study.panel_link()
    assert Browser().get(panel(link, "5f9!", "a9")).status == 400
    for each in ("5f9", f"{'a' * 100}!"):
        assert Browser().get(panel(link, each, "a9")).status == 200


@pytest.mark.parametrize("id", NOBODY)
def test_X48_what_a_broken_script_writes_is_nobodys_id(
    sqlite_engine: Engine, by_link: Callable, id: str
) -> None:
    study = by_link(sqlite_engine)
    link = study.panel_link()
    for query in (f"PROLIFIC_PID={quote(id)}&SESSION_ID=S1", f"SESSION_ID={quote(id)}&PROLIFIC_PID=P1"):
        page = Browser().get(f"{link}?{query}")
        assert (page.status, heading(page), page.forms) == (400, "This address is incomplete", [])
    assert not study.states()


@pytest.mark.parametrize("id", ["0a", "nullify", "nano", "10", "None1", "A0000", "-1", "nobody"])
def test_X48_an_id_that_only_resembles_one_of_those_is_somebodys(
    sqlite_engine: Engine, by_link: Callable, id: str
) -> None:
    page = Browser().get(panel(by_link(sqlite_engine).panel_link(), id, "S1"))
    assert (page.status, len(page.forms)) == (200, 1)


@pytest.mark.parametrize(
    "query",
    [
        "amp;PROLIFIC_PID=P1&amp;SESSION_ID=S1",
        "prolific_pid=P1&sessionId=S1",
        "PROLIFIC_PID=&PROLIFIC_PID=P1&SESSION_ID=S1",
    ],
)
def test_X47_a_panels_ids_are_understood_however_they_are_spelt(
    sqlite_engine: Engine, by_link: Callable, query: str
) -> None:
    study = by_link(sqlite_engine)
    assert heading(take(f"{study.panel_link()}?{query}")) == "Thank you"
    with reading(sqlite_engine) as session:
        assert session.scalars(select(WorkerIdentityRow.external_id)).all() == ["P1"]


@pytest.mark.parametrize(
    "id", ["5f3c9d2e8b1a4c0001d2e3f4", "a+b/c=", "Ä.ö_7~", "ann@example.org", "<x>"[1], "x" * 128]
)
def test_ids_of_any_usual_kind_arrive_as_they_are(sqlite_engine: Engine, by_link: Callable, id: str) -> None:
    study = by_link(sqlite_engine)
    assert heading(take(panel(study.panel_link(), id, "S1"))) == "Thank you"
    with reading(sqlite_engine) as session:
        assert session.scalars(select(WorkerIdentityRow.external_id)).all() == [id]


def test_the_persons_id_is_nowhere_but_in_the_table_of_identities(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    form = begin(panel(study.panel_link(), "PERSON-7", "S1"))
    assert "PERSON-7" not in form.html + form.url
    send(form)
    assert "PERSON-7" not in str(study.responses())
    with reading(sqlite_engine) as session:
        assert session.scalars(select(AssignmentRow.external_id)).one().startswith("S1-")


def test_a_study_whose_two_parameters_have_one_name_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"link: .*different names"):
        read_study_file(None, overrides={"link": {"worker_parameter": "id", "session_parameter": "id"}})


OF_ONE_STUDY = {
    "link": {"worker_parameter": "survey_code", "session_parameter": ""},
    "panel": {"ids_per_study": True},
}


def test_C40_a_code_that_is_one_studys_alone_makes_nobody_the_person_of_another_study(
    sqlite_engine: Engine,
    sqlite_database: str,
    by_link: Callable,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    excluding = {"participants": {"exclude_studies": ["first"]}}
    first = by_link(sqlite_engine, "first", **OF_ONE_STUDY)
    second = by_link(sqlite_engine, "second", **OF_ONE_STUDY, **excluding)
    old, new = (f"{each.panel_link()}?survey_code=" for each in (first, second))
    assert heading(take(f"{old}12345")) == heading(take(f"{new}12345")) == "Thank you"
    for study in (first, second):
        study.collect()
        assert excluded(study) == {}
    with reading(sqlite_engine) as session:
        assert len(set(session.scalars(select(AssignmentRow.worker_id)))) == 2
    several = command("worker", "show", "12345")
    assert "known at 2 places" in several.err
    here = re.findall(r"(w[0-9a-f]{12}) \(at link, in (\w+)\)", several.err)
    assert [study for _, study in here] == ["first", "second"]
    assert command("worker", "exclude", "second", "22222", "--to", "link").code == 0
    assert (form_there(begin(f"{new}22222")), form_there(begin(f"{old}22222"))) == (False, True)
    assert command("worker", "forget", here[0][0], "--yes").code == 0
    assert "(at link" not in command("worker", "show", "12345").err
    assert len(second.responses()) == 4
    assert not form_there(begin(f"{old}12345"))


def test_C40_an_id_of_one_study_that_was_purged_still_names_the_person_of_each_study(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    for name in ("first", "second"):
        assert heading(
            take(f"{by_link(sqlite_engine, name, **OF_ONE_STUDY).panel_link()}?survey_code=12")
        ) == ("Thank you")
    with writing(sqlite_engine) as session:
        session.execute(delete(WorkerIdentityRow))
    with reading(sqlite_engine) as session, pytest.raises(UsageError, match="2 places") as refused:
        find_person(session, "12")
    assert "in first) or w" in refused.value.hint
