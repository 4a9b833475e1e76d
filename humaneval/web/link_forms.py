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

from flask import Blueprint, Response, current_app, g, redirect, request
from itsdangerous import BadSignature
from werkzeug.datastructures import MultiDict

from humaneval.crowd.claims import GRACE, Opened, Outcome, Visit, has_begun
from humaneval.crowd.form_of_row import channel_of, form_shown, shown_settings
from humaneval.crowd.form_page import Delivery
from humaneval.crowd.found_hit import FoundHit
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.words import Channel, words_of
from humaneval.web.forms import (
    by_program,
    context,
    form_page,
    hit_with,
    kept,
    known_fields,
    only_looking,
    opened,
    reopened,
    with_gaps,
    work_with,
)
from humaneval.web.ids import is_id, read_ids
from humaneval.web.messages import message, page, root
from humaneval.web.security import allow_frames

blueprint = Blueprint("links", __name__)

TICKET = re.compile(r"[0-9a-f]{32}")


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
        return _no_panel_id(hit.settings)
    begun = hit.audience != "open" and has_begun(context().engine, key, visitor.worker)
    if _expired(hit) and not begun:
        return _closed()
    return page(
        "take.html",
        simulated=hit.simulated,
        tests=("pilot",) * hit.is_test,
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
        return _no_panel_id(hit.settings)
    address, forms = request.remote_addr or "", context().unanswered
    counted = hit.audience != "personal" and not (hit.simulated and by_program())
    if counted and forms.is_crowded(address) and not has_begun(context().engine, key, visitor.worker):
        current_app.logger.warning(
            "%s forms are open at one address. If a proxy stands before this server, set trusted_proxies;"
            " otherwise open_forms_per_address may be raised.",
            forms.most,
        )
        return message("crowded_heading", "crowded_link", status=429, forms=forms.most)
    visit = Visit(visitor.assignment, visitor.worker, now(), program=by_program())
    found = opened(hit, visit)
    if counted and found.outcome is Outcome.FULL:
        giving_way = forms.that_give_way(address)
        found = opened(hit, visit._replace(giving_way=giving_way)) if giving_way else found
    if counted and found.outcome is Outcome.FORM:
        terms = hit.settings.hit
        seconds, expected = 60 * terms.assignment_minutes + GRACE.seconds, 60 * terms.expected_minutes
        forms.begun(address, found.assignment_id, seconds=seconds, expected=expected)
    refusal = _refusal(hit, found)
    if refusal is not None:
        return refusal
    return _see(f"{root()}take/{key}/{_token(key, found.assignment_id)}")


@blueprint.get("/take/<key>/<token>")
def show(key: str, token: str) -> Response:
    """The person's form, or thanks if it is answered."""
    hit = _find(key)
    assignment_id = _read_token(key, token)
    if hit is None or assignment_id is None:
        return _unknown()
    if only_looking():
        return Response(status=204)
    found = reopened(hit, assignment_id)
    refusal = _refusal(hit, found)
    if refusal is not None:
        return refusal
    if found.outcome is Outcome.ANSWERED:
        return page("done.html")
    context().unanswered.shown(found.assignment_id)
    work = work_with(found.assignment_id)
    form = form_shown(context().engine, work.hit, work.row_id)
    return form_page(form, _delivery(key, token, channel_of(work.hit)))


@blueprint.post("/take/<key>/<token>")
def answer(key: str, token: str) -> Response:
    """Store the answers, then thank or redirect to the completion URL. Sending twice changes nothing."""
    hit = _find(key)
    assignment_id = _read_token(key, token)
    if hit is None or assignment_id is None:
        return _unknown()
    work = work_with(assignment_id)
    if work.answered is None:
        fields = known_fields(request.form, work)
        gaps = with_gaps(work, fields)
        if gaps is not None:
            return form_page(gaps, _delivery(key, token, channel_of(work.hit)), status=422)
        kept(work, fields)
        context().unanswered.answered(work.id)
    return _see(hit.settings.link.completion_url or f"{root()}take/{key}/{token}")


def _find(key: str) -> FoundHit | None:
    """The link with this key, for people who come by it."""
    hit = hit_with(key)
    if hit is None or not hit.audience or hit.external_id is None:
        return None
    g.study, g.channel = shown_settings(hit), channel_of(hit)
    _allow_completion(hit.settings)
    return hit


def _expired(hit: FoundHit) -> bool:
    return hit.expires_at is not None and hit.expires_at <= now()


def _allow_completion(study: StudyFile) -> None:
    parts = urlsplit(study.link.completion_url)
    allow_frames([], [f"{parts.scheme}://{parts.netloc}"] if parts.netloc else [])


def _given(hit: FoundHit, fields: MultiDict[str, str]) -> dict[str, str]:
    """The parameters that say whom the link stands for. The opening page passes them on to its button."""
    if hit.audience == "open":
        return read_ids(fields, ["ticket"])
    return read_ids(fields, _panel_parameters(hit.settings)) if hit.audience == "panel" else {}


def _panel_parameters(study: StudyFile) -> list[str]:
    return [name for name in (study.link.worker_parameter, study.link.session_parameter) if name]


def _visitor(hit: FoundHit, given: Mapping[str, str]) -> _Visitor | None:
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
    names = _panel_parameters(hit.settings)
    ids = [given[name] for name in names]
    if not all(is_id(id, names) for id in ids):
        return None
    return _Visitor(ids[0], "-".join([*ids[1:], _assignment(hit.key, *ids)]))


def _assignment(key: str, *ids: str) -> str:
    """An id that exports may show: it reveals neither link nor person, and no other study has it."""
    return hashlib.sha256("\n".join((key, *ids)).encode()).hexdigest()[:16]


def _refusal(hit: FoundHit, found: Opened) -> Response | None:
    if found.outcome in (Outcome.FORM, Outcome.ANSWERED):
        return None
    if found.outcome is Outcome.CLOSED:
        return _closed()
    if found.outcome is Outcome.LIMIT:
        return message("limit_heading", "limit_link", forms=hit.settings.design.rows_per_annotator)
    if found.outcome is Outcome.KEPT_OUT:
        return message("kept_out_heading", "kept_out_link")
    if found.outcome is Outcome.FULL:
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
