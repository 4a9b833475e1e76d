"""Rows that were lost to excluded or rejected annotators are handed out again: exactly those, and only where
the study says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, select, text, update

from humaneval.crowd.collect import collect_work
from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import PublishPlan, plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PlatformError, UsageError
from humaneval.simulated.annotator import Skills, crowd_for
from humaneval.simulated.marketplace import work_through
from humaneval.store.engine import reading, writing
from humaneval.store.responses import response_lines
from humaneval.store.tables import AssignmentRow, HitRow, RowRow
from humaneval.store.types import now
from humaneval.study.create import create_study
from humaneval.study.enlarge import enlarge
from humaneval.study.stored import get_study, open_study, study_key
from tests.integration.test_questions import fill, read, stories_of

ANSWERED: dict[str, dict[str, Any]] = {"prefer": {"ties": True}, "rate": {"points": 7}, "boundary": {}}
Publish = Callable[..., PublishPlan]


def rows(engine: Engine, *, kept: bool) -> Counter[int]:
    """How often each row was answered by annotators who count, or by those who were excluded."""
    with reading(engine) as session:
        lines = session.execute(
            select(RowRow.ordinal, AssignmentRow.excluded).join(RowRow, RowRow.id == AssignmentRow.row_id)
        )
        return Counter(ordinal for ordinal, excluded in lines if kept != bool(excluded))


@pytest.fixture
def again(platform: MTurk) -> Callable[..., PublishPlan]:
    """Collect, review, and publish once more."""

    def go(engine: Engine, up: Any, **how: bool) -> PublishPlan:
        collect_work(open_study_at(engine, "study", platform))
        review_work(open_study(engine, "study"), "local")
        plan = plan_hits(open_study_at(engine, "study", platform), **how)
        publish_hits(open_study_at(engine, "study", platform), public_url=up.forms)
        return plan

    return go


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize(("setting", "how"), [("auto", {}), ("ask", {"top_up": True})])
def test_exactly_the_rows_of_excluded_annotators_are_handed_out_again(
    engine: Engine,
    put_up: Callable,
    work_at: Callable,
    again: Publish,
    listed: Callable,
    setting: str,
    how: dict[str, bool],
) -> None:
    up = put_up(engine, design={"annotators": 4, "top_up": setting})
    for number, attentive in enumerate((True, False, True, False)):
        work_at(engine, up.preview, f"worker {number}", attentive=attentive)
    plan = again(engine, up, **how)
    assert (plan.hits, plan.assignments, plan.already_up, plan.lost_rows) == (1, 2, 1, 0)
    assert rows(engine, kept=False) == {2: 1, 4: 1}
    assert again(engine, up, **how).hits == 0  # asking again adds nothing
    work_at(engine, up.preview, "worker 4", attentive=True)
    work_at(engine, up.preview, "worker 5", attentive=False)
    plan = again(engine, up, **how)  # row 4 is lost a second time
    assert (plan.hits, plan.assignments) == (1, 1)
    work_at(engine, up.preview, "worker 6", attentive=True)
    assert again(engine, up, **how).hits == 0
    assert rows(engine, kept=True) == {1: 1, 2: 1, 3: 1, 4: 1}
    assert rows(engine, kept=False) == {2: 1, 4: 2}
    assert [hit["MaxAssignments"] for hit in listed()] == [4, 2, 1]


def test_ask_adds_nothing_until_it_is_asked_for(
    sqlite_engine: Engine, put_up: Callable, work_at: Callable, again: Publish, listed: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2, "top_up": "ask"})
    work_at(sqlite_engine, up.preview, "Ada", attentive=False)
    plan = again(sqlite_engine, up)
    assert (plan.hits, plan.lost_rows) == (0, 1)
    # The row is not given to whoever comes for the other one.
    work_at(sqlite_engine, up.preview, "Ben", attentive=True)
    assert again(sqlite_engine, up).lost_rows == 1
    assert rows(sqlite_engine, kept=True) == {2: 1}
    dry = plan_hits(open_study_at(sqlite_engine, "study", _platform(up)), top_up=True, dry_run=True)
    assert (dry.hits, dry.assignments) == (1, 1)
    assert len(listed()) == 1
    assert again(sqlite_engine, up, top_up=True).hits == 1


@pytest.mark.parametrize("balance", [Decimal("2.00")])
@pytest.mark.parametrize("enlarged", [False, True])
def test_more_that_the_balance_does_not_cover_leaves_everything_as_it_was(
    engine: Engine,
    put_up: Callable,
    work_at: Callable,
    again: Publish,
    listed: Callable,
    market_engine: Engine,
    enlarged: bool,
) -> None:
    up = put_up(engine, design={"annotators": 2, "top_up": "never" if enlarged else "auto"})
    work_at(engine, up.preview, "Ada", attentive=False)
    if enlarged:
        enlarge(open_study(engine, "study"), 1, "more")
    for _ in range(2):
        with pytest.raises(PlatformError, match=r"the balance at local is \$0\.08, and this costs \$0\.96"):
            again(engine, up)
        with reading(engine) as session:
            assert len(session.scalars(select(HitRow)).all()) == 1
            assert session.scalars(select(AssignmentRow.row_replaced)).all() == [False]
    with market_engine.begin() as connection:
        connection.execute(text("UPDATE account SET available = 1000"))
    assert again(engine, up).hits == 1
    assert [hit["MaxAssignments"] for hit in listed()] == [2, 1]


def _platform(up: Any) -> MTurk:
    from humaneval.crowd.endpoints import local

    return MTurk(local(up.preview.partition("/mturk")[0]))


def test_never_adds_nothing_and_refuses_to_be_asked(
    sqlite_engine: Engine, put_up: Callable, work_at: Callable, again: Publish, listed: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2, "top_up": "never"})
    work_at(sqlite_engine, up.preview, "Ada", attentive=False)
    plan = again(sqlite_engine, up)
    assert (plan.hits, plan.lost_rows) == (0, 0)
    with pytest.raises(UsageError, match="never"):
        again(sqlite_engine, up, top_up=True)
    assert len(listed()) == 1


def test_the_row_of_rejected_work_is_handed_out_again(
    sqlite_engine: Engine, put_up: Callable, work_at: Callable, again: Publish, platform: MTurk
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2, "top_up": "auto"})
    work_at(sqlite_engine, up.preview, "Ada", attentive=True)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    with reading(sqlite_engine) as session:
        assignment = session.scalars(select(AssignmentRow.external_id)).one()
    platform.client.reject_assignment(AssignmentId=assignment, RequesterFeedback="A script")
    assert again(sqlite_engine, up).assignments == 1
    for name in ("Ben", "Cy"):
        work_at(sqlite_engine, up.preview, name, attentive=True)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    with reading(sqlite_engine) as session:
        lines = response_lines(session, get_study(session, "study"))
    assert {line["row"] for line in lines} == {1, 2}


def test_static_pages_are_topped_up_with_the_same_pages(
    sqlite_engine: Engine, put_up: Callable, person: Callable, again: Publish, listed: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2, "top_up": "auto"}, static=True)
    person("Ada").accept(up.preview).submit_directly({"choice-1": "1", "consent": "1"})  # incomplete
    plan = again(sqlite_engine, up, static=True)
    assert (plan.hits, plan.assignments) == (1, 1)
    first, _, replacement = listed()
    assert first["Question"] == replacement["Question"]


@pytest.mark.parametrize("question", ANSWERED)
def test_top_up_and_compensation_are_the_same_for_every_question(
    sqlite_engine: Engine,
    platform: MTurk,
    form_server: Callable,
    again: Publish,
    person: Callable,
    question: str,
) -> None:
    fill(sqlite_engine, stories_of(5, 24), rest=question == "boundary")
    made = read(question, ANSWERED[question], annotators=6, top_up="auto")
    create_study(sqlite_engine, "study", made, "")
    forms = form_server(sqlite_engine)
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at)
    urls = publish_hits(at, public_url=forms.url).preview_urls
    lost = person("Ada").accept(urls[0])
    lost.open()
    for size, control in ((3, 0.0), (2, 1.0)):
        skills = Skills(by_generator={"control": control, "human": 1.0 - control})
        crowd = crowd_for(at.study, size, skills, seed=int(control))
        assert work_through(crowd, urls[0], study_key(at.study)).submitted == size
    plan = again(sqlite_engine, SimpleNamespace(forms=forms.url))
    excluded = rows(sqlite_engine, kept=False)
    assert set(excluded.values()) == {1}
    assert (plan.hits, plan.assignments) == (1, len(excluded))
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=now() - timedelta(minutes=1)))
    paid = compensate_worker(
        at, assignment=lost.id, amount=Decimal("0.80"), reason="Our server was away.", worker=""
    )
    assert paid.made_now
