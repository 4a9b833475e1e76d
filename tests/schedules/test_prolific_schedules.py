"""Random schedules of verbs, people, events, time, faults and deaths at the stand-in for Prolific.

Whatever the order, nobody is paid twice, and no row is lost or given twice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.store.migrate import open_current
from humaneval.store.types import now
from tests.schedules.prolific_world import MINUTES, PEOPLE, PLACES, STUDY, ProlificWorld, make_templates
from tests.schedules.test_schedules import Step, try_all

RARE = ("quit", "return", "declined", "unsent", "late", "leaked", "nocode", "badcode")
HOW = ("submit", "submit", "submit", "submit", "leave", *RARE)


def _dies_in(dice: Random) -> int:
    """Most verbs come to no more than four places where they can die."""
    return dice.choice((0, dice.randint(1, 4), dice.randint(1, 8)))


def _work(dice: Random) -> Step:
    return "work", (dice.randint(1, PEOPLE), dice.choice(HOW))


def _verb(*names: str) -> Callable[[Random], Step]:
    return lambda dice: (dice.choice(names), (_dies_in(dice),))


def _about_somebody(*names: str) -> Callable[[Random], Step]:
    return lambda dice: (dice.choice(names), (dice.randint(1, PEOPLE), _dies_in(dice)))


def _wait(dice: Random) -> Step:
    return "wait", (dice.choice((1, MINUTES, 2 * MINUTES, 22 * 24 * 60)),)


DRAWS = (
    _work,
    _work,
    _work,
    _wait,
    lambda dice: ("deliver", ()),
    _verb("publish", "collect", "approve"),
    _verb("pause", "start", "more", "close"),
    _about_somebody("bonus", "reject", "ask"),
)
OFTEN_REACHED = ("submit", *RARE, "killed", "refused", "approved", "reward", "event")
REACHED = (*OFTEN_REACHED, "rejected", "bonus", "asked")


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory, study_factory: Callable[..., Any]) -> Path:
    """A study of a few forms, before and after it is published."""
    folder = tmp_path_factory.mktemp("templates")

    def study(engine: Engine) -> None:
        open_current(engine)
        minutes = {"assignment_minutes": MINUTES, "expected_minutes": 4, "reward": "0.80", "currency": "GBP"}
        study_factory(engine, STUDY, design={"annotators": PLACES}, hit=minutes)

    make_templates(folder, study)
    return folder


@pytest.fixture
def world(templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProlificWorld]:
    """The world. It has one clock for everybody, and few approvals are many."""
    monkeypatch.setattr("humaneval.crowd.prolific.platform.BULK", 2)
    monkeypatch.setattr("humaneval.store.engine.PAUSE", 0.0)
    world = ProlificWorld(tmp_path, templates)
    for name, module in list(sys.modules.items()):
        if name.startswith("humaneval.") and getattr(module, "now", None) is now:
            monkeypatch.setattr(module, "now", world.clock)
    yield world
    world.leave()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "reached"), [(0, OFTEN_REACHED), (20, REACHED), (40, OFTEN_REACHED)], ids=["0", "20", "40"]
)
def test_sixty_schedules_double_nothing_and_lose_nothing(
    first: int, reached: Collection[str], world: ProlificWorld
) -> None:
    try_all(world, DRAWS, range(first, first + 20), reached, first=_work, most=5)


@pytest.mark.long
def test_more_that_are_as_short_double_nothing_and_lose_nothing(world: ProlificWorld) -> None:
    try_all(world, DRAWS, range(60, 200), REACHED, first=_work, most=5)


@pytest.mark.long
@pytest.mark.parametrize("part", range(25))
def test_five_thousand_schedules_double_nothing_and_lose_nothing(part: int, world: ProlificWorld) -> None:
    first = 1000 + 200 * part
    try_all(world, DRAWS, range(first, first + 200), REACHED, first=_work)
