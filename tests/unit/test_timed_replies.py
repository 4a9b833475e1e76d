"""A server that goes on sending holds nobody beyond the timeout."""

from __future__ import annotations

import pytest
from urllib3.exceptions import HTTPError

from humaneval.crowd import panel_postbacks
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.errors import PlatformError
from humaneval.timed_replies import connection_pools, opener
from tests.dripping import START, dripping
from tests.unit.recording import recording


@pytest.mark.parametrize("start", [b"", START], ids=["head", "body"])
def test_a_dripping_reply_ends_with_the_timeout(start: bytes) -> None:
    with dripping(start) as url:
        with pytest.raises(OSError, match=r"in time|timed out"):
            opener().open(url, timeout=0.4).read()
        with pytest.raises(HTTPError, match="timed out"):
            connection_pools(retries=False).request("GET", url, timeout=0.4)


def test_a_reply_in_time_is_whole_and_leaves_the_next_its_own_time() -> None:
    pools = connection_pools(num_pools=1, maxsize=1)
    with recording() as server:
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
