"""Refuses requests to names that are not the marketplace's.

A page of another site can let its own name point to this machine. With an open marketplace it could sign
somebody in, or spend the account's money, from that person's browser.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, Response, request

from humaneval.market.protocol.addresses import is_loopback

AMAZONS = ("mturk-requester.", "mturk-requester-sandbox.")
"""The names by which a program of `market run` calls the marketplace."""
MISDIRECTED = "This server does not answer to that name.\n"


def answer_only(app: Flask, addresses: Collection[str], *, signed: bool) -> None:
    """Let `app` answer at the hosts of `addresses`, at names of this machine itself, and at numeric ones.

    Nobody can have turned those here. Calls that must be signed (`signed`) are safe at any name.
    """
    served = {_host(address) for address in addresses if address}

    @app.before_request
    def refuse_other_hosts() -> Response | None:
        if "HTTP_HOST" not in request.environ:  # every browser sends it
            return None
        host = _host(request.host)
        if host in served or is_loopback(host) or _is_number(host) or _is_amazons(host):
            return None
        if signed and request.method == "POST" and request.path == "/":
            return None
        # No page of ours: its links could not be made at a host that is no name at all.
        return Response(MISDIRECTED, 421, content_type="text/plain")


def _host(address: str) -> str:
    try:
        return (urlsplit(address if "//" in address else f"//{address}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_amazons(host: str) -> bool:
    return host.startswith(AMAZONS) and host.endswith(".amazonaws.com")


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
