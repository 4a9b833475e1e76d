"""`status`: x of n, y usable, about done at, spent; with times that are fixed here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.advice import progress_lines
from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.link import Invitation
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.status import about_done, study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.simulated import Crowd, Skills, work_through
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow, HitRow
from humaneval.study.enlarge import enlarge
from humaneval.study.stored import open_study, study_key
from tests.commands import Command
from tests.integration.link.people import begin, take

BEGAN = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def opened(engine: Engine, minutes: int = 20) -> None:
    """The forms that were opened were so from BEGAN on, one every 20 minutes; the links run for days."""
    with writing(engine) as session:
        for number, line in enumerate(session.scalars(select(AssignmentRow).order_by(AssignmentRow.id))):
            line.opened_at = BEGAN + timedelta(minutes=minutes * number)
        for hit in session.scalars(select(HitRow)):
            hit.expires_at = BEGAN + 100 * HOUR


@pytest.mark.parametrize(
    ("submitted", "planned", "hours", "expected"),
    [
        (10, 40, 2, 6.0),  # 5 an hour: the 30 that are left take 6
        (3, 4, 3, 1.0),
        (39, 40, 39, 1.0),
        (2, 40, 2, None),
        (0, 40, 2, None),
        (40, 40, 2, None),
        (41, 40, 2, None),
        (10, 40, 0, None),
        (10, 40, -1, None),
        (3, 100_000, 1, None),  # three years: no estimate
    ],
)
def test_the_rest_comes_as_fast_as_what_came_so_far(
    submitted: int, planned: int, hours: float, expected: float | None
) -> None:
    now = BEGAN + hours * HOUR
    found = about_done(submitted, planned, BEGAN, now)
    assert found == (None if expected is None else now + expected * HOUR)
    assert about_done(submitted, planned, None, now) is None


def test_by_link_answers_count_at_once_and_the_estimate_follows_the_clock(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine, design={"annotators": 12}, link={"pay": "elsewhere"})
    link = study.open_link()
    for _ in range(3):
        take(link)
    begin(link)  # opened, and not answered: no submission
    opened(engine)
    (status,) = study_status(open_study(engine, "study"), BEGAN + HOUR)
    assert (status.submitted, status.planned, status.usable, status.answered) == (3, 12, 0, 3)
    assert status.about_done_at == BEGAN + 4 * HOUR
    (later,) = study_status(open_study(engine, "study"), BEGAN + 2 * HOUR)  # nothing came meanwhile
    assert later.about_done_at == BEGAN + 8 * HOUR
    study.collect()
    excluded = sum(bool(work.excluded) for work in review_work(open_study(engine, "study"), "link"))
    approve_work(open_study_at(engine, "study", study.platform))
    opened(engine)
    (status,) = study_status(open_study(engine, "study"), BEGAN + HOUR)
    assert (status.submitted, status.usable, status.approved, status.answered) == (3, 3 - excluded, 3, 0)
    assert status.about_done_at == BEGAN + 4 * HOUR
    assert str(status.spent) == "2.40"


def test_nothing_is_said_of_a_study_that_takes_nobody_any_more(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 5})
    link = study.open_link()
    for _ in range(3):
        take(link)
    expire_all(open_study_at(sqlite_engine, "study", study.platform))
    later = datetime.now(UTC) + HOUR
    assert study_status(open_study(sqlite_engine, "study"), later)[0].about_done_at is None
    extend_all(open_study_at(sqlite_engine, "study", study.platform), 3)
    assert study_status(open_study(sqlite_engine, "study"), later)[0].about_done_at is not None


def test_many_links_to_the_same_rows_plan_no_more_forms_than_there_are(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 5})
    study.open_link()
    study.panel_link(3)
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.hits, status.hits_up, status.planned) == (2, 2, 5)


def test_at_the_marketplace_it_counts_what_was_collected(
    sqlite_engine: Engine, study_factory: Callable, form_server: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 8})
    forms = form_server(sqlite_engine)
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    up = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=forms.url)
    work_through(Crowd(4, Skills(0.5)), up.preview_urls[0], study_key(open_study(sqlite_engine, "study")))
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.submitted, status.answered, status.about_done_at) == (0, 4, None)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    opened(sqlite_engine)
    (status,) = study_status(open_study(sqlite_engine, "study"), BEGAN + HOUR)
    assert (status.submitted, status.planned) == (4, 8)
    assert status.about_done_at == BEGAN + 2 * HOUR


def test_in_words_and_as_json(
    sqlite_database: str,
    sqlite_engine: Engine,
    by_link: Callable,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    study = by_link(sqlite_engine, design={"annotators": 6}, exclusions={"missed_control": "none"})
    link = study.open_link()
    assert "link: 0 of 6 submitted, 0 usable; spent $0.00." in command("status", "study").out
    for _ in range(3):
        take(link)
    study.collect()
    (line,) = command("status", "study", "--json").json["endpoints"]
    assert (line["submitted"], line["planned"], line["usable"], line["spent"]) == (3, 6, 3, "0.00")
    done_at = datetime.fromisoformat(line["about_done_at"])
    assert timedelta(minutes=-1) < done_at - datetime.now(UTC) < 2 * HOUR
    said = command("status", "study").out
    assert f"link: 3 of 6 submitted, 3 usable; about done at {done_at:%Y-%m-%d}" in said
    assert " UTC; spent $0.00." in said
    assert "1 of 1 link up" in said


@pytest.mark.parametrize("audience", ["open", "panel", "personal"])
def test_forms_that_were_added_are_named_until_a_link_leads_to_them(
    sqlite_engine: Engine, by_link: Callable, audience: str
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 4})
    if audience == "personal":
        study.invite(*(Invitation("personal", f"person {name}", 1) for name in "abcd"))
    else:
        study.panel_link() if audience == "panel" else study.open_link()
    enlarge(open_study(sqlite_engine, study.name), 4)
    (line,) = study_status(open_study(sqlite_engine, study.name))
    (said,) = [each for each in progress_lines(line, "x", BEGAN) if "new forms" in each.before]
    wanted = {"open": "--places 8", "panel": "--panel --places 8", "personal": ""}[audience]
    assert (line.added, said.command) == (4, wanted and f"humaneval publish x --to link {wanted}")
    assert ("add people to your list" in str(said)) == (audience == "personal")
    if audience == "open":
        study.open_link(8)
        assert study_status(open_study(sqlite_engine, study.name))[0].added == 0
