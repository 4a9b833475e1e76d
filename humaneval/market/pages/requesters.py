"""The page for requesters: how to point a script that was written for Mechanical Turk at this marketplace."""

from __future__ import annotations

from flask import Blueprint, Response, current_app

from humaneval.market.keys import REGION
from humaneval.market.pages.site import current_site

blueprint = Blueprint("help", __name__)

SIGNED = "CALLS_ARE_SIGNED"
"""Where the application's configuration says whether calls need one of the marketplace's own access keys."""


@blueprint.get("/help")
def show() -> Response:
    """Addresses, keys and examples."""
    site = current_site()
    return site.page("help.html", None, url=site.origin, region=REGION, signed=current_app.config[SIGNED])
