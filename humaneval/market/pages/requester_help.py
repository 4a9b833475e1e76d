"""The page for requesters: how to point a script that was written for Mechanical Turk at this marketplace."""

from __future__ import annotations

from flask import Blueprint, Response

from humaneval.market.keys import REGION
from humaneval.market.pages.worker_site import WorkerSite


def help_blueprint(site: WorkerSite, *, signed: bool) -> Blueprint:
    """GET /help. `signed`: whether calls need one of the marketplace's own access keys."""
    blueprint = Blueprint("help", __name__)

    @blueprint.get("/help")
    def show() -> Response:
        return site.page("help.html", None, url=site.origin, region=REGION, signed=signed)

    return blueprint
