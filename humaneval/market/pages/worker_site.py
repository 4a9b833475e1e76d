"""The worker site: sign in, find a HIT, look at it, accept it, work, see what was earned."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from werkzeug.datastructures import MultiDict

from humaneval.market import worker_side as workplace
from humaneval.market.books import counts
from humaneval.market.faults.effects import Trouble, happening
from humaneval.market.pages.entry import entry_blueprint
from humaneval.market.pages.frames import NOT_ACCEPTED
from humaneval.market.pages.layout import Answer, Frame, WorkerSite
from humaneval.market.pages.panel_pages import panel_blueprint
from humaneval.market.pages.row_faults import UNSEEN_PATH, reuse_id
from humaneval.market.protocol.answer_xml import UnusableAnswerError
from humaneval.market.qualifications.requirements import describe, types_of
from humaneval.market.questions.form_answers import Filled
from humaneval.market.questions.question import read_question
from humaneval.market.questions.question_form import QuestionForm
from humaneval.market.security import (
    FRAME_SANDBOX,
    comes_from_elsewhere,
)
from humaneval.market.submissions import fill_in
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Assignment, State, Worker
from humaneval.market.wording import NotPossibleError, time_left
from humaneval.market.worker_files import fetch

__all__ = ["WorkerSite", "pages_blueprint"]


def pages_blueprint(site: WorkerSite) -> Blueprint:
    """The routes of the worker site."""
    blueprint = Blueprint("pages", __name__)
    blueprint.register_blueprint(entry_blueprint(site))
    blueprint.register_blueprint(panel_blueprint(site))

    @blueprint.before_request
    def refuse_other_sites() -> Answer | None:
        if request.method == "POST" and comes_from_elsewhere(request, site.origin):
            return site.problem("This form was sent from another site, so nothing was done.", 403)
        return None

    @blueprint.get("/")
    def home() -> Answer:
        return redirect("/hits", 303)

    @blueprint.get("/hits")
    @site.signed_in
    def hits(work: Transaction, worker: Worker) -> Answer:
        in_hand = [
            item for item in workplace.work_of(work, worker) if item.assignment.state is State.ACCEPTED
        ]
        return site.page(
            "hits.html",
            worker,
            offers=workplace.offers(work, worker),
            in_hand=in_hand,
            now=work.now,
            time_left=time_left,
        )

    @blueprint.get("/mturk/preview")
    @site.signed_in
    def group(work: Transaction, worker: Worker) -> Answer:
        hit = workplace.next_in_group(work, worker, request.args.get("groupId", ""))
        if hit is None:
            raise NotPossibleError("There is nothing left to do in this group.", 404)
        return redirect(f"/hits/{hit.id}", 303)

    @blueprint.get("/hits/<hit_id>")
    @site.signed_in
    def preview(work: Transaction, worker: Worker, hit_id: str) -> Answer:
        hit, obstacles = workplace.hit_to_preview(work, worker, hit_id)
        question, asked = read_question(hit.question, work.mode), hit.hit_type.qualifications
        form = question if isinstance(question, QuestionForm) else None
        frame = None
        if not isinstance(question, QuestionForm):
            frame = site.frame(hit, question, assignmentId=NOT_ACCEPTED, hitId=hit.id)
        known = types_of(work.session, asked)
        return site.page(
            "preview.html",
            worker,
            frame=frame,
            form=form,
            hit=hit,
            available=counts(work.session, [hit])[hit.number].free if hit.status == "Assignable" else 0,
            obstacles=obstacles,
            requirements=[describe(each, known) for each in asked],
            in_hand=workplace.open_assignment(work, worker, hit_id),
        )

    @blueprint.post("/hits/<hit_id>/accept")
    @site.signed_in
    def accept(work: Transaction, worker: Worker, hit_id: str) -> Answer:
        in_hand = workplace.open_assignment(work, worker, hit_id)
        assignment = workplace.accept(work, worker, hit_id)
        if in_hand is None and happening(request.environ) is Trouble.REUSED_ID:
            reuse_id(work, assignment)
        return redirect(f"/assignments/{assignment.id}", 303)

    @blueprint.get("/assignments/<assignment_id>")
    @site.signed_in
    def work_page(work: Transaction, worker: Worker, assignment_id: str) -> Answer:
        return _work_page(work, worker, workplace.find_own(work, worker, assignment_id))

    @blueprint.post("/assignments/<assignment_id>/answer")
    @site.signed_in
    def answer(work: Transaction, worker: Worker, assignment_id: str) -> Answer:
        assignment = workplace.find_own(work, worker, assignment_id)
        question = read_question(assignment.hit.question, work.mode)
        if not isinstance(question, QuestionForm):
            raise NotPossibleError("This HIT's answers are sent from its own page.", 400)
        if assignment.state is State.ACCEPTED:
            try:
                filled = fill_in(work, assignment, question, request.form, request.files)
            except UnusableAnswerError as error:
                raise NotPossibleError(str(error), 400) from None
            if filled.faults:
                return _work_page(work, worker, assignment, filled, 400)
        return redirect(f"/assignments/{assignment_id}", 303)

    def _work_page(
        work: Transaction,
        worker: Worker,
        assignment: Assignment,
        filled: Filled | None = None,
        status: int = 200,
    ) -> Answer:
        hit, frame, form = assignment.hit, None, None
        if assignment.state is State.ACCEPTED:
            question = read_question(hit.question, work.mode)
            if isinstance(question, QuestionForm):
                form = question
            else:
                frame = site.frame(
                    hit,
                    question,
                    assignmentId=assignment.id,
                    hitId=hit.id,
                    workerId=worker.id,
                    turkSubmitTo=site.origin,
                )
                if happening(request.environ) is Trouble.UNSEEN and frame.origin:
                    frame = Frame(f"{UNSEEN_PATH}/{assignment.id}", frame.height, "", FRAME_SANDBOX)
        return site.page(
            "work.html",
            worker,
            status,
            frame=frame,
            form=form,
            assignment=assignment,
            hit=hit,
            left=time_left(assignment.deadline, work.now),
            faults=filled.faults if filled else {},
            sent=request.form if filled else MultiDict[str, str](),
        )

    @blueprint.post("/assignments/<assignment_id>/return")
    @site.signed_in
    def give_back(work: Transaction, worker: Worker, assignment_id: str) -> Answer:
        workplace.give_back(work, worker, assignment_id)
        return redirect("/hits", 303)

    @blueprint.get("/files/<token>")
    def uploaded(token: str) -> Answer:
        with site.market.reading() as work:
            return fetch(work, token)

    @blueprint.get("/my-work")
    @site.signed_in
    def my_work(work: Transaction, worker: Worker) -> Answer:
        done = workplace.work_of(work, worker)
        waiting = sum(
            item.assignment.hit.hit_type.reward_cents
            for item in done
            if item.assignment.state is State.SUBMITTED
        )
        return site.page(
            "my_work.html", worker, done=done, earned=sum(item.earned_cents for item in done), waiting=waiting
        )

    return blueprint
