"""The requester's pages, by their addresses. Each of them only reads."""

from __future__ import annotations

from flask import Blueprint, Response
from sqlalchemy import select

from humaneval.store.engine import reading
from humaneval.store.tables import StudyRow
from humaneval.web.forms import context
from humaneval.web.requester.render import asset as read_asset
from humaneval.web.requester.render import page

blueprint = Blueprint("requester", __name__)


@blueprint.get("/")
def studies() -> Response:
    """All studies of the database."""
    with reading(context().engine) as session:
        names = session.scalars(select(StudyRow.name).order_by(StudyRow.id)).all()
    return page("studies.html", names=names)


@blueprint.get("/assets/<name>")
def asset(name: str) -> Response:
    return read_asset(name)


def failed() -> Response:
    """The page for an error of ours."""
    return page("failed.html", status=500)
