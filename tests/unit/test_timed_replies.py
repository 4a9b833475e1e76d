"""A server that goes on sending holds nobody beyond the timeout."""

from __future__ import annotations

from collections.abc import Iterator
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest
from urllib3.exceptions import HTTPError

from humaneval.crowd import panel_postbacks
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.errors import PlatformError, SettingsError
from humaneval.timed_replies import connection_pools, opener
from tests.dripping import START, dripping
from tests.ports import free_port
from tests.unit.recording import recording


@pytest.mark.parametrize("start", [b"", START], ids=["head", "body"])
def test_a_dripping_reply_ends_with_the_timeout(start: bytes) -> None:
    with dripping(start) as url:
        with pytest.raises(OSError, match=r"in time|timed out"):
            opener().open(url, timeout=0.4).read()
        with pytest.raises(HTTPError, match="timed out"):
            connection_pools(url, retries=False).request("GET", url, timeout=0.4)


def test_a_reply_in_time_is_whole_and_leaves_the_next_its_own_time() -> None:
    with recording() as server:
        pools = connection_pools(server.url, num_pools=1, maxsize=1)
        server.to("GET", "/", *({"n": number} for number in range(3)))
        replies = [pools.request("GET", f"{server.url}/api/v1/", timeout=60) for _ in range(3)]
    assert [reply.json() for reply in replies] == [{"n": number} for number in range(3)]


def test_a_panel_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel_postbacks, "SECONDS", 0.4)
    with dripping() as url, pytest.raises(PlatformError, match="reply was lost") as lost:
        panel_postbacks._called(url)
    assert not lost.value.nothing_done


def test_prolific_is_given_up_in_time() -> None:
    with dripping() as url, pytest.raises(PlatformError, match=r"timed out|in time"):
        ProlificClient(url, "t").read("look up a study", "/studies/1/", tries=1, seconds=0.4)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that refuses every request, with what it was asked for."""
    heads: list[bytes] = []

    class Refusing(StreamRequestHandler):
        def handle(self) -> None:
            heads.append(b"".join(iter(self.rfile.readline, b"\r\n")))
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    for name in ("no_proxy", "NO_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", heads
        server.shutdown()


def look_up(url: str) -> None:
    with pytest.raises(PlatformError, match="could not look up a study"):
        ProlificClient(url, "secret").read("look up a study", "/studies/1/", tries=1)


@pytest.mark.parametrize("start", ["http://", "", "http://ada:p%40ss@"])
def test_prolific_is_called_through_the_proxy_of_the_environment(
    proxy: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    address, heads = proxy
    monkeypatch.setenv("https_proxy", start + address)
    look_up("https://prolific.example")
    assert heads[0].startswith(b"CONNECT prolific.example:443 ")
    assert (b"Basic YWRhOnBAc3M=" in heads[0]) == ("ada" in start)
    assert b"secret" not in heads[0]


def test_a_host_that_needs_no_proxy_is_called_without_one(
    proxy: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, heads = proxy
    monkeypatch.setenv("https_proxy", f"http://{address}")
    monkeypatch.setenv("http_proxy", f"http://{address}")
    monkeypatch.setenv("no_proxy", "prolific.invalid")
    look_up("https://prolific.invalid")
    look_up(f"http://127.0.0.1:{free_port()}")
    assert heads == []


def test_a_proxy_that_cannot_be_used_is_named_by_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://ada:secret@127.0.0.1:1080")
    with pytest.raises(SettingsError, match="no HTTP proxy") as refused:
        ProlificClient("https://prolific.example", "t")
    assert "https_proxy" in refused.value.hint
    assert "secret" not in f"{refused.value}{refused.value.hint}"
