"""Headers that restrict which sites may show a form in a frame, and what its page may load."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Flask, Response, g

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # addresses hold worker ids
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def refuse_forms() -> None:
    """For the current response: nothing on its page can be sent anywhere."""
    g.form_action = "'none'"


def allow_plots() -> None:
    """For the current response: an SVG on its page may have the attributes that colour it."""
    g.connect = g.get("connect", "") + "style-src-attr 'unsafe-inline'; "


def allow_frames(sites: Sequence[str], submit_origins: Sequence[str]) -> None:
    """For the current response: which sites may frame it, and where else than to us its form may go."""
    g.frame_ancestors = " ".join(sites) or "'none'"
    g.form_action = " ".join(("'self'", *submit_origins))


def allow_fetches() -> None:
    """For the current response: its page's script may ask us for more."""
    g.connect = "connect-src 'self'; "


def install(app: Flask) -> None:
    """Set the headers on every response of `app`. No X-Frame-Options: it cannot name a site."""

    @app.after_request
    def add_headers(response: Response) -> Response:
        ancestors, action = g.get("frame_ancestors", "'none'"), g.get("form_action", "'self'")
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; "
            f"{g.get('connect', '')}form-action {action}; frame-ancestors {ancestors}"
        )
        for name, value in _ALWAYS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Cache-Control", "no-store")
        return response
