"""Where a request comes from, and what a browser may do with the answer."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any, NamedTuple

from flask import Request, Response
from itsdangerous import BadSignature, Signer, URLSafeSerializer, URLSafeTimedSerializer

from humaneval.market.protocol.addresses import origin_of

LINK_PATH = "/come/"
"""A worker's own token follows it. Anyone who has the link is that worker, so no page shows it to others."""

SIGNED_IN_SECONDS = 30 * 24 * 3600

BOXED = (
    "allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads"
    " allow-top-navigation"
)
"""What a requester's page may do if it comes from the worker site's own address. It has no origin and no
storage: it must not act as the worker. It may leave its frame, as pages do that send their answers from the
top."""

APART = f"{BOXED} allow-same-origin"
"""What it may do at an address that is not the worker site's: it has that origin, with storage."""


class Pass(NamedTuple):
    """What a worker's link or cookie says: the worker, and how many of their links had been revoked when it
    was made."""

    worker_id: str
    links_revoked: int
    signed_out: int = -1
    """How often the worker had signed out; -1 in a link, which no sign-out ends."""


class Seals:
    """Signs workers' cookies and links, and the token in every form, with the marketplace's key."""

    def __init__(self, key: str) -> None:
        self._cookie = URLSafeTimedSerializer(key, salt="market-worker")
        self._form = URLSafeTimedSerializer(key, salt="market-form")
        self._link = URLSafeSerializer(key, salt="market-link")
        self._invitation = URLSafeSerializer(key, salt="market-invitation")
        # Cookies do not know ports, and a page in a frame can set one of any name. It cannot know this name.
        self.cookie_name = "market_worker_" + hmac.digest(key.encode(), b"cookie name", "sha256").hex()[:16]
        self.admin_token = Signer(key, salt="market-admin").get_signature(b"faults").decode()
        self.name = hmac.digest(key.encode(), b"which marketplace", "sha256").hex()[:16]
        """Tells this marketplace from others. It opens nothing."""

    def cookie(self, bearer: Pass) -> str:
        """The value that keeps a worker signed in."""
        return self._cookie.dumps(bearer)

    def link_token(self, bearer: Pass) -> str:
        """The end of a worker's own link. It is valid until it is revoked."""
        return str(self._link.dumps(bearer[:2]))

    def pass_of_link(self, token: str) -> Pass | None:
        """What the link with this end says; None if it is not valid."""
        return _pass(_opened(self._link, token), 2)

    def invitation(self, revoked: int) -> str:
        """The token with which people may register at a marketplace for invited workers, until it is revoked
        once more than `revoked` times."""
        return str(self._invitation.dumps(f"panel {revoked}" if revoked else "panel"))

    def is_invitation(self, token: str, revoked: int) -> bool:
        """Whether people can register with `token`, if invitations were revoked so often."""
        return hmac.compare_digest(token.encode(), self.invitation(revoked).encode())

    def form_token(self, worker_id: str) -> str:
        """The token for a form on a page that this worker was shown."""
        return self._form.dumps(worker_id)

    def pass_of(self, request: Request) -> Pass | None:
        """What the request's cookie says; None without a valid one."""
        return _pass(_unsealed(self._cookie, request.cookies.get(self.cookie_name, "")), 3)

    def form_is_from(self, request: Request, worker_id: str) -> bool:
        """Whether the posted form was on a page that this worker was shown."""
        return bool(_unsealed(self._form, request.form.get("csrf", "")) == worker_id)


def _opened(serializer: URLSafeSerializer, sealed: str) -> Any:
    try:
        return serializer.loads(sealed)
    except BadSignature:
        return None


def _unsealed(serializer: URLSafeTimedSerializer, sealed: str) -> Any:
    try:
        return serializer.loads(sealed, max_age=SIGNED_IN_SECONDS)
    except BadSignature:
        return None


def _pass(value: Any, parts: int) -> Pass | None:
    return Pass(*value) if isinstance(value, list) and len(value) == parts else None


def comes_from_elsewhere(request: Request, public_origin: str) -> bool:
    """Whether a browser says that another site's page sent this request. Other programs send no Origin."""
    origin = request.headers.get("Origin")
    return origin is not None and origin not in (public_origin, origin_of(request.host_url))


def safe_path(path: str) -> str:
    """`path` if it belongs to this site, else the list of HITs: no redirects to other sites."""
    inside = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if inside else "/hits"


def protect_page(response: Response, *frame_origins: str) -> Response:
    """Headers for a page of the site. It may frame `frame_origins` and itself, and no page may frame it."""
    frames = " ".join(dict.fromkeys(part for part in ("'self'", *frame_origins) if part))
    response.headers["Content-Security-Policy"] = (
        f"default-src 'self'; img-src 'self' data:; frame-src {frames}; frame-ancestors 'none'; form-action"
        " 'self'; base-uri 'none'; object-src 'none'"
    )
    return _common(response)


def protect_answer(response: Response, public_origin: str) -> Response:
    """Headers for the answer to a submission. Our page frames it, or the requester's page in ours."""
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src {public_origin}; script-src {public_origin}; frame-ancestors *;"
        " form-action 'none'; base-uri 'none'"
    )
    return _common(response)


def protect_hand_on(response: Response, public_origin: str) -> Response:
    """Headers for a page in the frame that only posts the answers in its address to us."""
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src {public_origin}; script-src {public_origin}; form-action"
        f" {public_origin}; frame-ancestors *; base-uri 'none'"
    )
    return _common(response)


def protect_content(response: Response, *, framed_by: Sequence[str] = (), apart: bool = False) -> Response:
    """Headers for a requester's own HTML. It is sandboxed even if it is opened outside the frame.

    `framed_by`: the origins of the worker site, if this is not one of them. `apart`: it has its own origin.
    """
    sites = " ".join(dict.fromkeys(("'self'", *framed_by)))
    response.headers["Content-Security-Policy"] = (
        f"sandbox {APART if apart else BOXED}; frame-ancestors {sites}"
    )
    return _common(response)


def open_to_scripts(response: Response, asked_by: str) -> Response:
    """Let a page of any origin read what came of its answers: a submission needs no cookie, only its id."""
    response.headers["Access-Control-Allow-Origin"] = asked_by or "*"
    response.headers["Access-Control-Allow-Headers"] = "Content-Type, X-Requested-With"
    if asked_by:
        response.headers["Access-Control-Allow-Credentials"] = "true"
        response.headers["Vary"] = "Origin"
    return response


def _common(response: Response) -> Response:
    response.headers["X-Content-Type-Options"] = "nosniff"
    # Not no-referrer: browsers would send "Origin: null" with our own forms.
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["Cache-Control"] = "no-store"
    return response
