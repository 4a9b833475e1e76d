"""A lab's panel: workers sign in with a link of their own, or register with an invitation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, Engine, event, select

from humaneval.errors import SettingsError
from humaneval.market import Keys, MarketServer, Mode, open_account, open_market
from humaneval.market.panel.invitations import TOGETHER, personal_links, revoke_links
from humaneval.market.tables.workers import Worker
from humaneval.simulated.browser import Browser, Page
from tests.commands import Command

SITE = "http://here.example"


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Engine]:
    engine = open_market(tmp_path / "market.db")
    open_account(engine, Mode.LOCAL)
    yield engine
    engine.dispose()


@pytest.fixture
def panel(books: Engine) -> Iterator[MarketServer]:
    """A marketplace for invited workers."""
    with MarketServer(books, mode=Mode.LOCAL, invited=True) as server:
        yield server


def test_a_list_of_people_gets_a_link_each_and_the_same_one_again(
    command: Command, panel: MarketServer
) -> None:
    Path("people.txt").write_text("Ben\n\nCoco Ö.\n", encoding="utf-8")
    said = command("market", "invite", "Ada", "--file", "people.txt", "--public-url", panel.url, "--json")
    links = said.json["links"]
    assert list(links) == ["Ada", "Ben", "Coco Ö."]
    again = command("market", "invite", "ada", "--public-url", panel.url, "--json").json["links"]
    assert again == {"Ada": links["Ada"]}
    ada = Browser()
    page = ada.get(links["Ada"])
    assert "Sign in as Ada" in page.html
    assert ada.get(f"{panel.url}/hits").url.startswith(
        f"{panel.url}/signin"
    )  # looking at the link signs nobody in
    form = page.form(action=urlsplit(links["Ada"]).path)
    assert form is not None
    assert ada.submit(page, form, {}).url == f"{panel.url}/hits"
    assert "Ada" in ada.get(f"{panel.url}/hits").html
    assert 'href="/link"' in ada.get(f"{panel.url}/my-work").html
    assert links["Ada"] in ada.get(f"{panel.url}/link").html


def test_nobody_comes_in_by_name_alone_nor_by_a_link_that_is_not_one(panel: MarketServer) -> None:
    browser = Browser()
    page = browser.get(f"{panel.url}/signin")
    assert "need an invitation" in page.html
    assert page.form(action="/signin") is None
    assert browser.get(f"{panel.url}/come/nonsense").status == 404
    assert "need an invitation" in browser.get(f"{panel.url}/signin?invitation=nonsense").html
    assert browser.get(f"{panel.url}/hits").url.startswith(f"{panel.url}/signin")


def test_who_has_the_invitation_registers_once_under_a_free_name(
    command: Command, panel: MarketServer
) -> None:
    invitation = command("market", "invite", "--public-url", panel.url).out.strip()
    assert command("market", "invite", "--public-url", panel.url, "--json").json == {"invitation": invitation}

    def register(name: str) -> str:
        browser = Browser()
        page = browser.get(invitation)
        form = page.form(action="/signin")
        assert form is not None
        return browser.submit(page, form, {"name": name}).html

    welcome = register("Ada")
    own = re.search(r'value="(http[^"]+/come/[^"]+)"', welcome)
    assert own is not None
    assert "That name is taken" in register("ADA")
    back = Browser()
    page = back.get(own.group(1))
    form = page.form(action=urlsplit(own.group(1)).path)
    assert form is not None
    assert back.submit(page, form, {}).url == f"{panel.url}/hits"


def test_an_invitation_that_is_revoked_lets_nobody_in_and_the_next_one_does(
    command: Command, panel: MarketServer
) -> None:
    def register(invitation: str, name: str) -> Page:
        browser = Browser()
        form = browser.get(invitation).form(action="/signin")
        return (
            browser.submit(browser.get(invitation), form, {"name": name}) if form else browser.get(invitation)
        )

    first = command("market", "invite", "--public-url", panel.url).out.strip()
    welcome = register(first, "Ada")
    (own,) = re.findall(r'value="(http[^"]+/come/[^"]+)"', welcome.html)
    said = command("market", "invite", "--revoke")
    assert said.code == 0
    assert "The link with which anybody could register is no longer valid." in said.out
    assert "You need an invitation" in register(first, "Ben").html
    (advised,) = re.findall(r"humaneval (market invite --database \S+)", said.out)
    second = command(*advised.split(), "--public-url", panel.url).out.strip()
    assert second != first
    assert "/come/" in register(second, "Ben").html
    assert command("market", "invite", "--revoke", "--json").json == {
        "revoked": [],
        "invitation_revoked": True,
    }
    assert "You need an invitation" in register(second, "Cy").html
    assert Browser().get(own).status == 200  # who has registered keeps their own


def test_the_link_of_somebody_who_registered_is_given_to_nobody(
    command: Command, panel: MarketServer
) -> None:
    invitation = command("market", "invite", "--public-url", panel.url).out.strip()
    stranger = Browser()
    page = stranger.get(invitation)
    form = page.form(action="/signin")
    assert form is not None
    link = re.findall(r'value="(http[^"]+/come/[^"]+)"', stranger.submit(page, form, {"name": "Ben"}).html)[0]
    said = command("market", "invite", "Ada", "ben", "--public-url", panel.url)
    assert (said.code, said.out) == (2, "")
    assert "somebody has registered as Ben" in said.err
    (advised,) = re.findall(r"humaneval (market invite --revoke Ben --database \S+)", said.err)
    assert command(*advised.split()).code == 0
    assert stranger.get(f"{panel.url}/hits").url.startswith(f"{panel.url}/signin")
    links = command("market", "invite", "ben", "--public-url", panel.url, "--json").json["links"]
    assert links["Ben"] != link
    assert stranger.get(link).status == 404
    again = command("market", "invite", "Ben", "--public-url", panel.url, "--json").json["links"]
    assert again == links


def test_a_name_that_cannot_be_one_invites_nobody(command: Command, panel: MarketServer) -> None:
    said = command("market", "invite", "Ada", "x" * 200)
    assert said.code == 2
    assert "Nobody was invited" in said.err
    assert "Ada" not in command("market", "invite", "Ben", "--json").out
    assert command("market", "invite", "Ada", "--database", "none.db").code == 1
    assert json.loads(command("market", "invite", "Ben", "--json").out)["links"].keys() == {"Ben"}


def test_a_revoked_link_and_the_visits_it_began_are_no_longer_good_and_the_work_stays(
    command: Command, panel: MarketServer
) -> None:
    def come(link: str) -> Browser:
        browser = Browser()
        page = browser.get(link)
        form = page.form(action=urlsplit(link).path)
        assert form is not None
        assert browser.submit(page, form, {}).url == f"{panel.url}/hits"
        return browser

    def worker_id(browser: Browser) -> str:
        found = re.search(r"\bA[A-Z0-9]{13}(?=<)", browser.get(f"{panel.url}/hits").html)
        assert found is not None
        return found.group()

    invite = ("market", "invite", "Ada", "Ben", "--public-url", panel.url, "--json")
    links = command(*invite).json["links"]
    ada, ben = come(links["Ada"]), come(links["Ben"])
    was, page = worker_id(ada), ada.get(f"{panel.url}/hits")
    assert command("market", "invite", "--revoke", "Ada", "Nobody").code == 2, (
        "nobody's is, if one is unknown"
    )
    assert ada.get(f"{panel.url}/hits").url == f"{panel.url}/hits"
    assert command("market", "invite", "--revoke", " ADA ", "--json").json == {"revoked": ["Ada"]}
    assert ada.get(f"{panel.url}/hits").url.startswith(f"{panel.url}/signin")
    form = page.form(action="/signout")
    assert form is not None
    assert ada.submit(page, form, {}).url.startswith(f"{panel.url}/signin")
    late = Browser().get(links["Ada"])
    assert (late.status, late.form(action=urlsplit(links["Ada"]).path)) == (404, None)
    assert ben.get(f"{panel.url}/hits").url == f"{panel.url}/hits"
    again = command(*invite).json["links"]
    assert again["Ben"] == links["Ben"]
    assert again["Ada"] != links["Ada"]
    assert worker_id(come(again["Ada"])) == was
    assert "no longer valid" in command("market", "invite", "--revoke", "Ada").out


@pytest.mark.parametrize("names", [[""], [" "], ["Ada", "\t "], ["", "Ada"]])
@pytest.mark.parametrize("revoke", [[], ["--revoke"]])
def test_a_name_of_nothing_is_not_everybody(
    command: Command, panel: MarketServer, names: list[str], revoke: list[str]
) -> None:
    assert command("market", "invite", "Ada").code == 0
    said = command("market", "invite", *revoke, *names)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Error: a name is empty")
    Path("people.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    said = command("market", "invite", *revoke, "--file", "people.txt")
    if names in ([""], ["", "Ada"]):  # an empty line of a list is not a name
        assert (said.code, bool(said.out)) == ((0, True) if "Ada" in names else (2, False))
    else:
        assert (said.code, said.out) == (2, "")


def test_a_list_of_nobody_is_not_everybody(command: Command, panel: MarketServer) -> None:
    Path("people.txt").write_text("\n\n", encoding="utf-8")
    for names in ([], ["Ada"]):
        said = command("market", "invite", *names, "--file", "people.txt")
        assert (said.code, said.out) == (2, "")
        assert "people.txt has no names" in said.err


def test_links_begin_where_the_marketplace_was_last_served_unless_told_otherwise(
    command: Command, books: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beginning(*options: str) -> str:
        (link,) = command("market", "invite", "Ada", *options, "--json").json["links"].values()
        assert command("market", "invite", *options).out.startswith(f"{link.partition('/come/')[0]}/signin?")
        return str(link.partition("/come/")[0])

    assert beginning() == "http://127.0.0.1:8731"  # it was never served
    keys = Keys({"PANEL": "a secret of sixteen"})
    MarketServer(books, mode=Mode.LOCAL, public_url="https://panel.lab.example/", keys=keys).close()
    assert beginning() == "https://panel.lab.example"
    monkeypatch.setenv("HUMANEVAL_MARKET_SITE", "https://site.example")
    assert beginning() == "https://site.example"
    assert beginning("--public-url", "https://said.example") == "https://said.example"
    monkeypatch.delenv("HUMANEVAL_MARKET_SITE")
    with MarketServer(books, mode=Mode.LOCAL) as server:
        assert beginning() == server.url
    with pytest.raises(SettingsError):
        MarketServer(books, mode=Mode.LOCAL, public_url="http://localhost/panel")
    assert beginning() == server.url


@pytest.mark.parametrize("wrong", ["panel.lab.example", "https://panel.lab.example/turk"])
def test_no_link_is_printed_that_would_lead_nowhere(
    command: Command, panel: MarketServer, wrong: str
) -> None:
    for names in ((), ("Ada",)):
        said = command("market", "invite", *names, "--public-url", wrong)
        assert (said.code, said.out) == (2, "")
        assert "a marketplace cannot be reached at" in said.err


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_X53_names_in_another_encoding_are_read_and_a_guess_is_said(
    command: Command, panel: MarketServer, encoding: str
) -> None:
    Path("people.txt").write_bytes("Jörg Müller\n".encode(encoding))
    said = command("market", "invite", "--file", "people.txt")
    assert said.code == 0
    assert said.out.startswith("Jörg Müller\t")
    assert ("was read as cp1252" in said.err) == (encoding == "latin-1")


def test_X53_a_heading_is_not_invited_and_a_table_is_refused(command: Command, panel: MarketServer) -> None:
    Path("people.txt").write_text("Name\nAda\nO, Ben\n", encoding="utf-8")
    said = command("market", "invite", "--file", "people.txt", "--json")
    assert list(said.json["links"]) == ["Ada", "O, Ben"]
    assert "its first line, Name, is read as a heading" in said.err
    Path("people.csv").write_text("Ada,ada@example.org\nBen,ben@example.org\n", encoding="utf-8")
    said = command("market", "invite", "--file", "people.csv")
    assert (said.code, said.out) == (1, "")
    assert "people.csv has 2 columns" in said.err


def test_a_long_list_is_invited_and_revoked_a_few_people_at_a_time(engine: Engine) -> None:
    open_account(engine, Mode.LOCAL)
    names = [f"P{number}" for number in range(3 * TOGETHER)]
    left: list[int] = []

    def third(_: Connection) -> None:
        left.append(0)
        if len(left) == 4:  # the first only reads
            raise KeyboardInterrupt

    def killed(invite: Callable[[], object]) -> list[Any]:
        left.clear()
        event.listen(engine, "commit", third)
        with pytest.raises(KeyboardInterrupt):
            invite()
        event.remove(engine, "commit", third)
        with engine.connect() as connection:
            return list(connection.execute(select(Worker.name, Worker.links_revoked)))

    assert killed(lambda: personal_links(engine, names, SITE)) == [
        (name, 0) for name in names[: 2 * TOGETHER]
    ]
    links = personal_links(engine, names, SITE)
    assert list(links) == names
    assert personal_links(engine, names, SITE) == links
    revoked = killed(lambda: revoke_links(engine, names))
    assert [times for _, times in revoked] == [1] * 2 * TOGETHER + [0] * TOGETHER
    assert revoke_links(engine, names) == names
    assert not set(personal_links(engine, names, SITE).values()) & set(links.values())
