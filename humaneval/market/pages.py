"""The worker site: sign in, find a HIT, look at it, accept it, work, see what was earned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from flask import Blueprint, Response, redirect, render_template, request
from werkzeug.wrappers import Response as WerkzeugResponse

from humaneval.market import workplace
from humaneval.market.bookkeeping import counts
from humaneval.market.database import Transaction
from humaneval.market.frames import NOT_ACCEPTED
from humaneval.market.market import Market
from humaneval.market.mishaps import UNSEEN_PATH, reuse_id
from humaneval.market.qualifications import describe
from humaneval.market.questions import ExternalQuestion, read_question, with_query
from humaneval.market.security import (
    COOKIE,
    FRAME_SANDBOX,
    SIGNED_IN_SECONDS,
    Seals,
    comes_from_elsewhere,
    origin_of,
    protect_page,
    safe_path,
)
from humaneval.market.tables import Hit, State, Worker
from humaneval.market.trouble import Trouble, happening
from humaneval.market.wording import countries, time_left
from humaneval.market.workplace import NotPossibleError

Answer = Response | WerkzeugResponse
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page's frame needs: an address, a height, and how far its content is trusted."""

    address: str
    height: int
    origin: str
    sandbox: str


class WorkerSite:
    """The pages' common ground: the market, the seals on cookies and forms, and the site's own address."""

    def __init__(self, market: Market, seals: Seals, public_url: str) -> None:
        self.market = market
        self.seals = seals
        self.origin = origin_of(public_url)
        self.https = public_url.startswith("https://")

    def page(
        self,
        template: str,
        worker: Worker | None,
        status: int = 200,
        frame: Frame | None = None,
        **values: Any,
    ) -> Response:
        """A whole page. `worker` decides what stands in its head."""
        token = self.seals.form_token(worker.id) if worker else ""
        html = render_template(
            template, worker=worker, csrf=token, mode=self.market.mode, frame=frame, **values
        )
        response = Response(html, status, content_type="text/html; charset=utf-8")
        return protect_page(response, frame.origin if frame else "")

    def problem(self, message: str, status: int, worker: Worker | None = None) -> Response:
        """A page that says why something cannot be done."""
        return self.page("problem.html", worker, status, message=message)

    def frame(self, hit: Hit, **parameters: str) -> Frame:
        """The frame for a HIT, with MTurk's parameters in its address."""
        question = read_question(hit.question, self.market.mode)
        if isinstance(question, ExternalQuestion):
            return Frame(question.address(**parameters), question.frame_height, question.origin, "")
        return Frame(
            with_query(f"/question/{hit.id}", **parameters), question.frame_height, "", FRAME_SANDBOX
        )

    def signed_in(
        self, view: Callable[Concatenate[Transaction, Worker, Arguments], Answer]
    ) -> Callable[Arguments, Answer]:
        """A view that runs in one transaction for the worker who is signed in, and for nobody else.

        Whatever is posted must come from a form that this worker was shown.
        """

        @wraps(view)
        def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
            posted = request.method == "POST"
            worker_id = self.seals.worker_id(request)
            try:
                with self.market.writing() if posted else self.market.reading() as work:
                    worker = workplace.find_worker(work, worker_id) if worker_id else None
                    if worker is None:
                        return redirect(
                            with_query("/signin", next="/hits" if posted else request.full_path.rstrip("?")),
                            303,
                        )
                    if posted and not self.seals.form_is_from(request, worker.id):
                        return self.problem(
                            "This form is too old. Go back, reload the page and try again.", 403, worker
                        )
                    return view(work, worker, *args, **kwargs)
            except NotPossibleError as error:
                # In a transaction of its own: the one that was rolled back took the worker's row along.
                with self.market.reading() as work:
                    worker = workplace.find_worker(work, worker_id) if worker_id else None
                    return self.problem(error.message, error.status, worker)

        return guarded


def pages_blueprint(site: WorkerSite) -> Blueprint:
    """The routes of the worker site."""
    blueprint = Blueprint("pages", __name__)

    @blueprint.before_request
    def refuse_other_sites() -> Answer | None:
        if request.method == "POST" and comes_from_elsewhere(request, site.origin):
            return site.problem("This form was sent from another site, so nothing was done.", 403)
        return None

    @blueprint.get("/")
    def home() -> Answer:
        return redirect("/hits", 303)

    @blueprint.get("/signin")
    def signin() -> Answer:
        return _signin_page("")

    @blueprint.post("/signin")
    def sign_in() -> Answer:
        country = request.form.get("country", "")
        if country and country not in {known.code for known in countries()}:
            return _signin_page("Choose a country from the list.", 400)
        try:
            with site.market.writing() as work:
                worker = workplace.sign_up(work, request.form.get("name", ""), country)
        except NotPossibleError as error:
            return _signin_page(error.message, error.status)
        answer = redirect(safe_path(request.form.get("next", "")), 303)
        answer.set_cookie(
            COOKIE,
            site.seals.cookie(worker.id),
            max_age=SIGNED_IN_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=site.https,
        )
        return answer

    def _signin_page(problem: str, status: int = 200) -> Response:
        target = safe_path(request.values.get("next", ""))
        values: dict[str, Any] = {
            "name": request.form.get("name", ""),
            "country": request.form.get("country", ""),
        }
        return site.page(
            "signin.html", None, status, problem=problem, target=target, countries=countries(), **values
        )

    @blueprint.post("/signout")
    @site.signed_in
    def sign_out(work: Transaction, worker: Worker) -> Answer:
        answer = redirect("/signin", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="Lax", secure=site.https)
        return answer

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
        frame = site.frame(hit, assignmentId=NOT_ACCEPTED, hitId=hit.id)
        return site.page(
            "preview.html",
            worker,
            frame=frame,
            hit=hit,
            available=counts(work.session, [hit])[hit.number].free if hit.status == "Assignable" else 0,
            obstacles=obstacles,
            requirements=[describe(each) for each in hit.hit_type.qualifications],
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
        assignment = workplace.find_own(work, worker, assignment_id)
        frame = None
        if assignment.state is State.ACCEPTED:
            frame = site.frame(
                assignment.hit,
                assignmentId=assignment.id,
                hitId=assignment.hit.id,
                workerId=worker.id,
                turkSubmitTo=site.origin,
            )
            if happening(request.environ) is Trouble.UNSEEN and frame.origin:
                frame = Frame(f"{UNSEEN_PATH}/{assignment.id}", frame.height, "", FRAME_SANDBOX)
        left = time_left(assignment.deadline, work.now)
        return site.page(
            "work.html", worker, frame=frame, assignment=assignment, hit=assignment.hit, left=left
        )

    @blueprint.post("/assignments/<assignment_id>/return")
    @site.signed_in
    def give_back(work: Transaction, worker: Worker, assignment_id: str) -> Answer:
        workplace.give_back(work, worker, assignment_id)
        return redirect("/hits", 303)

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
