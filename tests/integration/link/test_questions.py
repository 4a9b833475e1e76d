"""Each question by link: simulated people of known skill answer its real pages, and their scores tell it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.endpoints import link
from humaneval.crowd.link import Link, open_invitation
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import MISSED_CONTROL, review_work
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import Role
from humaneval.settings import Settings
from humaneval.simulated import Skills, crowd_for, follow_links, work_through
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading
from humaneval.store.tables import ResponseRow, WorkerRow
from humaneval.study.asked import asked_by
from humaneval.study.create import create_study
from humaneval.study.scores import collected
from humaneval.study.stored import Study, open_study, study_key
from humaneval.web.app import create_app, running
from tests.integration.link.people import LinkStudy
from tests.integration.test_questions import fill, read, stories_of

SKILLS = Skills(by_generator={"control": 1.0, "human": 0.1, "ilm": 0.2, "lm": 0.8})
SCORED = {"human", "ilm", "lm"}
PEOPLE, TOKEN = 30, "t" * 32
SCALES = {"fluency": ["not fluent", "fluent"], "fit": ["does not fit", "fits well"]}
QUESTIONS: dict[str, dict[str, Any]] = {
    "detect": {},
    "prefer": {"ties": True},
    "rate": {"scales": SCALES, "mark": True},
    "boundary": {},
}


@pytest.fixture
def asked(sqlite_engine: Engine) -> Iterator[Callable[..., LinkStudy]]:
    """A study of a question, served."""
    with running(create_app(Settings(), sqlite_engine, requester_token=TOKEN)) as port:

        def make(question: str) -> LinkStudy:
            fill(sqlite_engine, stories_of(6, 30), rest=question == "boundary")
            settings = read(question, QUESTIONS[question], annotators=PEOPLE)
            create_study(sqlite_engine, "study", settings, "")
            url = f"http://localhost:{port}"
            return LinkStudy(sqlite_engine, "study", url, Link(link(url), sqlite_engine, pay="none"))

        yield make


def _hold_the_truth(study: Study, excluded: int) -> None:
    """The intervals of `score` hold the skills that the simulated people have, and leave out who missed.

    They are those of 99 %: of all that are looked at here, one in twenty of 95 % would not.
    """
    table, sentences = collected(study).table(0.99), max(study.settings.design.positions)
    assert table.annotators.excluded == excluded
    assert 2 <= excluded <= 10
    asked, settings = asked_by(study.settings)
    skills = {name: SKILLS.of(name) for name in SCORED}
    for scale in table.all_scales:
        rows = [row for row in scale.scores if row.role is not Role.CONTROL]
        assert {row.generator for row in rows} == SCORED
        for row in rows:
            if asked.rest and row.role is Role.HUMAN:  # its boundary is always after the end
                continue
            truth = asked.true_score(row.generator, skills, settings, sentences, scale.scale.name)
            assert truth is not None
            assert row.interval is not None
            assert row.interval.low <= truth <= row.interval.high, (row, truth)


@pytest.mark.parametrize("question", QUESTIONS)
def test_people_of_known_skill_give_the_truth_back_by_link(asked: Callable, question: str) -> None:
    up = asked(question)
    study = open_study(up.engine, "study")
    crowd = crowd_for(study, PEOPLE, SKILLS, careless=0.2, seed=4)
    (address,) = up.invite(open_invitation())
    assert follow_links(crowd, [address], study_key(study)) == (PEOPLE, 0)
    collected = up.collect()
    assert (collected.submissions, collected.differences) == (PEOPLE, ())
    assert collected.responses == PEOPLE * study.settings.row_size
    why = [work.excluded for work in review_work(study, "link")]
    assert set(why) == {"", MISSED_CONTROL}
    _hold_the_truth(study, why.count(MISSED_CONTROL))
    _the_requester_reads_answers_in_words(up, question)


SAID = {
    "detect": "sentence 1",
    "prefer": "no difference",
    "rate": "fluency 5 of 5",
    "boundary": "machine from sentence 2",
}


TOLD = {"prefer": 'class="gap"', "rate": "<mark>"}
"""What a form has in each story at the sentence that is asked about."""


def _the_requester_reads_answers_in_words(up: LinkStudy, question: str) -> None:
    with reading(up.engine) as session:
        first, *_, last = session.scalars(
            select(ResponseRow.passage_id).order_by(ResponseRow.passage_id)
        ).all()
        worker = session.scalars(select(WorkerRow.pseudonym).limit(1)).one()
    browser = Browser()
    style = browser.get(f"{up.url}/assets/{question}/style.css")
    assert (style.status, "{" in style.html) == (200, question != "detect")
    for look in ("task", "link"):
        form = browser.get(f"{up.url}/requester/{TOKEN}/study/study/form?by={look}").html
        assert form.count(TOLD.get(question, "</html>")) >= (4 if question in TOLD else 1)
    for path in ("", "passages", f"passages/{first}", f"passages/{last}", f"people/{worker}"):
        page = browser.get(f"{up.url}/requester/{TOKEN}/study/study/{path}")
        assert page.status == 200
        assert SAID[question] in page.html or not path.startswith("passages/")


@pytest.mark.parametrize(
    "question",
    [*(pytest.param(name, marks=pytest.mark.long) for name in ("detect", "prefer")), "rate", "boundary"],
)
def test_people_of_known_skill_give_the_truth_back_at_the_marketplace(
    sqlite_engine: Engine, platform: MTurk, form_server: Callable, question: str
) -> None:
    fill(sqlite_engine, stories_of(6, 30), rest=question == "boundary")
    create_study(sqlite_engine, "study", read(question, QUESTIONS[question], annotators=PEOPLE), "")
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    forms = form_server(sqlite_engine)
    up = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=forms.url)
    study = open_study(sqlite_engine, "study")
    crowd = crowd_for(study, PEOPLE, SKILLS, careless=0.2, seed=4)
    assert work_through(crowd, up.preview_urls[0], study_key(study)) == (PEOPLE, 0)
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.responses, found.differences) == (PEOPLE * study.settings.row_size, ())
    why = [work.excluded for work in review_work(study, "local")]
    _hold_the_truth(study, why.count(MISSED_CONTROL))
