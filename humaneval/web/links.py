"""Pages for people who come by link: an opening page, their form under an address of its own, and thanks.

Looking at a link claims nothing, so that mail scanners and previews may: the row is claimed by the button "Begin".
From then on the person's own address leads back to the same form, on any device, without cookies.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from flask import Blueprint, Response, g, redirect, request
from itsdangerous import BadSignature
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from humaneval.crowd.claims import Opened, Outcome, keep_answers, load_form, open_form
from humaneval.crowd.questions import EXAMPLE, Delivery
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow
from humaneval.store.types import now
from humaneval.studies import settings_of
from humaneval.study_file import StudyFile
from humaneval.text import refused_characters
from humaneval.web.forms import context, form_page, known_fields, with_gaps
from humaneval.web.pages import message, page, root
from humaneval.web.security import allow_frames

blueprint = Blueprint("links", __name__)

LONGEST_ID = 128


class _LinkHit(NamedTuple):
    key: str
    audience: str
    study: StudyFile
    simulated: bool
    pilot: bool
    expired: bool


class _Visitor(NamedTuple):
    """Whom a link stands for: the ids that the claim is kept under."""

    worker: str
    assignment: str


@blueprint.get("/take/<key>")
def welcome(key: str) -> Response:
    """What the study is, and a button to begin. Nothing is stored."""
    hit = _find(key)
    if hit is None:
        return _unknown()
    if request.method == "HEAD":
        return Response(status=204)
    fields = {}
    if hit.audience == "panel":
        visitor = _from_panel(hit.study, request.args)
        if visitor is None:
            return _no_panel_id(hit.study)
        fields = {name: request.args[name] for name in _panel_parameters(hit.study) if name in request.args}
    if hit.expired:
        return message(
            "This study is over", "Thank you for your interest. No more answers are taken.", status=410
        )
    test = "This is a pilot." if hit.pilot else ""
    return page(
        "take.html",
        example=EXAMPLE,
        simulated=hit.simulated,
        test=test,
        action=f"{root()}take/{key}",
        fields=fields,
    )


@blueprint.post("/take/<key>")
def begin(key: str) -> Response:
    """Claim a row for this person and lead to it: an address to come back to."""
    hit = _find(key)
    if hit is None:
        return _unknown()
    visitor = _visitor(hit)
    if visitor is None:
        return _no_panel_id(hit.study)
    opened = _open(hit, visitor)
    refusal = _refusal(hit, opened)
    if refusal is not None:
        return refusal
    token = str(context().signer.dumps([opened.assignment_id, *visitor], salt="take"))
    return _see(f"{root()}take/{key}/{token}")


@blueprint.get("/take/<key>/<token>")
def show(key: str, token: str) -> Response:
    """The person's form, or thanks where it is answered."""
    hit = _find(key)
    visitor = _read_token(token)
    if hit is None or visitor is None:
        return _unknown()
    if request.method == "HEAD":
        return Response(status=204)
    opened = _open(hit, visitor)
    refusal = _refusal(hit, opened)
    if refusal is not None:
        return refusal
    if opened.outcome is Outcome.ANSWERED:
        return page("done.html")
    return form_page(load_form(context().engine, opened.assignment_id).form, _delivery(key, token))


@blueprint.post("/take/<key>/<token>")
def answer(key: str, token: str) -> Response:
    """Keep the answers; then thanks, or on to where the study sends people. Sending twice changes nothing."""
    hit = _find(key)
    visitor = _read_token(token)
    if hit is None or visitor is None:
        return _unknown()
    _allow_completion(hit.study)
    assignment_id = int(context().signer.loads(token, salt="take")[0])
    place = load_form(context().engine, assignment_id)
    if place.hit_key != key:
        return _unknown()
    if place.answered is None:
        fields = known_fields(request.form, len(place.form.passages))
        gaps = with_gaps(place.form, fields)
        if gaps is not None:
            return form_page(gaps, _delivery(key, token), status=422)
        keep_answers(context().engine, assignment_id, fields, now())
    return _see(hit.study.link.completion_url or f"{root()}take/{key}/{token}")


def _find(key: str) -> _LinkHit | None:
    with reading(context().engine) as session:
        row = session.scalar(
            select(HitRow).where(HitRow.key == key, HitRow.audience != "").options(joinedload(HitRow.study))
        )
        if row is None or row.external_id is None:
            return None
        g.study = settings_of(row.study)
        _allow_completion(g.study)
        expired = row.expires_at is not None and row.expires_at <= now()
        return _LinkHit(row.key, row.audience, g.study, row.study.simulated, row.study.is_test, expired)


def _allow_completion(study: StudyFile) -> None:
    parts = urlsplit(study.link.completion_url)
    allow_frames([], [f"{parts.scheme}://{parts.netloc}"] if parts.netloc else [])


def _visitor(hit: _LinkHit) -> _Visitor | None:
    """Personal links stand for their person; an open one makes up an id; a panel brings its own."""
    if hit.audience == "personal":
        return _Visitor(hit.key, hit.key)
    if hit.audience == "open":
        made_up = secrets.token_urlsafe(12)
        return _Visitor(made_up, made_up)
    return _from_panel(hit.study, request.form)


def _panel_parameters(study: StudyFile) -> list[str]:
    return [name for name in (study.link.worker_parameter, study.link.session_parameter) if name]


def _from_panel(study: StudyFile, given: Mapping[str, str]) -> _Visitor | None:
    """The panel's ids; None where one is missing, too long, or still the placeholder that the panel should have filled."""
    ids = [given.get(name, "").strip() for name in _panel_parameters(study)]
    if any(not id or len(id) > LONGEST_ID or "{" in id or "%" in id or refused_characters(id) for id in ids):
        return None
    return _Visitor(ids[0], "/".join(ids))


def _open(hit: _LinkHit, visitor: _Visitor) -> Opened:
    return open_form(
        context().engine,
        hit_key=hit.key,
        external_hit="",
        assignment=visitor.assignment,
        worker=visitor.worker,
        now=now(),
    )


def _refusal(hit: _LinkHit, opened: Opened) -> Response | None:
    if opened.outcome in (Outcome.FORM, Outcome.ANSWERED):
        return None
    if opened.outcome is Outcome.LIMIT:
        return message("You have already taken part", "Thank you! This study takes each person once.")
    if opened.outcome is Outcome.FULL:
        return message(
            "All forms are taken",
            "Thank you for coming. Others are working on the last ones; look again later, in case one becomes free.",
        )
    return _unknown()


def _read_token(token: str) -> _Visitor | None:
    try:
        _, worker, assignment = context().signer.loads(token, salt="take")
    except BadSignature:
        return None
    return _Visitor(worker, assignment)


def _delivery(key: str, token: str) -> Delivery:
    return Delivery(action=f"{root()}take/{key}/{token}", token="", root=root())


def _see(target: str) -> Response:
    response: Response = redirect(target, 303)  # type: ignore[assignment]  # werkzeug's own, here always Flask's
    return response


def _no_panel_id(study: StudyFile) -> Response:
    names = " and ".join(_panel_parameters(study))
    return message(
        "This address is incomplete",
        f"It should carry {names}. Please open the study from your panel's own page.",
        status=400,
    )


def _unknown() -> Response:
    return message("There is no such link", "Check that the whole address was copied.", status=404)
