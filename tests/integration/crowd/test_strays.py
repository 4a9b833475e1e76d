"""Submissions at a study's HITs that match no form of it: kept, not scored, and decided about by a person."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from sqlalchemy import Engine, select, text

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.review import review_work
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading
from humaneval.store.tables import AnswerRow, AssignmentRow
from humaneval.study.stored import open_study


def test_C08_unknown_submissions_are_kept_apart_neither_paid_nor_refused(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 4})
    stray = person("Ada").accept(up.preview)
    stray.submit_directly({"choice-1": "3", "form": "f" * 64})
    known = person("Ben").accept(up.preview).do()
    for _ in range(2):
        found = collect_work(open_study_at(engine, "study", platform))
        assert (found.submissions, found.strays, found.responses) == (2, 1, 4)
    assert {
        line.external_id: line.excluded for line in review_work(open_study(engine, "study"), "local")
    } == {
        stray.id: "matches no form",
        known: "missed the control",
    }
    assert approve_work(open_study_at(engine, "study", platform)) == 1
    (line,) = study_status(open_study(engine, "study"))
    assert (line.submitted, line.approved, line.strays) == (1, 1, 1)
    status = {
        id: platform.client.get_assignment(AssignmentId=id)["Assignment"]["AssignmentStatus"]
        for id in (stray.id, known)
    }
    assert status == {stray.id: "Submitted", known: "Approved"}
    with reading(engine) as session:
        row = session.scalars(select(AssignmentRow).where(AssignmentRow.is_stray)).one()
        fields = session.scalars(select(AnswerRow.fields).where(AnswerRow.assignment_id == row.id)).one()
        assert fields["choice-1"] == "3"


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("decided", ["approved", "rejected", "by itself"])
def test_C08_a_person_decides_about_what_matches_no_form_and_the_books_hold_it(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk, market_engine: Engine, decided: str
) -> None:
    up = put_up(engine, design={"annotators": 4, "top_up": "ask"})
    stray = person("Ada").accept(up.preview)
    stray.submit_directly({"choice-1": "3"})
    assert collect_work(open_study_at(engine, "study", platform)).stray_assignments == (stray.id,)
    if decided == "approved":
        assert approve_work(open_study_at(engine, "study", platform), assignments=[stray.id]) == 1
    elif decided == "rejected":
        assert (
            reject_work(
                open_study_at(engine, "study", platform), assignments=[stray.id], reason="It was empty."
            )
            == 1
        )
    else:
        with market_engine.begin() as connection:
            connection.execute(text("UPDATE assignments SET auto_approve_at = '2026-01-01 00:00:00.000000'"))
    found = collect_work(open_study_at(engine, "study", platform))
    assert (found.strays, found.responses) == (0, 0)
    books = reconcile(open_study_at(engine, "study", platform))
    paid = Decimal("0.00") if decided == "rejected" else Decimal("0.96")
    assert (books.paid, books.unexplained, books.differences) == (paid, 0, ())
    again = plan_hits(open_study_at(engine, "study", platform), top_up=True, dry_run=True)
    assert again.assignments == 1  # the place that it took


def test_C08_the_form_of_work_that_matched_no_form_is_not_handed_out_again(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 4})
    stray = person("Ada").accept(up.preview)
    stray.submit_directly({"choice-1": "3"})
    collect_work(open_study_at(engine, "study", platform))
    assert Browser().get(stray.frame).status == 200
    with reading(engine) as session:
        assert not session.scalars(select(AssignmentRow).where(AssignmentRow.holds_row)).all()
