"""Forms for people who come from Prolific, and their way back, which begins when their answers are stored.

The ids of the address are checked with Prolific and kept here. From then on a signed address leads to the
form.
"""

from __future__ import annotations

from math import ceil

from flask import Blueprint, Response, abort, current_app, g, request

from humaneval.crowd import endpoints
from humaneval.crowd.claims import Opened, Outcome, Visit, has_begun, was_let_in
from humaneval.crowd.form_of_row import form_shown
from humaneval.crowd.form_page import Delivery
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.panels import Ended, HandBack
from humaneval.crowd.platform import PROLIFIC
from humaneval.crowd.prolific.answered import codes_of
from humaneval.crowd.prolific.completion_codes import NO_CONSENT, SCREENED_OUT, completion_url, outcome_of
from humaneval.crowd.prolific.draft import PLACEHOLDERS
from humaneval.crowd.prolific.submission import REOPENED
from humaneval.crowd.refused_consent import forget_refusal
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.store.types import now
from humaneval.study.words import channel_at
from humaneval.web.forms import (
    by_program,
    claim_of,
    context,
    count_form,
    form_page,
    hit_with,
    is_of_another_form,
    kept,
    known_fields,
    only_looking,
    opened,
    reopened,
    see_other,
    token_of,
    unknown,
    work_if_theirs,
    work_of,
    work_with,
)
from humaneval.web.ids import is_id, read_ids
from humaneval.web.messages import message, outdated, root
from humaneval.web.missing_answers import with_gaps
from humaneval.web.prolific_check import RETRY_SECONDS, TOO_MANY
from humaneval.web.security import allow_frames

blueprint = Blueprint("prolific", __name__)

PARTICIPANT, STUDY, SESSION = PLACEHOLDERS
CHANNEL = channel_at(PROLIFIC)
"""The words for people whom a panel has sent."""


@blueprint.get("/prolific/<key>")
def begin(key: str) -> Response:
    """Give this submission its row, and redirect to an address without ids. Repeating it changes nothing."""
    hit = _find(key)
    if hit is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    if only_looking():
        return Response(status=204)
    ids = read_ids(request.args, [PARTICIPANT, SESSION, STUDY])
    names = [PARTICIPANT, SESSION, STUDY]
    if not all(is_id(ids[name], names) for name in (PARTICIPANT, SESSION)):
        return message(
            "incomplete_heading", "incomplete_panel", status=400, names=f"{PARTICIPANT}, {SESSION}"
        )
    visit = Visit(ids[SESSION], ids[PARTICIPANT], now(), program=by_program(hit))
    forms, checker, address = context().open_forms, context().checker, request.remote_addr or ""
    crowded = (
        not visit.program and forms.is_crowded(address) and not has_begun(context().engine, key, visit.worker)
    )
    # Nobody waits for a silent Prolific only to be refused.
    confirmed = False if crowded and checker and checker.is_silent else _confirmed(hit, visit)
    if isinstance(confirmed, Response):
        return confirmed
    counted = not confirmed and not visit.program
    if crowded and not confirmed:
        return message("crowded_heading", "crowded_link", status=429, forms=forms.most)
    found = opened(hit, visit._replace(confirmed=confirmed))
    if counted and found.outcome is Outcome.FORM:
        count_form(hit, found.assignment_id)
    if found.outcome is Outcome.FULL and checker is not None:
        listed = checker.listed(hit.endpoint, hit.study_name, hit.external_id or "", address)
        if listed is not None and (listed.given_up or confirmed):
            there = listed.submissions if confirmed else None
            ours = visit._replace(confirmed=confirmed, returned=listed.given_up, submissions=there)
            found = opened(hit, ours)
    refusal = _refusal(hit, found)
    if refusal is not None:
        return refusal
    token = token_of(f"prolific {key}", found.assignment_id, visit.worker)
    return see_other(f"{root()}prolific/{key}/{token}")


def _confirmed(hit: FoundHit, visit: Visit) -> bool | Response:
    """Whether Prolific says that the visitor is who the address says; a page if it says otherwise.

    False if it says nothing now: then the place is given all the same, as long as there is one.
    """
    checker = context().checker
    if checker is None:
        return False
    try:
        address = request.remote_addr or ""
        there = checker.session(hit.endpoint, hit.study_name, visit.assignment, address)
    except HumanEvalError as error:
        if isinstance(error, PlatformError) and error.code == TOO_MANY:
            if was_let_in(context().engine, hit.key, visit.worker, visit.assignment):
                return False
            # A flood of invented ids would bring this about: it must not look like silence.
            page = message("busy_heading", "busy_text", status=503)
            page.headers["Retry-After"] = str(ceil(error.retry_after or RETRY_SECONDS))
            return page
        told = error.message
        for own in (visit.assignment, visit.worker):  # Prolific's words may name them
            told = told.replace(own, "…")
        current_app.logger.warning("Prolific was asked about a submission: %s", told)
        return False
    if there is None or there.participant != visit.worker:
        return _stranger()
    if hit.external_id is not None and there.study not in ("", hit.external_id):
        return _stranger()
    if there.status in REOPENED:
        return message("place_gone_heading", "place_gone_text", status=410)
    return True


@blueprint.get("/prolific/<key>/<token>")
def show(key: str, token: str) -> Response:
    """The person's form, or the way back to Prolific if it is answered."""
    hit, signed = _find(key), claim_of(f"prolific {key}", token)
    if hit is None or signed is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    if only_looking():
        return Response(status=204)
    found = reopened(hit, signed)
    if found.outcome is Outcome.UNKNOWN:
        abort(404)
    refusal = _refusal(hit, found)
    if refusal is not None:
        return refusal
    work = work_with(found.assignment_id)
    if found.outcome is Outcome.ANSWERED:
        return _back(hit, outcome_of(context().engine, work))
    context().open_forms.shown(work.id)
    form = form_shown(context().engine, work.hit, work.row_id)
    return form_page(form, _delivery(key, token))


@blueprint.post("/prolific/<key>/<token>")
def answer(key: str, token: str) -> Response:
    """Store the answers, and only then lead back to Prolific. Sending twice changes nothing."""
    hit, signed = _find(key), claim_of(f"prolific {key}", token)
    if hit is None or signed is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    work = work_of(signed)
    if work.answered is None:
        if is_of_another_form(work):
            return outdated()
        fields = known_fields(request.form, work)
        gaps = with_gaps(work, fields)
        if gaps is not None:
            return form_page(gaps, _delivery(key, token), status=422)
        kept(work, fields)
        context().open_forms.answered(work.id)
        context().answered(hit.endpoint, hit.study_name)
        work = work_of(signed)
    return _back(hit, outcome_of(context().engine, work))


@blueprint.post("/prolific/<key>/<token>/decline")
def decline(key: str, token: str) -> Response:
    """The person does not want to take part: their row is free, Prolific asks for the place back, and nothing
    is kept about them. Repeating it changes nothing."""
    hit, signed = _find(key), claim_of(f"prolific {key}", token)
    if hit is None or signed is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    work = work_if_theirs(signed)
    if work is not None and work.answered is not None:
        return _back(hit, outcome_of(context().engine, work))
    if work is not None:
        context().writer.write(hit.study_id, lambda connection: forget_refusal(connection, signed.claim))
    return _back(hit, NO_CONSENT)


def _find(key: str) -> FoundHit | None:
    """The Prolific study with this key."""
    hit = hit_with(key)
    if hit is None or hit.endpoint != PROLIFIC:
        return None
    g.study, g.channel = hit.settings, CHANNEL
    allow_frames([], [_site()])
    return hit


def _site() -> str:
    return endpoints.known(PROLIFIC, context().settings).submit_origin


def _back(hit: FoundHit, outcome: str) -> Response:
    return see_other(_completion(hit, outcome))


def _completion(hit: FoundHit, outcome: str) -> str:
    """Where a person hands a submission over; empty if the study was made without a code for this."""
    code = codes_of(context().engine, hit.endpoint, hit.id).get(outcome, "")
    return completion_url(_site(), code) if code else ""


def _refusal(hit: FoundHit, found: Opened) -> Response | None:
    if found.outcome in (Outcome.FORM, Outcome.ANSWERED):
        return None
    back = HandBack(Ended.SCREENED_OUT, address=_completion(hit, SCREENED_OUT))
    if found.outcome is Outcome.LIMIT:
        forms = hit.settings.design.rows_per_annotator
        return message("limit_heading", "limit_link", "give_place_back", forms=forms, back=back)
    if found.outcome is Outcome.KEPT_OUT:
        return message("kept_out_heading", "kept_out_link", "give_place_back", back=back)
    if found.outcome in (Outcome.FULL, Outcome.BEYOND):
        return message("full_heading", "full_link", "give_place_back")
    return unknown("unknown_link_heading", "unknown_link_text")


def _stranger() -> Response:
    return message("unsigned_heading", "open_from_panel", status=403)


def _delivery(key: str, token: str) -> Delivery:
    action = f"{root()}prolific/{key}/{token}"
    return Delivery(action=action, token=token, channel=CHANNEL, root=root(), may_decline=True)
