"""Where the pages of HTMLQuestions come from: an origin of their own, never the worker site's."""

from __future__ import annotations

import html as markup
import re
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from flask import Flask
from sqlalchemy import Engine

from humaneval.errors import SettingsError
from humaneval.market import Keys, MarketServer, Mode, create_market_app, open_market
from humaneval.market.hits import create_hit
from humaneval.market.operations import Market
from humaneval.market.pages.site import FrameHost
from tests.integration.market.conftest import HIT
from tests.ports import free_port

KEYS = Keys({"PANEL": "a secret of sixteen"})


def test_X44_one_server_has_a_second_port_for_requesters_pages(tmp_path: Path) -> None:
    with closing(MarketServer(open_market(tmp_path / "first.db"), mode=Mode.LOCAL)) as first:
        assert urlsplit(first.frames_url).hostname == "127.0.0.1"
        assert urlsplit(first.frames_url).port != first.port
    port = free_port(following=1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port + 1))
        with closing(MarketServer(open_market(tmp_path / "second.db"), mode=Mode.LOCAL, port=port)) as second:
            assert urlsplit(second.frames_url).port not in (port, port + 1)
    with closing(MarketServer(open_market(tmp_path / "third.db"), mode=Mode.LOCAL, port=port)) as third:
        assert urlsplit(third.frames_url).port == port + 1


def _framed(app: Flask, html: str, site: str) -> str:
    """The address of the frame of a new HIT, for a worker who came to `site`."""
    browser = app.test_client()
    market: Market = app.extensions["market.worker_site"].market
    with market.writing() as work:
        hit = create_hit(work, {**HIT, "Question": html})["HIT"]["HITId"]
    browser.post("/signin", base_url=site, data={"name": "Ada"})
    page = browser.get(f"/hits/{hit}", base_url=site)
    found = re.search(r'<iframe[^>]* src="([^"]+)"[^>]* sandbox="([^"]+)"', page.text, re.DOTALL)
    assert found
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(found[1])) if "://" in found[1] else "'self'"
    assert f" {origin}" in page.headers["Content-Security-Policy"].partition("frame-src")[2].partition(";")[0]
    assert ("allow-same-origin" in found[2]) is (origin != "'self'")
    return markup.unescape(found[1])


def test_X44_behind_a_proxy_the_frames_have_a_host_of_their_own(engine: Engine, html: str) -> None:
    site, frames = "https://panel.lab.example", "https://frames.lab.example"
    host = FrameHost(f"{frames}/")
    app = create_market_app(engine, mode=Mode.LOCAL, public_url=site, keys=KEYS, frames=host)
    address = _framed(app, html, site)
    assert address.startswith(f"{frames}/question/")
    visitor = app.test_client()
    page = visitor.get(address)
    policy = page.headers["Content-Security-Policy"]
    assert "allow-same-origin" in policy
    assert policy.endswith(f"frame-ancestors 'self' {site}")
    for path in ("/hits", "/signin", "/my-work", "/help", "/"):
        assert visitor.get(path, base_url=frames).status_code in (404, 405)
    assert visitor.get("/signin", base_url=site).status_code == 200
    at_the_site = visitor.get(address.replace("frames", "panel"))
    assert "allow-same-origin" not in at_the_site.headers["Content-Security-Policy"]


def test_X44_without_a_host_of_their_own_pages_are_boxed_and_have_no_storage(
    engine: Engine, html: str
) -> None:
    site = "https://panel.lab.example"
    app = create_market_app(engine, mode=Mode.LOCAL, public_url=site, keys=KEYS)
    assert _framed(app, html, site).startswith("/question/")
    with closing(MarketServer(engine, mode=Mode.LOCAL, keys=KEYS, public_url=site)) as server:
        assert server.frames_url == ""
    how = {"mode": Mode.LOCAL, "keys": KEYS}
    with closing(MarketServer(engine, **how, public_url=site, frames_url="https://f.example/")) as server:
        assert server.frames_url == "https://f.example"


@pytest.mark.parametrize(
    "frames", ["https://panel.lab.example", "https://PANEL.lab.example/", "frames", "https://a/b"]
)
def test_X44_an_address_that_is_the_worker_sites_or_none_is_refused(engine: Engine, frames: str) -> None:
    site = "https://panel.lab.example"
    with pytest.raises(SettingsError, match=r"worker site itself|frames cannot be reached"):
        create_market_app(engine, mode=Mode.LOCAL, public_url=site, keys=KEYS, frames=FrameHost(frames))
