"""An older copy of the database is put back while a study is up at Prolific: nothing is made twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from humaneval.crowd.approve import approve_work
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.reconcile import reconcile
from humaneval.study.enlarge import enlarge
from humaneval.study.stored import open_study
from tests.integration.prolific.people import World

Backup = Callable[[], Callable[[], None]]


def studies(world: World) -> list[dict[str, Any]]:
    """What the account has at Prolific."""
    found: dict[str, dict[str, Any]] = world.platform()._studies()
    return list(found.values())


def test_a_study_that_the_copy_does_not_know_is_found_with_its_codes_and_its_people(
    world: World, backup: Backup
) -> None:
    world.plan()
    put_back = backup()
    made = world.publish()
    assert (made.made, made.adopted) == (1, 0)
    (before,) = studies(world)
    ann, ben = world.person("Ann"), world.person("Ben")
    ann.take()
    ann.answer()
    ann.finish()
    assert ben.reserve()
    ben.start()
    put_back()
    asked = plan_hits(world.at(), dry_run=True)
    assert (asked.hits, asked.cost.total, asked.already_up) == (0, 0, 1)
    again = world.publish()
    assert (again.made, again.adopted, again.differences) == (0, 1, ())
    (after,) = studies(world)
    same = ("id", "status", "total_available_places", "completion_codes", "external_study_url")
    assert [after.get(name) for name in same] == [before.get(name) for name in same]
    assert world.hit().external_id == before["id"]
    ben.open()
    ben.answer()
    ben.finish()
    collected = world.collect()
    assert (collected.new, collected.responses) == (1, 4)
    assert collected.stray_assignments == (ann.submission,)  # her answers were not in the copy
    assert approve_work(world.at()) == 1
    assert reconcile(world.at()).differences == ()


def test_places_that_the_copy_does_not_know_are_not_made_twice(world: World, backup: Backup) -> None:
    world.publish()
    put_back = backup()

    def add() -> None:
        enlarge(open_study(world.engine, "study"), 4)
        world.publish()

    add()
    assert [each["total_available_places"] for each in studies(world)] == [8]
    put_back()
    add()
    assert [each["total_available_places"] for each in studies(world)] == [8]
    assert world.hit().assignments == 8
