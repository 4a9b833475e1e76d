"""Random schedules of verbs, people, time, faults and deaths: whatever the order, nothing is doubled and
nothing is lost.

Each schedule is drawn from its number, so it comes back by it. One that fails is shortened before it is
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.store.migrate import open_current
from tests.schedules.wide_world import WideWorld
from tests.schedules.world import STUDY, WORKERS, World, make_templates

Step = tuple[str, tuple[Any, ...]]
"""A method of the world and its arguments."""
Draw = Callable[[Random], Step]

WHO = (1, 1, 1, 2, 2, *range(3, WORKERS + 1))
"""Some come often: what happens to work needs somebody who has done it."""
HOW = ("submit", "submit", "submit", "submit", "unseen", "lost", "return", "leave")


def _dies_in(dice: Random) -> int:
    return dice.choice((0, dice.randint(1, 30)))


def _verb(*names: str) -> Draw:
    return lambda dice: (dice.choice(names), (_dies_in(dice),))


def _about_somebody(*names: str) -> Draw:
    return lambda dice: (dice.choice(names), (dice.choice(WHO), _dies_in(dice)))


def _work(dice: Random) -> Step:
    return "work", (dice.choice(WHO), dice.choice(HOW), dice.choice((True, False)))


def _wait(dice: Random) -> Step:
    return "wait", (dice.choice((1, 25, 80)),)


def _take(dice: Random) -> Step:
    return "take", (dice.choice(WHO),)


OFTEN = (
    _verb("publish", "collect", "approve", "expire", "extend"),
    _about_somebody("bonus", "reject"),
    _work,
    _work,
    _wait,
)
RARELY = (
    *OFTEN,
    _verb("top_up", "notify", "close"),
    _about_somebody("compensate", "exclude", "readmit", "undo"),
    _take,
)
ENOUGH = 3
"""So many failures are shown, and then it stops."""
REACHED = ("submit", "unseen", "lost", "killed", "refused", "approved", "rejected", "reward", "bonus")
RARELY_REACHED = ("compensation", "closed", "topped up", "letter", "excluded", "readmitted", "undone")


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory, study_factory: Callable[..., Any]) -> Path:
    """Databases with a study that needs two HITs, and with an account."""
    folder = tmp_path_factory.mktemp("templates")

    def study(engine: Engine) -> None:
        open_current(engine)
        study_factory(
            engine, STUDY, design={"annotators": WORKERS, "top_up": "ask"}, hit={"auto_approval_days": 2}
        )

    make_templates(folder, study)
    return folder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that wait for nothing, and HITs of three places."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr("humaneval.crowd.mturk.platform.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr("humaneval.crowd.publish_plan.MAX_ASSIGNMENTS", 3)


@pytest.fixture
def world(quick: None, templates: Path, tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path, templates)
    yield world
    world.leave()


@pytest.fixture
def wide_world(quick: None, templates: Path, tmp_path: Path) -> Iterator[WideWorld]:
    world = WideWorld(tmp_path, templates)
    yield world
    world.leave()


def run(world: Any, seed: int, steps: Sequence[Step]) -> None:
    """One schedule, looked at after every step and once everything has settled. `seed` draws the faults."""
    world.begin(seed)
    world.open()
    for name, arguments in steps:
        getattr(world, name)(*arguments)
        world.check_not_ahead()
    world.settle()
    world.check_settled()


def try_all(
    world: Any,
    draws: Sequence[Draw],
    numbers: range,
    reached: Collection[str],
    *,
    first: Draw = _work,
    most: int = 10,
) -> None:
    """Run the schedules of these numbers, which begin with up to three steps that `first` draws.

    Up to `most` others follow. `reached` must have happened in one of a hundred of them, and once. One that
    fails does not stop the others.
    """
    failures: list[Exception] = []
    for number in numbers:
        dice = Random(number)
        steps = [first(dice) for _ in range(dice.randint(0, 3))]
        steps += [dice.choice(draws)(dice) for _ in range(dice.randint(3, most))]
        try:
            run(world, number, steps)
        except Exception as error:
            error.add_note(f"schedule {number}, shortened: {shortened(world, number, steps)}")
            failures.append(error)
            if len(failures) == ENOUGH:
                break
    if failures:
        raise ExceptionGroup(f"schedules from {numbers[0]} to {number}", failures)
    for each in reached:
        assert world.reached[each] >= max(1, len(numbers) // 100), (each, world.reached)


def shortened(world: Any, number: int, steps: list[Step]) -> list[Step]:
    """The steps without those without which it fails all the same."""
    place = 0
    while place < len(steps):
        fewer = [*steps[:place], *steps[place + 1 :]]
        try:
            run(world, number, fewer)
        except Exception:
            steps = fewer
        else:
            place += 1
    return steps


@pytest.mark.slow
def test_fifteen_schedules_double_nothing_and_lose_nothing(world: World) -> None:
    try_all(world, OFTEN, range(15), REACHED)


@pytest.mark.slow
def test_a_few_with_the_rarer_verbs_double_nothing_and_lose_nothing(wide_world: WideWorld) -> None:
    # Among these numbers, every one of the rarer verbs has something to do.
    try_all(wide_world, RARELY, range(34, 56), (*REACHED, *RARELY_REACHED))


@pytest.mark.long
def test_many_more_double_nothing_and_lose_nothing(world: World) -> None:
    try_all(world, OFTEN, range(15, 200), REACHED)


@pytest.mark.long
@pytest.mark.parametrize("numbers", [range(34), range(56, 100)], ids=str)
def test_more_with_the_rarer_verbs_double_nothing_and_lose_nothing(
    numbers: range, wide_world: WideWorld
) -> None:
    try_all(wide_world, RARELY, numbers, REACHED)


@pytest.mark.long
@pytest.mark.parametrize("part", range(100))
def test_twenty_thousand_schedules_double_nothing_and_lose_nothing(part: int, wide_world: WideWorld) -> None:
    first = 1000 + 200 * part
    try_all(wide_world, RARELY, range(first, first + 200), REACHED)


class Stopped:
    """A world where nothing happens, and where time cannot pass."""

    def __init__(self) -> None:
        self.tried: list[list[str]] = []

    def begin(self, seed: int) -> None:
        self.tried.append([])

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: self.tried[-1].append(name)

    def wait(self, minutes: int) -> None:
        raise AssertionError("time stood still")


def test_a_schedule_that_fails_is_shown_short() -> None:
    with pytest.raises(ExceptionGroup, match="schedules from 0 to") as failure:
        try_all(world := Stopped(), OFTEN, range(50), ())
    assert [str(each) for each in failure.value.exceptions] == ["time stood still"] * ENOUGH
    for each in failure.value.exceptions:
        (note,) = each.__notes__
        assert note.count("(") == 2
        assert "('wait', (" in note
    settled = [names for names in world.tried if names[-1] == "check_settled"]
    assert settled
    assert all(names[0] == "open" for names in world.tried)
    assert all(names[-2] == "settle" for names in settled)
