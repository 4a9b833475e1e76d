"""The participant's pages: a person comes in by a name, takes a study, goes to it, and comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, redirect, render_template, request
from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import select
from werkzeug.wrappers import Response as AnyResponse

from humaneval.market.prolific_standin import taking_part
from humaneval.market.prolific_standin.api.calls import EXTENSION
from humaneval.market.prolific_standin.database import Books, Work, new_id
from humaneval.market.prolific_standin.deadlines import due_and_then
from humaneval.market.prolific_standin.faults import happening
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.studies import find_study
from humaneval.market.prolific_standin.tables import Message, Participant, Status
from humaneval.market.security import comes_from_elsewhere, protect_page

COOKIE = "prolific_participant"
MOST_NAME = 60
P = ParamSpec("P")
blueprint = Blueprint("site", __name__)


@blueprint.before_request
def refuse_other_sites() -> Response | None:
    """A form of another site's page takes part in nothing."""
    if request.method == "POST" and comes_from_elsewhere(request, ""):
        return page("problem.html", 403, message="This form is on another site's page.")
    return None


@blueprint.get("/")
def home() -> AnyResponse:
    """Where one begins."""
    return redirect("/studies", 303)


@blueprint.get("/enter")
def show_entry() -> Response:
    """The form to come in by a name."""
    return page("enter.html", problem="", target=_safe(request.args.get("next", "")))


@blueprint.post("/enter")
def enter() -> AnyResponse:
    """Come in by a name. The same name is the same participant."""
    name, target = request.form.get("name", "").strip(), _safe(request.form.get("next", ""))
    if not name or len(name) > MOST_NAME or not name.isprintable():
        problem = f"Give a name of at most {MOST_NAME} characters."
        return page("enter.html", 400, problem=problem, target=target)
    with _books().writing() as work:
        participant = taking_part.known_as(work, name)
    answer = redirect(target, 303)
    answer.set_cookie(COOKIE, _seals().dumps(participant.id), httponly=True, samesite="Lax")
    return answer


@blueprint.post("/leave")
def leave() -> AnyResponse:
    """Leave, so that somebody else can come in."""
    answer = redirect("/enter", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="Lax")
    return answer


def known(view: Callable[Concatenate[Work, Participant, P], AnyResponse]) -> Callable[P, AnyResponse]:
    """A view in one transaction for who came in by a name; others are asked for theirs first."""

    @wraps(view)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> AnyResponse:
        try:
            with due_and_then(_books()) as work:
                participant = _who(work)
                if participant is None:
                    target = request.full_path.rstrip("?") if request.method == "GET" else "/studies"
                    return redirect(f"/enter?{urlencode({'next': target})}", 303)
                return view(work, participant, *args, **kwargs)
        except Refusal as refusal:
            return page("problem.html", refusal.status, message=str(refusal.detail))

    return guarded


@blueprint.get("/studies")
@known
def studies(work: Work, participant: Participant) -> AnyResponse:
    """The studies that one may take, and what one took."""
    messages = work.session.scalars(
        select(Message).where(Message.recipient_id == participant.id).order_by(Message.number.desc())
    )
    return page(
        "studies.html",
        who=participant,
        offered=taking_part.offered(work, participant),
        taken=taking_part.own(work, participant),
        messages=list(messages),
        currency=work.workspace.currency,
    )


@blueprint.get("/studies/<study_id>")
@known
def show_study(work: Work, participant: Participant, study_id: str) -> AnyResponse:
    """One study, before it is taken."""
    study = find_study(work, study_id)
    why = taking_part.obstacle(work, study, participant)
    return page("study.html", who=participant, study=study, why=why, currency=work.workspace.currency)


@blueprint.post("/studies/<study_id>/reserve")
@known
def reserve(work: Work, participant: Participant, study_id: str) -> AnyResponse:
    """Hold a place."""
    submission = taking_part.reserve(work, find_study(work, study_id), participant)
    return redirect(f"/submissions/{submission.id}", 303)


@blueprint.get("/submissions/<submission_id>")
@known
def show_submission(work: Work, participant: Participant, submission_id: str) -> AnyResponse:
    """What one took, and what one can do with it now."""
    submission = taking_part.own_one(work, participant, submission_id)
    asked = submission.return_requested_at is not None and submission.status == Status.AWAITING_REVIEW
    return page(
        "submission.html",
        who=participant,
        submission=submission,
        study=submission.study,
        can_return=asked or submission.status in taking_part.IN_HAND,
        currency=work.workspace.currency,
        result="",
    )


@blueprint.post("/submissions/<submission_id>/start")
@known
def start(work: Work, participant: Participant, submission_id: str) -> AnyResponse:
    """Go to the study's own address."""
    submission = taking_part.own_one(work, participant, submission_id)
    return redirect(taking_part.start(work, submission), 302)


@blueprint.get("/submissions/complete", defaults={"submission_id": None})
@blueprint.post("/submissions/<submission_id>/complete")
@known
def complete(work: Work, participant: Participant, submission_id: str | None) -> AnyResponse:
    """Come back with a code, by the study's link or by hand. Without a code, it is submitted as NOCODE."""
    if request.method == "HEAD":  # a person who only looks at the link has not come back by it
        return redirect("/studies", 303)
    text = (request.values.get("cc") or "").strip() or None
    if submission_id is None:
        submission = taking_part.meant_by(work, participant, text)
    else:
        submission = taking_part.own_one(work, participant, submission_id)
    if submission is None:
        raise Refusal("There is nothing to submit.", 404)
    taking_part.complete(work, submission, text, late=happening() == "late")
    return redirect(f"/submissions/{submission.id}", 303)


@blueprint.post("/submissions/<submission_id>/return")
@known
def give_back(work: Work, participant: Participant, submission_id: str) -> AnyResponse:
    """Return the work."""
    taking_part.give_back(work, taking_part.own_one(work, participant, submission_id))
    return redirect(f"/submissions/{submission_id}", 303)


@blueprint.post("/submissions/<submission_id>/message")
@known
def write(work: Work, participant: Participant, submission_id: str) -> AnyResponse:
    """Write to the researcher."""
    submission = taking_part.own_one(work, participant, submission_id)
    text = request.form.get("body", "").strip()
    if text:
        work.session.add(
            Message(
                id=new_id(),
                sender_id=participant.id,
                recipient_id=work.workspace.user_id,
                study_id=submission.study.id,
                body=text,
                made_at=work.now,
            )
        )
    return redirect(f"/submissions/{submission_id}", 303)


def page(template: str, status: int = 200, **values: Any) -> Response:
    """A whole page. Its forms may lead to a study's own address."""
    html = render_template(f"prolific/{template}", **{"who": None, **values})
    response = protect_page(Response(html, status, content_type="text/html; charset=utf-8"))
    policy = response.headers["Content-Security-Policy"]
    response.headers["Content-Security-Policy"] = policy.replace(
        "form-action 'self'", "form-action 'self' http: https:"
    )
    return response


def amount(minor: int, currency: str) -> str:
    """An amount for people.

    >>> amount(150, "GBP"), amount(5, "CHF")
    ('£1.50', 'CHF 0.05')
    """
    signs: Mapping[str, str] = {"GBP": "£", "USD": "$", "EUR": "€"}
    return f"{signs.get(currency, f'{currency} ')}{minor // 100}.{minor % 100:02d}"


def _books() -> Books:
    found: Books = current_app.extensions[EXTENSION]
    return found


def _seals() -> URLSafeSerializer:
    return URLSafeSerializer(_books().signing_key, salt="prolific-participant")


def _who(work: Work) -> Participant | None:
    try:
        known_id = _seals().loads(request.cookies.get(COOKIE, ""))
    except BadSignature:
        return None
    return work.session.get(Participant, known_id)


def _safe(path: str) -> str:
    """`path` if it is one of these pages, else the list of studies."""
    inside = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if inside else "/studies"
