"""The requester's pages are there only under their token, only read, and have the figures of `status` and
`score`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text, update
from werkzeug.test import Client, TestResponse

import humaneval as he
from humaneval.cli.up import progress_in_words
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.infills.free_text import alone
from humaneval.settings import Settings
from humaneval.simulated import Crowd, Skills, work_through
from humaneval.store.engine import writing
from humaneval.store.tables import (
    METADATA,
    AssignmentRow,
    HitRow,
    PassageRow,
    PaymentRow,
    ResponseRow,
    WorkerRow,
)
from humaneval.store.types import now
from humaneval.study.scores import ready
from humaneval.study.stored import open_study, study_key
from humaneval.text import time_taken
from humaneval.web.app import create_app
from humaneval.web.infilling import Desk
from humaneval.web.requester import requester_address, token_of
from tests.answered import COMMENT, answer, answer_half
from tests.commands import Command
from tests.pace import PATIENCE

PAGES = (
    *(
        "",
        "live",
        "study/study/",
        "study/study/live",
        "study/study/form",
        "study/study/form?number=3&by=link",
    ),
    *("study/study/people", "study/study/people/p001", "study/study/passages", "study/study/comments"),
    *("study/study/odd?kind=strays", "study/study/odd?kind=differing", "study/study/scores?early=yes"),
)


class Pages:
    """A browser at the requester's pages."""

    def __init__(self, engine: Engine, at: Callable[[str, str], StudyAtPlatform] | None = None) -> None:
        self.token = token_of(engine)
        app = create_app(Settings(), engine, requester_token=self.token, requester_at=at)
        self.client = Client(app, use_cookies=False)

    def get(self, page: str) -> TestResponse:
        return self.client.get(f"/requester/{self.token}/{page}")

    def figures(self, page: str) -> dict[str, str]:
        """What stands beside each name on the page, without its small print."""
        pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", self.get(page).text)
        return {name: plain(re.sub(r' <span class="quiet">.*', "", value)) for name, value in pairs}

    def rows(self, page: str, number: int = 1) -> dict[str, list[str]]:
        """The cells of each row of a table of the page, by its head."""
        table = self.get(page).text.split("<table")[number].partition("</table>")[0]
        lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr")[1:]]
        return {plain(line[0]): list(map(plain, line[1:])) for line in lines}


def plain(html: str) -> str:
    return unescape(re.sub("<[^>]*>", "", html)).strip()


@pytest.fixture
def half(sqlite_engine: Engine, study_factory: Callable, monkeypatch: pytest.MonkeyPatch) -> Pages:
    """A study of 16 forms in the middle of its life."""
    study_factory(sqlite_engine, design={"annotators": 16})
    answer_half(sqlite_engine)
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(sqlite_engine.url))
    return Pages(sqlite_engine)


def test_the_pages_are_there_only_under_the_token(sqlite_engine: Engine, half: Pages) -> None:
    without = Client(create_app(Settings(), sqlite_engine), use_cookies=False)
    unknown = without.get("/requester/wrong/").data
    assert b"There is no page at this address" in unknown
    assert b"HIT" not in unknown
    for path in ("", "/", "/study/study/", "/assets/requester.css"):
        assert without.get(f"/requester/{half.token}{path}").status_code == 404
        for wrong in ("x", half.token[:-1], half.token + "0", half.token.upper(), "é", ""):
            assert half.client.get(f"/requester/{wrong}{path}").status_code == 404
            assert half.client.post(f"/requester/{wrong}{path}").status_code == 404
    assert half.client.get("/requester/wrong/").data == unknown
    assert half.client.get(f"/requester/{half.token}").headers["Location"] == f"{half.token}/"
    assert half.get("study/study").headers["Location"] == "study/"
    assert token_of(sqlite_engine) == half.token
    assert requester_address("http://a.example/forms/", "t") == "http://a.example/forms/requester/t/"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_sets_no_cookie_is_kept_nowhere_and_does_not_name_the_token(half: Pages, page: str) -> None:
    found = half.get(page)
    assert found.status_code == 200
    assert "Set-Cookie" not in found.headers
    assert found.headers["Cache-Control"] == "no-store"
    assert found.headers["Referrer-Policy"] == "no-referrer"
    assert "form-action 'none'; frame-ancestors 'none'" in found.headers["Content-Security-Policy"]
    assert half.token not in found.text
    assert half.client.post(f"/requester/{half.token}/{page}").status_code == 405


def test_no_page_writes_anything_or_shows_who_a_person_is(engine: Engine, study_factory: Callable) -> None:
    study_factory(engine, design={"annotators": 16})
    answer_half(engine)
    half = Pages(engine)

    def everything() -> list[Any]:
        with engine.connect() as connection:
            return [connection.execute(select(each)).all() for each in METADATA.sorted_tables]

    before = everything()
    shown = "".join(half.get(page).text for page in PAGES)
    assert everything() == before
    assert "AWORKER" not in shown
    assert COMMENT not in shown
    assert COMMENT in unescape(shown)


def test_every_figure_is_that_of_status(half: Pages, command: Command) -> None:
    (told,) = command("status", "study", "--json").json["endpoints"]
    shown = half.figures("study/study/")
    assert shown == half.figures("study/study/live")
    assert told["submitted"] == 8
    assert {
        name: int(shown.get(name, "0"))
        for name in ("Open now", "Answered here", "Collected", "Approved", "Usable")
    } == {
        "Open now": told["opened"],
        "Answered here": told["answered"],
        "Collected": told["submitted"] - told["not_collected"],
        "Approved": told["approved"],
        "Usable": told["usable"],
    }
    assert ("Up now" in shown) == (told["hits_up"] < told["hits"])  # only what is not as planned
    assert shown["Median time"] == time_taken(told["median_minutes"])
    assert shown["Pay per hour"] == f"${told['hourly']}"
    assert shown["Spent"] == f"${told['spent']}" == "$3.84"
    ends = (shown["Expected end"], half.figures("")["Expected end"])
    assert {f"{told['about_done_at'][:15]}" == end[:15] for end in ends} == {True}
    assert half.figures("")["Spent"] == shown["Spent"]
    assert f"<strong>{told['submitted']}</strong> of {told['planned']} forms submitted" in half.get("").text
    rows = half.rows("study/study/")
    assert rows.keys() >= {"control", "human", "example-good", "example-poor", "All"}
    for name, cells in rows.items():
        if name not in ("Generator", "All"):
            assert cells[5:] == [str(told["submitted"]), "16", "1", "1", str(told["approved"])]
            assert sum(int(cell.split("/")[0]) for cell in cells[:5]) == told["submitted"]


def test_why_forms_do_not_count_is_said_beside_their_number(
    sqlite_engine: Engine, half: Pages, command: Command
) -> None:
    command("review", "study")
    (told,) = command("status", "study", "--json").json["endpoints"]
    assert told["left_out"] == {"missed the control": told["submitted"] - told["usable"]}
    why = f"{told['usable']} usable ({told['left_out']['missed the control']} missed the control)"
    assert why in command("status", "study").out
    assert "missed the control" in half.get("study/study/live").text
    assert why in progress_in_words(study_status(open_study(sqlite_engine, "study"))[0])


def test_what_is_submitted_and_not_collected_is_heard_from_the_marketplace(
    sqlite_engine: Engine,
    study_factory: Callable,
    form_server: Callable,
    platform: MTurk,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at)
    up = publish_hits(at, public_url=form_server(sqlite_engine).url)
    work_through(Crowd(3, Skills(1.0)), up.preview_urls[0], study_key(at.study))
    pages = Pages(sqlite_engine, lambda endpoint, study: open_study_at(sqlite_engine, study, platform))
    assert pages.figures("study/study/")["Answered here"] == "3"  # nobody waits for the marketplace
    until = time.monotonic() + PATIENCE
    while "was asked" not in pages.get("study/study/live").text:
        assert time.monotonic() < until
        time.sleep(0.05)
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(sqlite_engine.url))
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    for collected in (0, 3):
        (told,) = command("status", "study", "--json").json["endpoints"]
        shown = pages.figures("study/study/")
        assert (told["submitted"], told["not_collected"]) == (3, 3 - collected)
        answered = shown.get("Answered here", "0")
        assert (answered, shown["Collected"]) == (str(told["answered"]), str(collected))
        assert "<strong>3</strong> of 4 forms submitted" in pages.get("").text
        command("collect", "study")


def test_early_scores_are_hidden_and_then_are_those_of_score(half: Pages, command: Command) -> None:
    hidden = half.get("study/study/scores").text
    assert "Hidden until everybody has answered" in hidden
    assert "<table>" not in hidden
    assert "not final" in half.get("study/study/scores?early=yes").text
    told = command("score", "study", "--json").json
    before = {one["generator"]: one["score"] for one in told["before_exclusions"]}
    expected = {
        one["generator"]: [
            f"{100 * one['score']:.1f}",
            "{:.1f}–{:.1f}".format(*(100 * end for end in one["interval"])) if one["interval"] else "none",
            f"{one['not_identified']} / {one['n']}",
            f"{100 * before[one['generator']]:.1f}",
        ]
        for one in told["scores"]
    }
    rows = half.rows("study/study/scores?early=yes")
    assert rows.pop("Generator")
    assert rows == expected


def test_the_scores_of_a_closed_study_are_not_hidden(half: Pages, sqlite_engine: Engine) -> None:
    before = half.get("study/study/").text
    assert "shown when all are" in before
    assert "Expected end" in before
    with writing(sqlite_engine) as session:
        session.execute(update(HitRow).values(closed_at=now()))
    after = half.get("study/study/").text
    assert "and the study is closed" in after
    assert "Expected end" not in after
    page = half.get("study/study/scores").text
    assert "Hidden" not in page
    assert "The study is closed:" in page
    assert "<table>" in page


def test_that_a_person_gets_no_second_form_is_no_news(half: Pages) -> None:
    news = half.get("study/study/").text.partition('id="said"')[2].partition("</section>")[0]
    assert "Latest news" in news
    assert "exclude" not in news
    assert "second form" not in news


def without_spans(page: str) -> str:
    """A page without the marks that keep options on one line."""
    return re.sub(r'<span class="option">(.*?)</span>', r"\1", page)


@pytest.mark.parametrize(("pilot", "verb"), [(False, "score study<"), (True, "score study --tests<")])
def test_scores_are_shown_when_every_form_is_in(
    sqlite_engine: Engine, study_factory: Callable, pilot: bool, verb: str
) -> None:
    study_factory(sqlite_engine, design={"annotators": 8, "pilot": pilot})
    answer(sqlite_engine)
    shown = Pages(sqlite_engine).get("study/study/scores").text
    assert "<svg" in shown
    assert "not final" not in shown
    assert verb in without_spans(shown)
    assert ("A pilot" in shown) == pilot


def test_every_command_is_one_that_status_or_review_prints(half: Pages, command: Command) -> None:
    printed = command("status", "study").out + command("review", "study").out
    page = without_spans(half.get("study/study/").text)
    shown = re.findall(r'<code class="command">(.*?)</code>', page)
    commands = [unescape(one) for one in shown]
    assert "humaneval review study --to production --approve" in commands
    assert "humaneval collect study --to production --accept-differences" in commands
    assert "humaneval approve study ID --to production" in commands
    assert [one for one in commands if one not in printed] == [
        "humaneval status study",
        "humaneval status study --reconcile",
    ]


def test_a_person_has_their_answers_in_order_what_stood_out_and_their_pay(
    half: Pages, command: Command
) -> None:
    told = {one["worker"]: one for one in command("review", "study", "--json").json["assignments"]}
    for name in ("p000", "p001", "p005"):
        rows = half.rows(f"study/study/people/{name}")
        assert [place for place in rows if place.isdigit()] == ["1", "2", "3", "4"]
        seconds = sum(float(cells[-1]) for place, cells in rows.items() if place.isdigit())
        assert abs(seconds - told[name]["seconds"]) < 0.3
        shown = half.figures(f"study/study/people/{name}")
        assert shown["What stood out"] == (told[name]["excluded"] or "nothing")
    assert "reward of $0.80: paid" in half.get("study/study/people/p000").text
    assert "waits for your decision" in half.get("study/study/people/p005").text
    assert "missed the control" in half.get("study/study/people/p000").text
    assert half.get("study/study/people/nobody").status_code == 404


def test_at_a_marketplace_of_ones_own_the_pages_say_what_is_owed_and_no_fees(
    sqlite_engine: Engine, half: Pages
) -> None:
    with sqlite_engine.begin() as connection:
        for table in (HitRow, AssignmentRow, PaymentRow):
            connection.execute(update(table).values(endpoint="local"))
    shown = half.figures("study/study/")
    assert shown["You owe"] == half.figures("")["You owe"] == "$3.20"
    assert "Spent" not in shown
    assert "reward of $0.80: approved; you pay it yourself" in half.get("study/study/people/p000").text


def test_what_stands_out_is_what_the_report_flags(
    sqlite_engine: Engine, half: Pages, command: Command
) -> None:
    hasty = select(AssignmentRow.id).join(WorkerRow).where(WorkerRow.pseudonym == "p005")
    with sqlite_engine.begin() as connection:
        connection.execute(
            update(ResponseRow).where(ResponseRow.assignment_id.in_(hasty)).values(seconds=0.05)
        )
    rows = half.rows("study/study/people")
    shown = {name.split()[0]: cells[1].split(", ") for name, cells in rows.items()}
    found = command("score", "study", "--details", "--json").json
    flags = [one["flags"] for one in found["details"]["workers"]]
    for flag, words in (
        ("faster than anyone can read",) * 2,
        ("missed a Control passage", "missed the control"),
        ("marked one position very often",) * 2,
    ):
        assert sum(flag in one for one in flags) == sum(words in one for one in shown.values()), flag
    assert "faster than anyone can read" in shown["p005"]
    assert "faster than anyone can read" in half.get("study/study/people/p005").text
    work = command("review", "study", "--json").json["assignments"]
    in_reports = {one["worker"]: one["exported_as"] for one in work}
    assert set(in_reports.values()) >= {one["worker"] for one in found["details"]["workers"]}
    assert in_reports["p005"] in half.get("study/study/people").text
    assert in_reports["p005"] in half.get("study/study/people/p005").text
    reviewed = command("review", "study").out
    assert in_reports["p005"] in reviewed
    assert "anyone" in reviewed


def test_a_passage_has_all_answers_to_it(sqlite_engine: Engine, half: Pages) -> None:
    with sqlite_engine.connect() as connection:
        ids = connection.scalars(select(PassageRow.id)).all()
    answered = [id for id in ids if "How people answered" in half.get(f"study/study/passages/{id}").text]
    people = [name for id in answered for name in half.rows(f"study/study/passages/{id}", 2)]
    people = [name for name in people if name != "Person"]
    given = [half.rows(f"study/study/passages/{id}") for id in answered]
    assert set(given[0]) == {"Answer", *(f"sentence {number}" for number in range(1, 6))}
    assert sum(int(n) for rows in given for (n,) in rows.values() if n != "People") == len(people)
    assert sorted(people) == sorted([f"p{number:03}" for number in range(8)] * 4)
    assert half.get(f"study/study/passages/{max(ids) + 1}").status_code == 404
    assert half.get(f"study/study/passages/{'9' * 30}").status_code == 404


def test_the_form_to_look_at_cannot_be_sent(half: Pages) -> None:
    form = half.get("study/study/form").text
    assert "A preview for you." in form
    assert '<button type="submit" disabled>' in form
    assert "<script" not in form
    assert "by a link" in half.get("study/study/form?number=99999&by=link").text


@pytest.mark.parametrize(
    ("damage", "status"),
    [
        ("ALTER TABLE responses RENAME COLUMN choice TO chosen", 503),
        ("UPDATE studies SET settings = '[]', settings_hash = 'other'", 500),
    ],
)
def test_a_failure_is_a_page_and_no_line_of_the_log_names_the_token(
    sqlite_engine: Engine, half: Pages, caplog: pytest.LogCaptureFixture, damage: str, status: int
) -> None:
    with writing(sqlite_engine) as session:
        session.execute(text(damage))
    broken = half.get("study/study/people/p000")
    assert broken.status_code == status
    assert "<h1>" in broken.text
    assert caplog.records
    assert half.token not in caplog.text
    assert half.get("study/nothing/").status_code == 404


def test_long_lists_come_in_pages(sqlite_engine: Engine, study_factory: Callable) -> None:
    study_factory(sqlite_engine, design={"annotators": 60})
    answer(sqlite_engine)
    pages = Pages(sqlite_engine)
    first, second = (pages.rows(f"study/study/people?page={number}") for number in (1, 2))
    assert (len(first), len(second)) == (1 + 50, 1 + 10)
    assert pages.rows("study/study/people?page=99") == second
    assert pages.rows("study/study/people?page=no") == first


def test_the_infilling_page_is_behind_the_same_token(sqlite_engine: Engine) -> None:
    pages = Pages(sqlite_engine)
    assert pages.get("infill/").status_code == 404
    assert "infill/" not in pages.get("").text
    app = create_app(Settings(), sqlite_engine, requester_token=pages.token, requester_desk=Desk([alone()]))
    client = Client(app, use_cookies=False)
    asked = {"text": "Ann left. ____ She slept.", "generator": "control:", "samples": "1"}
    assert '<a href="./infill/">' in client.get(f"/requester/{pages.token}/").text
    assert client.get(f"/requester/{pages.token}/infill/assets/infilling.css").status_code == 200
    written = client.post(f"/requester/{pages.token}/infill/", data=asked)
    assert written.status_code == 200
    assert "<mark>" in written.text
    assert '<a href="../">All studies</a>' in written.text
    assert client.post("/requester/0123/infill/", data=asked).status_code == 404


def test_scores_before_the_planned_number_are_in_say_so_wherever_they_are_read(
    half: Pages, command: Command, sqlite_engine: Engine, tmp_path: Path
) -> None:
    forms = ready(open_study(sqlite_engine, "study"))
    said = f"{forms.forms} of {forms.planned} forms of the design are in."
    assert 0 < forms.forms < forms.planned == 16
    assert f"Early: {said}" in command("score", "study").out
    command("report", "study", "--out", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert said in page.partition("<main>")[0]
    with he.open(str(sqlite_engine.url)) as database:
        scores = database.study("study").scores()
    assert scores.conclusion.startswith(said)
    assert said in repr(scores)


def test_the_page_of_scores_says_that_programs_answered(half: Pages, sqlite_engine: Engine) -> None:
    assert "Simulated people" not in half.get("study/study/scores?early=yes").text
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(by_program=True))
    for page in ("study/study/scores", "study/study/scores?early=yes"):
        assert "Simulated people: these numbers say nothing about real ones." in half.get(page).text


def test_a_wrong_page_under_the_right_token_speaks_to_a_requester(half: Pages) -> None:
    for page in ("nothing", "study/study/nothing", "study/nobody/"):
        found = half.get(page)
        assert found.status_code == 404
        assert "There is no such page" in found.text
        assert "HIT" not in found.text
