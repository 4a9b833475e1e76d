"""The worker pages' common ground: who is signed in, what a whole page is, what stands in a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from flask import Response, g, redirect, render_template, request
from werkzeug.wrappers import Response as WerkzeugResponse

from humaneval.market import worker_side as workplace
from humaneval.market.operations import Market
from humaneval.market.questions.question import ExternalQuestion, HtmlQuestion, with_query
from humaneval.market.questions.question_form import QuestionForm
from humaneval.market.requester_people import unread
from humaneval.market.security import FRAME_SANDBOX, Seals, origin_of, protect_page
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit, Worker
from humaneval.market.wording import NotPossibleError

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

    def __init__(self, market: Market, seals: Seals, public_url: str, *, invited: bool = False) -> None:
        """`invited`: nobody comes in by name alone, but by a link of their own or an invitation."""
        self.invited = invited
        self.market = market
        self.seals = seals
        self.origin = market.site = origin_of(public_url)
        self.https = public_url.startswith("https://")

    def page(
        self,
        template: str,
        worker: Worker | None,
        status: int = 200,
        frame: Frame | None = None,
        form: QuestionForm | None = None,
        **values: Any,
    ) -> Response:
        """A whole page. `worker` decides what stands in its head; the question's `frame` or `form`, what
        it may load."""
        token = self.seals.form_token(worker.id) if worker else ""
        html = render_template(
            template,
            worker=worker,
            csrf=token,
            invited=self.invited,
            mode=self.market.mode,
            frame=frame,
            form=form,
            **values,
        )
        response = Response(html, status, content_type="text/html; charset=utf-8")
        protect_page(response, frame.origin if frame else "")
        if form is not None:
            _allow_pictures(response)
        return response

    def link_of(self, worker: Worker) -> str:
        """The address by which this worker comes in."""
        return f"{self.origin}/come/{self.seals.link_token(workplace.pass_for(worker))}"

    def problem(self, message: str, status: int, worker: Worker | None = None) -> Response:
        """A page that says why something cannot be done."""
        heading = "That is not there" if status == 404 else "That is not possible"
        return self.page("problem.html", worker, status, message=message, heading=heading)

    def frame(self, hit: Hit, question: ExternalQuestion | HtmlQuestion, **parameters: str) -> Frame:
        """The frame for a HIT, with MTurk's parameters in its address."""
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
            bearer = self.seals.pass_of(request)
            try:
                with self.market.writing() if posted else self.market.reading() as work:
                    worker = workplace.find_bearer(work, bearer)
                    if worker is None:
                        return redirect(
                            with_query("/signin", next="/hits" if posted else request.full_path.rstrip("?")),
                            303,
                        )
                    if posted and not self.seals.form_is_from(request, worker.id):
                        return self.problem(
                            "This form is too old. Go back, reload the page and try again.", 403, worker
                        )
                    g.unread = unread(work, worker)
                    return view(work, worker, *args, **kwargs)
            except NotPossibleError as error:
                # In a transaction of its own: the one that was rolled back took the worker's row along.
                with self.market.reading() as work:
                    worker = workplace.find_bearer(work, bearer)
                    return self.problem(error.message, error.status, worker)

        return guarded


def _allow_pictures(response: Response) -> None:
    """A QuestionForm stands on our own page and may show pictures, sounds and films from anywhere."""
    policy = response.headers["Content-Security-Policy"]
    response.headers["Content-Security-Policy"] = policy.replace(
        "img-src 'self' data:", "img-src 'self' data: https: http:; media-src https: http:"
    )
