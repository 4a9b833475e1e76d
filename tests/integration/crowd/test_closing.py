"""`close`: nothing is deleted that anybody still needs, and nothing that this study did not make."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, select

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.close import Closed, close_all
from humaneval.crowd.collect import collect_work
from humaneval.crowd.extend import extend_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import up
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.report.phrases import early
from humaneval.store.engine import reading
from humaneval.store.responses import response_lines
from humaneval.store.tables import HitRow, OutboxRow
from humaneval.study.scores import ready
from humaneval.study.stored import get_study, open_study


def close(engine: Engine, platform: MTurk, **options: Any) -> Closed:
    return close_all(open_study_at(engine, "study", platform), **{"wait": 0.0, **options})


def deleted(troubles: Any) -> int:
    return int(troubles.seen.count("DeleteHIT"))


def test_C22_nothing_is_deleted_before_all_of_it_is_collected_and_decided(
    engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, troubles: Any, listed: Callable
) -> None:
    up_there = put_up(engine, design={"annotators": 4})
    first = answer(up_there, "Ada")
    with pytest.raises(PlatformError, match="1 submission at local is not collected yet"):
        close(engine, platform)
    collect_work(open_study_at(engine, "study", platform))
    answer(up_there, "Ben")
    with pytest.raises(PlatformError, match="is not collected yet"):
        close(engine, platform)
    collect_work(open_study_at(engine, "study", platform))
    approve_work(open_study_at(engine, "study", platform), assignments=[first])
    with pytest.raises(PlatformError, match="1 submission at local is neither approved nor rejected"):
        close(engine, platform)
    assert {hit["HITStatus"] for hit in listed()} == {"Assignable"}  # not even taken down
    approve_work(open_study_at(engine, "study", platform))
    assert close(engine, platform, dry_run=True) == Closed(1, 0, 0, 0)
    assert deleted(troubles) == 0
    assert close(engine, platform) == Closed(1, 0, 0, 0)
    assert listed() == []
    assert close(engine, platform) == Closed(0, 0, 0, 0)
    assert deleted(troubles) == 1
    with reading(engine) as session:
        assert len(response_lines(session, get_study(session, "study"))) == 8


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_whoever_changes_hits_or_claims_holds_the_study_first(
    engine: Engine, put_up: Callable, answer: Callable, platform: MTurk
) -> None:
    changed = set()

    def begins(connection: Connection) -> None:
        connection.info["held"] = False

    def runs(connection: Connection, cursor: object, statement: str, *_: Any) -> None:
        connection.info["held"] |= "FOR NO KEY UPDATE" in statement
        if about := re.match("(INSERT INTO|DELETE FROM|UPDATE) (hits|assignments) ", statement):
            assert connection.info["held"], statement
            changed.add(about[0])

    event.listen(engine, "begin", begins)
    event.listen(engine, "before_cursor_execute", runs)
    up_there = put_up(engine, design={"annotators": 4})
    answer(up_there, "Ada")
    at = open_study_at(engine, "study", platform)
    assert extend_all(at, 3) == 1
    collect_work(at)
    approve_work(at)
    assert close(engine, platform).hits == 1
    assert len(changed) == 4, changed


def test_C22_C23_who_is_at_work_is_waited_for(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    troubles: Any,
    listed: Callable,
) -> None:
    ada = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    ada.open()
    with pytest.raises(PartialError, match="1 person may still submit: nothing was deleted"):
        close(sqlite_engine, platform)
    assert {hit["Expiration"].year for hit in listed()} == {2015}
    assert deleted(troubles) == 0
    ada.do()
    with pytest.raises(PlatformError, match="not collected yet"):
        close(sqlite_engine, platform)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    approve_work(open_study_at(sqlite_engine, "study", platform))
    assert close(sqlite_engine, platform).hits == 1


def test_C21_only_hits_of_this_study_are_deleted(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, listed: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    put_up(sqlite_engine, "another", design={"annotators": 4, "seed": 1})
    others = platform.client.create_hit(
        Title="t",
        Description="d",
        Reward="0.05",
        AssignmentDurationInSeconds=60,
        LifetimeInSeconds=60,
        Question=_QUESTION,
    )["HIT"]["HITId"]
    assert close(sqlite_engine, platform).hits == 1
    left = {hit["HITId"]: hit["HITStatus"] for hit in listed()}
    (another,) = up(open_study(sqlite_engine, "another"), "local")
    assert left == {others: "Assignable", another.external_id: "Assignable"}


_QUESTION = (
    "<ExternalQuestion"
    ' xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">'
    "<ExternalURL>https://example.org/</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"
)


@pytest.mark.parametrize("when", ["before-send", "response-received", "unconfirmed"])
def test_C22_a_kill_while_closing_is_finished_by_the_next_run(
    sqlite_engine: Engine,
    put_up: Callable,
    platform: MTurk,
    die: Callable,
    die_unconfirmed: Callable,
    listed: Callable,
    when: str,
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    dying = (
        die_unconfirmed("close") if when == "unconfirmed" else die(when, "DeleteHIT", client=platform.once)
    )
    with dying:
        close(sqlite_engine, platform)
    close(sqlite_engine, platform)
    assert listed() == []
    assert up(open_study(sqlite_engine, "study"), "local") == []
    with reading(sqlite_engine) as session:
        assert all(session.scalars(select(HitRow.closed_at)))
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.unconfirmed, status.refused) == (0, 0)


def test_rejections_that_become_final_are_counted(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assignment = answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(open_study_at(sqlite_engine, "study", platform))
    reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[assignment], reason="No.")
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    dry = verb("close", "study", "--dry-run", "--json")
    assert (dry.document["hits"], dry.document["final_rejections"]) == (1, 1)
    assert "1 rejection can then no longer be undone" in verb("close", "study").out
    assert "0 HITs deleted" in verb("close", "study").out
    done = verb("publish", "study")
    assert (done.code, "was closed at local, where 1 HIT was deleted" in done.err) == (2, True)
    assert up(open_study(sqlite_engine, "study"), "local") == []


@pytest.fixture
def half_up(sqlite_engine: Engine, study_factory: Callable, platform: MTurk, die: Callable) -> Engine:
    """Three HITs are planned; the process died when the second was up and nobody had written it down."""
    study_factory(sqlite_engine, design={"annotators": 20})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with die("response-received", "CreateHIT", 2):
        publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="https://study.example.org")
    return sqlite_engine


def test_a_dry_run_counts_what_is_not_recorded_and_records_nothing(
    half_up: Engine, platform: MTurk, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)

    def stored() -> list[Any]:
        with reading(half_up) as session:
            rows = session.execute(select(OutboxRow.id, OutboxRow.state, OutboxRow.attempts)).all()
            return [*rows, *session.scalars(select(HitRow.external_id))]

    before = stored()
    assert verb("close", "study", "--dry-run", "--json").document["hits"] == 2
    assert verb("expire", "study", "--dry-run", "--json").document["would_expire"] == 2
    dry = verb("publish", "study", "--dry-run", "--json").document
    assert stored() == before
    assert (dry["hits"], dry["assignments"]) == (1, 2)
    done = verb("publish", "study", "--json").document
    assert (done["made"], done["cost"]) == (1, dry["cost"])
    assert verb("close", "study", "--json").document["hits"] == 3


def test_what_is_closed_stays_so_although_some_of_it_was_never_put_up(
    half_up: Engine, platform: MTurk, listed: Callable
) -> None:
    assert close(half_up, platform).hits == 2
    with pytest.raises(UsageError, match="was closed at local, where 2 HITs were deleted"):
        plan_hits(open_study_at(half_up, "study", platform))
    assert study_status(open_study(half_up, "study"))[0].hits_unsent == 0
    assert listed() == []


def test_what_an_interrupted_publish_never_made_is_not_waited_for_once_the_study_is_closed(
    sqlite_engine: Engine, study_factory: Callable, form_server: Callable, platform: MTurk, die: Callable
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 20})
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at)
    with die("before-send", "CreateHIT", nth=2, client=platform.client):
        publish_hits(at, public_url=form_server(sqlite_engine).url)
    assert study_status(at.study)[0].unconfirmed == 3
    assert close(sqlite_engine, platform).hits == 1
    (line,) = study_status(at.study)
    assert (line.unconfirmed, line.refused) == (0, 0)
    with pytest.raises(UsageError, match="closed"):
        plan_hits(at)


def test_a_study_that_is_closed_wherever_it_was_up_is_not_enlarged(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, verb: Callable, form_server: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    add = ("study", "enlarge", "study", "--annotators", "4", "--yes")
    assert verb(*add, "--dry-run").code == 0
    close(sqlite_engine, platform)
    refused = verb(*add)
    assert (refused.code, "was closed at local" in refused.err) == (2, True)
    assert early(*ready(open_study(sqlite_engine, "study"))).startswith(
        "0 of 4 forms of the design are in. The study is closed, and gets no more"
    )
    assert "To ask more people, make another study" in refused.err
    assert verb("publish", "study", "--to", "link").code == 0
    assert "wait for all" in early(*ready(open_study(sqlite_engine, "study")))
    assert "publish study --to link" in verb(*add).out
