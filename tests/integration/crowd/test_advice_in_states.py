"""Advice leads somewhere: in each state of a study, whoever does what is advised goes in no circle."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Engine, text

from humaneval.crowd.mturk.platform import MTurk
from tests.advice import printed_commands
from tests.integration.prolific.people import World

BY_A_PERSON = {"up", "serve", "create", "RESULTS.csv", "ASSIGNMENT", "ID"}
"""Words of commands that run on, or want something of a person's own: a walk ends there."""
WORK = ("simulate", "study", "--skill", "control=1", "--annotators")
COLLECTED = ("publish study", f"{shlex.join(WORK)} 2", "collect study")
APPROVED = (*COLLECTED, "review study --approve")
BY_LINK = "publish study --to link"


class State(NamedTuple):
    """What leads to a state of a study, and what `status` then advises first."""

    verbs: Iterable[str]
    first: str
    lost: bool = False
    """The marketplace loses the HITs at the end."""


STATES = {
    "not published": State((), "up study"),
    "no answers": State(["publish study"], "collect study --to local"),
    "no answers at two places": State(["publish study", BY_LINK], "collect study --to local"),
    "no answers by files": State(
        ["publish study --to csv --out batch"], "collect study --to csv --from RESULTS.csv"
    ),
    "answers wait": State(COLLECTED[:2], "collect study --to local"),
    "collected": State(COLLECTED, "review study --to local"),
    "not paid": State(APPROVED, "score study"),
    "rejected": State([*COLLECTED, "reject study ALL --reason x"], "score study"),
    "expired": State(["publish study", "expire study"], "extend study --to local --days 7"),
    "expired link": State([BY_LINK, "expire study"], "extend study --to link --days 7"),
    "closed": State(["publish study", "close study"], "study create NAME"),
    "closed batch": State(["publish study --to csv --out batch", "close study"], "study create NAME"),
    "closed at one of two": State(
        ["publish study", BY_LINK, "close study --to local"], "collect study --to link"
    ),
    "closed with answers": State([*APPROVED, "close study"], "score study"),
    "gone": State(["publish study"], "collect study --to local", lost=True),
    "gone with answers": State(COLLECTED[:2], "collect study --to local --accept-lost", lost=True),
}


@pytest.fixture
def walk(verb: Callable) -> Callable[..., None]:
    """Runs a verb, what it advises, and so on. No command comes twice with nothing changed between."""

    def go(line: str, path: tuple[tuple[str, Any], ...] = ()) -> None:
        here = (line, verb("status", "study", "--json").document["endpoints"])
        assert here not in path, " → ".join([*(each for each, _ in path), line])
        said = verb(*shlex.split(line)[1:])
        for each in printed_commands(said.out + said.err):
            if BY_A_PERSON.isdisjoint(shlex.split(each)):
                go(each, (*path, here))

    return go


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_advice_goes_in_no_circle(
    state: State,
    sqlite_engine: Engine,
    study_factory: Callable,
    form_server: Callable,
    platform: MTurk,
    market_engine: Engine,
    verb: Callable,
    walk: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", form_server(sqlite_engine).url)
    study_factory(sqlite_engine, design={"annotators": 4})
    for line in state.verbs:
        work = verb("review", "study", "--json").document["assignments"] if "ALL" in line else ()
        done = verb(*shlex.split(line.replace("ALL", " ".join(each["assignment"] for each in work))))
        assert done.code == 0, done.err
    if state.lost:
        with market_engine.begin() as connection:
            connection.execute(text("UPDATE hits SET id = '3LOST' || number, annotation = ''"))
    assert verb("status", "study", "--json").document["next"] == f"humaneval {state.first}"
    if state.first.startswith(("extend", "study create")):
        assert state.first in verb("score", "study").err
    walk("humaneval score study")
    walk("humaneval status study")


@pytest.mark.parametrize(
    ("verbs", "first"),
    [
        ([], "collect study --to prolific"),
        (["expire"], "extend study --to prolific --days 7"),
        (["close"], "study create NAME"),
    ],
)
def test_advice_about_a_study_at_prolific_goes_in_no_circle(
    verbs: list[str],
    first: str,
    world: World,
    verb: Callable,
    walk: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {"URL": world.server.url, "TOKEN": world.server.token, "PROJECT": world.project}
    for name, value in there.items():
        monkeypatch.setenv(f"PROLIFIC_{name}", value)
    world.publish()
    for each in verbs:
        assert verb(each, "study").code == 0
    assert verb("status", "study", "--json").document["next"] == f"humaneval {first}"
    walk("humaneval score study")
    walk("humaneval status study")


def test_forms_that_are_left_out_are_not_called_missing(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", up.preview.partition("/mturk")[0])
    work = answer(up)
    verb("collect", "study")
    verb("reject", "study", work, "--reason", "x")
    said = verb("score", "study").err
    assert ("no responses yet" in said, "`humaneval score study --all`" in said) == (False, True)
