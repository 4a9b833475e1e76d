"""Lets the right token in, and makes every other address of the requester's pages look like none."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import HTTPException, NotFound

from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import GoneError, StoreError
from humaneval.server_logs import failure
from humaneval.web import infilling
from humaneval.web.infilling import Desk
from humaneval.web.requester import pages
from humaneval.web.requester.address import FOLDER
from humaneval.web.requester.platform_status import Heard
from humaneval.web.requester.render import page


def install(
    app: Flask,
    token: str,
    open_at: Callable[[str, str], StudyAtPlatform] | None = None,
    desk: Desk | None = None,
) -> None:
    """Add the pages to `app` under `token`. Without a token there are none.

    `open_at` opens a study at an endpoint, both by name, so that the platform can be asked. With a `desk`,
    the infilling page is one of them.
    """
    expected = token.encode()

    @app.before_request
    def refuse_other_addresses() -> Response | None:
        """Before all else: a method or a page that does not exist must tell nothing either. What stands here
        is the same without a token, so that nobody learns whether there are such pages."""
        parts = request.path.split("/")
        if len(parts) < 3 or parts[1] != FOLDER:
            return None
        if not expected or not hmac.compare_digest(parts[2].encode(), expected):
            return page("no_such_address.html", status=404)
        if len(parts) == 3:  # a relative address, because a proxy may put us into a folder
            return Response(status=308, headers={"Location": f"{token}/"})
        if isinstance(request.routing_exception, NotFound):
            return page("failed.html", status=404, missing=True, busy=False)
        return None

    if not token:
        return
    pages_at = f"/{FOLDER}/<token>"
    app.extensions[pages.HEARD] = Heard(open_at)
    app.register_blueprint(pages.blueprint, url_prefix=pages_at)
    if desk is not None:
        infilling.register(app, desk, f"{pages_at}/{pages.INFILLING}")


@pages.blueprint.url_value_preprocessor
def forget_the_token(endpoint: str | None, values: dict[str, object] | None) -> None:
    """No page needs the token: all links are relative."""
    if values:
        values.pop("token", None)


@pages.blueprint.errorhandler(Exception)
def failed(error: Exception) -> Response:
    """Flask's own log entry of an error would hold the address."""
    if isinstance(error, HTTPException):
        return page("failed.html", status=error.code or 500, missing=error.code == 404, busy=False)
    if isinstance(error, GoneError):
        return page("failed.html", status=404, missing=True, busy=False)
    if isinstance(error, StoreError):
        current_app.logger.error("store: %s", error.message)
        return page("failed.html", status=503, missing=False, busy=True)
    current_app.logger.error("a requester's page failed: %s", failure(error))
    return page("failed.html", status=500, missing=False, busy=False)
