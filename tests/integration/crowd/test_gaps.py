"""The next row and the places of a HIT are found without a look at all forms: triggers keep what is free."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from time import sleep
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, case, delete, event, func, insert, not_, or_, select, text, update

from humaneval.crowd.found_hit import FoundHit, find_hit
from humaneval.crowd.free_rows import free_row, taken
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.participants import DONE
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.submissions import let_go
from humaneval.store import migrate
from humaneval.store.engine import connected
from humaneval.store.tables import ASSIGNMENT_STATES, AssignmentRow, GapRow, HitRow, RowRow, WorkerRow
from humaneval.store.types import table
from humaneval.study.delete import delete_study

WORK, GAPS, HITS, ROWS = table(AssignmentRow), table(GapRow), table(HitRow), table(RowRow)
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
PLATFORMS = ("local", "link")


def with_hits(engine: Engine, study_factory: Callable, annotators: int) -> list[int]:
    """Our ids of a study's rows; it has two HITs at each of two platforms."""
    study_factory(engine, design={"annotators": annotators})
    with engine.begin() as connection:
        connection.execute(insert(table(WorkerRow)), {"pseudonym": "somebody"})
        for number in range(1, 5):
            hit = {"key": f"key{number}", "study_id": 1, "endpoint": PLATFORMS[number % 2], "assignments": 90}
            connection.execute(insert(HITS), hit)
        return list(connection.scalars(select(ROWS.c.id).order_by(ROWS.c.ordinal)))


def claim(number: int, row_id: int | None, **columns: Any) -> dict[str, Any]:
    return {
        "study_id": 1,
        "hit_id": 1 + number % 4,
        "endpoint": PLATFORMS[(1 + number) % 2],
        "external_id": f"3{number}",
        "worker_id": 1,
        "row_id": row_id,
        "holds_row": True,
        "state": "opened",
        **columns,
    }


def counted(connection: Connection) -> dict[int, int]:
    """How many places of each HIT are taken, from all claims."""
    takes = not_(WORK.c.row_replaced) & or_(WORK.c.holds_row, WORK.c.state.in_(DONE))
    each = select(HITS.c.id, func.count(case((takes, 1)))).outerjoin(WORK, WORK.c.hit_id == HITS.c.id)
    return _pairs(connection.execute(each.group_by(HITS.c.id)))


def _pairs(found: Iterable[Any]) -> dict[int, int]:
    return {line[0]: line[1] for line in found}


def free(connection: Connection, rows: list[int], at: str) -> list[int]:
    """The rows that nobody holds, from all claims."""
    held = connection.scalars(select(WORK.c.row_id).where(WORK.c.endpoint == at, WORK.c.holds_row))
    return sorted(set(rows) - set(held))


def agree(connection: Connection, rows: list[int]) -> None:
    """What the triggers keep says the same as all claims together."""
    assert _pairs(connection.execute(select(HITS.c.id, HITS.c.taken))) == counted(connection)
    for at, key in (("link", "key1"), ("local", "key2")):
        hit = find_hit(connection, key)
        assert hit is not None
        nobodys = free(connection, rows, at)
        last = max(set(rows) - set(nobodys), default=0)
        gaps = set(connection.scalars(select(GAPS.c.row_id).where(GAPS.c.endpoint == at)))
        assert {row for row in nobodys if row < last} <= gaps <= set(nobodys)
        assert free_row(connection, hit, [], None, START) == min(nobodys, default=None)


def test_whatever_changes_a_claim_the_first_free_row_and_the_places_are_right(
    engine: Engine, study_factory: Callable
) -> None:
    rows = with_hits(engine, study_factory, 12)
    random = Random(4)
    for number in range(60):
        with engine.begin() as connection:
            new = claim(number, None, state=random.choice(ASSIGNMENT_STATES), holds_row=random.random() < 0.8)
            row_id = random.choice(free(connection, rows, new["endpoint"]) or rows)
            there = connection.scalars(select(WORK.c.id).where(WORK.c.endpoint == new["endpoint"])).all()
            this = WORK.c.id == random.choice(there or [0])
            is_free = row_id in free(connection, rows, new["endpoint"])
            ended = {"holds_row": False, "state": new["state"], "row_replaced": random.random() < 0.3}
            held = {"row_id": row_id, "holds_row": is_free}
            connection.execute(
                random.choice(
                    (
                        *[insert(WORK).values({**new, **held} if is_free else {**new, **ended})] * 3,
                        delete(WORK).where(this),
                        update(WORK).where(WORK.c.id % 4 == number % 4).values(ended),
                        update(WORK).where(this).values(held),
                        update(WORK).where(this).values(hit_id=new["hit_id"]),
                    )
                )
            )
            agree(connection, rows)
            assert there or number < 20


def test_a_database_that_comes_up_has_the_gaps_and_places_of_its_claims(
    engine: Engine, study_factory: Callable
) -> None:
    rows = with_hits(engine, study_factory, 12)
    with engine.begin() as connection:
        held = [claim(number, row_id) for number, row_id in enumerate(rows) if number not in (2, 3, 7)]
        gone = [claim(20, rows[2], holds_row=False, state="superseded"), claim(21, rows[3], state="rejected")]
        connection.execute(insert(WORK), [*held[:-1], *gone])
        before = connection.execute(select(GAPS)).all(), connection.execute(select(HITS)).all()
        assert len(before[0]) > 3
    migrate.downgrade(engine, "0005")
    migrate.upgrade(engine)
    with engine.begin() as connection:
        agree(connection, rows)
        assert connection.execute(select(HITS)).all() == before[1]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_what_an_older_program_changes_while_a_database_comes_up_is_counted(
    engine: Engine, study_factory: Callable
) -> None:
    rows = with_hits(engine, study_factory, 4)
    with engine.begin() as connection:
        connection.execute(insert(WORK), [claim(number, row_id) for number, row_id in enumerate(rows)])
    migrate.downgrade(engine, "0005")
    waits = text(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
        " WHERE datname = current_database() AND NOT granted"
    )
    with ThreadPoolExecutor() as pool, engine.connect() as older, engine.connect() as watcher:
        older.execute(
            update(WORK).where(WORK.c.row_id == rows[1]).values(holds_row=False, state="superseded")
        )
        coming = pool.submit(migrate.upgrade, engine)
        while not watcher.scalar(waits) and not coming.done():
            sleep(0.01)
        older.commit()
        coming.result()
    with engine.begin() as connection:
        agree(connection, rows)


def steps(engine: Engine, does: Callable[[Connection], object]) -> int:
    """How much work SQLite has with it."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1

    with connected(engine) as connection:
        does(connection)
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(step, 1)
        does(connection)
        driver.set_progress_handler(None, 1)
    return done


def test_to_find_a_row_and_a_place_it_does_not_matter_how_many_forms_there_are(
    sqlite_engine: Engine, study_factory: Callable
) -> None:
    rows = with_hits(sqlite_engine, study_factory, 90)
    later = START + timedelta(hours=1)

    def opened(hit: FoundHit, connection: Connection) -> None:
        free_row(connection, hit, [], None, START)
        taken(connection, hit)

    def work() -> int:
        with connected(sqlite_engine) as connection:
            hit = find_hit(connection, "key2")
        assert hit is not None
        return steps(sqlite_engine, lambda connection: opened(hit, connection))

    def come(first: int, last: int) -> None:
        """They hold all rows but the last one, at which somebody may still be at work."""
        with sqlite_engine.begin() as connection:
            many = [claim(4 * number + 1, rows[number]) for number in range(first, last)]
            given_up = {"holds_row": False, "state": "superseded", "lease_until": later}
            connection.execute(insert(WORK), [{"lease_until": later, **each} for each in many])
            connection.execute(update(WORK).where(WORK.c.row_id == rows[last - 2]).values(given_up))

    come(0, 8)
    few = work()
    come(8, 88)
    assert work() < 2 * few


def test_to_let_late_workers_go_nobody_waits_until_all_claims_of_their_hits_are_read(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    rows = with_hits(sqlite_engine, study_factory, 90)
    at, asked = open_study_at(sqlite_engine, "study", platform), START + timedelta(hours=1)
    counted = [0]

    def step() -> None:
        counted[0] += 1

    def watch(connection: Connection) -> None:
        """Only what others wait for counts."""
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(step if connection.get_execution_options().get("writes") else None, 1)

    def held() -> list[int | None]:
        with connected(sqlite_engine) as connection:
            return list(connection.scalars(select(WORK.c.row_id).where(WORK.c.holds_row)))

    def work(first: int, last: int) -> int:
        """What it takes to let one go, who is late, of those who come now."""
        with sqlite_engine.begin() as connection:
            many = [claim(4 * number + 1, rows[number]) for number in range(first, last)]
            late = {"lease_until": START, "state": "answered"}
            many = [{"lease_until": asked, **each} for each in many[:-1]] + [{**many[-1], **late}]
            connection.execute(insert(WORK), many)
        before, counted[0] = held(), 0
        event.listen(sqlite_engine, "begin", watch)
        let_go(at, {2: asked})
        event.remove(sqlite_engine, "begin", watch)
        steps_taken = counted[0]
        assert held() == before[:-1]
        return steps_taken

    few = work(0, 4)
    assert few > 0
    assert work(4, 90) < 2 * few


def test_to_delete_a_study_it_does_not_matter_how_many_links_another_one_has(
    sqlite_engine: Engine, study_factory: Callable
) -> None:
    with_hits(sqlite_engine, study_factory, 8)
    hundreds = [0]

    def step() -> None:
        hundreds[0] += 1

    def watch(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(step, 100)

    def work(name: str) -> int:
        study_factory(sqlite_engine, name, design={"annotators": 90})
        before = hundreds[0]
        event.listen(sqlite_engine, "begin", watch)
        delete_study(sqlite_engine, name)
        event.remove(sqlite_engine, "begin", watch)
        return hundreds[0] - before

    few = work("one")
    link = {"study_id": 1, "endpoint": "link", "audience": "personal", "assignments": 1}
    with sqlite_engine.begin() as connection:
        connection.execute(insert(HITS), [{"key": f"link {number}", **link} for number in range(4_000)])
    # Each link is read once or twice, and not once for each of the 90 rows.
    assert work("two") < few + 4_000 * 90 / 100
