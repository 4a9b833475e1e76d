"""What lies inside the frame of a HIT: a requester's own HTML, and the address that takes the answers.

None of these routes needs a cookie, since in a frame on another site there is none.
"""

from __future__ import annotations

import re

from flask import Blueprint, Response, render_template, request, url_for
from werkzeug.exceptions import RequestEntityTooLarge

from humaneval.market.hits import find_hit
from humaneval.market.pages.site import current_site
from humaneval.market.protocol.answer_xml import Field, UnusableAnswerError
from humaneval.market.protocol.http import NOT_ACCEPTED, SUBMIT_PATH
from humaneval.market.protocol.refusals import NotPossibleError, RefusedError
from humaneval.market.questions.question import HtmlQuestion, read_question
from humaneval.market.security import protect_answer, protect_content, protect_hand_on
from humaneval.market.submissions import submit
from humaneval.market.wording import TOO_LARGE

blueprint = Blueprint("frames", __name__)

_CLOSED_SUBMIT = re.compile(r"(https?:)?//(www|worker|workersandbox)\.mturk\.com/mturk/externalSubmit")
"""Where HTML written for the real MTurk sends its form. Nobody answers there now."""

_CLOSED_SCRIPT = re.compile(
    r"(https?:)?//(s3\.amazonaws\.com/mturk-public|mturk-public\.s3\.amazonaws\.com)/externalHIT_v1\.js"
)
"""MTurk's own script, which puts the assignment's id into such a form. Answers without the id belong to no
work."""


@blueprint.get("/question/<hit_id>")
def question(hit_id: str) -> Response:
    """A requester's own HTML, with MTurk's closed addresses replaced by this marketplace's."""
    site = current_site()
    try:
        with site.market.reading() as work:
            asked = read_question(find_hit(work, hit_id).question, work.mode)
    except RefusedError:
        return protect_content(_plain("There is no such HIT."))
    if not isinstance(asked, HtmlQuestion):
        return protect_content(_plain("This HIT's page is on another server."))
    script = site.origin + url_for("static", filename="external-hit.js")
    html = _CLOSED_SUBMIT.sub(lambda _: site.origin + SUBMIT_PATH, asked.html)
    html = _CLOSED_SCRIPT.sub(lambda _: script, html)
    return protect_content(Response(html, content_type="text/html; charset=utf-8"))


@blueprint.get(SUBMIT_PATH)
def hand_on() -> Response:
    """A page that posts the answers in its address. MTurk took such answers; here no GET stores anything."""
    origin = current_site().origin
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
    """Store the answers."""
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
    fields = [Field(name, value) for name, value in request.form.items(multi=True) if name != "assignmentId"]
    with current_site().market.writing() as work:
        submit(work, assignment_id, fields, request.files)


def _shown(problem: str, status: int) -> Response:
    origin = current_site().origin
    page = render_template("submitted.html", problem=problem, origin=origin)
    return protect_answer(Response(page, status, content_type="text/html; charset=utf-8"), origin)


def _plain(message: str) -> Response:
    return Response(message, 404, content_type="text/plain; charset=utf-8")


def _assignment_id() -> str:
    """The assignment that is answered. Raises NotPossibleError if there is none, or in a preview."""
    assignment_id = request.form.get("assignmentId") or request.args.get("assignmentId", "")
    if not assignment_id:
        raise NotPossibleError(
            "The form has no assignmentId, so the marketplace cannot tell which HIT it answers.", 400
        )
    if assignment_id == NOT_ACCEPTED:
        raise NotPossibleError("This was a preview. Accept the HIT first; then your answer is stored.", 400)
    return assignment_id
