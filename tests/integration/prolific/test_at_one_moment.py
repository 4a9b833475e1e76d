"""Things at one moment, and submissions that change under a verb: nothing is doubled, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.crowd.approve import approve_work
from humaneval.crowd.ask_return import ask_returns
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.reconcile import reconcile
from humaneval.errors import PartialError, PlatformError
from humaneval.study.enlarge import enlarge
from tests.integration.prolific.people import World


def test_two_collections_at_once_store_each_submission_once(anywhere: World) -> None:
    anywhere.publish()
    anywhere.answered_by("Ann", "Ben", "Cleo")
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(anywhere.collect) for _ in range(3)]:
            assert done.result().submissions == 3
    assert anywhere.states() == {"submitted": 3}
    assert anywhere.collect().responses == 12


def test_somebody_with_two_tabs_has_one_row(anywhere: World) -> None:
    anywhere.publish()
    ann = anywhere.person("Ann")
    ann.reserve()
    ann.start()
    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda _: ann.open(ann.address), range(4)))
    assert {page.status for page in pages} == {200}
    assert len(anywhere.rows()) == 1


def test_work_that_is_returned_while_it_is_approved_is_named_and_the_rest_is_approved(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    ann, ben = world.answered_by("Ann", "Ben")
    world.collect()
    ask_returns(world.at(), [ann.submission], "It was our fault; please return it.", dry_run=False)
    real, calls = ProlificClient.send, 0

    def send(self: ProlificClient, what: str, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += what == "approve"
        if what == "approve" and calls == 1:
            ann.give_back()  # at this moment
        return real(self, what, *arguments, **options)

    monkeypatch.setattr(ProlificClient, "send", send)
    with pytest.raises(PartialError, match="1 approved, 1 not"):
        approve_work(world.at())
    world.collect()
    assert world.states() == {"superseded": 1, "approved": 1}
    assert approve_work(world.at()) == 0
    books = reconcile(world.at())
    assert (books.differences, books.left, world.status_of(ben.submission)) == ((), 0, "APPROVED")


def test_many_approvals_are_seen_although_a_look_for_them_fails(
    world_of: Callable[..., World], sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(sqlite_engine, design={"annotators": 10})
    world.publish()
    world.answered_by(*(f"person {number}" for number in range(10)))
    world.collect()
    platform, looks = world.platform(), 0
    real = platform._decisions._sessions

    def sessions(study: str) -> Any:
        nonlocal looks
        looks += 1
        if looks < 3:
            raise PlatformError("the answer was lost", nothing_done=True)
        return real(study)

    monkeypatch.setattr(platform._decisions, "_sessions", sessions)
    assert approve_work(world.at(platform)) == 10
    assert (world.states(), looks > 2) == ({"approved": 10}, True)


def test_a_study_that_was_stopped_on_prolifics_page_goes_on_with_more_places(world: World) -> None:
    world.publish()
    world.answered_by("Ann", "Ben")
    world.platform()._client.send(
        "stop", f"/studies/{world.hit().external_id}/transition/", {"action": "STOP"}
    )
    found = world.collect()
    assert (found.submissions, world.person("Cleo").reserve()) == (2, False)
    enlarge(world.at().study, 1, "more")
    world.publish()
    assert world.study_there()["status"] == "ACTIVE"
    world.answered_by("Cleo", "Dan", "Eve")
    assert len(set(world.rows())) == 5
    assert world.collect().submissions == 5
