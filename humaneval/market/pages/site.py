"""What all pages of the worker site share: a whole page, the frame in it, and the worker who is signed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

from flask import Flask, Request, Response, current_app, redirect, render_template, request
from werkzeug.wrappers import Response as WerkzeugResponse

from humaneval.market.operations import Market
from humaneval.market.pages.crowds import Crowds
from humaneval.market.protocol.addresses import origin_of, with_query
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.questions.question import ExternalQuestion, HtmlQuestion
from humaneval.market.questions.question_form import QuestionForm
from humaneval.market.security import APART, BOXED, LINK_PATH, Seals, protect_page
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit
from humaneval.market.workers import Person, find_bearer, pass_for

Answer = Response | WerkzeugResponse
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_EXTENSION = "market.worker_site"


@dataclass(frozen=True, slots=True)
class Frame:
    """What a page's frame needs: an address, a height, and how far its content is trusted."""

    address: str
    height: int
    origin: str
    sandbox: str


@dataclass(frozen=True, slots=True)
class FrameHost:
    """Where a requester's own HTML has its origin: a whole address, or a port beside the worker site's.

    Without either there is none, and such pages have no storage.
    """

    url: str = ""
    port: int = 0

    def origin(self, scheme: str, host: str) -> str:
        """The origin for a worker who reached this server at `host`. The same name makes it the same site,
        so that browsers keep the cookies of its pages."""
        if self.url or not self.port:
            return self.url
        return f"{scheme}://{_without_port(host)}:{self.port}"


NO_FRAMES = FrameHost()


class WorkerSite:
    """The market, the seals on cookies and forms, and the site's own address. One for each application."""

    def __init__(
        self,
        market: Market,
        seals: Seals,
        public_url: str,
        *,
        crowds: Crowds,
        invited: bool = False,
        frames: FrameHost = NO_FRAMES,
    ) -> None:
        """`invited`: workers come by a link of their own or by invitation, not by name alone."""
        self.crowds = crowds
        self.invited = invited
        self.frames = frames
        self.market = market
        self.seals = seals
        self.origin = market.site = origin_of(public_url)
        self.https = public_url.startswith("https://")

    def origins_at(self, host: str) -> list[str]:
        """The origins whose pages may frame a requester's HTML that was asked for at `host`.

        With a second port, the worker may know this machine by another name than the public address has.
        """
        parts = urlsplit(self.origin)
        port = f":{parts.port}" if parts.port else ""
        beside = [f"{parts.scheme}://{_without_port(host)}{port}"] if self.frames.port else []
        return [self.origin, *beside]

    def serve(self, app: Flask) -> None:
        """Let the views of `app` find this site."""
        app.extensions[_EXTENSION] = self

    def page(
        self,
        template: str,
        worker: Person | None,
        status: int = 200,
        frame: Frame | None = None,
        form: QuestionForm | None = None,
        **values: Any,
    ) -> Response:
        """A whole page. `worker` decides what its head shows; the question's `frame` or `form`, what it
        may load."""
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
        # Answers go to the public address, also for a worker who came by another name of this machine.
        protect_page(response, *([frame.origin, self.origin] if frame else []))
        if form is not None:
            _allow_pictures(response)
        return response

    def note(self, text: str) -> Response:
        """A word for a script of our own pages."""
        return protect_page(Response(text, content_type="text/plain; charset=utf-8"))

    def link_of(self, worker: Person) -> str:
        """The address by which this worker comes in."""
        return f"{self.origin}{LINK_PATH}{self.seals.link_token(pass_for(worker))}"

    def problem(self, message: str, status: int, worker: Person | None = None) -> Response:
        """A page that says why something cannot be done."""
        heading = "Not found" if status == 404 else "This is not possible"
        return self.page("problem.html", worker, status, message=message, heading=heading)

    def frame(self, hit: Hit, question: ExternalQuestion | HtmlQuestion, **parameters: str) -> Frame:
        """The frame for a HIT, with MTurk's parameters in its address."""
        if isinstance(question, ExternalQuestion):
            return Frame(question.address(**parameters), question.frame_height, question.origin, "")
        origin = self.frames.origin(urlsplit(self.origin).scheme, request.host)
        address = with_query(f"{origin}/question/{hit.id}", **parameters)
        return Frame(address, question.frame_height, origin, APART if origin else BOXED)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a worker who is signed in, and the transaction that it runs in."""

    site: WorkerSite
    work: Transaction
    worker: Person

    def page(
        self,
        template: str,
        status: int = 200,
        frame: Frame | None = None,
        form: QuestionForm | None = None,
        **values: Any,
    ) -> Response:
        """A whole page for this worker, as `WorkerSite.page` makes it."""
        return self.site.page(template, self.worker, status, frame, form, **values)


def current_site() -> WorkerSite:
    """The site of the application that answers this request."""
    site: WorkerSite = current_app.extensions[_EXTENSION]
    return site


def signed_in(view: Callable[Concatenate[Visit, Arguments], Answer]) -> Callable[Arguments, Answer]:
    """A view that runs in one transaction for the worker who is signed in, and for nobody else.

    A posted form must be one that this worker was shown.
    """

    @wraps(view)
    def guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        return as_worker(lambda visit: view(visit, *args, **kwargs), writes=request.method == "POST")

    return guarded


def as_worker(act: Callable[[Visit], Result], *, writes: bool) -> Result | Answer:
    """What `act` gives for the worker who is signed in, in a transaction; else a page that says why not."""
    site, posted = current_site(), request.method == "POST"
    bearer = site.seals.pass_of(request)
    if bearer is None:
        return _to_sign_in()
    # Before the transaction: this reads the whole form.
    shown = not posted or site.seals.form_is_from(request, bearer.worker_id)
    problem = NotPossibleError("This form is too old. Go back, reload the page and try again.", 403)
    try:
        with site.market.writing() if writes and shown else site.market.reading() as work:
            worker = find_bearer(work, bearer)
            if worker is None:
                return _to_sign_in()
            if shown:
                return act(Visit(site, work, worker))
    except NotPossibleError as error:
        problem = error
    return problem_page(problem)


def _to_sign_in() -> WerkzeugResponse:
    target = "/hits" if request.method == "POST" else request.full_path.rstrip("?")
    return redirect(with_query("/signin", next=target), 303)


def problem_page(problem: NotPossibleError) -> Response:
    """A page that says why something cannot be done, for the worker who is signed in."""
    site = current_site()
    # In a transaction of its own: one that was rolled back took the worker's row along.
    with site.market.reading() as work:
        worker = find_bearer(work, site.seals.pass_of(request))
    return site.problem(problem.message, problem.status, worker)


def before_in(request: Request) -> int | None:
    """The page of a list that was asked for begins before the row of this number; None: at the newest."""
    given = request.args.get("before", "")
    return int(given) if re.fullmatch("[0-9]{1,15}", given) else None


def _without_port(host: str) -> str:
    name = urlsplit(f"//{host}").hostname or ""
    return f"[{name}]" if ":" in name else name


def _allow_pictures(response: Response) -> None:
    """A QuestionForm is part of our own page and may show pictures, sounds and films from anywhere."""
    policy = response.headers["Content-Security-Policy"]
    response.headers["Content-Security-Policy"] = policy.replace(
        "img-src 'self' data:", "img-src 'self' data: https: http:; media-src https: http:"
    )
