"""Pages for people who come by link: an opening page, a form at its own address, and thanks.

Opening a link claims nothing, so mail scanners and previews do no harm: only the button "Begin" claims a
row. From then on the person's own address leads back to the same form, on any device and without cookies.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from flask import Blueprint, Response, abort, current_app, g, request
from werkzeug.datastructures import MultiDict

from humaneval.crowd.claims import Opened, Outcome, Visit, answered_by, has_begun
from humaneval.crowd.form_of_row import channel_of, form_shown, shown_settings
from humaneval.crowd.form_page import Delivery
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.panels import (
    Ended,
    HandBack,
    Person,
    assignment_id,
    ending_of,
    handed_back,
    known_as,
    person_of,
    require_secret,
)
from humaneval.errors import SettingsError
from humaneval.patterns import Patterns
from humaneval.store.engine import connected
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.panels import SENT_AWAY, is_address, names_a_person, needed_parameters
from humaneval.study.words import Channel, words_of
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
    work_of,
    work_with,
)
from humaneval.web.ids import is_id, read_ids
from humaneval.web.messages import message, outdated, page, root
from humaneval.web.missing_answers import with_gaps
from humaneval.web.security import allow_frames

blueprint = Blueprint("links", __name__)

TICKET = re.compile(r"[0-9a-f]{32}")
UNFILLED = re.compile(r"[{}\[\]<>$%]")
"""What only a placeholder has that the panel did not fill in, and no id."""


class _Visitor(NamedTuple):
    """The ids of the person behind a link, under which the claim is stored, and what their panel sent."""

    worker: str
    assignment: str
    person: Person


@blueprint.get("/take/<key>")
def welcome(key: str) -> Response:
    """What the study is about, and a button to begin. Nothing is stored."""
    hit = _find(key)
    if hit is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    if only_looking():
        return Response(status=204)
    # Each page of an open link stands for one person: pressing its button twice claims one row.
    given = {"ticket": secrets.token_hex(16)} if hit.audience == "open" else _given(hit, request.args)
    visitor = _visitor(hit, given)
    if visitor is None:
        return _no_panel_id(hit.settings, given)
    sent = answered_by(context().engine, key, visitor.worker, visitor.assignment)
    if sent is not None:  # who goes back reads the thanks again
        return see_other(f"{root()}take/{key}/{token_of(f'take {key}', sent, visitor.worker)}")
    begun = hit.audience != "open" and has_begun(context().engine, key, visitor.worker)
    if _expired(hit) and not begun:
        return _sent_away(Ended.QUOTA_FULL, hit, visitor, "ended_heading", "ended_text", status=410)
    return page(
        "take.html",
        may_decline=hit.audience == "panel" and not begun and bool(hit.settings.link.no_consent),
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
        return unknown("unknown_link_heading", "unknown_link_text")
    given = _given(hit, request.form)
    visitor = _visitor(hit, given)
    if visitor is None:
        return _no_panel_id(hit.settings, given)
    if request.form.get("decline") and hit.audience == "panel":
        return _sent_away(Ended.NO_CONSENT, hit, visitor, "declined_heading", "declined_text")
    address, forms = request.remote_addr or "", context().open_forms
    counted = hit.audience != "personal" and not by_program(hit)
    if counted and forms.is_crowded(address) and not has_begun(context().engine, key, visitor.worker):
        current_app.logger.warning(
            "%s forms are open at one address. If a proxy is in front of this server, set trusted_proxies;"
            " otherwise open_forms_per_address may be raised.",
            forms.most,
        )
        return message("crowded_heading", "crowded_link", status=429, forms=forms.most)
    sent = visitor.person.parameters
    visit = Visit(visitor.assignment, visitor.worker, now(), program=by_program(hit), parameters=sent)
    found = opened(hit, visit)
    if counted and found.outcome is Outcome.FULL:
        giving_way = forms.that_give_way(address)
        found = opened(hit, visit._replace(giving_way=giving_way)) if giving_way else found
    if counted and found.outcome is Outcome.FORM:
        count_form(hit, found.assignment_id)
    refusal = _refusal(hit, found, visitor)
    if refusal is not None:
        return refusal
    return see_other(f"{root()}take/{key}/{token_of(f'take {key}', found.assignment_id, visitor.worker)}")


@blueprint.get("/take/<key>/<token>")
def show(key: str, token: str) -> Response:
    """The person's form, or thanks if it is answered."""
    hit = _find(key)
    signed = claim_of(f"take {key}", token)
    if hit is None or signed is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    if only_looking():
        return Response(status=204)
    found = reopened(hit, signed)
    if found.outcome is Outcome.UNKNOWN:
        abort(404)
    refusal = _refusal(hit, found, _known_visitor(signed.claim))
    if refusal is not None:
        return refusal
    if found.outcome is Outcome.ANSWERED:
        return page("done.html", back=_back(hit, found.assignment_id))
    context().open_forms.shown(found.assignment_id)
    work = work_with(found.assignment_id)
    form = form_shown(context().engine, work.hit, work.row_id)
    return form_page(form, _delivery(key, token, channel_of(work.hit)))


@blueprint.post("/take/<key>/<token>")
def answer(key: str, token: str) -> Response:
    """Store the answers, then thank or redirect to the completion URL. Sending twice changes nothing."""
    hit = _find(key)
    signed = claim_of(f"take {key}", token)
    if hit is None or signed is None:
        return unknown("unknown_link_heading", "unknown_link_text")
    work = work_of(signed)
    if work.answered is None:
        if is_of_another_form(work):
            return outdated()
        fields = known_fields(request.form, work)
        gaps = with_gaps(work, fields)
        if gaps is not None:
            return form_page(gaps, _delivery(key, token, channel_of(work.hit)), status=422)
        kept(work, fields)
        context().open_forms.answered(work.id)
        if hit.settings.link.postback_url:
            context().answered(hit.endpoint, hit.study_name)
    return see_other(_back(hit, work.id).address or f"{root()}take/{key}/{token}")


def _back(hit: FoundHit, assignment: int) -> HandBack:
    """What a person takes back whose answers are stored: by their answers, and after the commit."""
    if hit.audience != "panel" and names_a_person(hit.settings):
        return HandBack(Ended.COMPLETE)  # no panel has sent them
    work = work_with(assignment)
    with connected(context().engine) as connection:
        ended = ending_of(connection, hit.settings, work.row_id, work.answered or {})
        person = person_of(connection, assignment)
    return handed_back(hit.settings, ended, person, context().settings.panel_secret)


def _find(key: str) -> FoundHit | None:
    """The link with this key, for people who come by it."""
    hit = hit_with(key)
    if hit is None or not hit.audience or hit.external_id is None:
        return None
    g.study, g.channel = shown_settings(hit), channel_of(hit)
    _allow_completion(hit.settings)
    try:
        if hit.audience == "panel":
            require_secret(hit.settings, context().settings.panel_secret)
    except SettingsError as error:
        current_app.logger.error("%s. %s", error.message, error.hint)
        abort(503)  # before anybody works for a code that cannot be made
    return hit


def _expired(hit: FoundHit) -> bool:
    return hit.expires_at is not None and hit.expires_at <= now()


def _allow_completion(study: StudyFile) -> None:
    link = study.link
    endings = (link.completion_url, link.failed_control, *(getattr(link, name) for name in SENT_AWAY))
    sites = [urlsplit(each) for each in endings if is_address(each)]
    allow_frames([], list(dict.fromkeys(f"{site.scheme}://{site.netloc}" for site in sites)))


def _given(hit: FoundHit, fields: MultiDict[str, str]) -> dict[str, str]:
    """The parameters that say whom the link stands for. The opening page passes them on to its button."""
    if hit.audience == "open":
        return read_ids(fields, ["ticket"])
    if hit.audience != "panel":
        return {}
    names = [*_panel_parameters(hit.settings), *hit.settings.panel.extra_parameters]
    return read_ids(fields, list(dict.fromkeys(names)))


def _panel_parameters(study: StudyFile) -> list[str]:
    return [name for name in (study.link.worker_parameter, study.link.session_parameter) if name]


def _visitor(hit: FoundHit, given: Mapping[str, str]) -> _Visitor | None:
    """The person of a personal link, the reader of an open link's page, or the ids that a panel supplies.

    None if one of those ids is missing or can be nobody's: a placeholder, or what a broken script wrote.
    """
    if hit.audience == "personal":
        worker = f"person {hit.key}"
        return _Visitor(worker, assignment_id(hit.key), Person(worker, "", {}))
    if hit.audience == "open":
        ticket = given.get("ticket", "")
        if not TICKET.fullmatch(ticket):
            ticket = secrets.token_hex(16)
        worker = f"visitor {ticket}"
        return _Visitor(worker, assignment_id(hit.key, ticket), Person(worker, "", {}))
    names = _panel_parameters(hit.settings)
    ids = [given[name] for name in names]
    pattern = "" if by_program(hit) else hit.settings.panel.id_pattern
    if not all(is_id(id, names) for id in ids):
        return None
    if pattern and Patterns().found(pattern, 0, ids[0], whole=True) is False:
        return None
    extra = [name for name in hit.settings.panel.extra_parameters if is_id(given[name], [name])]
    if not set(needed_parameters(hit.settings)) <= {*extra}:
        return None
    person = Person(ids[0], ids[1] if ids[1:] else "", {name: given[name] for name in extra})
    worker = known_as(hit.settings, hit.study_id, ids[0])
    return _Visitor(worker, "-".join([*ids[1:], assignment_id(hit.key, *ids)]), person)


def _refusal(hit: FoundHit, found: Opened, visitor: _Visitor | None = None) -> Response | None:
    if found.outcome in (Outcome.FORM, Outcome.ANSWERED):
        return None
    if found.outcome is Outcome.CLOSED:
        return _sent_away(Ended.QUOTA_FULL, hit, visitor, "ended_heading", "ended_text", status=410)
    if found.outcome is Outcome.LIMIT:
        forms = hit.settings.design.rows_per_annotator
        return _sent_away(Ended.SCREENED_OUT, hit, visitor, "limit_heading", "limit_link", forms=forms)
    if found.outcome is Outcome.KEPT_OUT:
        return _sent_away(Ended.SCREENED_OUT, hit, visitor, "kept_out_heading", "kept_out_link")
    if found.outcome is Outcome.FULL:
        return _sent_away(Ended.QUOTA_FULL, hit, visitor, "full_heading", "full_link")
    return unknown("unknown_link_heading", "unknown_link_text")


def _sent_away(
    ended: Ended, hit: FoundHit, visitor: _Visitor | None, *words: str, status: int = 200, **values: Any
) -> Response:
    """Why there is no form for this person, and what they take back to their panel."""
    back = HandBack(ended)
    if visitor is not None and hit.audience == "panel":
        back = handed_back(hit.settings, ended, visitor.person)
    return message(*words, status=status, back=back, **values)


def _delivery(key: str, token: str, channel: Channel) -> Delivery:
    return Delivery(action=f"{root()}take/{key}/{token}", token=token, channel=channel, root=root())


def _known_visitor(assignment: int) -> _Visitor:
    """The person of a claim, who comes back to it."""
    with connected(context().engine) as connection:
        person = person_of(connection, assignment)
    return _Visitor(person.worker, "", person)


def _no_panel_id(study: StudyFile, given: Mapping[str, str]) -> Response:
    wanted = list(dict.fromkeys([*_panel_parameters(study), *needed_parameters(study)]))
    names = words_of(study).plain("separator").join(wanted)
    unfilled = [given[name] for name in wanted if UNFILLED.search(given[name])]
    paragraphs = ["unfilled_panel"] * bool(unfilled) + ["incomplete_panel"]
    text = unfilled[0][:64] if unfilled else ""
    return message("incomplete_heading", *paragraphs, status=400, names=names, text=text)
