"""Random schedules of verbs, people, time, faults and deaths: whatever the order, nothing is doubled and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from humaneval.store.migrate import open_current
from tests.schedules.world import STUDY, WORKERS, World, make_templates

DIES_IN = st.one_of(st.just(0), st.integers(1, 60))
WHO = st.integers(1, WORKERS)
VERBS = ("publish", "collect", "approve", "expire", "extend")
STEP = st.one_of(
    st.tuples(st.sampled_from(VERBS), st.tuples(DIES_IN)),
    st.tuples(st.sampled_from(("bonus", "reject")), st.tuples(WHO, DIES_IN)),
    st.tuples(
        st.just("work"),
        st.tuples(
            WHO, st.sampled_from(("submit", "submit", "unseen", "lost", "return", "leave")), st.booleans()
        ),
    ),
    st.tuples(st.just("wait"), st.tuples(st.sampled_from((1, 25, 80)))),
)
SCHEDULE = st.tuples(st.integers(0, 2**16), st.lists(STEP, min_size=3, max_size=10))
"""The seed of the faults, and the steps."""


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory, study_factory: Callable[..., Any]) -> Path:
    """Databases with a study that needs two HITs, and with an account."""
    folder = tmp_path_factory.mktemp("templates")

    def study(engine: Engine) -> None:
        open_current(engine)
        study_factory(engine, STUDY, design={"annotators": WORKERS}, hit={"auto_approval_days": 2})

    make_templates(folder, study)
    return folder


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, templates: Path, tmp_path: Path) -> Iterator[World]:
    """Clients that wait for nothing, and HITs of three places."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr("humaneval.crowd.mturk.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr("humaneval.crowd.publishing.MAX_ASSIGNMENTS", 3)
    world = World(tmp_path, templates)
    yield world
    world.close()


def run(world: World, seed: int, steps: list[tuple[str, tuple[Any, ...]]]) -> None:
    """One schedule, looked at after every step and once everything has settled."""
    world.begin(seed)
    world.publish()
    for name, arguments in steps:
        getattr(world, name)(*arguments)
        world.check_not_ahead()
    world.settle()
    world.check_settled()


def tried(count: int) -> Callable[[Any], Any]:
    """So many schedules; a failing one is shortened and printed, and comes back by its seed."""
    return settings(
        max_examples=count, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_thousand_schedules_double_nothing_and_lose_nothing(part: int, world: World) -> None:
    @tried(250)
    @given(SCHEDULE)
    def schedules(schedule: tuple[int, list[Any]]) -> None:
        seed, steps = schedule
        run(world, seed * 4 + part, steps)

    schedules()


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_twenty_thousand_schedules_double_nothing_and_lose_nothing(part: int, world: World) -> None:
    @tried(1000)
    @given(SCHEDULE)
    def schedules(schedule: tuple[int, list[Any]]) -> None:
        seed, steps = schedule
        run(world, seed * 20 + part, steps)

    schedules()
