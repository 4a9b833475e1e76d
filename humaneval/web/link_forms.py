"""Pages for people who come by link: an opening page, a form at its own address, and thanks.

Opening a link claims nothing, so mail scanners and previews do no harm: only the button "Begin" claims a
row. From then on the person's own address leads back to the same form, on any device and without cookies.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from flask import Blueprint, Response, g, redirect, request
from itsdangerous import BadSignature
from sqlalchemy import select
from sqlalchemy.orm import joinedload
from werkzeug.datastructures import MultiDict

from humaneval.crowd.claims import Opened, Outcome, has_begun, keep_answers, open_form, reopen_form
from humaneval.crowd.form_of_row import channel_of, load_form
from humaneval.crowd.form_page import Delivery
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.stored import settings_of
from humaneval.study.words import Channel, words_of
from humaneval.web.forms import by_program, context, form_page, known_fields, only_looking, with_gaps
from humaneval.web.ids import is_id, read_ids
from humaneval.web.messages import message, page, root
from humaneval.web.security import allow_frames

blueprint = Blueprint("links", __name__)

TICKET = re.compile(r"[0-9a-f]{32}")


class _LinkHit(NamedTuple):
    key: str
    audience: str
    study: StudyFile
    simulated: bool
    pilot: bool
    expired: bool


class _Visitor(NamedTuple):
    """The ids of the person behind a link, under which the claim is stored."""

    worker: str
    assignment: str


@blueprint.get("/take/<key>")
def welcome(key: str) -> Response:
    """What the study is about, and a button to begin. Nothing is stored."""
    hit = _find(key)
    if hit is None:
        return _unknown()
    if only_looking():
        return Response(status=204)
    # Each page of an open link stands for one person: pressing its button twice claims one row.
    given = {"ticket": secrets.token_hex(16)} if hit.audience == "open" else _given(hit, request.args)
    visitor = _visitor(hit, given)
    if visitor is None:
        return _no_panel_id(hit.study)
    begun = hit.audience != "open" and has_begun(context().engine, key, visitor.worker)
    if hit.expired and not begun:
        return _closed()
    return page(
        "take.html",
        simulated=hit.simulated,
        tests=("pilot",) * hit.pilot,
        begun=begun,
        action=f"{root()}take/{key}",
        fields=given,
    )


@blueprint.post("/take/<key>")
def begin(key: str) -> Response:
    """Claim a row for this person and redirect to it: an address to come back to."""
    hit = _find(key)
    if hit is None:
        return _unknown()
    visitor = _visitor(hit, _given(hit, request.form))
    if visitor is None:
        return _no_panel_id(hit.study)
    opened = open_form(
        context().engine,
        hit_key=key,
        external_hit="",
        assignment=visitor.assignment,
        worker=visitor.worker,
        now=now(),
        program=by_program(),
    )
    refusal = _refusal(hit, opened)
    if refusal is not None:
        return refusal
    return _see(f"{root()}take/{key}/{_token(key, opened.assignment_id)}")


@blueprint.get("/take/<key>/<token>")
def show(key: str, token: str) -> Response:
    """The person's form, or thanks if it is answered."""
    hit = _find(key)
    assignment_id = _read_token(key, token)
    if hit is None or assignment_id is None:
        return _unknown()
    if only_looking():
        return Response(status=204)
    opened = reopen_form(context().engine, assignment_id, now(), program=by_program())
    refusal = _refusal(hit, opened)
    if refusal is not None:
        return refusal
    if opened.outcome is Outcome.ANSWERED:
        return page("done.html")
    place = load_form(context().engine, opened.assignment_id)
    return form_page(place.form, _delivery(key, token, place.channel))


@blueprint.post("/take/<key>/<token>")
def answer(key: str, token: str) -> Response:
    """Store the answers, then thank or redirect to the completion URL. Sending twice changes nothing."""
    hit = _find(key)
    assignment_id = _read_token(key, token)
    if hit is None or assignment_id is None:
        return _unknown()
    place = load_form(context().engine, assignment_id)
    if place.answered is None:
        fields = known_fields(request.form, place.form)
        gaps = with_gaps(place.form, fields)
        if gaps is not None:
            return form_page(gaps, _delivery(key, token, place.channel), status=422)
        keep_answers(context().engine, assignment_id, fields, now(), program=by_program())
    return _see(hit.study.link.completion_url or f"{root()}take/{key}/{token}")


def _find(key: str) -> _LinkHit | None:
    with reading(context().engine) as session:
        row = session.scalar(
            select(HitRow).where(HitRow.key == key, HitRow.audience != "").options(joinedload(HitRow.study))
        )
        if row is None or row.external_id is None:
            return None
        g.study, g.channel = settings_of(row.study).by_link, channel_of(row)
        _allow_completion(g.study)
        expired = row.expires_at is not None and row.expires_at <= now()
        return _LinkHit(row.key, row.audience, g.study, row.study.simulated, row.study.is_test, expired)


def _allow_completion(study: StudyFile) -> None:
    parts = urlsplit(study.link.completion_url)
    allow_frames([], [f"{parts.scheme}://{parts.netloc}"] if parts.netloc else [])


def _given(hit: _LinkHit, fields: MultiDict[str, str]) -> dict[str, str]:
    """The parameters that say whom the link stands for. The opening page passes them on to its button."""
    if hit.audience == "open":
        return read_ids(fields, ["ticket"])
    return read_ids(fields, _panel_parameters(hit.study)) if hit.audience == "panel" else {}


def _panel_parameters(study: StudyFile) -> list[str]:
    return [name for name in (study.link.worker_parameter, study.link.session_parameter) if name]


def _visitor(hit: _LinkHit, given: Mapping[str, str]) -> _Visitor | None:
    """The person of a personal link, the reader of an open link's page, or the ids that a panel supplies.

    None if one of those ids is missing or can be nobody's: a placeholder, or what a broken script wrote.
    """
    if hit.audience == "personal":
        return _Visitor(f"person {hit.key}", _assignment(hit.key))
    if hit.audience == "open":
        ticket = given.get("ticket", "")
        if not TICKET.fullmatch(ticket):
            ticket = secrets.token_hex(16)
        return _Visitor(f"visitor {ticket}", _assignment(hit.key, ticket))
    names = _panel_parameters(hit.study)
    ids = [given[name] for name in names]
    if not all(is_id(id, names) for id in ids):
        return None
    return _Visitor(ids[0], "-".join([*ids[1:], _assignment(hit.key, *ids)]))


def _assignment(key: str, *ids: str) -> str:
    """An id that exports may show: it reveals neither link nor person, and no other study has it."""
    return hashlib.sha256("\n".join((key, *ids)).encode()).hexdigest()[:16]


def _refusal(hit: _LinkHit, opened: Opened) -> Response | None:
    if opened.outcome in (Outcome.FORM, Outcome.ANSWERED):
        return None
    if opened.outcome is Outcome.CLOSED:
        return _closed()
    if opened.outcome is Outcome.LIMIT:
        return message("limit_heading", "limit_link", forms=hit.study.design.rows_per_annotator)
    if opened.outcome is Outcome.KEPT_OUT:
        return message("kept_out_heading", "kept_out_link")
    if opened.outcome is Outcome.FULL:
        return message("full_heading", "full_link")
    return _unknown()


def _closed() -> Response:
    return message("ended_heading", "ended_text", status=410)


def _token(key: str, assignment_id: int) -> str:
    """A token that leads back to a claim, only through this link."""
    return str(context().signer.dumps(assignment_id, salt=f"take {key}"))


def _read_token(key: str, token: str) -> int | None:
    try:
        return int(context().signer.loads(token, salt=f"take {key}"))
    except BadSignature:
        return None


def _delivery(key: str, token: str, channel: Channel) -> Delivery:
    return Delivery(action=f"{root()}take/{key}/{token}", token=token, channel=channel, root=root())


def _see(target: str) -> Response:
    response: Response = redirect(target, 303)  # type: ignore[assignment]  # typed as Werkzeug's, here always Flask's
    return response


def _no_panel_id(study: StudyFile) -> Response:
    names = words_of(study).plain("separator").join(_panel_parameters(study))
    return message("incomplete_heading", "incomplete_panel", status=400, names=names)


def _unknown() -> Response:
    return message("unknown_link_heading", "unknown_link_text", status=404)
