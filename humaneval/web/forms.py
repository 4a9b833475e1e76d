"""What forms of HITs and forms by link share: their context, known fields, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from flask import Response, current_app, request
from itsdangerous import URLSafeSerializer
from sqlalchemy import Engine

from humaneval.crowd.answers import COMMENT, CONSENT, FORM, choice_field, read_answers, seconds_field
from humaneval.crowd.form_page import Delivery, Form, render_form
from humaneval.domain import PROGRAM
from humaneval.settings import Settings
from humaneval.text import refused_characters


class Context(NamedTuple):
    """What the pages of an application need."""

    settings: Settings
    engine: Engine
    signer: URLSafeSerializer
    answered: Callable[[str, str], None] = lambda endpoint, study: None
    """Called when answers are stored, with endpoint and study."""
    in_hand: Callable[[str, str, str], int] = lambda endpoint, study, hit: 0
    """How many workers a platform says have a HIT in hand; 0 if it cannot be asked."""


def context() -> Context:
    """The context of the current application."""
    found: Context = current_app.extensions["humaneval"]
    return found


def only_looking() -> bool:
    """Whether no person reads this response: a scanner's HEAD request, or a browser fetching ahead."""
    purpose = request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
    return request.method == "HEAD" or "prefetch" in purpose


def by_program() -> bool:
    """Whether this request is a simulated annotator's."""
    return request.headers.get("User-Agent", "").startswith(PROGRAM)


def form_page(form: Form, delivery: Delivery, status: int = 200) -> Response:
    """A form to fill in."""
    return Response(render_form(form, delivery), status=status, mimetype="text/html")


def known_fields(posted: Mapping[str, str], form: Form) -> dict[str, str]:
    """The posted fields that belong to `form`, without characters that XML or PostgreSQL cannot carry.

    The hash of the form comes from us, never from the browser.
    """
    numbers = range(1, len(form.passages) + 1)
    names = [CONSENT, COMMENT, *map(choice_field, numbers), *map(seconds_field, numbers)]
    clean = {
        name: "".join(c for c in posted[name] if not refused_characters(c))[:2000]
        for name in names
        if name in posted
    }
    return {FORM: form.form_hash, **{name: value for name, value in clean.items() if value}}


def with_gaps(form: Form, fields: Mapping[str, str]) -> Form | None:
    """`form` with the given answers and marks on what is missing; None if nothing is missing."""
    answers = read_answers(fields)
    missing = answers.missing(len(form.passages))
    if not missing and answers.consent:
        return None
    chosen = {choice.place: choice.choice for choice in answers.choices}
    passages = tuple(
        replace(shown, choice=chosen.get(shown.place), seconds=fields.get(seconds_field(shown.place), ""))
        for shown in form.passages
    )
    return replace(
        form,
        passages=passages,
        missing=tuple(missing),
        consent_missing=not answers.consent,
        consent_given=bool(answers.consent),
        comment=answers.comment,
    )
