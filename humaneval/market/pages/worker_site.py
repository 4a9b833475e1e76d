"""The worker site as one blueprint: the routes of all its pages."""

from __future__ import annotations

from flask import Blueprint, request

from humaneval.market.pages import hits, messages, qualifications, returned, signin, uploads
from humaneval.market.pages.site import Answer, current_site
from humaneval.market.security import comes_from_elsewhere

blueprint = Blueprint("worker_site", __name__)
for each in (signin, hits, qualifications, messages, uploads, returned):
    blueprint.register_blueprint(each.blueprint)


@blueprint.before_request
def refuse_other_sites() -> Answer | None:
    """Refuse a form that another site's page sent."""
    site = current_site()
    if request.method == "POST" and comes_from_elsewhere(request, site.origin):
        return site.problem("This form was sent from another site, so nothing was done.", 403)
    return None
