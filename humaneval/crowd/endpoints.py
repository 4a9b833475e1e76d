"""The endpoints, such as `local`, `link` and `prolific`, and checks that they are not mixed up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from humaneval.crowd.platform import Endpoint
from humaneval.errors import SettingsError, UsageError
from humaneval.settings import Settings
from humaneval.text import command
from humaneval.timed_replies import is_loopback

MTURK_CLOSED = "30 September 2026"
NAMES = ("local", "sandbox", "production", "link", "prolific", "csv")

SANDBOX = Endpoint(
    name="sandbox",
    api_url="https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    submit_origin="https://workersandbox.mturk.com",
    worker_sites=("https://workersandbox.mturk.com",),
    preview_url="https://workersandbox.mturk.com/mturk/preview?groupId={type}",
    spends_money=False,
    is_test=True,
    return_url="https://workersandbox.mturk.com/tasks",
    closed_since=MTURK_CLOSED,
)
PRODUCTION = Endpoint(
    name="production",
    api_url="https://mturk-requester.us-east-1.amazonaws.com",
    submit_origin="https://www.mturk.com",
    worker_sites=("https://worker.mturk.com", "https://www.mturk.com"),
    preview_url="https://worker.mturk.com/mturk/preview?groupId={type}",
    spends_money=True,
    is_test=False,
    return_url="https://worker.mturk.com/tasks",
    closed_since=MTURK_CLOSED,
)


def local(api_url: str, site: str = "") -> Endpoint:
    """A self-hosted marketplace at `api_url`; `site` is its address for browsers, if that differs."""
    if (urlsplit(api_url).hostname or "").endswith("amazonaws.com"):
        raise SettingsError(
            f"market_url is {api_url}, which is Amazon's and not a self-hosted marketplace",
            "Set HUMANEVAL_MARKET_URL to your marketplace, or use --to sandbox or --to production.",
        )
    origin = (site or api_url).rstrip("/")
    return Endpoint(
        name="local",
        api_url=api_url.rstrip("/"),
        submit_origin=origin,
        worker_sites=(origin,),
        preview_url=origin + "/mturk/preview?groupId={type}",
        spends_money=False,
        is_test=False,
        return_url=origin + "/assignments/{assignment}#return",
    )


def link(public_url: str) -> Endpoint:
    """Our own form server as the platform: people come to it by links."""
    return Endpoint(
        name="link",
        api_url=public_url,
        submit_origin=public_url,
        worker_sites=(),
        preview_url=public_url + "/take/{type}",
        spends_money=False,
        is_test=False,
    )


def csv() -> Endpoint:
    """A site to which people carry files: there is nothing to call."""
    return Endpoint(
        name="csv",
        api_url="",
        submit_origin="",
        worker_sites=(),
        preview_url="",
        spends_money=False,
        is_test=False,
        runs_out=False,
    )


def prolific(api_url: str) -> Endpoint:
    """Prolific, or a stand-in at `api_url`. Its site has the API's name with `app` in the place of `api`."""
    scheme, _, rest = api_url.rstrip("/").partition("://")
    site = f"{scheme}://app.{rest.removeprefix('api.')}" if rest.startswith("api.") else api_url.rstrip("/")
    return Endpoint(
        name="prolific",
        api_url=api_url.rstrip("/"),
        submit_origin=site,
        worker_sites=(),
        preview_url=site + "/studies/{type}",
        spends_money=not is_loopback(api_url),
        is_test=False,
        form_path="prolific",
        one_offer=True,
        runs_out=False,
        plain_bonuses=True,
    )


def endpoint(name: str, settings: Settings, environment: Mapping[str, str] | None = None) -> Endpoint:
    """The endpoint called `name`. The environment never changes the addresses of sandbox and production."""
    if name not in NAMES:
        raise UsageError(f"there is no endpoint {name!r}", f"Endpoints: {', '.join(NAMES)}.")
    if name == PRODUCTION.name:
        _refuse_other_addresses(os.environ if environment is None else environment)
    return known(name, settings)


def _refuse_other_addresses(environment: Mapping[str, str]) -> None:
    for variable in ("AWS_ENDPOINT_URL_MTURK", "AWS_ENDPOINT_URL"):
        elsewhere = environment.get(variable, "").rstrip("/")
        if elsewhere and elsewhere != PRODUCTION.api_url:
            raise SettingsError(
                f"{variable} points to {elsewhere}, but the endpoint is production",
                f"Unset {variable}, or use --to local.",
            )


def known(name: str, settings: Settings) -> Endpoint:
    """The endpoint that a stored row names, whatever the environment is now."""
    if name == "link":
        return link(settings.public_url)
    if name == "csv":
        return csv()
    if name == "prolific":
        return prolific(settings.prolific_url)
    return {"sandbox": SANDBOX, "production": PRODUCTION}.get(name) or local(
        settings.market_url, settings.market_site
    )


def require_public_https(endpoint: Endpoint, settings: Settings) -> None:
    """Raise SettingsError if a platform on the web could not show our form, which needs an https address."""
    here = endpoint.name in ("local", "link", "csv") or is_loopback(endpoint.api_url)
    if not here and not settings.public_url.startswith("https://"):
        raise SettingsError(
            f"public_url is {settings.public_url}; {endpoint.name} shows forms from https addresses only",
            f"Put `{command('serve')}` behind a proxy with a certificate and set HUMANEVAL_PUBLIC_URL.",
        )


@lru_cache(maxsize=4)
def every_worker_site(settings: Settings) -> tuple[str, ...]:
    """The sites of all endpoints on which workers see forms."""
    return tuple(site for name in NAMES for site in known(name, settings).worker_sites)
