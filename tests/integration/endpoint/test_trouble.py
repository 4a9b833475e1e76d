"""Servers that are down, slow, busy, expensive or strange: one clear line, nothing is lost, the key is never
shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from generators.endpoint.cache import FILE, Cache, Tokens
from generators.endpoint.client import Client, Pace
from generators.endpoint.options import EndpointOptions
from humaneval.domain import Blank, GeneratorRequest
from humaneval.errors import HumanEvalError, InputError, UsageError
from humaneval.stories import bundled_stories
from tests.dripping import dripping
from tests.integration.endpoint.played import KEY, Asked, Build, PlayedServer, Says, completion, error, good
from tests.pace import PATIENCE

PATH = "/chat/completions"


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(server: PlayedServer, clock: Clock) -> Callable[..., Client]:
    def make(retries: int = 5, per_minute: int = 0, timeout: float = PATIENCE, url: str = "") -> Client:
        options = EndpointOptions(url=url or server.url, model="tiny", retries=retries, timeout=timeout)
        return Client(options.address(), KEY, options, Pace(per_minute, clock, clock.sleep))

    return make


def in_turn(*says: Says) -> Callable[[Asked], Says]:
    given = iter(says)
    return lambda asked: next(given)


OVERLOADED = error(500, "overloaded")
BODY = {"prompt": "x"}


def test_passing_faults_are_tried_again_after_longer_and_longer_waits(
    client: Callable[..., Client], server: PlayedServer, clock: Clock
) -> None:
    server.play = in_turn(OVERLOADED, OVERLOADED, Says(raw=b"<html>"), completion("yes"))
    assert client().post(PATH, BODY).values["choices"][0]["text"] == "yes"
    assert clock.slept == [1, 2, 4]


def test_a_server_that_says_how_long_to_wait_is_waited_for(
    client: Callable[..., Client], server: PlayedServer, clock: Clock
) -> None:
    busy = error(429, "slow down", Retry_After="17")
    past = error(429, "slow down", Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")
    never = error(429, "slow down", Retry_After="Mon, 01 Jan 99999999999 00:00:00 GMT")
    server.play = in_turn(busy, past, never, completion("yes"))
    client().post(PATH, BODY)
    assert clock.slept == [17, 4]
    server.play = in_turn(error(429, "tomorrow", Retry_After="86400"))
    with pytest.raises(InputError, match="asks to wait for 86400 seconds"):
        client().post(PATH, BODY)


def test_tries_are_counted_and_end(client: Callable[..., Client], server: PlayedServer, clock: Clock) -> None:
    server.play = lambda asked: OVERLOADED
    with pytest.raises(InputError, match=r"in 9 tries: it answers 500 \(overloaded\)") as caught:
        client(retries=8).post(PATH, BODY)
    assert clock.slept == [1, 2, 4, 8, 16, 32, 60, 60]
    assert "are kept" in caught.value.hint


def test_requests_are_spread_over_the_minute_for_all_threads_together(
    client: Callable[..., Client], server: PlayedServer, clock: Clock
) -> None:
    server.play = lambda asked: completion("yes")
    asking = client(per_minute=30)
    for _ in range(4):
        asking.post(PATH, BODY)
    assert clock.slept == [2, 2, 2]
    turns: list[float] = []
    pace = Pace(600, lambda: 0.0, turns.append)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: pace.wait(), range(20)))
    assert sorted(round(turn, 3) for turn in turns) == [n / 10 for n in range(1, 20)]


def test_a_slow_server_is_given_up_in_time(client: Callable[..., Client], server: PlayedServer) -> None:
    given_up = threading.Event()

    def late(asked: Asked) -> Says:
        given_up.wait(PATIENCE)
        return completion("late")

    server.play = late
    with pytest.raises(InputError, match="does not answer in time"):
        client(retries=0, timeout=0.1).post(PATH, BODY)
    given_up.set()


def test_a_server_that_drips_is_given_up_in_time(client: Callable[..., Client]) -> None:
    with dripping() as url, pytest.raises(InputError, match="does not answer in time"):
        client(retries=0, timeout=1, url=f"{url}/v1").post(PATH, BODY)


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (error(401, f"Incorrect key {KEY}"), "does not accept the key in OPENAI_API_KEY"),
        (error(403, f"Forbidden {KEY}"), "does not accept the key"),
        (error(404, f"no model for {KEY}"), "has no model 'tiny'"),
        (error(429, "You exceeded your quota", "insufficient_quota"), "no money left: You exceeded"),
        (error(402, "Pay first"), "no money left: Pay first"),
        (error(307, "over there", Location="http://127.0.0.1:1/"), "redirects to another address"),
        (error(418, f"teapot {KEY}"), "answers 418: teapot"),
        (error(500, f"crash with {KEY}"), "it answers 500"),
        (Says(raw=b"\xff<html>"), "not that of an OpenAI-compatible server"),
        (Says([]), "not that of an OpenAI-compatible server"),
        (
            Says({"error": {"message": "the model\x1b[31m is\nloading" + "!" * 300}}),
            r"200 with an error \(the model\[31m is loading!!!",
        ),
        (Says({"choices": [{"text": 3}]}), "not that of an OpenAI-compatible server"),
        (Says(raw=b"x" * 10_100_000), "not that of an OpenAI-compatible server"),
    ],
)
def test_a_refusal_is_one_clear_line_without_the_key(
    says: Says, message: str, build: Build, server: PlayedServer, tmp_path: Path
) -> None:
    server.play = lambda asked: says
    with pytest.raises(InputError, match=message) as caught:
        build()
    shown = caught.value.message + caught.value.hint
    assert KEY not in shown
    assert "\n" not in shown
    assert shown.isprintable()
    assert len(shown) < 500
    assert KEY.encode() not in (tmp_path / "kept" / FILE).read_bytes()


def test_a_server_that_is_not_there_is_not_waited_for(build: Build, server: PlayedServer) -> None:
    server.stop()
    with pytest.raises(InputError, match=r"no server at http://127.*: .*refused") as caught:
        build(retries="9")
    assert "Start it" in caught.value.hint
    with pytest.raises(InputError, match=r"no server at http://nowhere\.invalid"):
        build(url="http://nowhere.invalid/v1", retries="9")


def test_a_key_is_asked_for_by_name(
    build: Build, server: PlayedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="MY_KEY is not set"):
        build(key_variable="MY_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    server.play = lambda asked: error(401, "no key")
    with pytest.raises(InputError, match="requires a key") as caught:
        build()
    assert "--option key_variable=NAME" in caught.value.hint
    server.play = good
    monkeypatch.setenv("MY_KEY", "none")
    build(key_variable="MY_KEY")
    assert server.asked[-1].headers["Authorization"] == "Bearer none"


def test_the_usual_key_goes_out_encrypted_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for url, key in (
        ("http://gpu.example.org/v1", ""),
        ("https://gpu.example.org/v1", KEY),
        ("http://localhost:1/v1", KEY),
    ):
        assert EndpointOptions(url=url, model="m").key() == key
    assert EndpointOptions(url="http://a.org", model="m", key_variable="OPENAI_API_KEY").key() == KEY


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ""}, "no model is named"),
        ({"url": ""}, "the address of the server is missing"),
        ({"url": "localhost"}, "not a web address"),
        ({"url": "http://[bad"}, "not a web address"),
        ({"url": f"http://me:{KEY}@host/v1"}, "contains a name, a password"),
        ({"url": f"http://host/v1?key={KEY}"}, "contains a name, a password"),
        ({"temperature": "3"}, "temperature is out of range"),
        ({"timeout": "nan"}, "timeout is out of range"),
        ({"ceiling": "ten"}, "ceiling is out of range"),
        ({"price_in": "-1"}, "price_in is out of range"),
        ({"ceiling": "1"}, "needs the prices"),
        ({"parallel": "0"}, "parallel is out of range"),
    ],
)
def test_options_that_make_no_sense_are_refused_and_no_secret_is_shown(
    options: dict[str, str], message: str, build: Build
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        build(**options)
    assert KEY not in caught.value.message + caught.value.hint


def test_the_address_may_stand_in_the_environment(
    build: Build, server: PlayedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUMANEVAL_ENDPOINT_URL", server.url + "/")
    assert build(url="").provenance.checkpoint == f"{server.url} tiny"


def test_a_checkpoint_is_refused() -> None:
    from generators.endpoint.generator import build_chat

    with pytest.raises(UsageError, match="takes no checkpoint"):
        build_chat(
            GeneratorRequest("chat", checkpoint="x", options={"model": "m", "url": "http://localhost"})
        )


def test_the_ceiling_is_never_passed_and_what_was_paid_for_is_kept(
    build: Build, server: PlayedServer
) -> None:
    blanks = [Blank(story, position) for story in bundled_stories()[:4] for position in (1, 2, 3)]
    # A request takes 100 tokens in and 10 out: 0.0012 at these prices. At most it could take some thousand.
    priced = {"price_in": "10", "price_out": "20", "max_tokens": "20", "parallel": "4"}
    generator = build(**priced, ceiling="0.025")
    with pytest.raises(
        InputError, match=r"of 0\.025 is spent on tiny, and the next request could cost 0\.0\d+"
    ) as caught:
        list(generator.infill(blanks))
    assert "raise the ceiling" in caught.value.hint
    paid = len(server.asked)
    assert 1 < paid < 13
    assert Decimal("0.0012") * paid <= Decimal("0.025")
    with pytest.raises(InputError, match=r"of 0\.025 is spent"):  # by another command, too
        list(build(**priced, ceiling="0.025").infill(blanks))
    before = len(server.asked)
    assert len(list(build(**priced, ceiling="1").infill(blanks))) == len(blanks)
    assert len(server.asked) - before == 13 - before


def test_answers_that_are_not_counted_by_the_server_cost_the_most_that_they_can(
    build: Build, server: PlayedServer, tmp_path: Path
) -> None:
    build("completions")  # the played server counts only chats
    spent = Cache(tmp_path / "kept").spent(server.url, "tiny")
    assert spent.read > 200
    assert spent.written == 256


def test_the_cache_takes_answers_from_many_threads_and_keeps_the_first(tmp_path: Path) -> None:
    caches = [Cache(tmp_path / "a" / "b") for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: caches[n % 4].put(f"{n % 10}", [n % 10], "e", "m", Tokens(1, 2)), range(80)))
    assert caches[0].spent("e", "m") == (80, 160)
    assert [caches[1].get(f"{n}") for n in range(11)] == [*([n] for n in range(10)), None]


def test_a_cache_that_cannot_be_used_is_said(tmp_path: Path, build: Build) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / FILE).write_bytes(b"no database" * 100)
    with pytest.raises(HumanEvalError, match=r"the cache in .* cannot be used: file is not a database"):
        build()
    with pytest.raises(InputError, match="cannot be used"):
        Cache(tmp_path / "kept" / FILE / "below")
