"""Forms of HITs: a form opened from the marketplace, its answers, and their hand-over to the marketplace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from flask import Blueprint, Response, current_app, g, request
from itsdangerous import BadSignature
from sqlalchemy import select
from sqlalchemy.orm import joinedload
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException

from humaneval.crowd import endpoints
from humaneval.crowd.claims import Opened, Outcome, keep_answers, open_form
from humaneval.crowd.form_of_row import Place, load_form, tests_of
from humaneval.crowd.form_page import Delivery
from humaneval.crowd.platform import Endpoint
from humaneval.crowd.signatures import SIGNATURE, is_signed
from humaneval.errors import StoreError
from humaneval.resources import bundled
from humaneval.store.engine import reading
from humaneval.store.heartbeat import beat
from humaneval.store.tables import HitRow
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.stored import settings_of
from humaneval.web import messages
from humaneval.web.forms import by_program, context, form_page, known_fields, only_looking, with_gaps
from humaneval.web.ids import is_id, read_ids
from humaneval.web.security import allow_frames

blueprint = Blueprint("hit_forms", __name__)

PARAMETERS = ("assignmentId", "workerId", "hitId", "turkSubmitTo", SIGNATURE)
"""What a marketplace adds to the address of a form."""
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
ASSETS = {"form.css": "text/css", "form.js": "text/javascript", "handover.js": "text/javascript"}
MAX_ID = 64
MOVE = "move"
"""The salt of tokens that move a form, which are no good for sending one."""


class _Hit(NamedTuple):
    key: str
    endpoint: Endpoint
    name: str
    study: StudyFile
    simulated: bool
    tests: tuple[str, ...]
    secret: str
    external_id: str


@blueprint.before_request
def before_the_hit_is_known() -> None:
    """Allow every marketplace to frame an error: in a frame that is refused, the worker would see nothing."""
    if request.endpoint in {f"{blueprint.name}.{view}" for view in ("show", "answer", "move", "sent")}:
        sites = [endpoints.known(name, context().settings).worker_sites for name in endpoints.NAMES]
        allow_frames([site for each in sites for site in each], [])


@blueprint.get("/")
def index() -> Response:
    return messages.message("server_heading", "server_text")


@blueprint.get("/health")
def health() -> Response:
    """For monitoring: 200 while answers can be stored. It writes what is there already over itself."""
    try:
        beat(context().engine)
    except StoreError as error:
        current_app.logger.error("health: %s", error.message)
        return Response("the database cannot be written\n", status=503, mimetype="text/plain")
    return Response("ok\n", mimetype="text/plain")


@blueprint.get("/assets/<name>")
def asset(name: str) -> Response:
    if name not in ASSETS:
        return messages.message("not_found_heading", "no_file", status=404)
    content = (bundled("hit_templates") / name).read_bytes()
    return Response(content, mimetype=ASSETS[name], headers={"Cache-Control": "public, max-age=300"})


@blueprint.get("/form/<hit_key>")
def show(hit_key: str) -> Response:
    """The preview, or the row of this assignment. The first accepted GET claims it, and nothing else does."""
    hit = _find(hit_key)
    if hit is None:
        return messages.unknown()
    _frames(hit.endpoint)
    ids = read_ids(request.args, PARAMETERS)
    assignment, worker = ids["assignmentId"], ids["workerId"]
    if only_looking():
        return Response(status=204)
    if assignment in ("", NOT_ACCEPTED):
        return messages.page("preview.html", simulated=hit.simulated, tests=hit.tests)
    if max(len(assignment), len(worker)) > MAX_ID or not all(
        is_id(id, PARAMETERS) for id in (assignment, worker)
    ):
        return messages.incomplete()
    opened = _opened(hit, ids)
    if opened is None:
        return messages.unsigned()
    engine = context().engine
    refusal = _refusal(hit, opened.outcome, hit.endpoint.return_url.format(assignment=assignment))
    if refusal is not None:
        return refusal
    place = load_form(engine, opened.assignment_id)
    origin = _submit_origin(hit.endpoint, ids["turkSubmitTo"])
    if opened.outcome is Outcome.ANSWERED:
        return _hand_over(place.external_id, place.answered or {}, origin)
    return form_page(place.form, _delivery(place, origin))


@blueprint.post("/form/<hit_key>/here")
def move(hit_key: str) -> Response:
    """The worker has returned the HIT with their form: the form moves here. Repeating it changes nothing."""
    hit = _find(hit_key)
    if hit is None:
        return messages.unknown()
    _frames(hit.endpoint)
    try:
        signed_for, query = context().signer.loads(request.form.get("token", ""), salt=MOVE)
    except BadSignature:
        return messages.invalid()
    if signed_for != hit_key:
        return messages.invalid()
    if _opened(hit, read_ids(MultiDict(parse_qsl(query)), PARAMETERS), move=True) is None:
        return messages.unsigned()
    return Response(status=303, headers={"Location": f"{messages.root()}form/{hit_key}?{query}"})


@blueprint.post("/form/<hit_key>")
def answer(hit_key: str) -> Response:
    """Store the answers, then hand them over. Posting twice changes nothing and shows the same page."""
    hit = _find(hit_key)
    if hit is None:
        return messages.unknown()
    _frames(hit.endpoint)
    engine = context().engine
    try:
        assignment_id, origin = context().signer.loads(request.form.get("token", ""))
    except BadSignature:
        return messages.invalid()
    place = load_form(engine, assignment_id)
    if place.hit_key != hit_key:
        return messages.message("other_hit_heading", "open_hit", status=400)
    if place.answered is not None:
        return _sent(hit_key)
    fields = known_fields(request.form, place.form)
    gaps = with_gaps(place.form, fields)
    if gaps is not None:
        return form_page(gaps, _delivery(place, origin), status=422)
    keep_answers(engine, assignment_id, fields, now(), program=by_program())
    context().answered(hit.endpoint.name, hit.name)
    return _sent(hit_key)


def _sent(hit_key: str) -> Response:
    """Redirect to a page that can be reloaded: browsers ask before they show a posted page again."""
    location = f"{messages.root()}form/{hit_key}/sent?{urlencode({'token': request.form['token']})}"
    return Response(status=303, headers={"Location": location})


@blueprint.get("/form/<hit_key>/sent")
def sent(hit_key: str) -> Response:
    """Hand the stored answers over to the marketplace, as often as necessary."""
    hit = _find(hit_key)
    if hit is None:
        return messages.unknown()
    _frames(hit.endpoint)
    try:
        assignment_id, origin = context().signer.loads(request.args.get("token", ""))
    except BadSignature:
        return messages.invalid()
    place = load_form(context().engine, assignment_id)
    if place.hit_key != hit_key or place.answered is None:
        return messages.invalid()
    if place.passed_on:
        return messages.passed_on()
    return _hand_over(place.external_id, place.answered, origin)


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


@blueprint.app_errorhandler(HTTPException)
def http_error(error: HTTPException) -> Response:
    heading = {404: "not_found_heading", 413: "too_long_heading"}.get(error.code or 500, "wrong_heading")
    again = "open_link" if request.path.startswith("/take/") else "open_hit"
    return messages.message(heading, again, status=error.code or 500)


def _find(hit_key: str) -> _Hit | None:
    with reading(context().engine) as session:
        row = session.scalar(
            select(HitRow)
            .where(HitRow.key == hit_key, HitRow.audience == "")
            .options(joinedload(HitRow.study))
        )
        if row is None:
            return None
        g.study = settings_of(row.study)
        endpoint = endpoints.known(row.endpoint, context().settings)
        return _Hit(
            row.key,
            endpoint,
            row.study.name,
            g.study,
            row.study.simulated,
            tests_of(row.study, row.endpoint),
            row.secret,
            row.external_id or "",
        )


def _opened(hit: _Hit, ids: Mapping[str, str], *, move: bool = False) -> Opened | None:
    """What opening the form of these ids leads to; None without the signature that this HIT needs."""
    assignment, worker, external_hit = ids["assignmentId"], ids["workerId"], ids["hitId"]
    confirmed = is_signed(hit.secret, assignment, worker, external_hit, ids[SIGNATURE])
    if hit.secret and not confirmed:
        return None
    in_hand = 0
    while True:
        opened = open_form(
            context().engine,
            hit_key=hit.key,
            external_hit=external_hit,
            assignment=assignment,
            worker=worker,
            now=now(),
            move=move,
            program=by_program(),
            confirmed=confirmed,
            in_hand=in_hand,
        )
        if opened.outcome is not Outcome.BEYOND or in_hand:
            return opened
        in_hand = context().in_hand(hit.endpoint.name, hit.name, hit.external_id)
        if not in_hand:
            return opened


def _refusal(hit: _Hit, outcome: Outcome, leave: str) -> Response | None:
    """The page for a worker who gets no form, with the way to return the HIT at `leave`; else None."""
    if outcome is Outcome.UNKNOWN:
        return messages.unknown()
    if outcome is Outcome.LIMIT:
        return messages.limit(hit.study.design.rows_per_annotator, leave)
    if outcome is Outcome.KEPT_OUT:
        return messages.kept_out(leave)
    if outcome is Outcome.COMPENSATED:
        return messages.compensated(leave)
    if outcome is Outcome.IN_HAND:
        token = context().signer.dumps([hit.key, request.query_string.decode()], salt=MOVE)
        action = f"{messages.root()}form/{hit.key}/here"
        return messages.page("in_hand.html", leave=leave, action=action, token=token)
    if outcome in (Outcome.FULL, Outcome.BEYOND):
        return messages.full(leave)
    return None


def _frames(endpoint: Endpoint) -> None:
    allow_frames(endpoint.worker_sites, [endpoint.submit_origin, *endpoint.worker_sites])


def _submit_origin(endpoint: Endpoint, asked: str) -> str:
    """Where the answers go: the origin that the platform asks for if it is its own, else its usual one."""
    asked = asked.rstrip("/")
    return asked if asked in (endpoint.submit_origin, *endpoint.worker_sites) else endpoint.submit_origin


def _delivery(place: Place, origin: str) -> Delivery:
    token = context().signer.dumps([place.assignment_id, origin])
    return Delivery(
        action=f"{messages.root()}form/{place.hit_key}",
        token=token if isinstance(token, str) else token.decode(),
        root=messages.root(),
    )


def _hand_over(external_id: str, fields: Mapping[str, str], origin: str) -> Response:
    return messages.page(
        "handover.html",
        action=f"{origin}/mturk/externalSubmit",
        fields={"assignmentId": external_id, **fields},
    )
