"""How people come in: by name where anybody may, by a link of their own, or by an invitation that makes them
one."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, request

from humaneval.market import worker_side as workplace
from humaneval.market.pages.layout import Answer, WorkerSite
from humaneval.market.security import COOKIE, SIGNED_IN_SECONDS, safe_path
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Worker
from humaneval.market.wording import NotPossibleError, countries

LINK_PATH = "/come/"
"""Behind it a worker's own token: whoever has the link is that worker, so it is shown to nobody else."""


def entry_blueprint(site: WorkerSite) -> Blueprint:
    """Signing in and out."""
    blueprint = Blueprint("entry", __name__)

    @blueprint.get("/signin")
    def signin() -> Answer:
        return _signin_page("")

    @blueprint.post("/signin")
    def sign_in() -> Answer:
        country = request.form.get("country", "")
        if not may_register():
            return _signin_page("This panel is by invitation. Come by the link that you were sent.", 403)
        try:
            with site.market.writing() as work:
                worker = workplace.sign_up(work, request.form.get("name", ""), country, new=site.invited)
        except NotPossibleError as error:
            return _signin_page(error.message, error.status)
        target = safe_path(request.form.get("next", ""))
        return _signed_in("/link" if site.invited else target, worker)

    @blueprint.get(f"{LINK_PATH}<token>")
    def come(token: str) -> Answer:
        # A look at the link, by a mail program for example, signs nobody in.
        worker = _of_link(token)
        if worker is None:
            return site.problem("This link is not good. Ask who sent it for another.", 404)
        return site.page("come.html", None, name=worker.name, token=token)

    @blueprint.post(f"{LINK_PATH}<token>")
    def enter(token: str) -> Answer:
        worker = _of_link(token)
        if worker is None:
            return site.problem("This link is not good. Ask who sent it for another.", 404)
        return _signed_in("/hits", worker)

    @blueprint.get("/link")
    @site.signed_in
    def link(work: Transaction, worker: Worker) -> Answer:
        return site.page("link.html", worker, link=site.link_of(worker))

    @blueprint.post("/signout")
    @site.signed_in
    def sign_out(work: Transaction, worker: Worker) -> Answer:
        answer = redirect("/signin", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="Lax", secure=site.https)
        return answer

    def may_register() -> bool:
        return not site.invited or site.seals.is_invitation(request.values.get("invitation", ""))

    def _of_link(token: str) -> Worker | None:
        with site.market.reading() as work:
            return workplace.find_bearer(work, site.seals.pass_of_link(token))

    def _signed_in(target: str, worker: Worker) -> Answer:
        answer = redirect(target, 303)
        answer.set_cookie(
            COOKIE,
            site.seals.cookie(workplace.pass_for(worker)),
            max_age=SIGNED_IN_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=site.https,
        )
        return answer

    def _signin_page(problem: str, status: int = 200) -> Response:
        values: dict[str, Any] = {
            "target": safe_path(request.values.get("next", "")),
            "name": request.form.get("name", ""),
            "country": request.form.get("country", ""),
            "invitation": request.values.get("invitation", ""),
            "may_register": may_register(),
        }
        return site.page("signin.html", None, status, problem=problem, countries=countries(), **values)

    return blueprint
