"""Both servers answer at their own names alone, and a cookie ends with the sign-out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from humaneval.market import Mode, open_market
from humaneval.market.app import create_market_app, frames_of
from humaneval.market.keys import Keys
from humaneval.settings import Settings
from humaneval.web.app import create_app
from tests.conftest import ROOT

ADA = {"name": "Ada", "country": "GB"}
OURS = [
    "localhost:1",
    "LOCALHOST",
    "127.0.0.1:8731",
    "[::1]:8731",
    "192.168.1.5",
    "lab.example",
    "lab.example:443",
    "lab.example.",
    "labbox:8731",
]
STRANGE = [
    "rebound.attacker.example",
    "rebound.attacker.example:8731",
    "lab.example.attacker.example",
    "localhost.attacker.example",
    "127.0.0.1.attacker.example",
    "mturk-requester.attacker.example",
    "",
    "x" * 4000,  # no name at all
]


@pytest.fixture
def market(tmp_path: Path) -> FlaskClient:
    engine = open_market(tmp_path / "market.db")
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="https://lab.example", host="labbox")
    return app.test_client()


def test_the_marketplace_answers_to_its_own_names_alone(market: FlaskClient) -> None:
    for host in OURS:
        assert market.get("/signin", headers={"Host": host}).status_code == 200, host
    beside = frames_of(market.application).test_client()
    for host in STRANGE:
        there = {"Host": host, "Origin": f"http://{host}"}
        answer = market.post("/signin", data=ADA, headers=there)
        assert answer.status_code == 421, host
        assert "Set-Cookie" not in answer.headers
        assert market.post("/", json={}, headers=there).status_code == 421
        assert beside.get("/question/1", headers=there).status_code == 421


def test_programs_that_sign_may_call_the_marketplace_by_any_name(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "market.db")
    keys = Keys({"KEYID": "a-secret-of-20-letters"})
    app = create_market_app(engine, mode=Mode.LOCAL, public_url="https://lab.example", keys=keys)
    client = app.test_client()
    assert client.post("/", json={}, headers={"Host": "market:8731"}).status_code == 403
    assert client.get("/signin", headers={"Host": "market:8731"}).status_code == 421


def test_the_form_server_answers_to_its_own_names_alone(sqlite_engine: Engine) -> None:
    app = create_app(Settings(public_url="https://lab.example"), sqlite_engine, host="labbox")
    client = app.test_client()
    for host in OURS:
        assert client.get("/health", headers={"Host": host}).status_code == 200, host
    for host in STRANGE:
        assert client.get("/health", headers={"Host": host}).status_code == 421, host


def test_behind_a_proxy_the_form_servers_name_is_the_forwarded_one(sqlite_engine: Engine) -> None:
    settings = Settings(public_url="https://lab.example", trusted_proxies=1)
    client = create_app(settings, sqlite_engine).test_client()
    forwarded = {"Host": "forms:8730", "X-Forwarded-Host": "lab.example"}
    assert client.get("/health", headers=forwarded).status_code == 200
    forwarded["X-Forwarded-Host"] = "rebound.attacker.example"
    assert client.get("/health", headers=forwarded).status_code == 421


def test_a_cookie_is_worth_nothing_after_the_sign_out(market: FlaskClient) -> None:
    site = {"Host": "localhost"}
    kept = market.post("/signin", data=ADA, headers=site).headers["Set-Cookie"].partition(";")[0]
    stolen = market.application.test_client(use_cookies=False)
    held = {**site, "Cookie": kept}
    assert stolen.get("/hits", headers=held).status_code == 200
    page = stolen.get("/link", headers=held).get_data(as_text=True)
    link = page.partition("https://lab.example/")[2].partition("<")[0].partition('"')[0].strip()
    token = page.partition('name="csrf" value="')[2].partition('"')[0]
    assert stolen.post("/signout", data={"csrf": token}, headers=held).status_code == 303
    assert stolen.get("/hits", headers=held).headers["Location"].startswith("/signin")
    assert stolen.get(f"/{link}", headers=site).status_code == 200  # their own link still works
    again = market.post("/signin", data=ADA, headers=site)
    assert again.status_code == 303
    fresh = {**site, "Cookie": again.headers["Set-Cookie"].partition(";")[0]}
    assert stolen.get("/hits", headers=fresh).status_code == 200


def test_the_documented_proxies_lead_every_path_of_the_form_server_to_it(sqlite_engine: Engine) -> None:
    app = create_app(Settings(), sqlite_engine, requester_token="t")
    paths = {rule.rule.split("/")[1] for rule in app.url_map.iter_rules()} - {"", "health"}
    text = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    caddy, nginx = re.search(r"@forms path (.*)", text), re.search(r"location ~ \^/\((.*)\)/", text)
    assert caddy
    assert nginx
    assert set(re.findall(r"/(\w+)/\*", caddy[1])) == set(nginx[1].split("|")) == paths
    assert {
        app.test_client().get(f"/{path}/health").status_code for path in ("form", "take", "prolific")
    } == {200}
