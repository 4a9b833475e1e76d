"""Fifty people take work at the same instant, through the marketplace's pages and our forms, over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.simulated import Crowd, Skills, marketplace, work_through
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, RowRow
from humaneval.study.stored import open_study, study_key


@pytest.mark.slow
@pytest.mark.parametrize(
    "database", ["postgresql", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
def test_C39_fifty_at_the_same_instant_break_no_quota_and_each_gets_an_answer(
    engine: Engine,
    platform: MTurk,
    form_server: Callable[..., Any],
    study_factory: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marketplace, "AT_ONCE", 50)
    study_factory(engine, "study", design={"annotators": 45})
    forms = form_server(engine)
    plan_hits(open_study_at(engine, "study", platform))
    (url,) = publish_hits(open_study_at(engine, "study", platform), public_url=forms.url).preview_urls
    worked = work_through(Crowd(50, Skills()), url, study_key(open_study(engine, "study")))
    assert worked == (45, 5)
    found = collect_work(open_study_at(engine, "study", platform))
    assert (found.submissions, found.responses, found.strays, found.differences) == (45, 180, 0, ())
    with reading(engine) as session:
        held = Counter(session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)))
        rows = set(session.scalars(select(RowRow.id)))
    assert held == dict.fromkeys(rows, 1)
