"""What lies inside the frame of a HIT: a requester's own HTML, and the address that takes the answers.

None of these routes needs a cookie, since in a frame on another site there is none.
"""

from __future__ import annotations

import re
from html import escape

from flask import Blueprint, Response, current_app, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from humaneval.market.hits import find_hit
from humaneval.market.pages.sent import read_sent
from humaneval.market.pages.site import current_site
from humaneval.market.protocol.http import NOT_ACCEPTED, SUBMIT_PATH
from humaneval.market.protocol.refusals import NotPossibleError, RefusedError
from humaneval.market.questions.question import HtmlQuestion, read_question
from humaneval.market.security import open_to_scripts, protect_answer, protect_content, protect_hand_on
from humaneval.market.submissions import question_of, read_answer, submit
from humaneval.market.tables.database import BUSY, Transaction
from humaneval.market.wording import TOO_LARGE

APART = "FRAMES_ARE_APART"
"""Where the configuration says that this application is not the worker site, but the frames' own."""

blueprint = Blueprint("frames", __name__)

_CLOSED_SITE = re.compile(
    r"(?P<scheme>https?:)?//(?:www|worker|workersandbox)\.mturk\.com(?=/mturk/|/?[\"'`])", re.IGNORECASE
)
"""Where HTML written for the real MTurk sends its form, whole or as a part that its scripts complete. Nobody
answers there now."""

_CLOSED_SCRIPT = re.compile(
    r"(https?:)?//(s3\.amazonaws\.com/mturk-public|mturk-public\.s3\.amazonaws\.com)/externalHIT(_v1)?\.js"
)
"""MTurk's own script, which puts the assignment's id into such a form. Answers without the id belong to no
work."""

_BEGINNING = re.compile(
    r"(?:\s|<!--.*?-->)*".join(["", r"(?:<!doctype[^>]*>)?", r"(?:<html\b[^>]*>)?", r"(?:<head\b[^>]*>)?"]),
    re.IGNORECASE | re.DOTALL,
)


@blueprint.get("/question/<hit_id>", provide_automatic_options=False)
def question(hit_id: str) -> Response:
    """A requester's own HTML, with MTurk's closed addresses replaced by this marketplace's.

    A worker who goes back to it after the answers were sent gets no form again.
    """
    site = current_site()
    try:
        with site.market.reading() as work:
            if _is_answered(work, request.args.get("assignmentId", "")):
                return _shown("", 200)
            asked = read_question(find_hit(work, hit_id).question, work.mode)
    except RefusedError:
        return _content(_plain("There is no such task."))
    if not isinstance(asked, HtmlQuestion):
        return _content(_plain("This task's page is on another server."))
    script = site.origin + url_for("static", filename="external-hit.js")
    html = _CLOSED_SCRIPT.sub(lambda _: script, _with_our_script(asked.html))
    html = _CLOSED_SITE.sub(_our_site, html)
    return _content(Response(html, content_type="text/html; charset=utf-8"))


def _is_answered(work: Transaction, assignment_id: str) -> bool:
    try:
        return assignment_id not in ("", NOT_ACCEPTED) and question_of(work, assignment_id) is None
    except NotPossibleError:
        return False


def submit_by_address(before: str = "") -> Response:
    """A page that posts the answers in its address. MTurk took such answers; here no GET stores anything."""
    origin = current_site().origin
    if request.headers.get("Sec-Fetch-Dest", "document") not in ("document", "iframe", "frame"):
        # A script that fetches would take any page for success.
        return _shown("Nothing was stored: a script must send answers by POST.", 405)
    try:
        assignment_id, fields = read_sent(request)
    except NotPossibleError as error:
        return _shown(error.message, error.status)
    page = render_template(
        "hand_on.html",
        action=origin + SUBMIT_PATH,
        assignment_id=assignment_id,
        fields=fields,
        origin=origin,
    )
    return protect_hand_on(Response(page, content_type="text/html; charset=utf-8"), origin)


def external_submit(before: str = "") -> Response:
    """Store the answers."""
    if request.method == "OPTIONS":
        return _shown("", 200)
    try:
        assignment_id, fields = read_sent(request)
        files = MultiDict((name, file) for name, file in request.files.items(multi=True) if file.filename)
        market = current_site().market
        with market.reading() as work:
            asked = question_of(work, assignment_id)
        if asked is not None:
            answer = read_answer(asked, fields, files)
            with market.writing() as work:
                submit(work, assignment_id, answer)
                current_site().crowds.in_hand.answered(assignment_id)
    except NotPossibleError as error:
        return _shown(error.message, error.status)
    except RequestEntityTooLarge:
        return _shown(TOO_LARGE, 413)
    return _shown("", 200)


# A page that names no address for its form sends it to its own; one with a relative address, below that.
for _path in (SUBMIT_PATH, f"/question/<path:before>{SUBMIT_PATH}"):
    blueprint.get(_path, provide_automatic_options=False)(submit_by_address)
for _path in (SUBMIT_PATH, f"/question/<path:before>{SUBMIT_PATH}", "/question/<before>"):
    blueprint.route(_path, methods=["POST", "OPTIONS"])(external_submit)


@blueprint.errorhandler(HTTPException)
def refused(error: HTTPException) -> Response:
    """In words that a frame can show: the worker site's own pages cannot be framed."""
    if isinstance(error, RequestEntityTooLarge):
        return _shown(TOO_LARGE, 413)
    return _shown("Your answer could not be read. Go back and send it again.", error.code or 500)


def busy(error: Exception) -> Response:
    """The database did not answer in time."""
    current_app.logger.warning("The database is busy: %s", getattr(error, "orig", error))
    return _shown("The marketplace is busy. Go back and send your answer again in a moment.", 503)


for _kind in BUSY:
    blueprint.register_error_handler(_kind, busy)


def _shown(problem: str, status: int) -> Response:
    origin = current_site().origin
    page = render_template("submitted.html", problem=problem, origin=origin)
    response = Response(page, status, content_type="text/html; charset=utf-8")
    return open_to_scripts(protect_answer(response, origin), request.headers.get("Origin", ""))


def _content(response: Response) -> Response:
    if not current_app.config[APART]:
        return protect_content(response)
    return protect_content(response, framed_by=current_site().origins_at(request.host), apart=True)


def _with_our_script(html: str) -> str:
    """The page with a script before its own that sends to us what they send to MTurk's addresses."""
    site = current_site()
    source = site.origin + url_for("static", filename="inside.js")
    script = f'<script data-site="{escape(site.origin)}" src="{escape(source)}"></script>'
    found = _BEGINNING.match(html)
    at = found.end() if found else 0
    return html[:at] + script + html[at:]


def _our_site(closed: re.Match[str]) -> str:
    scheme, _, rest = current_site().origin.partition("//")
    return f"{scheme if closed['scheme'] else ''}//{rest}"


def _plain(message: str) -> Response:
    return Response(message, 404, content_type="text/plain; charset=utf-8")
