"""HTTP replies that must be complete in time. Timeouts of the libraries count from one piece to the next, so
a server that sends a byte now and then could hold its client for ever. Proxies are for other machines.
"""

from __future__ import annotations

import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from ipaddress import ip_address
from socket import socket
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import (
    BaseHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    getproxies,
    proxy_bypass,
)

import urllib3
from urllib3.connection import HTTPConnection as PooledConnection
from urllib3.connection import HTTPSConnection as PooledSecureConnection
from urllib3.exceptions import HTTPError
from urllib3.util import make_headers, parse_url

from humaneval.errors import SettingsError


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine.

    >>> [is_loopback(url) for url in ("http://127.0.0.1:9", "https://api.prolific.com", "http://localhost.example")]
    [True, False, False]
    """
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Timed(RawIOBase):
    """What a socket gives within its timeout. Raises TimeoutError when it is over."""

    def __init__(self, raw: RawIOBase, connected: socket, seconds: float) -> None:
        self._raw, self._socket, self._seconds = raw, connected, seconds
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the reply is not complete in time")
        self._socket.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        with suppress(OSError):  # closed, unless another request follows
            self._socket.settimeout(self._seconds)
        super().close()


class _Reply(HTTPResponse):
    """A reply whose head and body come within the timeout of its connection."""

    def __init__(self, sock: socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        seconds = sock.gettimeout()
        if seconds is not None:
            self.fp = BufferedReader(_Timed(self.fp.detach(), sock, seconds))


class _Connection(HTTPConnection):
    response_class = _Reply


class _SecureConnection(HTTPSConnection):
    response_class = _Reply


class _Handler(HTTPHandler):
    def http_open(self, req: Any) -> Any:
        return self.do_open(_Connection, req)


class _SecureHandler(HTTPSHandler):
    def https_open(self, req: Any) -> Any:
        return self.do_open(_SecureConnection, req)


class _PooledConnection(PooledConnection):
    response_class = _Reply


class _PooledSecureConnection(PooledSecureConnection):
    response_class = _Reply


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PooledConnection


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _PooledSecureConnection


class _Proxies(ProxyHandler):
    """The proxies that the environment names. They could not find this machine, and should not hear of it."""

    def proxy_open(self, req: Request, *proxy: Any) -> Any:
        return None if is_loopback(req.full_url) else super().proxy_open(req, *proxy)


class NoRedirect(HTTPRedirectHandler):
    """For addresses that hold what is for their host alone: a redirect is an error."""

    def redirect_request(self, *_: object) -> None:
        return None


def opener(*handlers: BaseHandler) -> OpenerDirector:
    """As `urllib.request.build_opener`. The `timeout` of a call is for its whole reply."""
    proxies = [] if any(isinstance(each, ProxyHandler) for each in handlers) else [_Proxies()]
    return build_opener(_Handler, _SecureHandler, *proxies, *handlers)


def connection_pools(url: str, **options: Any) -> urllib3.PoolManager:
    """As `urllib3.PoolManager`, through the proxy that the environment names for `url`. The read timeout of a
    request is for its whole reply. Raises SettingsError for a proxy that does not speak HTTP.
    """
    there = urlsplit(url)
    proxy = getproxies().get(there.scheme, "")
    if not proxy or is_loopback(url) or proxy_bypass(there.hostname or ""):
        pools = urllib3.PoolManager(**options)
    else:
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        try:
            credentials = parse_url(proxy).auth
            headers = make_headers(proxy_basic_auth=unquote(credentials)) if credentials else None
            pools = urllib3.ProxyManager(proxy, proxy_headers=headers, **options)
        except (HTTPError, ValueError):
            raise SettingsError(
                f"the environment names a proxy for {there.scheme} that is no HTTP proxy",
                f"Set {there.scheme}_proxy to an address that begins with http:// or https://, or unset it.",
            ) from None
    pools.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return pools
