"""Web addresses: the site they belong to, whether it is this machine, and parameters added to them."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit, urlunsplit

from humaneval.errors import SettingsError


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def is_site(url: str) -> bool:
    """Whether `url` is a whole site: http or https and a host, without a path or query."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and origin_of(url) == url.rstrip("/")
        )
    except ValueError:
        return False


def check_site(url: str) -> None:
    """Raises SettingsError if `url` is not a whole site: links that begin with it would not work."""
    if not is_site(url):
        raise SettingsError(
            f"a marketplace cannot be reached at {url!r}",
            "Give scheme, host and port only, for example https://panel.lab.example.",
        )


def check_frames(url: str, public_url: str) -> None:
    """Raises SettingsError if `url` is not a site of its own beside the worker site at `public_url`."""
    if not is_site(url):
        raise SettingsError(
            f"frames cannot be reached at {url!r}",
            "Give scheme, host and port only, for example https://frames.panel.lab.example.",
        )
    if origin_of(url).lower() == origin_of(public_url).lower():
        raise SettingsError(
            f"{url} is the worker site itself, and a HIT's page there could act as the worker",
            "Give another host, or another port.",
        )


def with_query(url: str, **parameters: str) -> str:
    """`url` with `parameters` added to its query. The query that it already has stays exactly as it is.

    >>> with_query("https://a.example/q?x=%26", hitId="3A")
    'https://a.example/q?x=%26&hitId=3A'
    """
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(parameters)) if part)
    return urlunsplit(parts._replace(query=query))


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
