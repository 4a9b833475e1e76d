"""`up` serves a whole study, ends in order, and goes on: with real processes, people who are simulated, and
other programs at its ports."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from sqlalchemy import Engine

from humaneval.cli.up import _Lines
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.published_hits import up
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PrerequisiteError
from humaneval.market import MarketServer
from humaneval.running.addresses import Places, Wish, choose
from humaneval.running.servers import market_up
from humaneval.running.up import bring_up, publish_rest
from humaneval.running.watch import EndedError, Ending
from humaneval.settings import Loaded, Settings, load_settings
from humaneval.simulated import Crowd, Skills, work_through
from humaneval.store.addresses import keep_addresses, kept_addresses
from humaneval.study.stored import mark_simulated, open_study, study_key
from humaneval.web.app import create_app, running
from humaneval.web.requester import token_of
from tests.commands import Command
from tests.forking.program import Program
from tests.pace import PATIENCE
from tests.ports import free_port


class Up:
    """`humaneval up … --json` as a program of its own, and what it has said so far."""

    def __init__(self, *words: str) -> None:
        self._process = Program("up", *words, "--json", stdout=subprocess.PIPE, stderr=None)
        self.said: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self.said += []
        for line in self._process.stdout:
            self.said.append(json.loads(line))

    def wait_for(self, event: str, **values: object) -> dict[str, Any]:
        """The first event of this kind with these values."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for each in self.said:
                if each["event"] == event and values.items() <= each.items():
                    return each
            time.sleep(0.05)
        pytest.fail(f"no {event} {values} in {self.said}")

    def end(self, number: int) -> int:
        """The exit code after a signal, once everything that was said is read."""
        self._process.send_signal(number)
        code = self._process.wait()
        self._reader.join(timeout=PATIENCE)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code


@pytest.fixture
def start() -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def begin(*words: str) -> Up:
        started.append(Up(*words))
        return started[-1]

    yield begin
    for each in started:
        each.end(signal.SIGKILL)


def people(engine: Engine, address: str, number: int, seed: int, name: str = "study") -> int:
    """So many simulated annotators answer; returns how many found a form."""
    study = open_study(engine, name)
    mark_simulated(study)
    crowd = Crowd(number, Skills(0.5, {"control": 1.0}), 0.0, seed)
    return work_through(crowd, address, study_key(study)).submitted


def test_up_serves_a_study_ends_in_order_and_goes_on_at_the_same_addresses(
    sqlite_engine: Engine,
    study_factory: Callable,
    command: Command,
    start: Callable[..., Up],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 12})
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(sqlite_engine.url))
    ports = str(free_port()), str(free_port())

    first = start("study", "--port", ports[0], "--market-port", ports[1])
    addresses = first.wait_for("up", made=2)
    hosts = [urlsplit(addresses[name]).hostname for name in ("annotators", "requester")]
    assert hosts == ["127.0.0.1"] * 2
    with urlopen(addresses["requester"]) as page:
        assert b"Studies" in page.read()
    with urlopen(addresses["requester"].rstrip("/") + "/study/study/") as page:
        assert f'For annotators: <a href="{addresses["annotators"]}">' in page.read().decode()
    assert people(sqlite_engine, addresses["annotators"], 4, seed=1) == 4
    first.wait_for("progress", submitted=4)
    assert first.end(signal.SIGINT) == 0
    assert [each["event"] for each in first.said[-2:]] == ["ending", "ended"]
    assert first.said[-1]["submitted"] == 4

    killed = start("study")  # the ports are kept
    again = killed.wait_for("up", made=0)
    assert {**again, "made": 2, "already_up": 0} == addresses
    second = start("study")  # in another terminal
    assert second.wait_for("up", made=0)["joined"] is True
    assert second.end(signal.SIGINT) == 0
    assert people(sqlite_engine, addresses["annotators"], 3, seed=2) == 3
    assert killed.end(signal.SIGKILL) == -signal.SIGKILL

    last = start("study")
    last.wait_for("progress", submitted=7)  # also what came before the kill
    study_factory(sqlite_engine, name="other", design={"annotators": 12})
    other = start("other")
    beside = other.wait_for("up", made=2, joined=True)
    assert beside["requester"] == addresses["requester"]
    last.wait_for("beside", study="other")
    assert people(sqlite_engine, beside["annotators"], 1, seed=4, name="other") == 1
    other.wait_for("progress", submitted=1)
    assert other.end(signal.SIGINT) == 0
    told = command("publish", "other", "--to", "local")
    assert "`humaneval up other` shows how far the study is." in told.out
    assert people(sqlite_engine, beside["annotators"], 1, seed=5, name="other") == 1
    assert people(sqlite_engine, addresses["annotators"], 7, seed=3) == 5
    last.wait_for("complete")
    # Every other command finds the marketplace there, without a setting.
    assert command("review", "study", "--approve").code == 0
    assert last.end(signal.SIGTERM) == 0
    assert command("score", "study", "--json").json["annotators"]["collected"] == 12
    assert command("score", "other", "--json").json["annotators"]["collected"] == 2  # one `up` collects all
    assert "as `up` served it" in command("config", "show").out


@contextmanager
def other_program() -> Iterator[int]:
    """A web server of somebody else. Yields its port."""

    class Nothing(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Nothing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def study(sqlite_engine: Engine, study_factory: Callable, monkeypatch: pytest.MonkeyPatch) -> str:
    study_factory(sqlite_engine, design={"annotators": 12})
    monkeypatch.setenv("HUMANEVAL_DATABASE", str(sqlite_engine.url))
    return "study"


def chosen(engine: Engine, wish: Wish | None = None, **environment: str) -> Places:
    loaded = load_settings(
        environment={"HUMANEVAL_DATABASE": str(engine.url), **environment},
        kept=kept_addresses(str(engine.url)),
    )
    return choose(loaded, wish or Wish(), engine, "study", token_of(engine), Path("market.db"))


def test_a_port_of_another_program_is_named_with_the_way_out(study: str, command: Command) -> None:
    with other_program() as taken:
        forms = command("up", study, "--port", str(taken))
        assert (forms.code, f"another program listens at port {taken}" in forms.err) == (1, True)
        assert "humaneval up study --port NUMBER" in forms.err
        market = command("up", study, "--port", str(free_port()), "--market-port", str(taken))
        assert (market.code, f"another program listens at port {taken}" in market.err) == (1, True)
        assert "humaneval up study --market-port NUMBER" in market.err


def test_up_keeps_and_makes_nothing_where_it_cannot_listen(
    study: str, sqlite_engine: Engine, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUMANEVAL_HOST", "127.0.0.9x")
    said = command("up", study)
    assert said.code == 1
    assert said.err.startswith("Error: 127.0.0.9x is not an address of this machine")
    assert not kept_addresses(str(sqlite_engine.url))
    assert not Path("market.db").exists()


def test_a_form_server_of_another_database_is_told_from_ours(
    study: str, command: Command, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(create_app(Settings(), sqlite_engine)) as port:
        assert "another form server" in command("up", study, "--port", str(port)).err
    token = token_of(sqlite_engine)
    with running(create_app(Settings(), sqlite_engine, requester_token=token)) as port:
        keep_addresses(sqlite_engine, {"port": str(port), "public_url": f"http://localhost:{port}"})
        refused = command("up", study, "--port", str(free_port()))
        assert (refused.code, "served already" in refused.err) == (1, True)
        monkeypatch.setenv("HUMANEVAL_MARKET_URL", f"http://127.0.0.1:{free_port()}")
        alone = command("up", study)
        assert (alone.code, "serves the forms alone. End it" in alone.err) == (1, True)


def test_forms_and_the_marketplace_are_one_site_so_that_frames_may_keep_answers(
    study: str, sqlite_engine: Engine
) -> None:
    settings = chosen(sqlite_engine, Wish(port=free_port(), market_port=free_port())).settings
    assert urlsplit(settings.public_url).hostname == urlsplit(settings.market_url).hostname
    assert urlsplit(Settings().public_url).hostname == urlsplit(Settings().market_url).hostname


def test_nobodys_ports_give_way_and_kept_ones_do_not(study: str, sqlite_engine: Engine) -> None:
    with other_program() as taken:
        keep_addresses(sqlite_engine, {"port": str(taken), "public_url": f"http://localhost:{taken}"})
        places = chosen(sqlite_engine, HUMANEVAL_MARKET_URL=f"http://127.0.0.1:{free_port()}")
    # Nothing was put up at the kept port, so nobody misses it.
    assert places.settings.port > taken
    assert places.settings.public_url == f"http://localhost:{places.settings.port}"
    assert places.market_file == Path("market.db").absolute()


def test_a_marketplace_that_runs_is_used(study: str, sqlite_engine: Engine, market: MarketServer) -> None:
    places = chosen(sqlite_engine, Wish(port=free_port()), HUMANEVAL_MARKET_URL=market.url)
    assert (places.market_file, places.settings.market_url) == (None, market.url)


def loaded_by_default(engine: Engine, market_url: str) -> Loaded:
    """As without any setting, where 8731 is the port of this address."""
    found = load_settings(environment={"HUMANEVAL_DATABASE": str(engine.url)})
    return Loaded(found.settings.model_copy(update={"market_url": market_url}), found.origins)


def test_the_marketplace_of_another_folder_is_left_alone(
    study: str, sqlite_engine: Engine, market: MarketServer, tmp_path: Path
) -> None:
    loaded, token = loaded_by_default(sqlite_engine, market.url), token_of(sqlite_engine)
    wish = Wish(port=free_port())
    places = choose(loaded, wish, sqlite_engine, study, token, tmp_path / "here.db")
    assert places.market_file == tmp_path / "here.db"
    assert places.market_port != market.port
    named = wish._replace(market_port=market.port)
    with pytest.raises(PrerequisiteError, match="the marketplace of another folder listens at port"):
        choose(loaded, named, sqlite_engine, study, token, tmp_path / "here.db")


def test_the_marketplace_of_this_folder_is_used_if_it_runs(
    study: str, sqlite_engine: Engine, tmp_path: Path
) -> None:
    with market_up(tmp_path / "here.db") as running_here:
        loaded, token = loaded_by_default(sqlite_engine, running_here.url), token_of(sqlite_engine)
        places = choose(loaded, Wish(port=free_port()), sqlite_engine, study, token, tmp_path / "here.db")
    assert (places.market_file, places.settings.market_url) == (None, running_here.url)


def test_a_kept_port_of_the_marketplace_gives_way_only_while_nobody_has_it(
    study: str, sqlite_engine: Engine, platform: MTurk, market: MarketServer, tmp_path: Path
) -> None:
    with market_up(tmp_path / "own.db"):
        pass
    own = {"market_url": market.url, "market_file": str(tmp_path / "own.db")}
    keep_addresses(sqlite_engine, own)
    wish = Wish(port=free_port(), public_url="http://localhost:8730")
    assert chosen(sqlite_engine, wish).market_port != market.port
    keep_addresses(sqlite_engine, own)
    publish_rest(open_study_at(sqlite_engine, study, platform), "http://localhost:8730", Ending())
    with pytest.raises(PrerequisiteError, match="another folder"):
        chosen(sqlite_engine, wish)


def test_hits_that_lead_to_other_addresses_are_not_stranded(
    study: str, command: Command, sqlite_engine: Engine, platform: MTurk, market: MarketServer
) -> None:
    at = open_study_at(sqlite_engine, study, platform)
    publish_rest(at, "http://localhost:8730", Ending())
    moved = command("up", study, "--port", str(free_port()))
    assert moved.code == 2
    assert "lead annotators to forms at another address" in moved.err
    assert "Leave out --port" in moved.err


def test_of_two_ups_at_the_same_moment_one_gives_way(
    study: str, sqlite_engine: Engine, platform: MTurk
) -> None:
    ports = {"port": free_port(), "market_port": free_port()}
    first, second = chosen(sqlite_engine, Wish(**ports)), free_port()
    token, kept = token_of(sqlite_engine), kept_addresses(str(sqlite_engine.url))
    early = load_settings(environment={"HUMANEVAL_DATABASE": str(sqlite_engine.url)}, kept={})
    wish = Wish(port=second, market_port=free_port())

    def begin() -> Places:
        """What the second one keeps that began before the first had kept anything."""
        return choose(early, wish, sqlite_engine, study, token, Path("market.db"))

    with running(create_app(first.settings, sqlite_engine, requester_token=token), port=first.settings.port):
        with pytest.raises(PrerequisiteError, match="served already"):
            begin()
        assert kept_addresses(str(sqlite_engine.url)) == kept
    assert begin().settings.port == second
    at = open_study_at(sqlite_engine, study, platform)
    with pytest.raises(PrerequisiteError, match=f"served already, at http://127.0.0.1:{second}"):
        bring_up(at, first, lambda *_: at, token, _Lines())
    assert up(at.study, "local") == []


def test_studies_that_are_up_at_two_addresses_do_not_keep_each_other_down(
    study: str,
    command: Command,
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    market: MarketServer,
) -> None:
    study_factory(sqlite_engine, name="other", design={"annotators": 12})
    ports = {study: free_port(), "other": free_port()}
    for name, port in ports.items():
        publish_rest(open_study_at(sqlite_engine, name, platform), f"http://127.0.0.1:{port}", Ending())
    keep_addresses(
        sqlite_engine, {"port": str(ports[study]), "public_url": f"http://127.0.0.1:{ports[study]}"}
    )
    assert chosen(sqlite_engine, HUMANEVAL_MARKET_URL=market.url).astray == ["other"]
    refused = command("up", "other")
    assert (refused.code, "the HITs of study 'other'" in refused.err) == (2, True)
    assert (
        "`humaneval expire other --to local` takes them down while `humaneval up study` runs" in refused.err
    )
    nowhere = command("up", study, "--port", str(free_port()))
    assert (nowhere.code, "Leave out --port" in nowhere.err) == (2, True)


def test_an_end_while_publishing_loses_nothing_and_puts_nothing_up_twice(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_factory(sqlite_engine, design={"annotators": 36})
    at = open_study_at(sqlite_engine, "study", platform)
    ending = Ending()
    ending.stop()
    with pytest.raises(EndedError):
        publish_rest(at, "http://localhost:8730", ending)
    assert publish_rest(at, "http://localhost:8730", Ending()).assignments <= 36
    assert len(up(at.study, "local")) == len(list(platform.client.list_hits()["HITs"])) == 4
    assert publish_rest(at, "http://localhost:8730", Ending()).made == 0


def test_behind_a_proxy_calls_are_signed_and_workers_invited(study: str, sqlite_engine: Engine) -> None:
    site = "https://study.lab.example"
    wish = Wish(free_port(), free_port(), site)
    settings = chosen(sqlite_engine, wish).settings
    assert (settings.public_url, settings.market_site, settings.trusted_proxies) == (site, site, 1)
    assert settings.market_keys
    assert chosen(sqlite_engine).settings == settings  # kept
    here = chosen(sqlite_engine, Wish(public_url=f"http://localhost:{wish.port}")).settings
    assert (here.market_site, here.trusted_proxies) == ("", 0)


def test_a_study_that_is_up_by_link_stays_there(study: str, command: Command) -> None:
    command("publish", study, "--to", "link")
    refused = command("up", study)
    assert refused.code == 2
    assert "is up at link" in refused.err


def test_addresses_are_kept_in_either_database_and_missing_ones_are_none(
    engine: Engine, tmp_path: Path
) -> None:
    url = engine.url.render_as_string(hide_password=False)
    assert kept_addresses(url) == {}
    keep_addresses(engine, {"port": "9000"})
    keep_addresses(engine, {"port": "9001"})
    assert kept_addresses(url) == {"port": "9001"}
    assert kept_addresses(f"sqlite:///{tmp_path}/none.db") == {}
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("no database", encoding="utf-8")
    assert kept_addresses(f"sqlite:///{tmp_path}/text.db") == {}


def test_until_something_is_published_by_hand_up_is_the_next_command(
    study: str, command: Command, sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    for words in (("score", study), ("report", study), ("simulate", study)):
        refused = command(*words)
        assert "humaneval up study" in refused.err
        assert "publish" not in refused.err
    assert "Next: humaneval up study" in command("status", study).out
    publish_rest(open_study_at(sqlite_engine, study, platform), "http://localhost:8730", Ending())
    study_factory(sqlite_engine, name="other", design={"annotators": 12})
    assert "humaneval publish other --to local" in command("score", "other").err
    keep_addresses(sqlite_engine, {"market_url": f"http://127.0.0.1:{free_port()}"})
    assert "humaneval up other" in command("score", "other").err


def test_up_without_a_name_says_the_newest_study(
    study: str, command: Command, sqlite_engine: Engine, study_factory: Callable
) -> None:
    assert "For the newest: `humaneval up study`." in command("up").err
    study_factory(sqlite_engine, name="other", design={"annotators": 12})
    refused = command("up")
    assert refused.code == 2
    assert "For the newest: `humaneval up other`. The others are study." in refused.err


def test_commands_that_miss_the_servers_of_up_name_it(
    study: str, command: Command, sqlite_engine: Engine, platform: MTurk
) -> None:
    publish_rest(open_study_at(sqlite_engine, study, platform), "http://localhost:8730", Ending())
    keep_addresses(sqlite_engine, {"market_url": f"http://127.0.0.1:{free_port()}"})
    for words in (("collect", study), ("simulate", study, "--annotators", "1")):
        refused = command(*words)
        assert refused.code != 0
        assert "while `humaneval up study`" in refused.err
        assert "serve`" not in refused.err
    for words in (("score", study), ("report", study)):
        assert "`humaneval up study` collects them while it runs" in command(*words).err
    assert "Next: humaneval up study" in command("status", study).out  # there is nothing to look at yet
    assert not command("study", "show", study, "--json").json["simulated"]  # no program has come


def test_doctor_takes_the_servers_that_up_will_start_for_granted(
    study: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", f"http://localhost:{free_port()}")
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", f"http://127.0.0.1:{free_port()}")
    said = command("doctor", study)
    assert said.code == 0
    assert "MISSING" not in said.out
    assert "Form server: `humaneval up study` starts it" in said.out
    assert "Marketplace: `humaneval up study` starts it" in said.out
    assert "Next: humaneval up study" in said.out
    with other_program() as taken:
        monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", f"http://localhost:{taken}")
        assert "MISSING Form server" in command("doctor", study).out
