"""A panel that our server tells about people who are done: once, after their answers are stored, and never by
guess."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from sqlalchemy import Engine, delete, select, update

from humaneval.crowd.advice import progress_lines
from humaneval.crowd.collect import Accepted, CollectedWork, collect_work
from humaneval.crowd.endpoints import link
from humaneval.crowd.forget import forget
from humaneval.crowd.link import Link
from humaneval.crowd.panel_postbacks import POSTBACK
from humaneval.crowd.personal_data_export import kept_about
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import UsageError
from humaneval.scoring.scores import score
from humaneval.settings import Settings
from humaneval.simulated.annotator import Crowd, Skills, crowd_for
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading, writing
from humaneval.store.tables import OutboxRow, WorkerIdentityRow
from humaneval.store.types import now
from humaneval.study.stored import open_study, study_key
from humaneval.web.app import create_app
from humaneval.web.exclude import Excluder
from tests.commands import Command
from tests.integration.link.people import LinkStudy, begin, form_on, heading, send, take
from tests.unit.test_panels import sona_reply

TOKEN = "T0KEN-4711"


@dataclass
class Sona:
    """A stand-in for SONA's server: it credits each code once, unless it fails in the ways of `faults`."""

    url: str = ""
    known: set[str] = field(default_factory=lambda: {"10001", "10002", "10003", "10004"})
    credited: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """For the next calls: "lost" credits and does not reply, "busy" is HTTP 500, "broken" the same, cut off,
    "page" a page of words, "nul" a refusal with characters that no database takes."""
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    """What happens while the next calls are answered."""

    def answer(self, path: str) -> tuple[int, str]:
        query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        self.calls.append(query.get("survey_code", ""))
        if self.meanwhile:
            self.meanwhile.pop(0)()
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "busy":
            return 500, "busy"
        if fault == "broken":
            return -500, ""
        if fault == "nul":
            return 400, "a\0b"
        if fault == "page":
            return 200, "<html><p>Down for maintenance</html>"
        code = query.get("survey_code", "")
        if query.get("credit_token") != TOKEN:
            return 200, sona_reply("", "The credit token is not that of the study")
        if code not in self.known:
            return 200, sona_reply("", f"The survey code {code} is unknown")
        if code in self.credited:
            return 200, sona_reply("", "The participant was already granted credit")
        self.credited.append(code)
        return (0, "") if fault == "lost" else (200, sona_reply())


@pytest.fixture
def sona() -> Iterator[Sona]:
    panel = Sona()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = panel.answer(self.path)
            if not status:
                self.close_connection = True
                return
            self.send_response(abs(status))
            if status < 0:
                self.send_header("Content-Length", "99")
            self.send_header("Content-Type", "text/xml")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    panel.url = f"http://127.0.0.1:{server.server_port}"
    yield panel
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def credited(by_link: Callable, sona: Sona) -> Callable[..., tuple[LinkStudy, str]]:
    """Makes a study for SONA in a database: the study, and the address that SONA opens, for a code."""

    def make(engine: Engine, **sections: dict[str, Any]) -> tuple[LinkStudy, str]:
        url = f"{sona.url}/services/SonaAPI.svc/WebstudyCredit?credit_token={{secret}}&survey_code=XXXX"
        settings = {"panel": "sona", "postback_url": url, **sections.pop("link", {})}
        study = by_link(engine, link=settings, secret=TOKEN, **sections)
        return study, study.panel_link() + "?survey_code="

    return make


def at(study: LinkStudy, secret: str = TOKEN) -> StudyAtPlatform:
    platform = Link(link(study.url), study.engine, panel_secret=secret)
    return open_study_at(study.engine, study.name, platform)


def collected(study: LinkStudy, *, again: bool = False, secret: str = TOKEN) -> CollectedWork:
    return collect_work(at(study, secret), accepted=Accepted(again=again))


def postbacks(study: LinkStudy) -> list[OutboxRow]:
    with reading(study.engine) as session:
        rows = session.scalars(
            select(OutboxRow).where(OutboxRow.operation == POSTBACK).order_by(OutboxRow.id)
        )
        found = list(rows)
        session.expunge_all()
        return found


def told(study: LinkStudy) -> str:
    (line,) = study_status(open_study(study.engine, study.name))
    return "\n".join(map(str, progress_lines(line, study.name, now())))


def test_P25_a_person_is_credited_once_and_only_after_their_answers_are_stored(
    engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(engine)
    page = begin(address + "10001")
    assert (postbacks(study), sona.calls) == ([], [])
    send(page)
    (row,) = postbacks(study)
    assert (row.state, row.attempts, "10001" in str(row.request) + row.subject) == ("pending", 0, False)
    assert "1 person is not credited by the panel yet" in told(study)
    send(page)
    begin(address + "10001")
    assert (collected(study).told, collected(study).told) == (1, 0)
    assert (sona.calls, sona.credited) == (["10001"], ["10001"])
    (row,) = postbacks(study)
    assert (row.state, "10001" in str(row.answer), TOKEN in str(row.answer)) == ("confirmed", False, False)
    assert "credited" not in told(study)


def test_what_sona_refuses_is_said_with_its_own_words_and_tried_again(
    sqlite_engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(sqlite_engine)
    for code in ("999", "10001"):
        take(address + code)
    found = collected(study)
    assert (found.told, len(found.not_told), found.unsure_told) == (1, 1, 0)
    assert "is unknown" in found.not_told[0]
    assert "999" not in found.not_told[0]
    assert [row.state for row in postbacks(study)] == ["refused", "confirmed"]
    assert re.search("1 person is not credited by the panel yet: humaneval .*collect study", told(study))
    sona.known.add("999")
    assert collected(study).told == 1
    assert sona.credited == ["10001", "999"]


@pytest.mark.parametrize("fault", ["lost", "busy", "broken", "page"])
def test_a_reply_that_was_lost_stays_unsure_and_nobody_is_credited_twice(
    sqlite_engine: Engine, credited: Callable, sona: Sona, fault: str
) -> None:
    study, address = credited(sqlite_engine)
    sona.faults = [fault]
    take(address + "10001")
    assert collected(study).told == 0
    assert [row.state for row in postbacks(study)] == ["pending"]
    assert "Whether the panel credits 1 person is not known" in told(study)
    assert collected(study).told == 1
    assert sona.credited == ["10001"]


@pytest.mark.parametrize("fault", ["broken", "nul"])
def test_a_panel_that_breaks_at_one_person_is_told_of_the_others(
    engine: Engine, credited: Callable, sona: Sona, fault: str
) -> None:
    study, address = credited(engine)
    sona.faults = [fault]
    for code in ("10001", "10002"):
        take(address + code)
    found = collected(study)
    assert (found.told, len(found.not_told)) == (1, 1)
    assert sona.credited == ["10002"]


def test_an_address_without_a_host_that_can_be_is_a_panel_that_cannot_be_reached(
    sqlite_engine: Engine, credited: Callable
) -> None:
    url = "https://uni..example/credit?credit_token={secret}&survey_code=XXXX"
    study, address = credited(sqlite_engine, link={"postback_url": url})
    take(address + "10001")
    assert collected(study).not_told == ("the panel's address has a host that cannot be",)
    assert [row.state for row in postbacks(study)] == ["refused"]


@pytest.mark.parametrize("before", [[], ["busy"]], ids=["the first call", "a call that is repeated"])
def test_a_call_that_is_under_way_is_neither_called_lost_nor_made_again(
    engine: Engine, credited: Callable, sona: Sona, before: list[str]
) -> None:
    study, address = credited(engine)
    sona.faults = [*before]
    take(address + "10001")
    for _ in before:
        collected(study)
    seen: list[CollectedWork] = []
    said: list[str] = []
    sona.meanwhile = [lambda: (seen.append(collected(study, again=True)), said.append(told(study)))]
    assert collected(study, again=True).told == 1
    assert [(one.told, one.unsure_told, one.not_told) for one in seen] == [(0, 0, ())]
    assert "credit" not in said[0]
    assert len(sona.calls) == 1 + len(before)


def test_where_a_second_call_could_credit_twice_only_a_person_makes_it(
    sqlite_engine: Engine, credited: Callable, sona: Sona, command: Command
) -> None:
    # A panel of our own, whose replies say nothing of an earlier credit.
    url = f"{sona.url}/credit?credit_token={{secret}}&survey_code={{worker}}"
    works = {"postback_granted": "credit_status=G"}
    study, _ = credited(sqlite_engine, link={"panel": "", "postback_url": url}, panel=works)
    address = study.panel_link() + "?SESSION_ID=S1&PROLIFIC_PID="
    sona.faults = ["busy"]
    take(address + "10001")
    collected(study)
    assert (collected(study).unsure_told, len(sona.calls)) == (1, 1)
    assert re.search("humaneval .*collect study --to link --again", told(study))
    assert collected(study, again=True).told == 1
    assert sona.calls == ["10001", "10001"]


def test_P27_by_our_own_answers_who_misses_the_control_is_not_told_of(
    sqlite_engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(sqlite_engine, link={"failed_control": "SEE-US"})
    pages = []
    for number, code in enumerate(("10001", "10002", "10003", "10004"), 1):
        pages.append(send(begin(address + code), number))
    controls = {line["row"]: line for line in study.responses() if line["generator"] == "control"}
    assert len(controls) == 4
    right = sum(line["choice"] == line["position"] for line in controls.values())
    assert (len(postbacks(study)), collected(study).told) == (right, right)
    assert sum("SEE-US" in page.html for page in pages) == 4 - right


def test_no_panel_is_told_of_simulated_annotators(
    sqlite_engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(sqlite_engine)
    client = create_app(Settings(panel_secret=TOKEN), sqlite_engine).test_client()
    program = crowd_for(open_study(sqlite_engine, study.name), 1, Skills()).program
    page = begin(address + "10001")
    path, form = page.url.removeprefix(study.url), form_on(page)
    filled = {**form.values, **form.boxes, **dict.fromkeys(form.choices, "2")}
    assert client.post(path, data=filled, headers={"User-Agent": program}).status_code == 303
    assert (collected(study).new, postbacks(study), sona.calls) == (1, [], [])


def test_the_form_server_tells_the_panel_at_once(
    sqlite_engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(sqlite_engine)
    excluder = Excluder(lambda endpoint, name: at(study))
    application = create_app(Settings(panel_secret=TOKEN), sqlite_engine, excluder.answered)
    page = begin(address + "10001")
    form = form_on(page)
    filled = {**form.values, **form.boxes, **dict.fromkeys(form.choices, "2")}
    application.test_client().post(page.url.removeprefix(study.url), data=filled)
    excluder.stop()
    assert sona.credited == ["10001"]


def test_without_the_secret_nobody_begins_and_nothing_is_sent(
    sqlite_engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(sqlite_engine)
    client = create_app(Settings(), sqlite_engine).test_client()
    assert client.get(address.removeprefix(study.url) + "10001").status_code == 503
    take(address + "10001")
    found = collected(study, secret="")
    assert (found.told, found.not_told[0].startswith("the panel's secret is not set")) == (0, True)
    assert (sona.calls, postbacks(study)[0].attempts) == ([], 0)


def test_P31_people_of_an_open_link_need_no_secret_and_complete_nothing_at_the_panel(
    sqlite_engine: Engine, by_link: Callable, sona: Sona
) -> None:
    url = f"{sona.url}/credit?credit_token={{secret}}&survey_code=XXXX"
    end = f"{sona.url}/done?survey_code=XXXX"
    settings = {"panel": "sona", "postback_url": url, "completion_url": end}
    study = by_link(sqlite_engine, link=settings)  # the server has no secret
    page = begin(study.open_link())
    thanks = send(page)
    assert (heading(thanks), "done?" in thanks.html) == ("Thank you", False)
    assert Browser().get(study.panel_link() + "?survey_code=10001").status == 503
    found = collected(study, secret="")
    assert (found.submissions, found.not_told, postbacks(study), sona.calls) == (1, (), [], [])


def test_the_same_people_give_the_same_scores_by_a_panel_and_by_an_open_link(
    sqlite_engine: Engine, credited: Callable, by_link: Callable, sona: Sona
) -> None:
    design, codes = {"annotators": 8}, [str(number) for number in range(20001, 20009)]
    sona.known |= {*codes}
    study, address = credited(sqlite_engine, design=design)
    other = by_link(sqlite_engine, "other", design=design)
    crowd, frames = Crowd(8, Skills(by_generator={"control": 0.7})), []
    for each, links in ((study, [address + code for code in codes]), (other, [other.open_link()] * 8)):
        key = study_key(open_study(sqlite_engine, each.name))
        for one in links:
            page = begin(one)
            assert Browser().submit(page, form_on(page), crowd.fill_in(form_on(page), key)).status == 200
        frames.append(pd.DataFrame(each.responses()))
    assert collected(study).told == 8
    assert sona.credited == codes
    same = ["row", "order", "story", "generator", "position", "choice"]
    pd.testing.assert_frame_equal(*(frame[same] for frame in frames))
    first, second = (score(frame).to_json()["scores"] for frame in frames)
    assert first == second


def test_whoever_is_not_credited_yet_is_not_forgotten_and_is_nobody_afterwards(
    sqlite_engine: Engine, credited: Callable, sona: Sona
) -> None:
    study, address = credited(sqlite_engine)
    sona.faults = ["busy"] * 9
    for code in ("10001", "10002"):
        take(f"{address}{code}")
    assert collected(study).told == 0
    with pytest.raises(UsageError, match="has not confirmed the credit for form") as refused:
        forget(sqlite_engine, "10001")
    assert "collect study --to link --again" in refused.value.hint
    sona.faults = []
    take(f"{address}99999")
    assert collected(study).told == 2
    assert len(kept_about(sqlite_engine, "10001").tables["outbox"]) == 1
    for code in ("10001", "99999"):  # the panel has said that it does not know the second
        forget(sqlite_engine, code)
    with writing(sqlite_engine) as session:  # a panel that never answered, and an id that was purged since
        session.execute(update(OutboxRow).values(state="pending", attempts=3))
        session.execute(delete(WorkerIdentityRow))
    found = collected(study)
    assert (found.told, found.not_told, found.unsure_told, postbacks(study)) == (0, (), 0, [])
