"""Forms that are opened and sent at the same moment share statements, and end as if they came one by one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, inspect, select, update

from humaneval.crowd import claims_together
from humaneval.crowd.admission import find_claims
from humaneval.crowd.claims import Opened, Outcome, Visit, open_in
from humaneval.crowd.claims_together import Opening, open_all
from humaneval.crowd.found_hit import FoundHit, find_hit
from humaneval.crowd.free_rows import free_row
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.outbox import hold_study_at
from humaneval.crowd.pseudonyms import EXCLUSION_KEY, exclusion_hash, exclusion_hashes, pseudonym
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.store_answers import Sending, keep_all, keep_answers
from humaneval.crowd.stored_claim import find_work
from humaneval.crowd.study_at import open_study_at
from humaneval.store.engine import connected, open_engine, reading, writing
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY
from humaneval.store.meta import stored_secret
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    ConsentTextRow,
    ForgottenRow,
    HitRow,
    OutboxRow,
    WorkerIdentityRow,
    WorkerRow,
)
from tests.integration.crowd.test_crowds import statements

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
KEPT = (AssignmentRow, WorkerRow, WorkerIdentityRow, AnswerRow, ConsentTextRow, OutboxRow)


@pytest.fixture
def planned(engine: Engine, study_factory: Callable, platform: MTurk) -> Engine:
    """Five HITs of nine places, and a list of people to exclude."""
    study_factory(engine, design={"annotators": 45})
    plan_hits(open_study_at(engine, "study", platform))
    return engine


def hits_of(engine: Engine) -> list[FoundHit]:
    with reading(engine) as session:
        keys = session.scalars(select(HitRow.key).order_by(HitRow.id)).all()
    with connected(engine) as connection:
        found = [find_hit(connection, key) for key in keys]
    return [hit for hit in found if hit is not None]


def opened(engine: Engine, visits: list[tuple[FoundHit, Visit]]) -> list[Opened]:
    """In one transaction."""
    with writing(engine) as session:
        hold_study_at(session.connection(), visits[0][0].study_id)
        return open_all(session.connection(), [Opening(engine, hit, visit) for hit, visit in visits])


def visit(worker: str, *, assignment: str = "", now: datetime = START) -> Visit:
    return Visit(assignment or f"3{worker}", worker, now, returned=None)


def test_people_who_come_at_once_get_the_next_rows_in_few_statements(planned: Engine) -> None:
    hits = hits_of(planned)
    opened(planned, [(hits[0], visit("known"))])
    with writing(planned) as session:
        key, own = stored_secret(session, EXCLUSION_KEY), stored_secret(session, PSEUDONYM_KEY)
        at = hits[4].endpoint
        session.add(ForgottenRow(hash=exclusion_hash(key, pseudonym(own, at, "gone"))))
        name = pseudonym(own, at, "gone before")  # by a version that kept a hash of the id
        (of,) = exclusion_hashes(key, name, at, "gone before") - {exclusion_hash(key, name)}
        session.add(ForgottenRow(hash=of))
    crowd = [(hits[number // 9], visit(f"W{number}")) for number in range(1, 31)]
    with statements(planned) as seen:
        found = opened(planned, crowd)
    assert len(seen) <= 11, "\n".join(seen)
    assert [each.outcome for each in found] == [Outcome.FORM] * 30
    rows = [each.row_id for each in found]
    assert rows == list(range(rows[0], rows[0] + 30))
    with statements(planned) as fewer:
        opened(planned, [(hits[4], visit(f"X{number}")) for number in range(3)])
    if planned.dialect.name == "postgresql":  # what it knows already, it need not plan anew
        assert [each for each in fewer if "INSERT" in each] == [each for each in seen if "INSERT" in each]
    odd = [
        (hits[0], visit("known")),  # comes back
        (hits[0], visit("late")),  # eight places were given, and one to `known`
        (hits[3], visit("twice")),
        (hits[3], visit("twice", assignment="3other")),
        (hits[3], visit("W31", assignment="3W1")),  # an id that somebody else has
        (hits[4], visit("gone")),
        (hits[4], visit("gone before")),
    ]
    outcomes = [each.outcome for each in opened(planned, odd)]
    assert outcomes[:3] == [Outcome.FORM, Outcome.BEYOND, Outcome.FORM]
    assert outcomes[4:] == [Outcome.FORM, Outcome.KEPT_OUT, Outcome.KEPT_OUT]
    with reading(planned) as session:
        held = session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)).all()
        assert len(held) == len(set(held))


def test_people_who_come_at_once_share_statements_where_a_form_ran_out(planned: Engine) -> None:
    hits = hits_of(planned)
    before = opened(planned, [(hits[0], visit(f"W{number}")) for number in range(6)])
    with writing(planned) as session:
        gone = update(AssignmentRow).where(AssignmentRow.id == before[2].assignment_id)
        session.execute(gone.values(holds_row=False, state="superseded", lease_until=START))
    late = START + timedelta(minutes=2)
    with statements(planned) as seen:
        found = opened(planned, [(hits[1], visit(f"X{number}", now=late)) for number in range(4)])
    assert len(seen) <= 12, "\n".join(seen)
    first = before[0].row_id
    assert [each.row_id - first for each in found] == [2, 6, 7, 8]


@pytest.mark.parametrize("unshown", [False, True])
def test_a_row_that_somebody_may_be_at_work_on_comes_last(planned: Engine, unshown: bool) -> None:
    hit = hits_of(planned)[0]
    before = opened(planned, [(hit, visit(f"W{number}")) for number in range(4)])
    first, given_up = before[0].row_id, before[3]
    with writing(planned) as session:
        gone = update(AssignmentRow).where(AssignmentRow.id == given_up.assignment_id)
        session.execute(gone.values(holds_row=False, state="superseded"))  # the lease still runs
    with connected(planned) as connection:
        for own in (None, first):  # which somebody has
            assert free_row(connection, hit, [], own, START, unshown=unshown) == first + 4
        assert free_row(connection, hit, [], given_up.row_id, START, unshown=unshown) == given_up.row_id


def test_to_find_what_a_person_has_it_does_not_matter_how_many_others_came(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 90})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    hits = hits_of(sqlite_engine)

    def steps() -> int:
        taken = [0]

        def step() -> None:
            taken[0] += 1

        with connected(sqlite_engine) as connection:
            worker = connection.scalar(select(WorkerRow.id).order_by(WorkerRow.id))
            assert worker is not None
            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(step, 1)
            (mine,) = find_claims(connection, hits[0], worker, "3W0").all
            driver.set_progress_handler(None, 1)
        assert mine.external_id == "3W0"
        return taken[0]

    opened(sqlite_engine, [(hits[0], visit("W0"))])
    few = steps()
    opened(sqlite_engine, [(hits[number // 9], visit(f"W{number}")) for number in range(9, 90)])
    assert steps() < 2 * few


@pytest.fixture
def twin(sqlite_engine: Engine, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
    """Makes a copy of the database as it is now."""
    path, made = tmp_path / "twin.db", list[Engine]()

    def make() -> Engine:
        here, there = (closing(sqlite3.connect(file)) for file in (str(sqlite_engine.url.database), path))
        with here as source, there as target:
            source.backup(target)
        made.append(open_engine(f"sqlite:///{path}"))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.mark.parametrize("forms", [1, 2])
def test_a_crowd_ends_as_if_its_people_had_come_one_after_the_other(
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    twin: Callable[[], Engine],
    monkeypatch: pytest.MonkeyPatch,
    forms: int,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 45, "rows_per_annotator": forms})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with writing(sqlite_engine) as session:
        session.execute(update(OutboxRow).where(OutboxRow.operation == "list").values(state="confirmed"))
    opened(sqlite_engine, [(hits_of(sqlite_engine)[0], visit("first"))])  # the keys are made
    one, other, draw = sqlite_engine, twin(), Random(forms)
    alone: list[Visit] = []

    def alone_in(connection: object, engine: object, hit: FoundHit, visit: Visit) -> Opened:
        alone.append(visit)
        return open_in(connection, engine, hit, visit)

    monkeypatch.setattr(claims_together, "open_in", alone_in)
    hits, shared, at = hits_of(one), 0, START
    for _ in range(20):
        at += timedelta(minutes=draw.choice([0, 1, 20]))
        crowd = [(draw.choice(hits), someone(draw, at)) for _ in range(draw.randint(2, 9))]
        alone.clear()
        found = opened(one, crowd)
        left = [number for number, (_, each) in enumerate(crowd) if any(each is some for some in alone)]
        shared += len(crowd) - len(left)
        again: dict[int, Opened] = {}
        for number in sorted(range(len(crowd)), key=lambda number: number in left):
            (again[number],) = one_by_one(other, *crowd[number])
        assert [again[number] for number in range(len(crowd))] == found
        ids = draw.sample(sorted({each.assignment_id for each in found if each.assignment_id}), k=1)
        ids += draw.choices(ids, k=draw.randint(0, 1))
        ids += [each.assignment_id for each in found if each.outcome is Outcome.FORM and draw.random() < 0.5]
        fields = [{"choice-1": str(draw.randint(1, 5)), "consent": "1"} for _ in ids]
        with writing(one) as session:
            works = [find_work(session.connection(), id) for id in ids]
            sent = [Sending(one, work, given, at) for work, given in zip(works, fields, strict=True) if work]
            stored = keep_all(session.connection(), sent)
        assert stored == [keep_answers(other, id, given, at) for id, given in zip(ids, fields, strict=True)]
        assert contents(one) == contents(other)
    assert shared > 20


def someone(draw: Random, at: datetime) -> Visit:
    number = draw.randrange(60)
    assignment = f"3W{number}" if draw.random() < 0.8 else f"3A{draw.randrange(20)}"
    return Visit(assignment, f"W{number}", at, confirmed=draw.random() < 0.8, returned=None)


def one_by_one(engine: Engine, hit: FoundHit, visit: Visit) -> list[Opened]:
    with writing(engine) as session:
        return [open_in(session.connection(), engine, hit, visit)]


def contents(engine: Engine) -> dict[str, list[dict[str, object]]]:
    """Every row of the tables that forms write, without the time at which it was made."""
    with reading(engine) as session:
        return {kind.__name__: sorted_rows(session.scalars(select(kind)).all()) for kind in KEPT}


def sorted_rows(rows: Iterable[object]) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for row in rows:
        columns = [each.key for each in inspect(type(row)).column_attrs]
        made.append({name: getattr(row, name) for name in columns if name != "created_at"})
    return sorted(made, key=repr)
