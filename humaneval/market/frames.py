"""What lies inside the frame of a HIT: a requester's own HTML, and the address that answers are submitted to."""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request
from werkzeug.exceptions import RequestEntityTooLarge

from humaneval.market.answers import Field, UnusableAnswerError
from humaneval.market.hits import find_hit
from humaneval.market.market import Market
from humaneval.market.questions import HtmlQuestion, read_question
from humaneval.market.refusals import RefusedError
from humaneval.market.security import origin_of, protect_answer, protect_content
from humaneval.market.submissions import submit
from humaneval.market.wording import TOO_LARGE, NotPossibleError

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What stands for an assignment's id while a HIT is only looked at; MTurk's own word."""

SUBMIT_PATH = "/mturk/externalSubmit"

_CLOSED_ADDRESSES = tuple(
    f"https://{host}{SUBMIT_PATH}"
    for host in ("www.mturk.com", "workersandbox.mturk.com", "worker.mturk.com")
)
"""Where HTML written for the real MTurk posts to. Nobody answers there any more."""


def frames_blueprint(market: Market, public_url: str) -> Blueprint:
    """Routes that need no cookie, since in a frame on another site there is none."""
    blueprint = Blueprint("frames", __name__)
    origin = origin_of(public_url)

    @blueprint.get("/question/<hit_id>")
    def question(hit_id: str) -> Response:
        try:
            with market.reading() as work:
                asked = read_question(find_hit(work, hit_id).question, work.mode)
        except RefusedError:
            return protect_content(
                Response("There is no such HIT.", 404, content_type="text/plain; charset=utf-8")
            )
        if not isinstance(asked, HtmlQuestion):
            return protect_content(Response("This HIT's page is elsewhere.", 404, content_type="text/plain"))
        html = asked.html
        for closed in _CLOSED_ADDRESSES:
            html = html.replace(closed, origin + SUBMIT_PATH)
        return protect_content(Response(html, content_type="text/html; charset=utf-8"))

    @blueprint.post(SUBMIT_PATH)
    def external_submit() -> Response:
        try:
            _store()
        except NotPossibleError as error:
            return _shown(error.message, error.status)
        except UnusableAnswerError as error:
            return _shown(str(error), 400)
        except RequestEntityTooLarge:
            return _shown(TOO_LARGE, 413)
        return _shown("", 200)

    def _store() -> None:
        assignment_id = request.form.get("assignmentId") or request.args.get("assignmentId", "")
        if not assignment_id:
            raise NotPossibleError("The form came without an assignmentId, so it belongs to no work.", 400)
        if assignment_id == NOT_ACCEPTED:
            raise NotPossibleError(
                "This was a preview. Accept the HIT first; then your answer is stored.", 400
            )
        fields = [
            Field(name, value) for name, value in request.form.items(multi=True) if name != "assignmentId"
        ]
        with market.writing() as work:
            submit(work, assignment_id, fields, request.files)

    def _shown(problem: str, status: int) -> Response:
        page = render_template("submitted.html", problem=problem, origin=origin)
        return protect_answer(Response(page, status, content_type="text/html; charset=utf-8"), origin)

    return blueprint
