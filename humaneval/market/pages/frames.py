"""What lies inside the frame of a HIT: a requester's own HTML, and the address that answers are submitted
to."""

from __future__ import annotations

import re

from flask import Blueprint, Response, render_template, request, url_for
from werkzeug.exceptions import RequestEntityTooLarge

from humaneval.market.hits import find_hit
from humaneval.market.operations import Market
from humaneval.market.protocol.answer_xml import Field, UnusableAnswerError
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.questions.question import HtmlQuestion, read_question
from humaneval.market.security import origin_of, protect_answer, protect_content, protect_hand_on
from humaneval.market.submissions import submit
from humaneval.market.wording import TOO_LARGE, NotPossibleError

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""What stands for an assignment's id while a HIT is only looked at; MTurk's own word."""

SUBMIT_PATH = "/mturk/externalSubmit"

_CLOSED_SUBMIT = re.compile(r"(https?:)?//(www|worker|workersandbox)\.mturk\.com/mturk/externalSubmit")
"""Where HTML written for the real MTurk sends its form. Nobody answers there any more."""

_CLOSED_SCRIPT = re.compile(
    r"(https?:)?//(s3\.amazonaws\.com/mturk-public|mturk-public\.s3\.amazonaws\.com)/externalHIT_v1\.js"
)
"""MTurk's own script, which puts the assignment's id into such a form: without it answers belong to no
work."""


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
        script = origin + url_for("static", filename="external-hit.js")
        html = _CLOSED_SUBMIT.sub(lambda _: origin + SUBMIT_PATH, asked.html)
        html = _CLOSED_SCRIPT.sub(lambda _: script, html)
        return protect_content(Response(html, content_type="text/html; charset=utf-8"))

    @blueprint.get(SUBMIT_PATH)
    def hand_on() -> Response:
        # MTurk took answers in the address, too. A look at an address stores nothing here: this page sends
        # them on.
        try:
            assignment_id = _assignment_id()
        except NotPossibleError as error:
            return _shown(error.message, error.status)
        fields = [(name, value) for name, value in request.args.items(multi=True) if name != "assignmentId"]
        page = render_template(
            "hand_on.html",
            action=origin + SUBMIT_PATH,
            assignment_id=assignment_id,
            fields=fields,
            origin=origin,
        )
        return protect_hand_on(Response(page, content_type="text/html; charset=utf-8"), origin)

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
        assignment_id = _assignment_id()
        fields = [
            Field(name, value) for name, value in request.form.items(multi=True) if name != "assignmentId"
        ]
        with market.writing() as work:
            submit(work, assignment_id, fields, request.files)

    def _shown(problem: str, status: int) -> Response:
        page = render_template("submitted.html", problem=problem, origin=origin)
        return protect_answer(Response(page, status, content_type="text/html; charset=utf-8"), origin)

    return blueprint


def _assignment_id() -> str:
    """Whose answers a request brings. Raises NotPossibleError for nobody's, and for those of a preview."""
    assignment_id = request.form.get("assignmentId") or request.args.get("assignmentId", "")
    if not assignment_id:
        raise NotPossibleError("The form came without an assignmentId, so it belongs to no work.", 400)
    if assignment_id == NOT_ACCEPTED:
        raise NotPossibleError("This was a preview. Accept the HIT first; then your answer is stored.", 400)
    return assignment_id
