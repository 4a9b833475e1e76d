"""How workers sign in: by name, by a link of their own, or by an invitation."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask import Blueprint, Response, redirect, request
from markupsafe import Markup
from sqlalchemy import select

from humaneval.market.offers import title_of_group
from humaneval.market.pages.site import Answer, Visit, WorkerSite, current_site, signed_in
from humaneval.market.protocol.countries import countries, country_names
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.security import LINK_PATH, SIGNED_IN_SECONDS, safe_path
from humaneval.market.tables.account import Account
from humaneval.market.workers import Person, find_bearer, sign_up, signed_in_pass
from humaneval.market.workers import sign_out as end_cookies
from humaneval.store.types import table

blueprint = Blueprint("signin", __name__)
_REVOKED = select(table(Account).c.invitations_revoked)

_BY_INVITATION = "You need an invitation to work here. Open the link that you were sent."
_BAD_LINK = "This link does not work. Ask the person who sent it for a new one."


@blueprint.get("/signin")
def show_form() -> Answer:
    """The form to sign in with."""
    return _signin_page("")


@blueprint.post("/signin")
def sign_in() -> Answer:
    """Sign in by name. If workers are invited, the name must be new."""
    site, country = current_site(), request.form.get("country", "")
    if not _may_register(site):
        return _signin_page(_BY_INVITATION, 403)
    try:
        with site.market.writing() as work:
            room, name = site.crowds.has_room_for_names(), request.form.get("name", "")
            worker = sign_up(work, name, country, registers=True, new=site.invited, room=room)
            site.crowds.came(worker)
    except NotPossibleError as error:
        return _signin_page(error.message, error.status)
    target = safe_path(request.form.get("next", ""))
    return _signed_in(site, "/link" if site.invited else target, worker)


@blueprint.get(f"{LINK_PATH}<token>")
def come(token: str) -> Answer:
    """A page with one button. A look at the link, by a mail program for example, signs nobody in."""
    site = current_site()
    worker = _worker_of_link(site, token)
    if worker is None:
        return site.problem(_BAD_LINK, 404)
    return site.page("come.html", None, name=worker.name, token=token)


@blueprint.post(f"{LINK_PATH}<token>")
def enter(token: str) -> Answer:
    """Sign in by a link."""
    site = current_site()
    worker = _worker_of_link(site, token)
    return site.problem(_BAD_LINK, 404) if worker is None else _signed_in(site, "/hits", worker)


@blueprint.get("/link")
@signed_in
def link(visit: Visit) -> Answer:
    """The worker's own link."""
    return visit.page("link.html", link=visit.site.link_of(visit.worker))


@blueprint.post("/signout")
@signed_in
def sign_out(visit: Visit) -> Answer:
    """Sign out, in every browser: a cookie that somebody copied must not outlive this."""
    end_cookies(visit.work, visit.worker)
    answer = redirect("/signin", 303)
    name = visit.site.seals.cookie_name
    answer.delete_cookie(name, httponly=True, samesite="Lax", secure=visit.site.https)
    return answer


def _may_register(site: WorkerSite) -> bool:
    """Whether workers come by name alone, or the request has the invitation that holds now."""
    if not site.invited:
        return True
    with site.market.reading() as work:
        revoked = work.connection.scalar(_REVOKED) or 0
    return site.seals.is_invitation(request.values.get("invitation", ""), revoked)


def _worker_of_link(site: WorkerSite, token: str) -> Person | None:
    with site.market.reading() as work:
        return find_bearer(work, site.seals.pass_of_link(token))


def _signed_in(site: WorkerSite, target: str, worker: Person) -> Answer:
    answer = redirect(target, 303)
    answer.set_cookie(
        site.seals.cookie_name,
        site.seals.cookie(signed_in_pass(worker)),
        max_age=SIGNED_IN_SECONDS,
        httponly=True,
        samesite="Lax",
        secure=site.https,
    )
    return answer


def _signin_page(problem: str, status: int = 200) -> Response:
    site = current_site()
    values: dict[str, Any] = {
        "target": safe_path(request.values.get("next", "")),
        "name": request.form.get("name", ""),
        "invitation": request.values.get("invitation", ""),
        "may_register": _may_register(site),
    }
    with site.market.reading() as work:
        values["task"] = title_of_group(work, _group(values["target"])) if values["may_register"] else ""
    country = request.form.get("country", "")
    country = country if country in country_names() else ""
    return site.page("signin.html", None, status, problem=problem, countries=_options(country), **values)


def _group(target: str) -> str:
    """The group of tasks that an address leads to; empty if it leads elsewhere."""
    return parse_qs(urlsplit(target).query).get("groupId", [""])[0]


@cache
def _options(chosen: str) -> Markup:
    """The countries as options of a select, with the `chosen` one; most people come with none."""
    return Markup("\n").join(
        Markup('<option value="{}"{}>{}</option>').format(
            each.code, Markup(" selected" * (each.code == chosen)), each.name
        )
        for each in countries()
    )
