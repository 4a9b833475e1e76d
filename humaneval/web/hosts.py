"""Refuses requests to names that are not the form server's.

A page of another site can let its own name point to this machine. Browsers then send its requests here as if
they were ours, with nothing but the name to tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, Response, request


def answer_only(app: Flask, addresses: Iterable[str]) -> None:
    """Let `app` answer at the hosts of `addresses`, at names of this machine itself, and at numeric ones.

    Nobody can have turned those here.
    """
    served = {_host(address) for address in addresses if address}

    @app.before_request
    def refuse_other_hosts() -> Response | None:
        if "HTTP_HOST" not in request.environ:  # every browser sends it
            return None
        host = _host(f"//{request.host}")
        if host in served or _is_own(host):
            return None
        return Response("This server does not answer to that name.\n", 421, content_type="text/plain")


def _host(address: str) -> str:
    try:
        return (urlsplit(address if "//" in address else f"//{address}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_own(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
