"""Kills at every call and faults of the service: one study, nobody paid twice, no row lost or given twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.platform import PreparedBonus
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.draft import key_of
from humaneval.crowd.prolific.platform import Prolific
from humaneval.errors import HumanEvalError, PlatformError
from tests.integration.prolific.people import Person, World

BONUS = Decimal("0.50")


class Killed(BaseException):
    """The process dies here."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, nth: int, *, after: bool) -> Iterator[None]:
    """Dies at the nth call, before it leaves or when it was carried out."""
    real, calls = ProlificClient._reply, 0

    def reply(self: ProlificClient, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and not after:
            raise Killed
        answer = real(self, *arguments)
        if calls == nth:
            raise Killed
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(ProlificClient, "_reply", reply)
        yield


def ours_there(world: World) -> list[str]:
    """The states of the studies there that are ours."""
    listed = world.platform()._client.pages("list", f"/projects/{world.project}/studies/")
    return [each["status"] for each in listed if key_of(each)]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", [6, 7, 8, 9])
def test_publishing_that_was_killed_at_any_call_ends_with_one_study(
    world: World, monkeypatch: pytest.MonkeyPatch, nth: int, after: bool
) -> None:
    try:
        with dying(monkeypatch, nth, after=after):
            world.publish()
    except Killed:
        pass
    world.publish()
    assert ours_there(world) == ["ACTIVE"]
    assert world.publish().made == 0
    assert world.collect().hits_differ == ()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_bonus_that_was_killed_at_any_call_is_never_paid_twice(
    world_of: Callable[..., World], sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    world = world_of(sqlite_engine, design={"annotators": 10})
    world.publish()
    people = world.answered_by(*(f"person {number}" for number in range(10)))
    world.collect()
    unpaid = 0
    for nth, person in enumerate(people, 1):
        try:
            with dying(monkeypatch, nth, after=after):
                bonus(world, person)
        except Killed:
            pass
        for _ in range(2):
            world.clock.move(minutes=1)
            tried(partial(bonus, world, person))
        there = paid(world, person)
        assert there in ([BONUS], [])
        unpaid += not there
    # From "about to pay" being written down until the call that pays, nobody can know: there are two calls.
    assert unpaid == (1 if after else 2)


def test_two_programs_that_pay_one_bonus_pay_it_once(
    anywhere: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    anywhere.publish()
    (ann,) = anywhere.answered_by("Ann")
    anywhere.collect()
    real, calls = Prolific.prepare_bonus, 0

    def prepare(self: Prolific, assignment: str, amount: Decimal) -> PreparedBonus | None:
        nonlocal calls
        calls += 1
        prepared = real(self, assignment, amount)
        if calls == 1:
            bonus(anywhere, ann)  # the other program, meanwhile
        return prepared

    monkeypatch.setattr(Prolific, "prepare_bonus", prepare)
    with pytest.raises(PlatformError, match="another program"):
        bonus(anywhere, ann)
    anywhere.clock.move(minutes=1)
    assert paid(anywhere, ann) == [BONUS]
    bonus(anywhere, ann)
    assert paid(anywhere, ann) == [BONUS]


def test_two_programs_that_publish_one_study_publish_it_once(
    anywhere: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = ProlificClient.send, 0

    def send(self: ProlificClient, what: str, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += what == "make a study"
        if what == "make a study" and calls == 1:
            anywhere.publish()  # the other program, meanwhile
        return real(self, what, *arguments, **options)

    monkeypatch.setattr(ProlificClient, "send", send)
    anywhere.publish()
    assert sorted(ours_there(anywhere)) == ["ACTIVE", "UNPUBLISHED"]
    assert anywhere.study_there()["status"] == "ACTIVE"


def bonus(world: World, person: Person) -> None:
    pay_bonus(world.at(), assignment=person.submission, amount=BONUS, reason="good", purpose="good")


def paid(world: World, person: Person) -> list[Decimal]:
    there = world.platform().session(person.submission)
    assert there is not None
    return list(there.bonuses or ())


def tried(step: Callable[[], object]) -> bool:
    try:
        step()
    except HumanEvalError:
        return False
    return True
