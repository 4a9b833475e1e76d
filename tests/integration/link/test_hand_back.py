"""What people take back to the panel that sent them, and what is kept of what the panel sent with them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, select

from humaneval.settings import Settings
from humaneval.simulated.browser import Browser, Page
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, WorkerIdentityRow
from humaneval.web.app import create_app
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, form_hash, form_on, heading, send, take

BACK = "https://panel.example/end?status="
OUTCOMES = {
    "screened_out": f"{BACK}2&id={{worker}}",
    "quota_full": f"{BACK}3&id={{worker}}",
    "no_consent": "N0",
}
CAMPAIGN = "MW_ID=w1&SLOT_ID=s1&CAMP_ID=c1"


def kept(study: LinkStudy) -> list[dict[str, str] | None]:
    with reading(study.engine) as session:
        return list(session.scalars(select(AssignmentRow.parameters).order_by(AssignmentRow.id)))


def declined(link: str) -> Page:
    """Open a link and press the button that says no."""
    page = Browser().get(link)
    (form,) = page.forms
    form.values["decline"] = "yes"
    return Browser().submit(page, form, {})


def test_P11_P29_P36_what_the_panel_sent_is_kept_with_the_first_record_and_needed_no_more(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine, link={"panel": "microworkers"}, secret="s3cret")
    link = study.panel_link()
    page = begin(f"{link}?{CAMPAIGN}&utm=x")
    assert kept(study) == [{"CAMP_ID": "c1"}]
    again = Browser().get(page.url)  # no parameters: the person's own address
    assert "?" not in page.url
    assert form_hash(again) == form_hash(page)
    assert kept(study) == [{"CAMP_ID": "c1"}]
    thanks = send(again)
    assert heading(thanks) == "Thank you"
    code = "mw-" + hashlib.sha256(b"c1w1s3cret").hexdigest()
    assert code not in page.html
    assert code in thanks.html
    assert code in begin(f"{link}?{CAMPAIGN}&RAND_KEY=r").html
    assert study.states() == {"answered": 1}


@pytest.mark.parametrize("query", ["MW_ID=w1&SLOT_ID=s1", "MW_ID=w1&SLOT_ID=s1&CAMP_ID={{CAMP_ID}}"])
def test_a_parameter_that_the_code_is_made_from_must_come(
    sqlite_engine: Engine, by_link: Callable, query: str
) -> None:
    study = by_link(sqlite_engine, link={"panel": "microworkers"}, secret="s3cret")
    page = Browser().get(f"{study.panel_link()}?{query}")
    assert (page.status, "MW_ID, SLOT_ID, CAMP_ID" in page.html) == (400, True)


@pytest.mark.parametrize("code", ["%SURVEY_CODE%", "1", "12345678", "abc", "12x"])
def test_P10_an_address_without_a_code_of_the_panels_form_takes_no_form_and_says_why(
    sqlite_engine: Engine, by_link: Callable, code: str
) -> None:
    study = by_link(sqlite_engine, link={"panel": "sona", "completion_url": "https://uni.example/credit"})
    page = Browser().get(f"{study.panel_link()}?survey_code={code}")
    assert (page.status, heading(page), page.forms) == (400, "This address is incomplete", [])
    assert "It should contain: survey_code." in page.html
    assert ("It still has %SURVEY_CODE% where your id should be" in page.html) == ("%" in code)
    assert not study.states()


def test_P10_without_any_ids_the_link_says_what_is_missing(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine)
    page = Browser().get(study.panel_link())
    assert (page.status, "PROLIFIC_PID, SESSION_ID" in page.html, page.forms) == (400, True, [])


def test_P28_who_is_done_goes_back_at_once_with_the_code_of_the_person(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    url = "https://uni.example/webstudy_credit.aspx?experiment_id=4&credit_token=t&survey_code=XXXX"
    study = by_link(sqlite_engine, link={"panel": "sona", "completion_url": url})
    link = study.panel_link()
    page = begin(f"{link}?survey_code=12345")
    client = create_app(Settings(), sqlite_engine).test_client()
    form = form_on(page)
    filled = {**form.values, **form.boxes, **dict.fromkeys(form.choices, "2")}
    sent = client.post(page.url.removeprefix(study.url), data=filled)
    assert (sent.status_code, sent.headers["Location"]) == (303, url.replace("XXXX", "12345"))
    thanks = begin(f"{link}?survey_code=12345")
    assert f'href="{url.replace("XXXX", "12345").replace("&", "&amp;")}"' in thanks.html


def test_P13_P27_each_outcome_goes_back_its_own_way_and_by_our_own_data(
    engine: Engine, by_link: Callable
) -> None:
    link = {"completion_code": "D0NE", **OUTCOMES}
    study = by_link(engine, design={"annotators": 1}, link=link)
    address = (study.panel_link() + "?PROLIFIC_PID={}&SESSION_ID=S1").format
    refused = declined(address("P1"))
    assert heading(refused) == "You are not taking part"
    assert ("N0" in refused.html, "D0NE" in refused.html) == (True, False)
    with reading(engine) as session:
        assert session.scalars(select(WorkerIdentityRow.external_id)).all() == []
    page = begin(address("P2"))
    assert "take part</button>" not in Browser().get(address("P2")).html
    full = begin(address("P3"))
    assert f"{BACK}3&amp;id=P3" in full.html
    assert "D0NE" not in full.html
    assert "D0NE" in send(page).html
    again = begin(study.panel_link() + "?PROLIFIC_PID=P2&SESSION_ID=S2")
    assert f"{BACK}2&amp;id=P2" in again.html
    assert "D0NE" not in again.html


def test_open_and_personal_links_have_no_button_to_refuse(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine, link=OUTCOMES)
    assert 'name="decline"' not in Browser().get(study.open_link()).html
    assert heading(declined(study.open_link())) != "You are not taking part"


def test_P18_who_was_not_invited_gets_no_form(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine)
    page = Browser().get(f"{study.url}/take/f{'x' * 24}")
    assert (page.status, heading(page), page.forms) == (404, "There is no such link", [])
    assert not study.states()


def test_P32_a_code_that_everybody_shares_is_said_to_prove_nothing(
    sqlite_engine: Engine,
    by_link: Callable,
    sqlite_database: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    by_link(sqlite_engine, link={"panel": "cloudresearch", "completion_code": "C1"})
    said = command("publish", "study", "--to", "link", "--panel")
    assert said.code == 0, said.err
    assert "the same for everybody and proves nothing: C1" in said.out
    assert "not verified with CloudResearch" in said.err
    assert "Give the panel this address: http" in said.out


def test_without_its_secret_a_panels_link_is_not_made(
    sqlite_engine: Engine,
    by_link: Callable,
    sqlite_database: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    by_link(sqlite_engine, link={"panel": "microworkers"})
    said = command("publish", "study", "--to", "link", "--panel")
    assert (said.code, "HUMANEVAL_PANEL_SECRET" in said.err) == (2, True)
    said = command("publish", "study", "--to", "link")
    assert (said.code, "the panel did not send the people of this link" in said.err) == (0, True)


def test_simulated_annotators_rehearse_a_panel_whose_ids_they_do_not_have(
    sqlite_engine: Engine,
    by_link: Callable,
    sqlite_database: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study = by_link(sqlite_engine, link={"panel": "clickworker", "completion_code": "C1"})
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", study.url)
    link = study.panel_link()
    assert "C1" in take(f"{link}?user_id=4711").html
    said = command("simulate", "study", "--to", "link", "--annotators", "2", "--yes", "--json")
    assert (said.code, said.json["submitted"]) == (0, 2), said.err
    assert Browser().get(f"{link}?user_id=simulated-1").status == 400
