"""While Prolific is silent, nobody knows who comes. What strangers do then takes nothing from anybody."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import urllib3
from sqlalchemy import select

from humaneval import open_forms
from humaneval.crowd.prolific import submitted
from humaneval.market.prolific_standin import Faults
from humaneval.market.prolific_standin.faults import READING, RETRY_AFTER, ProlificFault
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow
from humaneval.web import prolific_check
from tests.integration.prolific.people import Person, World


@pytest.fixture
def faults() -> Faults:
    return Faults(of=ProlificFault)


def fall_silent(faults: Faults, kind: str = "unavailable", **more: Any) -> None:
    faults.replace([ProlificFault(kind=kind, only=READING, **more)], 0)


def let_in_before_silence(world: World, faults: Faults) -> Person:
    """Somebody whom Prolific has given a place, and whose form is not open yet."""
    world.publish()
    ann = world.person("Ann")
    assert ann.reserve()
    ann.start()
    fall_silent(faults)
    return ann


def stranger(world: World, number: int, participant: str = "") -> Person:
    """Somebody who makes up ids."""
    person = world.person(f"Stranger {number}")
    session = f"{0xE0 + number:024x}"
    ids = f"PROLIFIC_PID={participant or f'{0xA0 + number:024x}'}&SESSION_ID={session}"
    person.address = f"{world.forms}/prolific/{world.hit().key}?{ids}"
    person.submission = session
    return person


def test_invented_visitors_give_way_as_soon_as_prolific_answers(
    world: World, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    monkeypatch.setattr(submitted, "SHOWN_AFTER", timedelta(0))
    ann, ben = world.person("Ann"), world.person("Ben")
    for each in (ann, ben):
        assert each.reserve()
        each.start()
    fall_silent(faults)
    ann.open()
    pages = [stranger(world, number).open() for number in range(4)]
    assert [page.form(field="form") is not None for page in pages] == [True] * 3 + [False]
    faults.replace([], 0)
    assert ben.open().form(field="form") is not None
    assert len(world.rows()) == 2  # the strangers' are free
    for each in (ann, ben):
        each.answer()
        each.finish()
    assert world.collect().new == 2


def test_collecting_frees_what_strangers_hold(
    world: World, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    fall_silent(faults)
    for number in range(2):
        assert stranger(world, number).open().form(field="form") is not None
    faults.replace([], 0)
    world.collect()
    assert len(world.rows()) == 2  # the list may be a moment behind
    monkeypatch.setattr(submitted, "SHOWN_AFTER", timedelta(0))
    world.collect()
    assert world.rows() == []


def test_answers_in_another_persons_name_do_not_count_as_theirs(
    world: World, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = let_in_before_silence(world, faults)
    forger = stranger(world, 1, participant=ann.id)
    assert forger.open().form(field="form") is not None
    assert forger.answer()
    forger.open(forger.form_url)
    faults.replace([], 0)
    assert ann.open().form(field="form") is not None
    ann.answer()
    ann.finish()
    found = world.collect()
    assert (found.submissions, found.new) == (1, 1)
    monkeypatch.setattr(submitted, "SHOWN_AFTER", timedelta(0))
    world.collect()
    assert len(world.rows()) == 1


def test_a_burst_of_visitors_is_no_silence_and_takes_no_forms(
    world: World, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    monkeypatch.setattr(prolific_check, "TURN_SECONDS", 0.01)
    fall_silent(faults, "slow", seconds=1.0)
    people = [stranger(world, number) for number in range(2 * prolific_check.AT_ONCE)]
    with ThreadPoolExecutor(len(people)) as pool:
        answers = Counter(pool.map(lambda each: each.open().status, people))
    assert answers.keys() == {403, 503}
    assert world.rows() == []


def test_too_many_questions_are_no_silence_and_none_follow_while_prolific_asks_for_a_pause(
    world: World, faults: Faults
) -> None:
    world.publish()
    ben = world.person("Ben")
    ben.take()
    fall_silent(faults, "throttled")
    first = urllib3.request("GET", stranger(world, 0).address, redirect=False)
    assert (first.status, first.headers["Retry-After"]) == (503, RETRY_AFTER)
    faults.replace([], 0)
    ann = world.person("Ann")
    assert ann.reserve()
    ann.start()
    assert ann.open().status == 503
    assert ben.open().form(field="form") is not None  # he was let in before
    assert stranger(world, 1, participant=ben.id).open().status == 503
    assert len(world.rows()) == 1


def test_where_too_many_forms_are_open_nobody_waits_for_a_silent_prolific(
    world: World, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    asked: list[str] = []
    real = prolific_check.Checker.session
    monkeypatch.setattr(
        prolific_check.Checker,
        "session",
        lambda self, *about: (asked.append(about[-1]), real(self, *about))[1],
    )
    monkeypatch.setattr(open_forms.OpenForms, "is_crowded", lambda self, address: True)
    fall_silent(faults)
    assert [stranger(world, number).open().status for number in range(3)] == [429] * 3
    assert len(asked) == 1
    assert world.rows() == []


def test_who_is_confirmed_comes_before_who_is_not(world: World, faults: Faults) -> None:
    world.publish()
    fall_silent(faults)
    for number in range(4):
        stranger(world, number).open()
    faults.replace([], 0)
    assert world.person("Ann").take().form(field="form") is not None
    assert len(world.rows()) == 4


def test_who_is_at_work_keeps_the_row_although_prolific_was_silent_at_first(
    world: World, faults: Faults
) -> None:
    ann = let_in_before_silence(world, faults)
    assert ann.open().form(field="form") is not None
    for number in range(3):
        stranger(world, number).open()
    faults.replace([], 0)
    assert world.person("Ben").take().form(field="form") is not None
    with reading(world.engine) as session:
        mine = select(AssignmentRow.state).where(AssignmentRow.external_id == ann.submission)
        assert session.scalar(mine) == "opened"
    ann.answer()
    ann.finish()
    assert world.collect().new == 1
