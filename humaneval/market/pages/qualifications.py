"""The worker's pages of qualifications: what can be requested, what they hold, and the tests."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from werkzeug.datastructures import MultiDict

from humaneval.market.pages.site import Answer, Visit, as_worker, before_in, problem_page, signed_in
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.qualifications import standing
from humaneval.market.questions.form_answers import Filled, read_filled
from humaneval.market.questions.question import read_test
from humaneval.market.wording import time_left

blueprint = Blueprint("qualifications", __name__)


@blueprint.get("/qualifications")
@signed_in
def show_all(visit: Visit) -> Answer:
    """The qualifications that mean anything to this worker: a page of them."""
    page = standing.standings(visit.work, visit.worker, before=before_in(request))
    return visit.page("qualifications.html", standings=page.shown, older=page.older)


@blueprint.get("/qualifications/<type_id>")
@signed_in
def show(visit: Visit, type_id: str) -> Answer:
    """One qualification."""
    return visit.page("qualification.html", standing=standing.standing(visit.work, visit.worker, type_id))


@blueprint.post("/qualifications/<type_id>/ask")
@signed_in
def ask(visit: Visit, type_id: str) -> Answer:
    """Request a qualification, or begin its test."""
    made = standing.ask(visit.work, visit.worker, type_id)
    page = "/test" if made.state == "testing" else ""
    return redirect(f"/qualifications/{type_id}{page}", 303)


@blueprint.get("/qualifications/<type_id>/test")
@signed_in
def show_test(visit: Visit, type_id: str) -> Answer:
    """The test that was begun."""
    return _test_page(visit, type_id)


@blueprint.post("/qualifications/<type_id>/test")
def hand_in(type_id: str) -> Answer:
    """Take the answers to a test, or show it again with what must be changed.

    They are checked outside any transaction: a requester's patterns may take a while.
    """
    begun = as_worker(lambda visit: standing.begun_test(visit.work, visit.worker, type_id), writes=False)
    if not isinstance(begun, standing.BegunTest):
        return begun or redirect(f"/qualifications/{type_id}", 303)
    filled = read_filled(read_test(begun.test), request.form)
    if filled.faults:
        return as_worker(lambda visit: _test_page(visit, type_id, filled, 400), writes=False)
    try:
        done = standing.marked(begun, filled.answers)
    except NotPossibleError as error:
        return problem_page(error)

    def kept(visit: Visit) -> Answer:
        if standing.begun_test(visit.work, visit.worker, type_id) == begun:
            standing.hand_in(visit.work, visit.worker, done)
        return redirect(f"/qualifications/{type_id}", 303)

    return as_worker(kept, writes=True)


def _test_page(visit: Visit, type_id: str, filled: Filled | None = None, status: int = 200) -> Answer:
    now = standing.standing(visit.work, visit.worker, type_id)
    if not now.in_test or now.request is None or now.request.test is None:
        return redirect(f"/qualifications/{type_id}", 303)
    assert now.request.deadline is not None
    return visit.page(
        "test.html",
        status,
        form=read_test(now.request.test),
        standing=now,
        left=time_left(now.request.deadline, visit.work.now),
        faults=filled.faults if filled else {},
        sent=request.form if filled else MultiDict[str, str](),
    )
