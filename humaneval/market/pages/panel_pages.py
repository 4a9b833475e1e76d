"""The worker site beside the work: qualifications and their tests, and the requester's messages."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from sqlalchemy import update
from werkzeug.datastructures import MultiDict

from humaneval.market.pages.layout import Answer, WorkerSite
from humaneval.market.protocol.answer_xml import UnusableAnswerError
from humaneval.market.qualifications import tests as desk
from humaneval.market.questions.form_answers import Filled, read_filled
from humaneval.market.questions.question import read_test
from humaneval.market.requester_people import messages_of
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Message, Worker
from humaneval.market.wording import NotPossibleError, time_left


def panel_blueprint(site: WorkerSite) -> Blueprint:
    """Their routes."""
    blueprint = Blueprint("panel", __name__)

    @blueprint.get("/qualifications")
    @site.signed_in
    def qualifications(work: Transaction, worker: Worker) -> Answer:
        return site.page("qualifications.html", worker, standings=desk.standings(work, worker))

    @blueprint.get("/qualifications/<type_id>")
    @site.signed_in
    def qualification(work: Transaction, worker: Worker, type_id: str) -> Answer:
        return site.page("qualification.html", worker, standing=desk.standing(work, worker, type_id))

    @blueprint.post("/qualifications/<type_id>/ask")
    @site.signed_in
    def ask(work: Transaction, worker: Worker, type_id: str) -> Answer:
        request_made = desk.ask(work, worker, type_id)
        behind = "/test" if request_made.state == "testing" else ""
        return redirect(f"/qualifications/{type_id}{behind}", 303)

    @blueprint.get("/qualifications/<type_id>/test")
    @site.signed_in
    def test(work: Transaction, worker: Worker, type_id: str) -> Answer:
        return _test_page(work, worker, type_id)

    @blueprint.post("/qualifications/<type_id>/test")
    @site.signed_in
    def hand_in(work: Transaction, worker: Worker, type_id: str) -> Answer:
        now = desk.standing(work, worker, type_id)
        if now.in_test and now.request is not None and now.request.test is not None:
            filled = read_filled(read_test(now.request.test), request.form)
            if filled.faults:
                return _test_page(work, worker, type_id, filled, 400)
            try:
                desk.hand_in(work, now.request, filled.answers)
            except UnusableAnswerError as error:
                raise NotPossibleError(str(error), 400) from None
        elif now.request is not None and now.request.state == "testing":
            raise NotPossibleError("The time for this test ran out, so no answer was stored.")
        return redirect(f"/qualifications/{type_id}", 303)

    def _test_page(
        work: Transaction, worker: Worker, type_id: str, filled: Filled | None = None, status: int = 200
    ) -> Answer:
        now = desk.standing(work, worker, type_id)
        if not now.in_test or now.request is None or now.request.test is None:
            return redirect(f"/qualifications/{type_id}", 303)
        assert now.request.deadline is not None
        return site.page(
            "test.html",
            worker,
            status,
            form=read_test(now.request.test),
            standing=now,
            left=time_left(now.request.deadline, work.now),
            faults=filled.faults if filled else {},
            sent=request.form if filled else MultiDict[str, str](),
        )

    @blueprint.get("/messages")
    @site.signed_in
    def messages(work: Transaction, worker: Worker) -> Answer:
        return site.page("messages.html", worker, messages=messages_of(work, worker))

    @blueprint.post("/messages/read")
    @site.signed_in
    def mark_read(work: Transaction, worker: Worker) -> Answer:
        work.session.execute(update(Message).where(Message.worker_number == worker.number).values(read=True))
        return redirect("/messages", 303)

    return blueprint
