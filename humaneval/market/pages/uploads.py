"""Files that workers sent, at an address that soon expires. The requester fetches them without a cookie."""

from __future__ import annotations

from pathlib import PurePosixPath

from flask import Blueprint, Response

from humaneval.market.pages.site import Answer, current_site
from humaneval.market.uploads import find_upload

blueprint = Blueprint("uploads", __name__)


@blueprint.get("/files/<token>")
def fetch(token: str) -> Answer:
    """The file behind an address, to be saved and never shown: a worker may have sent anything."""
    with current_site().market.reading() as work:
        upload = find_upload(work, token)
    if upload is None:
        return Response("This address is no longer valid.", 404, content_type="text/plain; charset=utf-8")
    response = Response(upload.content, content_type="application/octet-stream")
    name = PurePosixPath(upload.name.replace("\\", "/")).name or "file"  # a program may have sent a path
    response.headers.set("Content-Disposition", "attachment", filename=name)
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cache-Control"] = "no-store"
    return response
