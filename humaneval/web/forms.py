"""What forms of HITs and forms by link share: their context, and the fields that belong to them."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from flask import Response, abort, current_app, redirect, request
from itsdangerous import URLSafeSerializer
from sqlalchemy import Connection, Engine
from werkzeug.datastructures import MultiDict

from humaneval.crowd.answers import (
    COMMENT,
    CONSENT,
    FORM,
    LONGEST,
    PRACTICE,
    answer_field,
    seconds_field,
    unscored_field,
)
from humaneval.crowd.claims import GRACE, Opened, Visit, reopen_in
from humaneval.crowd.claims_together import Opening, open_all
from humaneval.crowd.form_of_row import passages_of
from humaneval.crowd.form_page import Delivery, Form, render_form
from humaneval.crowd.found_hit import FoundHit, find_hits
from humaneval.crowd.store_answers import Sending, keep_all
from humaneval.crowd.stored_claim import Work, find_work, find_works
from humaneval.domain import PROGRAM
from humaneval.open_forms import OpenForms
from humaneval.settings import Settings
from humaneval.store.engine import connected
from humaneval.store.heartbeat import Pulse
from humaneval.store.identity import Identity
from humaneval.store.together import Reader, Writer
from humaneval.store.types import now
from humaneval.study.asked import asked_by
from humaneval.study.stored import program_name
from humaneval.text import without_refused
from humaneval.web.messages import message
from humaneval.web.prolific_check import Checker
from humaneval.web.security import allow_fetches
from humaneval.web.tokens import Token, Tokens


class Context(NamedTuple):
    """What the pages of an application need."""

    settings: Settings
    engine: Engine
    signer: URLSafeSerializer
    tokens: Tokens
    program_key: bytes
    identity: Identity
    pulse: Pulse
    writer: Writer
    reader: Reader
    open_forms: OpenForms[int]
    answered: Callable[[str, str], None] = lambda endpoint, study: None
    """Called when answers are stored, with endpoint and study."""
    in_hand: Callable[[str, str, str], int] = lambda endpoint, study, hit: 0
    """How many workers a platform says have a HIT in hand; 0 if it cannot be asked."""
    checker: Checker | None = None
    """Asks Prolific about people; None if it cannot be asked."""


def context() -> Context:
    """The context of the current application."""
    found: Context = current_app.extensions["humaneval"]
    return found


def unknown(heading: str, text: str) -> Response:
    """For an address that leads to no HIT or link.

    Raises StoreError if the database is another one than at the start. Whoever sends answers gets them back.
    """
    if request.method == "POST":
        context().identity.check()
    return message(heading, text, status=404)


def hit_with(key: str) -> FoundHit | None:
    """The HIT or link with this key."""
    if not (key.isascii() and key.isprintable()):  # PostgreSQL takes no NUL
        return None
    return context().reader.read_with(find_hits, key)


def work_with(assignment_id: int) -> Work:
    """The claim with this id."""
    work = context().reader.read_with(find_works, assignment_id)
    if work is None:
        abort(404)
    return work


def work_of(token: Token) -> Work:
    """The claim to which a token leads back."""
    work = context().reader.read_with(find_works, token.claim)
    if work is None or not context().tokens.leads_to(token, work):
        if request.method == "POST":  # as `unknown`
            context().identity.check()
        abort(404)
    return work


def work_if_theirs(token: Token) -> Work | None:
    """The same as it is stored now; None if it is gone."""
    with connected(context().engine) as connection:
        work = find_work(connection, token.claim)
    return work if work is not None and context().tokens.leads_to(token, work) else None


def token_of(way: str, assignment_id: int, worker: str) -> str:
    """A token that leads back to a claim of this worker, only by this `way`."""
    return context().tokens.made(way, assignment_id, worker)


def claim_of(way: str, token: str) -> Token | None:
    """What a token says; None if we have not signed it for this `way`."""
    return context().tokens.read(way, token)


def see_other(target: str) -> Response:
    """Lead on, after a POST or past the ids of an address."""
    response: Response = redirect(target, 303)  # type: ignore[assignment]  # typed as Werkzeug's, here always Flask's
    return response


class Given(NamedTuple):
    """What opening a form leads to, and the passages of the row that was given."""

    opened: Opened
    passages: Sequence[Any] = ()


def opened(hit: FoundHit, visit: Visit) -> Opened:
    """What opening a form leads to, once it is stored."""
    at = context()
    return at.writer.write_with(hit.study_id, open_all, Opening(at.engine, hit, visit))


def given(hit: FoundHit, visit: Visit) -> Given:
    """The same with what is to be shown at once."""
    at = context()
    return at.writer.write_with(hit.study_id, _all_given, Opening(at.engine, hit, visit))


def _all_given(connection: Connection, openings: Sequence[Opening]) -> list[Given]:
    found = open_all(connection, openings)
    passages = passages_of(connection, [each.row_id for each in found if each.row_id])
    return [Given(each, passages.get(each.row_id, ())) for each in found]


def count_form(hit: FoundHit, assignment_id: int) -> None:
    """Count a form that was begun at the visitor's address."""
    terms = hit.settings.hit
    seconds, expected = 60 * terms.assignment_minutes + GRACE.seconds, 60 * terms.expected_minutes
    address = request.remote_addr or ""
    context().open_forms.begun(address, assignment_id, seconds=seconds, expected=expected)


def reopened(hit: FoundHit, token: Token) -> Opened:
    """The same for a person who comes back to a form that they have claimed."""
    at, moment, program = context(), now(), by_program(hit)
    theirs = partial(at.tokens.leads_to, token)
    return at.writer.write(
        hit.study_id,
        lambda connection: reopen_in(
            connection, at.engine, token.claim, moment, program=program, theirs=theirs
        ),
    )


def kept(work: Work, fields: Mapping[str, str]) -> None:
    """Keep the answers; the first complete set stays. They are on the disk when this returns."""
    at = context()
    sending = Sending(at.engine, work, fields, now(), by_program(work.hit))
    at.writer.write_with(work.hit.study_id, keep_all, sending)


def only_looking() -> bool:
    """Whether no person reads this response: a scanner's HEAD request, or a browser fetching ahead."""
    purpose = request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
    return request.method == "HEAD" or "prefetch" in purpose


def by_program(hit: FoundHit) -> bool:
    """Whether this request is a simulated annotator's of this database."""
    said = request.headers.get("User-Agent", "")
    if not said.startswith(PROGRAM):
        return False
    return hmac.compare_digest(said.encode(), program_name(context().program_key, hit.study_id).encode())


def form_page(form: Form, delivery: Delivery, status: int = 200) -> Response:
    """A form to fill in. Before its script sends it, it asks whether anybody is here."""
    allow_fetches()
    return Response(render_form(form, delivery), status=status, mimetype="text/html")


def known_fields(posted: MultiDict[str, str], work: Work) -> dict[str, str]:
    """The posted fields that belong to the form, without characters that XML or PostgreSQL cannot carry.

    The hash of the form comes from us, never from the browser. Several values of one field are kept side by
    side, as from a platform's XML: they are no answer.
    """
    question, settings = asked_by(work.hit.settings)
    asked = [field.name for field in question.fields(settings, work.sentences)]
    names = [CONSENT, COMMENT]
    if work.hit.settings.page.practice:
        names += [unscored_field(name, PRACTICE) for name in asked]
    for place in range(1, work.passages + 1):
        names += [*(answer_field(name, place) for name in asked), seconds_field(place)]
    clean = {name: without_refused(_one(posted.getlist(name)))[:LONGEST] for name in names if name in posted}
    return {FORM: work.form_hash, **{name: value for name, value in clean.items() if value}}


def _one(values: Sequence[str]) -> str:
    return "|".join(dict.fromkeys(values))


def is_of_another_form(work: Work) -> bool:
    """Whether a page with other passages was sent: the claim has got another row since it was shown."""
    return request.form.get(FORM, work.form_hash) != work.form_hash
