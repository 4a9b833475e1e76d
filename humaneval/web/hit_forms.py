"""Forms of HITs: a form opened from the marketplace, its answers, and their hand-over to the marketplace."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from urllib.parse import parse_qsl, urlencode

from flask import Blueprint, Response, current_app, g, request
from itsdangerous import BadSignature
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException, NotFound

from humaneval.crowd import endpoints
from humaneval.crowd.claims import Opened, Outcome, Visit
from humaneval.crowd.form_of_row import channel_of, form_shown, form_with, tests_at
from humaneval.crowd.form_page import Delivery, question_style, render_handover
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.free_rows import held_assignments
from humaneval.crowd.platform import Endpoint
from humaneval.crowd.refused_consent import forget_refusal
from humaneval.crowd.signatures import MOST_ASKED, SIGNATURE, is_signed, returned_of
from humaneval.crowd.stored_claim import Work
from humaneval.errors import GoneError, HumanEvalError, StoreError
from humaneval.request_turns import waiting
from humaneval.resources import bundled
from humaneval.scoring.questions.question import load_question, question_names
from humaneval.store.engine import connected
from humaneval.store.types import now
from humaneval.web import messages
from humaneval.web.forms import (
    Given,
    by_program,
    context,
    form_page,
    given,
    hit_with,
    is_of_another_form,
    kept,
    known_fields,
    only_looking,
    unknown,
    work_if_theirs,
    work_of,
    work_with,
)
from humaneval.web.ids import is_id, read_ids
from humaneval.web.missing_answers import with_gaps
from humaneval.web.security import allow_frames

blueprint = Blueprint("hit_forms", __name__)

PARAMETERS = ("assignmentId", "workerId", "hitId", "turkSubmitTo", SIGNATURE)
"""What a marketplace adds to the address of a form."""
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
ASSETS = {"form.css": "text/css", "form.js": "text/javascript", "handover.js": "text/javascript"}
MAX_ID = 64
MOVE = "move"
"""The salt of tokens that move a form, which are no good for sending one."""


@blueprint.before_request
def before_the_hit_is_known() -> None:
    """Allow every marketplace to frame an error: in a frame that is refused, the worker would see nothing."""
    if request.endpoint in {f"{blueprint.name}.{view}" for view in ("show", "answer", "move", "sent")}:
        allow_frames(endpoints.every_worker_site(context().settings), [])


@blueprint.get("/")
def index() -> Response:
    return messages.message("server_heading", "server_text")


@blueprint.get("/health")
@blueprint.get("/form/health")
@blueprint.get("/take/health")
@blueprint.get("/prolific/health")
def health() -> Response:
    """For monitoring: 200 while answers can be stored. A proxy may lead the first address elsewhere.

    At most once a second, it writes what is there over itself. A full disk may have room for that, but not
    for answers, so the last of these count, too.
    """
    try:
        context().pulse.check()
        context().writer.check()
        context().identity.check()
    except StoreError as error:
        current_app.logger.error("health: %s", error.message)
        return Response("the database cannot be written\n", status=503, mimetype="text/plain")
    return Response("ok\n", mimetype="text/plain")


@blueprint.get("/assets/<name>")
def asset(name: str) -> Response:
    if name not in ASSETS:
        return messages.message("not_found_heading", "no_file", status=404)
    return Response(_asset(name), mimetype=ASSETS[name], headers={"Cache-Control": "public, max-age=300"})


@blueprint.get("/assets/<question>/style.css")
def style(question: str) -> Response:
    """The style sheet of a question."""
    text = _style(question) if question in _questions() else None
    if text is None:
        return messages.message("not_found_heading", "no_file", status=404)
    return Response(text, mimetype="text/css", headers={"Cache-Control": "public, max-age=300"})


@cache
def _questions() -> frozenset[str]:
    """Those that are installed. To look takes as long as a form, and anybody may ask for others."""
    return frozenset(question_names())


@cache
def _style(question: str) -> str | None:
    """The style sheet; None if it cannot be had."""
    try:
        return question_style(load_question(question).folder)
    except HumanEvalError:
        return None


@cache
def _asset(name: str) -> bytes:
    return (bundled("hit_templates") / name).read_bytes()


@blueprint.get("/form/<hit_key>")
def show(hit_key: str) -> Response:
    """The preview, or the row of this assignment. The first accepted GET claims it, and nothing else does."""
    hit = _known(hit_with(hit_key))
    if hit is None:
        return _unknown()
    ids = read_ids(request.args, PARAMETERS)
    assignment, worker = ids["assignmentId"], ids["workerId"]
    if only_looking():
        return Response(status=204)
    if assignment in ("", NOT_ACCEPTED):
        tests = tests_at(hit.is_test, hit.endpoint)
        return messages.page("preview.html", simulated=hit.simulated, tests=tests)
    if max(len(assignment), len(worker)) > MAX_ID or not all(
        is_id(id, PARAMETERS) for id in (assignment, worker)
    ):
        return messages.incomplete()
    opening = _given(hit, ids)
    if opening is None:
        return messages.unsigned()
    found = opening.opened
    refusal = _refusal(hit, found, _endpoint(hit).return_url.format(assignment=assignment))
    if refusal is not None:
        return refusal
    origin = _submit_origin(_endpoint(hit), ids["turkSubmitTo"])
    if found.row_id:
        form = form_with(hit, opening.passages)
        return form_page(form, _delivery(hit.key, _token(found.assignment_id, worker, origin)))
    work = work_with(found.assignment_id)
    if found.outcome is Outcome.ANSWERED:
        return _hand_over(work, origin)
    form = form_shown(context().engine, work.hit, work.row_id)
    return form_page(form, _delivery(work.hit.key, _token(work.id, worker, origin)))


@blueprint.post("/form/<hit_key>/here")
def move(hit_key: str) -> Response:
    """The worker has returned the HIT with their form: the form moves here. Repeating it changes nothing."""
    hit = _known(hit_with(hit_key))
    if hit is None:
        return _unknown()
    try:
        signed_for, query = context().signer.loads(request.form.get("token", ""), salt=MOVE)
    except BadSignature:
        return messages.invalid()
    if signed_for != hit_key:
        return messages.invalid()
    if _given(hit, read_ids(MultiDict(parse_qsl(query)), PARAMETERS), move=True) is None:
        return messages.unsigned()
    return Response(status=303, headers={"Location": f"{messages.root()}form/{hit_key}?{query}"})


@blueprint.post("/form/<hit_key>")
def answer(hit_key: str) -> Response:
    """Store the answers, then hand them over. Posting twice changes nothing and shows the same page."""
    signed = request.form.get("token", "")
    token = context().tokens.read_for_hit(signed)
    if token is None:
        return _unknown() if _known(hit_with(hit_key)) is None else messages.invalid()
    work = work_of(token)
    hit = _known(work.hit)
    if hit is None or hit.key != hit_key:
        known = _known(hit_with(hit_key))
        return _unknown() if known is None else _other_hit()
    if work.answered is None:
        if is_of_another_form(work):
            return messages.invalid()
        fields = known_fields(request.form, work)
        gaps = with_gaps(work, fields)
        if gaps is not None:
            return form_page(gaps, _delivery(hit_key, signed), status=422)
        kept(work, fields)
        context().answered(hit.endpoint, hit.study_name)
    # A page that can be reloaded: browsers ask before they show a posted page again.
    location = f"{messages.root()}form/{hit_key}/sent?{urlencode({'token': signed})}"
    return Response(status=303, headers={"Location": location})


@blueprint.post("/form/<hit_key>/decline")
def decline(hit_key: str) -> Response:
    """The worker does not want to take part: their row is free, and nothing is kept about them. Repeating it
    changes nothing."""
    hit = _known(hit_with(hit_key))
    if hit is None:
        return _unknown()
    token = context().tokens.read_for_hit(request.form.get("token", ""))
    if token is None:
        return messages.invalid()
    work = work_if_theirs(token)
    if work is not None and (work.hit.key != hit_key or work.answered is not None):
        return _other_hit()
    if work is not None:
        context().writer.write(hit.study_id, lambda connection: forget_refusal(connection, token.claim))
    leave = "" if work is None else _endpoint(hit).return_url.format(assignment=work.external_id)
    return messages.message("declined_heading", "declined_text", leave=leave)


def _unknown() -> Response:
    return unknown("unknown_hit_heading", "unknown_hit_text")


def _other_hit() -> Response:
    return messages.message("other_hit_heading", "open_hit", status=400)


@blueprint.get("/form/<hit_key>/sent")
def sent(hit_key: str) -> Response:
    """Hand the stored answers over to the marketplace, as often as necessary."""
    token = context().tokens.read_for_hit(request.args.get("token", ""))
    if token is None:
        return _unknown() if _known(hit_with(hit_key)) is None else messages.invalid()
    work = work_of(token)
    hit = _known(work.hit)
    if hit is None or hit.key != hit_key or work.answered is None:
        return messages.invalid()
    if work.passed_on:
        return messages.passed_on()
    return _hand_over(work, token.origin)


@blueprint.app_errorhandler(StoreError)
def busy(error: StoreError) -> Response:
    """The database did not answer in time. The posted fields go back to the browser to be sent again."""
    current_app.logger.error("store: %s", error.message)
    if request.method == "POST":
        action = f"{messages.root()}{request.path.removeprefix('/')}"
        response = messages.page(
            "retry.html", status=503, action=action, fields=dict(request.form), answers="form" in request.form
        )
    else:
        response = messages.message("busy_heading", "busy_text", status=503)
    response.headers["Retry-After"] = "5"
    return response


@blueprint.app_errorhandler(GoneError)
def gone(_: GoneError) -> Response:
    """A person was forgotten, or a study deleted, while this request was at work."""
    return http_error(NotFound())


@blueprint.app_errorhandler(HTTPException)
def http_error(error: HTTPException) -> Response:
    heading = {404: "not_found_heading", 413: "too_long_heading"}.get(error.code or 500, "wrong_heading")
    if (error.code or 500) >= 500:  # perhaps the study's own words cannot be had: its question may be gone
        g.pop("study", None)
    return messages.message(heading, messages.again(), status=error.code or 500)


def _known(hit: FoundHit | None) -> FoundHit | None:
    """The HIT, unless it is a link or Prolific's. The page is in its study's words, and can be framed."""
    if hit is None or hit.audience or hit.endpoint == "prolific":
        return None
    g.study, g.channel = hit.settings, channel_of(hit)
    _frames(_endpoint(hit))
    return hit


def _endpoint(hit: FoundHit) -> Endpoint:
    return endpoints.known(hit.endpoint, context().settings)


def _given(hit: FoundHit, ids: Mapping[str, str], *, move: bool = False) -> Given | None:
    """What opening the form of these ids leads to; None without the signature that this HIT needs."""
    assignment, worker, external_hit = ids["assignmentId"], ids["workerId"], ids["hitId"]
    confirmed = is_signed(hit.secret, assignment, worker, external_hit, ids[SIGNATURE])
    if hit.secret and not confirmed:
        return None
    visit = Visit(assignment, worker, now(), external_hit, move, by_program(hit), confirmed, returned=None)
    found = given(hit, visit)
    if found.opened.outcome is Outcome.BEYOND and confirmed:
        with connected(context().engine) as connection:
            held = held_assignments(connection, hit, MOST_ASKED)
        asked = [assignment, *(each for each in held if each != assignment)]
        with waiting():
            returned = returned_of(_endpoint(hit).api_url, hit.secret, external_hit, asked)
        if assignment in returned:  # the address was kept
            return None
        found = given(hit, visit._replace(returned=returned))
    elif found.opened.outcome is Outcome.BEYOND:
        in_hand = context().in_hand(hit.endpoint, hit.study_name, hit.external_id or "")
        if in_hand:
            found = given(hit, visit._replace(in_hand=in_hand))
    return found


def _refusal(hit: FoundHit, found: Opened, leave: str) -> Response | None:
    """The page for a worker who gets no form, with the way to return the HIT at `leave`; else None."""
    outcome = found.outcome
    if outcome is Outcome.UNKNOWN:
        return _unknown()
    if outcome is Outcome.LIMIT:
        return messages.limit(hit.settings.design.rows_per_annotator, leave)
    if outcome is Outcome.KEPT_OUT:
        return messages.kept_out(leave)
    if outcome is Outcome.COMPENSATED:
        return messages.compensated(leave)
    if outcome is Outcome.IN_HAND:
        token = context().signer.dumps([hit.key, request.query_string.decode()], salt=MOVE)
        action = f"{messages.root()}form/{hit.key}/here"
        theirs, address = work_with(found.assignment_id).external_id, _endpoint(hit).return_url
        # Where no address is signed, the id of an assignment is all that keeps strangers out.
        told = hit.secret or "{assignment}" not in address
        held = address.format(assignment=theirs).partition("#")[0] if told else ""
        return messages.page("in_hand.html", held=held, leave=leave, action=action, token=token)
    if outcome in (Outcome.FULL, Outcome.BEYOND):
        return messages.full(leave)
    return None


def _frames(endpoint: Endpoint) -> None:
    allow_frames(endpoint.worker_sites, [endpoint.submit_origin, *endpoint.worker_sites])


def _submit_origin(endpoint: Endpoint, asked: str) -> str:
    """Where the answers go: the origin that the platform asks for if it is its own, else its usual one."""
    asked = asked.rstrip("/")
    return asked if asked in (endpoint.submit_origin, *endpoint.worker_sites) else endpoint.submit_origin


def _token(assignment_id: int, worker: str, origin: str) -> str:
    return context().tokens.made_for_hit(assignment_id, worker, origin)


def _delivery(hit_key: str, token: str) -> Delivery:
    return Delivery(
        action=f"{messages.root()}form/{hit_key}",
        token=token,
        channel=g.channel,
        root=messages.root(),
        may_decline=True,
    )


def _hand_over(work: Work, origin: str) -> Response:
    fields = {"assignmentId": work.external_id, **(work.answered or {})}
    html = render_handover(
        work.hit.settings, f"{origin}/mturk/externalSubmit", fields, messages.root(), g.channel
    )
    return Response(html, mimetype="text/html")
