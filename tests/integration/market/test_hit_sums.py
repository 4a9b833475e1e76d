"""What a HIT holds and how many places it has left is known without a look at all of its assignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, delete, event, insert, select, update
from sqlalchemy.orm import Session

from humaneval.market import Mode, open_account, open_market
from humaneval.market.account import Balance, balance
from humaneval.market.assignments import accept, begun_by, give_back, in_hand_of
from humaneval.market.operations import Market
from humaneval.market.protocol.answer_xml import answer_xml
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.submissions import Answer, submit
from humaneval.market.tables.account import Entry
from humaneval.market.tables.assignments import TAKEN, Assignment, State
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import VERSIONS
from humaneval.market.tables.hits import Hit, HitType
from humaneval.market.tables.qualifications import Qualification
from humaneval.market.tables.workers import Worker
from humaneval.market.workers import find_worker, sign_up
from humaneval.store import migrate
from humaneval.store.engine import open_engine
from humaneval.store.types import now, table
from tests.integration.market.conftest import TestClock
from tests.integration.market.sums import counted_sums, kept_sums
from tests.integration.market.test_money import QUESTION
from tests.integration.test_upgrades import content, restored
from tests.pace import PATIENCE

DONE, LINES, HITS = table(Assignment), table(Entry), table(Hit)
HIT = {
    "Title": "T",
    "Description": "D",
    "Reward": "0.10",
    "LifetimeInSeconds": 86400,
    "AssignmentDurationInSeconds": 3600,
    "Question": QUESTION,
}


def assignment(number: int, **columns: Any) -> dict[str, Any]:
    """A line of assignments, approved unless `columns` say something else."""
    return {
        "id": f"B{number}",
        "hit_number": 1,
        "worker_number": number,
        "state": State.APPROVED,
        "accepted_at": now(),
        "deadline": now() + timedelta(hours=1),
        "turn": number,
        "submitted_at": now(),
        "answer": "<QuestionFormAnswers/>",
        **columns,
    }


def workers(connection: Connection, first: int, last: int) -> None:
    """People with these numbers."""
    lines = [
        {"number": each, "id": f"A{each}", "handle": f"w{each}", "name": f"w{each}", "country": ""}
        for each in range(first, last)
    ]
    connection.execute(
        insert(table(Worker)),
        [{**line, "links_revoked": 0, "signed_out": 0, "made_at": now()} for line in lines],
    )


def approved(engine: Engine, first: int, last: int) -> None:
    """The workers with these numbers did the first HIT, and were paid from what it holds."""
    with engine.begin() as connection:
        workers(connection, first, last)
        connection.execute(insert(DONE), [assignment(each) for each in range(first, last)])
        line = {"kind": "reward", "hit_number": 1, "available": 0, "on_hold": -12, "paid": 10, "fees": 2}
        connection.execute(insert(LINES), [{**line, "made_at": now()} for _ in range(first, last)])


def steps_of(engine: Engine, does: Callable[[], object]) -> int:
    """How much work SQLite has with it."""
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def watch(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(step, 1)

    event.listen(engine, "begin", watch)
    does()
    event.remove(engine, "begin", watch)
    return steps


def test_what_an_accept_a_submission_and_a_decision_cost_does_not_grow_with_the_hit(engine: Engine) -> None:
    open_account(engine, Mode.LOCAL)
    market = Market(engine, Mode.LOCAL)
    hit = market.perform("CreateHIT", {**HIT, "MaxAssignments": 5000})["HIT"]["HITId"]
    cost = partial(steps_of, engine)

    def costs(number: int) -> dict[str, int]:
        with market.writing() as work:
            people = [sign_up(work, f"person {number} {each}", "").id for each in "abc"]
        made: list[str] = []

        def accepts(worker: str) -> None:
            with market.writing() as work:
                made.append(accept(work, find_worker(work, worker), hit).id)

        def submits() -> None:
            with market.writing() as work:
                submit(work, made[0], Answer(answer_xml([])))

        def returns() -> None:
            with market.writing() as work:
                give_back(work, find_worker(work, people[1]), made[1])

        found = {"accept": cost(lambda: accepts(people[0]))}
        accepts(people[1])
        found["return"] = cost(returns)
        found["submit"] = cost(submits)
        decide = {"AssignmentId": made[0], "RequesterFeedback": "f"}
        found["reject"] = cost(lambda: market.perform("RejectAssignment", decide))
        found["approve"] = cost(
            lambda: market.perform("ApproveAssignment", {**decide, "OverrideRejection": True})
        )
        found["look"] = cost(lambda: market.perform("GetHIT", {"HITId": hit}))
        more = {"HITId": hit, "NumberOfAdditionalAssignments": 1}
        found["extend"] = cost(lambda: market.perform("CreateAdditionalAssignmentsForHIT", more))
        return found

    costs(1)
    few = costs(2)
    approved(engine, 1000, 3000)
    assert {name: found for name, found in costs(3).items() if found > few[name] + 500} == {}
    with engine.connect() as connection:
        assert kept_sums(connection) == counted_sums(connection)


@pytest.fixture
def tables(database: str) -> Iterator[Engine]:
    """The marketplace's tables on either database. On PostgreSQL no marketplace is served, so far."""
    engine = open_engine(database)
    migrate.downgrade(engine, "base")
    migrate.upgrade(engine, versions=VERSIONS, metadata=MarketTable.metadata)
    with engine.begin() as connection:
        workers(connection, 1, 90)
        kind = {"number": 1, "id": "T", "group_id": "G", "fingerprint": "f", "reward_cents": 10}
        texts = {"title": "T", "description": "D", "keywords": "", "made_at": now()}
        times = {"assignment_seconds": 60, "auto_approval_seconds": 60, "qualifications": []}
        said = {"notifying": False, "deleted": False}
        connection.execute(insert(table(HitType)), {**kind, **texts, **times, **said})
        line = {"hit_type_number": 1, "question": QUESTION, "annotation": "", "max_assignments": 9}
        line |= {"fee_cents": 2, "status": "Assignable", "expires_at": now(), "made_at": now()}
        line |= dict.fromkeys(("reviewing", "disposed", "expired", "policy_due"), False)
        connection.execute(insert(HITS), [{**line, "number": each, "id": f"H{each}"} for each in (1, 2)])
    yield engine
    engine.dispose()


def test_whatever_changes_an_assignment_or_the_journal_the_sums_are_right(tables: Engine) -> None:
    random = Random(4)
    for number in range(1, 80):
        state = random.choice(list(State))
        line = {"kind": "hold", "hit_number": random.choice((1, 2)), "paid": 0, "fees": 0, "made_at": now()}
        cents = random.randint(-50, 50)
        this = DONE.c.number == random.randint(1, number)
        with tables.begin() as connection:
            connection.execute(
                random.choice(
                    (
                        insert(DONE).values(assignment(number, hit_number=1 + number % 2, state=state)),
                        insert(LINES).values({**line, "on_hold": cents, "available": -cents}),
                        update(DONE).where(DONE.c.worker_number % 4 == number % 4).values(state=state),
                        update(DONE).where(this).values(state=state, feedback="f"),
                        delete(DONE).where(this),
                    )
                )
            )
            assert kept_sums(connection) == counted_sums(connection)
    with tables.connect() as connection:
        assert sum(sum(line[2:]) for line in kept_sums(connection)) > 5


def change(url: str, first: int) -> None:
    """Somebody who adds assignments and lines of the journal, and changes its own."""
    engine = open_engine(url, pool=False)
    for number in range(first, first + 20):
        hit = 1 + number % 2
        line = {"kind": "hold", "hit_number": hit, "paid": 0, "fees": 0, "made_at": now()}
        with engine.execution_options(writes=True).begin() as connection:
            connection.execute(insert(DONE), assignment(number, hit_number=hit, state=State.SUBMITTED))
            connection.execute(insert(LINES), {**line, "on_hold": number, "available": -number})
        with engine.execution_options(writes=True).begin() as connection:
            mine = DONE.c.id.in_([f"B{each}" for each in range(first, number + 1) if each % 3])
            connection.execute(update(DONE).where(mine).values(state=TAKEN[number % 4]))
    engine.dispose()


def test_what_several_change_at_once_is_counted_sums(tables: Engine) -> None:
    url = tables.url.render_as_string(hide_password=False)
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(change, url, first) for first in (1, 31, 61)]:
            done.result(timeout=PATIENCE)
    with tables.connect() as connection:
        found = kept_sums(connection)
        assert found == counted_sums(connection)
        assert sum(sum(line[2:]) for line in found) == 60
        assert sum(line.held for line in found) == sum(sum(range(each, each + 20)) for each in (1, 31, 61))


def spend(path: str, name: str) -> list[int]:
    """A requester and a worker with a program of their own. How many HITs could be paid for, and how many
    were refused."""
    engine = open_market(path)
    market, made = Market(engine, Mode.LOCAL), [0, 0]
    with market.writing() as work:
        worker = sign_up(work, name, "").id
    for number in range(12):
        try:
            hit = market.perform("CreateHIT", {**HIT, "MaxAssignments": 3})["HIT"]["HITId"]
        except RefusedError as refusal:
            made[1] += refusal.code.endswith("InsufficientFunds")
            continue
        made[0] += 1
        with market.writing() as work:
            mine = accept(work, find_worker(work, worker), hit).id
            submit(work, mine, Answer(answer_xml([])))
        decide = ("ApproveAssignment", "RejectAssignment")[number % 2]
        market.perform(decide, {"AssignmentId": mine, "RequesterFeedback": "f"})
    engine.dispose()
    return made


def test_no_cent_is_spent_twice_if_several_programs_spend_at_once(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    engine = open_market(path)
    open_account(engine, Mode.LOCAL, balance=Decimal("5.00"))
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        runs = [pool.submit(spend, str(path), name) for name in ("Ada", "Grace", "Mary")]
        made = [run.result(timeout=PATIENCE) for run in runs]
    assert sum(each[1] for each in made) > 0
    with engine.connect() as connection:
        sums = kept_sums(connection)
        assert sums == counted_sums(connection)
        # A tenth of a dollar and a fee of two cents; of three places, rejected work frees one.
        assert {line.held for line in sums} == {24}
        paid = sum(line.approved for line in sums)
    with Session(engine) as session:
        pots = balance(session)
        lines = session.scalars(select(LINES.c.available)).all()
    assert pots == Balance(500 - 24 * len(sums) - 12 * paid, 24 * len(sums), 10 * paid, 2 * paid)
    assert pots.available == sum(lines)
    assert pots.available >= 0
    engine.dispose()


def test_a_file_of_an_earlier_revision_comes_up_with_the_sums_of_its_hits(tables: Engine) -> None:
    with tables.begin() as connection:
        for number in range(1, 30):
            state = list(State)[number % len(State)]
            connection.execute(insert(DONE), assignment(number, hit_number=1 + number % 2, state=state))
        line = {"kind": "hold", "paid": 0, "fees": 0, "made_at": now(), "on_hold": 7, "available": -7}
        connection.execute(insert(LINES), [{**line, "hit_number": each} for each in (1, 1, 2)])
        before = kept_sums(connection)
    migrate.downgrade(tables, "m0003", versions=VERSIONS, metadata=MarketTable.metadata)
    migrate.upgrade(tables, versions=VERSIONS, metadata=MarketTable.metadata)
    with tables.begin() as connection:
        assert kept_sums(connection) == before == counted_sums(connection)
        connection.execute(update(DONE).values(state=State.RETURNED))
        assert kept_sums(connection) == counted_sums(connection) != before


def test_at_the_end_a_marketplace_of_an_earlier_revision_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    restored("m0003", path)
    there = {name for name, rows in content(path).items() if rows}
    assert {"bonuses", "events", "messages", "votes", "worker_blocks"} <= there
    engine = open_engine(f"sqlite:///{path}")
    migrate.upgrade(engine, versions=VERSIONS, metadata=MarketTable.metadata)
    with engine.connect() as connection:
        sums = kept_sums(connection)
        assert sums == counted_sums(connection)
        held = sum(line.held for line in sums)
        waiting = connection.scalars(select(DONE.c.id).where(DONE.c.state == State.SUBMITTED)).all()
    with Session(engine) as session:
        before = balance(session)
    assert before.on_hold == held > 0
    clock = TestClock(datetime(2026, 12, 1, 14, 30, tzinfo=UTC))
    market = Market(engine, Mode.LOCAL, clock)
    for number, each in enumerate(waiting):
        decide = ("ApproveAssignment", "RejectAssignment")[number % 2]
        market.perform(decide, {"AssignmentId": each, "RequesterFeedback": "f"})
    for hit in market.perform("ListHITs", {"MaxResults": 100})["HITs"]:
        market.perform("UpdateExpirationForHIT", {"HITId": hit["HITId"], "ExpireAt": clock()})
    clock.pass_time(hours=1)  # for work in hand
    market.perform("ListHITs", {})
    with Session(engine) as session:
        after = balance(session)
    assert after.on_hold == 0
    assert after.available + after.paid + after.fees == 1_000_000
    engine.dispose()


def test_a_page_of_answers_or_of_holders_costs_the_same_whatever_follows_it(engine: Engine) -> None:
    open_account(engine, Mode.LOCAL)
    market = Market(engine, Mode.LOCAL)
    hit = market.perform("CreateHIT", {**HIT, "MaxAssignments": 5000})["HIT"]["HITId"]
    made = {"Name": "Reader", "Description": "d", "QualificationTypeStatus": "Active"}
    kind = market.perform("CreateQualificationType", made)["QualificationType"]["QualificationTypeId"]

    def more(first: int, last: int) -> None:
        approved(engine, first, last)
        line = {"type_number": 1, "value": 1, "revoked": False, "reason": "", "granted_at": now()}
        lines = [{**line, "worker_number": each} for each in range(first, last)]
        with engine.begin() as connection:
            connection.execute(insert(table(Qualification)), lines)

    def costs() -> dict[str, int]:
        lists = {
            "ListAssignmentsForHIT": {"HITId": hit, "AssignmentStatuses": ["Submitted", "Approved"]},
            "ListWorkersWithQualificationType": {"QualificationTypeId": kind},
        }
        one = {"HITId": hit, "AssignmentStatuses": ["Submitted"]}
        asked = [*lists.items(), ("ListAssignmentsForHIT", one)]
        return {
            f"{name} {place}": steps_of(engine, partial(market.perform, name, {**given, "MaxResults": 10}))
            for place, (name, given) in enumerate(asked)
        }

    more(100, 120)
    costs()
    few = costs()
    more(1000, 3000)
    assert {name: found for name, found in costs().items() if found > few[name] + 500} == {}


def test_what_a_worker_has_in_hand_is_found_whatever_they_did_before(engine: Engine) -> None:
    open_account(engine, Mode.LOCAL)
    market = Market(engine, Mode.LOCAL)
    first, second = (market.perform("CreateHIT", HIT)["HIT"]["HITId"] for _ in range(2))
    with market.writing() as work:
        worker = sign_up(work, "Ada", "").id
        mine = [accept(work, find_worker(work, worker), each).id for each in (first, second)]

    def looks() -> None:
        with market.reading() as work:
            person = find_worker(work, worker)
            assert [each.id for each in begun_by(work, person)] == mine[::-1]
            assert [each.id for each in in_hand_of(work, person)] == mine[::-1]

    looks()
    few = steps_of(engine, looks)
    with engine.begin() as connection:
        line = dict(connection.execute(select(HITS).limit(1)).mappings().one())
        numbers = range(1000, 3000)
        connection.execute(insert(HITS), [{**line, "number": each, "id": f"H{each}"} for each in numbers])
        done = [assignment(each, hit_number=each, worker_number=1) for each in numbers]
        connection.execute(insert(DONE), done)
    assert steps_of(engine, looks) < few + 500
