"""Answers on our server whose HITs the platform lost: a person can take them in, and they are marked."""

from __future__ import annotations

import csv
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from humaneval.crowd.approve import approve_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.close import close_all
from humaneval.crowd.collect import Accepted, collect_work
from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.extend import expire_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import NotAsPlannedError, PlatformError
from humaneval.store.engine import reading, writing
from humaneval.store.responses import response_lines
from humaneval.store.tables import AssignmentRow, HitRow
from humaneval.study.stored import get_study

LOST = Accepted(lost=True)
TO_TAKE_IN = "What our server has of their work can be taken in: "
LEAD = "humaneval collect study --to local --accept-lost"


@pytest.fixture
def at(sqlite_engine: Engine, platform: MTurk) -> Callable[[], StudyAtPlatform]:
    return lambda: open_study_at(sqlite_engine, "study", platform)


@pytest.fixture
def three(
    sqlite_engine: Engine, put_up: Callable, person: Callable, answer: Callable, at: Callable
) -> list[str]:
    """A study with a form that is collected, and two whose answers never got to the platform."""
    up = put_up(sqlite_engine, design={"annotators": 4}, exclusions={"missed_control": "none"})
    ids = [answer(up, "Ada")]
    collect_work(at())
    for name in ("Ben", "Cy"):
        work = person(name).accept(up.preview)
        work.post()
        ids.append(work.id)
    return ids


@pytest.fixture
def lose(market_engine: Engine) -> Callable[[], None]:
    """The marketplace loses every HIT, as if its database had been made anew."""

    def go() -> None:
        with market_engine.begin() as connection:
            connection.execute(text("UPDATE hits SET id = '3LOST' || number, annotation = ''"))
            connection.execute(text("UPDATE assignments SET id = '3LOST' || number"))

    return go


@pytest.fixture
def find(sqlite_engine: Engine, market_engine: Engine, three: list[str]) -> Callable[[], None]:
    """The marketplace has them again, as if a backup had been put back."""

    def go() -> None:
        with reading(sqlite_engine) as session:
            (hit,) = session.scalars(select(HitRow))
        with market_engine.begin() as connection:
            connection.execute(
                text("UPDATE hits SET id = :id, annotation = :key"),
                {"id": hit.external_id, "key": f"humaneval:{hit.key}"},
            )
            for number, assignment in enumerate(three, 1):
                connection.execute(
                    text("UPDATE assignments SET id = :id WHERE number = :number"),
                    {"id": assignment, "number": number},
                )

    return go


def states(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return list(session.scalars(select(AssignmentRow.state).order_by(AssignmentRow.id)))


def lines(engine: Engine) -> list[dict[str, Any]]:
    with reading(engine) as session:
        return response_lines(session, get_study(session, "study"))


def test_X41_every_verb_names_the_way_out_and_it_works(
    sqlite_engine: Engine,
    three: list[str],
    lose: Callable,
    verb: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    lose()
    status = verb("status", "study")
    assert "0 of 1 HIT up, 1 gone at local" in status.out
    assert "3 answered on our server, at HITs that local does not have; they can be taken in." in status.out
    assert status.out.endswith(f"Next: {LEAD}\n")
    for arguments in (
        ("collect", "study"),
        ("approve", "study", three[0]),
        ("review", "study", "--approve"),
        ("close", "study"),
        ("expire", "study"),
        ("doctor", "study"),
    ):
        done = verb(*arguments)
        assert done.code == 1, arguments
        assert LEAD in done.err + done.out, arguments
    done = verb("collect", "study", "--accept-lost")
    assert done.code == 0, done.err
    assert "3 taken in from our server, because local no longer has them" in done.out
    assert states(sqlite_engine) == ["taken in"] * 3
    assert "3 collected: 3 taken in." in verb("review", "study").out
    assert verb("collect", "study").code == 0
    refused = verb("approve", "study", three[1])
    assert "humaneval compensate study " + three[1] in refused.err
    assert verb("export", "study", "--out", str(tmp_path / "r.csv"), "--json").code == 0
    with (tmp_path / "r.csv").open(encoding="utf-8") as file:
        assert [line["platform_lost"] for line in csv.DictReader(file)] == ["true"] * 12
    assert verb("report", "study", "--out", str(tmp_path / "r.html")).code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "3 forms were accepted although the platform no longer has them" in page
    assert verb("close", "study").code == 0
    said = verb("status", "study").out
    assert "0 of 1 HIT up, 1 deleted" in said
    assert "about done at" not in said


def test_X41_closing_ends_although_nothing_was_taken_in_and_says_what_is_left(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, at: Callable, listed: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 20})
    first = listed()[0]["HITId"]
    person("Ada").accept(f"{platform.endpoint.api_url}/hits/{first}").post()
    with writing(sqlite_engine) as session:
        hit = session.scalars(select(HitRow).where(HitRow.external_id == first)).one()
        hit.external_id = "3GONE0000000000000000000000000"
    with pytest.raises(NotAsPlannedError, match="no longer has the HIT 3GONE") as told:
        collect_work(at())
    assert LEAD in told.value.hint
    done = close_all(at(), wait=0)
    assert (done.hits, done.gone, done.lost) == (2, 1, 1)
    assert collect_work(at(), accepted=LOST).taken_in == 1
    assert len(lines(sqlite_engine)) == 4


def test_X41_publish_and_close_count_what_is_there_and_not_what_is_lost(
    three: list[str], lose: Callable, at: Callable, verb: Callable, platform: MTurk, monkeypatch: Any
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    lose()
    collect_work(at(), accepted=LOST)
    for more in ((), ("--dry-run",)):
        told = verb("publish", "study", *more)
        assert "0 HITs with 0 assignments to put up, 0 up already." in told.out
        assert f"local no longer has 1 HIT of this study. {TO_TAKE_IN}" in told.out
    assert verb("publish", "study", "--json").document["already_up"] == 0
    assert (
        "Would delete 0 HITs at local; 0 people are still at work." in verb("close", "study", "--dry-run").out
    )
    told = verb("close", "study")
    assert "0 HITs deleted at local.\n1 HIT was gone there before: there was nothing to delete." in told.out


def test_X41_what_the_platform_has_again_replaces_what_was_taken_in(
    sqlite_engine: Engine, three: list[str], lose: Callable, find: Callable, at: Callable, person: Callable
) -> None:
    lose()
    assert collect_work(at(), accepted=LOST).taken_in == 3
    assert [line["platform_lost"] for line in lines(sqlite_engine)] == [True] * 12
    find()
    found = collect_work(at())
    assert (found.hits_differ, states(sqlite_engine)) == ((), ["submitted", "taken in", "taken in"])
    assert sorted(line["platform_lost"] for line in lines(sqlite_engine)) == [False] * 4 + [True] * 8
    assert approve_work(at()) == 1


def test_X41_nothing_is_paid_for_it_at_the_platform_but_a_compensation_is(
    three: list[str], lose: Callable, at: Callable
) -> None:
    lose()
    collect_work(at(), accepted=LOST)
    assert approve_work(at()) == 0
    with pytest.raises(PlatformError, match="no longer has assignment"):
        approve_work(at(), assignments=three[:1])
    with pytest.raises(PlatformError, match="no longer has assignment"):
        pay_bonus(at(), assignment=three[1], amount=Decimal("0.50"), reason="Thanks.", purpose="bonus")
    assert len(collect_work(at()).unpaid) == 3
    assert expire_all(at()).hits == 1
    paid = compensate_worker(
        at(), assignment=three[1], amount=Decimal("0.80"), reason="The marketplace lost it."
    )
    assert paid.made_now
    assert len(collect_work(at()).unpaid) == 2
