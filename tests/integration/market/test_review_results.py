"""Agreement of many workers: worked out at once from what was kept with each answer, listed line by line."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import event

from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import VERSIONS
from humaneval.store.engine import open_engine
from humaneval.store.migrate import upgrade
from tests.integration.market.shop import Done, Fields, Shop
from tests.integration.market.test_review_policies import known, plurality

OLD = Path(__file__).parents[1] / "old_databases" / "m0002.sql.gz"
VALUES = ("cat", "cat", "cat", " cat ", "dog", "cat|dog", "", "é", "x" * 256, "x" * 257, "two\r\nlines")
QUESTIONS = ("A", "B", "C D")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path / "market.db")
    yield shop
    shop.engine.dispose()


def given(fields: Fields, question: str) -> tuple[str, ...]:
    """What counts of an answer to a question, as it was read from each answer's document before m0003."""
    values = [value for name, value in fields if name == question]
    return () if any(len(value) > 256 for value in values) else cleaned(values)


def cleaned(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(value.strip().replace("\r\n", "\n") for value in values if value.strip()))


def expected(
    hit: str, counted: Sequence[Done], threshold: int, questions: Sequence[str] = QUESTIONS
) -> list[tuple[str, str, str, str]]:
    """The lines of SimplePlurality, answer by answer and question by question."""
    agreed = dict[str, tuple[tuple[str, ...], int]]()
    for question in questions:
        counts = Counter(given(done.fields, question) for done in counted).most_common()
        answer, most = counts[0]
        level = 100 * most // len(counted)
        if answer and level > threshold and [count for _, count in counts].count(most) == 1:
            agreed[question] = (answer, level)
    lines = list[tuple[str, str, str, str]]()
    for done in counted if agreed else ():
        same = {question: given(done.fields, question) == answer for question, (answer, _) in agreed.items()}
        lines += [(done.id, question, "AgreedWithPlurality", f"{met:d}") for question, met in same.items()]
        lines.append((done.id, "", "WorkerAgreementScore", str(100 * sum(same.values()) // len(same))))
    for question, (answer, level) in agreed.items():
        lines.append((hit, question, "PluralityAnswer", "|".join(answer)))
        lines.append((hit, question, "PluralityLevel", str(level)))
    return [*lines, (hit, "", "HITAgreementScore", str(100 * len(agreed) // len(questions)))]


def flat(lines: Sequence[dict[str, str]]) -> list[tuple[str, str, str, str]]:
    return [(each["SubjectId"], each.get("QuestionId", ""), each["Key"], each["Value"]) for each in lines]


@pytest.mark.parametrize("seed", range(40))
def test_results_are_those_of_reading_every_answer_again(shop: Shop, seed: int) -> None:
    drawn = random.Random(seed)
    threshold, below = drawn.choice([0, 30, 50, 66]), drawn.choice([None, 50, 100])
    leaves_out = drawn.random() < 0.5
    policy: dict[str, Any] = {"QuestionIds": list(QUESTIONS), "QuestionAgreementThreshold": threshold}
    if leaves_out:
        policy["DisregardAssignmentIfRejected"] = "true"
    if below is not None:
        policy["DisregardAssignmentIfKnownAnswerScoreIsLessThan"] = below
    gold = {"gold": ["1"], "more": ["1", "2"]}
    people = shop.sign_up(8)
    places = drawn.randint(1, 6)
    hit = shop.new_hit(
        MaxAssignments=places, AssignmentReviewPolicy=known(gold), HITReviewPolicy=plurality(**policy)
    )
    done, scores, rejected = list[Done](), dict[str, int](), set[str]()

    def work(worker: str) -> None:
        fields = [
            (name, drawn.choice(VALUES)) for name in QUESTIONS for _ in range(drawn.choice([0, 1, 1, 2]))
        ]
        fields += [("gold", drawn.choice("11 2")), ("more", "2"), ("more", drawn.choice("11 2"))]
        done.append(shop.submit(shop.accept(hit, worker), fields))
        met = [cleaned([v for n, v in fields if n == name]) == tuple(wanted) for name, wanted in gold.items()]
        scores[done[-1].id] = 100 * sum(met) // 2

    def check() -> None:
        counted = [
            each
            for each in done
            if not (leaves_out and each.id in rejected) and (below is None or scores[each.id] >= below)
        ]
        lines = shop.results(hit)
        if counted:
            assert flat(lines) == expected(hit, counted, threshold)
        ids = [line["ActionId"] for line in lines]
        assert len(set(ids)) == len(ids)
        assert [line["ActionId"] for line in shop.results(hit, drawn.randint(1, 9))] == ids

    for worker in people[:places]:
        work(worker)
        if len(done) < places and drawn.random() < 0.4:
            shop.market.perform(
                "RejectAssignment", {"AssignmentId": done[-1].id, "RequesterFeedback": "It is empty."}
            )
            rejected.add(done[-1].id)
    check()
    more = {"HITId": hit, "NumberOfAdditionalAssignments": 1}
    shop.market.perform("CreateAdditionalAssignmentsForHIT", more)
    work(people[-1])
    check()


DECIDES = {
    "QuestionIds": list(QUESTIONS),
    "ApproveIfWorkerAgreementScoreIsAtLeast": 100,
    "RejectIfWorkerAgreementScoreIsLessThan": 50,
    "RejectReason": "Others saw something else",
}


def almost_done(shop: Shop, workers: int) -> tuple[str, list[Done], str]:
    """A HIT whose last answer is to come: every third worker disagrees, one was approved and one rejected."""
    people = shop.sign_up(workers)
    hit = shop.new_hit(
        MaxAssignments=workers,
        AssignmentReviewPolicy=known({"A": ["cat"]}),
        HITReviewPolicy=plurality(**DECIDES),
    )
    done = [
        shop.submit(shop.accept(hit, worker), answered("dog" if number % 3 == 2 else "cat"))
        for number, worker in enumerate(people[:-1])
    ]
    for number, name in ((0, "RejectAssignment"), (2, "ApproveAssignment"), (3, "ApproveAssignment")):
        shop.market.perform(name, {"AssignmentId": done[number].id, "RequesterFeedback": "By hand"})
    return hit, done, shop.accept(hit, people[-1])


def answered(value: str) -> Fields:
    return [(question, value) for question in QUESTIONS]


def test_everybody_is_decided_on_at_once_and_each_reward_is_paid(shop: Shop) -> None:
    hit, done, last = almost_done(shop, 8)
    kind = shop.market.perform("GetHIT", {"HITId": hit})["HIT"]["HITTypeId"]
    address = {"Destination": "https://sqs.us-east-1.amazonaws.com/123456789012/q", "Transport": "SQS"}
    told = {**address, "Version": "2006-05-05", "EventTypes": ["AssignmentApproved", "AssignmentRejected"]}
    given = {"HITTypeId": kind, "Notification": told, "Active": True}
    shop.market.perform("UpdateNotificationSettings", given)
    shop.submit(last, answered("cat"))
    ids = [*(each.id for each in done), last]
    cannot = "This operation can be called with a status of: Submitted"
    found = [
        (name, ids.index(target), result.partition(" (")[0]) for name, target, result in shop.actions(hit)
    ]
    assert [(name, number) for name, number, _ in found] == [
        ("approve", 0), ("approve", 1), ("reject", 2), ("approve", 3), ("approve", 4), ("reject", 5),
        ("approve", 6), ("approve", 7),
    ]  # fmt: skip
    said = [result for *_, result in found]
    assert said[1:2] + said[3:] == [
        "Approved",
        "Already approved",
        "Approved",
        "Rejected",
        "Approved",
        "Approved",
    ]
    assert cannot in said[0]
    assert cannot in said[2]
    states = shop.states(hit)
    assert [states[each][0] for each in ids] == list("RAAAARAA")
    # Six rewards of 0.50, with a fee of 0.10 each.
    assert shop.market.perform("GetAccountBalance", {}) == {
        "AvailableBalance": "9996.40",
        "OnHoldBalance": "0.00",
    }
    paid = shop.column("SELECT assignment_number FROM entries WHERE kind = 'reward' ORDER BY 1")
    events = shop.column("SELECT kind FROM events ORDER BY number")
    assert paid == [2, 3, 4, 5, 7, 8]
    assert events == [
        f"Assignment{kind}" for kind in ("Approved", "Approved", "Rejected", "Approved", "Approved")
    ]


class EndedError(Exception):
    """Something that nobody expected."""


def _fail() -> None:
    raise EndedError


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _submit(shop: Shop, last: str, nth: int, end: Callable[[], None]) -> bool:
    """Send the last answer; whether all went well before the nth statement, at which it ends."""
    met = 0

    def statement(*_: object) -> None:
        nonlocal met
        met += 1
        if met == nth:
            end()

    event.listen(shop.engine, "before_cursor_execute", statement)
    try:
        shop.submit(last, answered("cat"))
    except EndedError:
        return False
    finally:
        event.remove(shop.engine, "before_cursor_execute", statement)
    return True


def _submit_or_die(shop: Shop, last: str, nth: int) -> bool:
    """The same in a process of its own."""
    child = os.fork()
    if child == 0:  # pragma: no cover - it does not live to tell
        try:
            _submit(Shop(shop.path), last, nth, _kill)
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("killed", [False, True])
def test_ended_at_any_statement_all_of_it_is_done_once_by_the_next_try(shop: Shop, killed: bool) -> None:
    hit, done, last = almost_done(shop, 8)
    shop.engine.dispose()
    before = shop.states(hit), shop.market.perform("GetAccountBalance", {})
    nth = 1
    while not (_submit_or_die(shop, last, nth) if killed else _submit(shop, last, nth, _fail)):
        nth += 1
        assert (shop.states(hit), shop.market.perform("GetAccountBalance", {})) == before
        assert shop.actions(hit) == []
        shop.engine.dispose()
    assert nth > 15
    once = shop.actions(hit), flat(shop.results(hit)), shop.states(hit)
    assert len(once[0]) == 8
    assert once[1] == expected(hit, [*done, Done(last, answered("cat"))], 50)
    shop.submit(last, answered("dog"))
    assert (shop.actions(hit), flat(shop.results(hit)), shop.states(hit)) == once


def test_the_last_answer_of_many_asks_as_little_as_that_of_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is read once: before its transaction."""
    asked = Counter[str]()
    read = ElementTree.fromstring

    def reading(document: str) -> ElementTree.Element:
        asked["documents"] += 1
        return read(document)

    def statement(*_: object) -> None:
        asked["statements"] += 1

    found = []
    for workers in (9, 60):
        shop = Shop(tmp_path / f"{workers}.db")
        hit, _, last = almost_done(shop, workers)
        event.listen(shop.engine, "before_cursor_execute", statement)
        with monkeypatch.context() as counting:
            counting.setattr(ElementTree, "fromstring", reading)
            asked.clear()
            shop.submit(last, answered("cat"))
        event.remove(shop.engine, "before_cursor_execute", statement)
        found.append(dict(asked))
        assert len(shop.results(hit)) == 4 * workers + 7
        assert shop.column("SELECT count(*) FROM review_lines WHERE level = 'HIT' AND kind = 'result'") == [1]
        shop.engine.dispose()
    assert found[0] == found[1]
    assert found[1]["documents"] == 1
    assert found[1]["statements"] < 40


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Shop]:
    """A marketplace of m0002, brought up. Of its last three HITs, one was measured, one extended after it was
    measured, and one has three of four answers."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(gzip.decompress(OLD.read_bytes()).decode())
        (last,) = file.execute("SELECT max(submitted_at) FROM assignments").fetchone()
    engine = open_engine(f"sqlite:///{path}")
    upgrade(engine, versions=VERSIONS, metadata=MarketTable.metadata)
    engine.dispose()
    shop = Shop(path, datetime.fromisoformat(last).replace(tzinfo=UTC))
    yield shop
    shop.engine.dispose()


ANSWERS = (
    {"A": "coat", "B": "blue", "C": "large", "D": "Furry"},
    {"A": "sweater", "B": "blue", "C": "large", "D": "fur"},
    {"A": "coat", "B": "green", "C": "large", "D": "furr"},
)
"""What Ada, Grace and Mary answered: all three, but for Mary at the second HIT. At the third, Grace missed a
known answer and was rejected for it."""


def told(shop: Shop, hit: str, answers: dict[str, dict[str, str]]) -> bool:
    """Whether the results are those of these answers, by the workers who gave them."""
    query = (
        "SELECT assignments.id FROM assignments JOIN hits ON hits.number = hit_number"
        " JOIN workers ON workers.number = worker_number WHERE hits.id = ? AND workers.name = ?"
    )
    done = [Done(shop.column(query, hit, name)[0], list(each.items())) for name, each in answers.items()]
    return flat(shop.results(hit)) == expected(hit, done, 50, "ABCD")


def test_what_was_measured_before_the_upgrade_is_listed_as_it_was_and_measured_again(old: Shop) -> None:
    measured, extended, half = old.column("SELECT id FROM hits ORDER BY number DESC LIMIT 3")[::-1]
    joan = old.column("SELECT id FROM workers WHERE name = 'Joan'")[0]
    mary = old.column("SELECT id FROM workers WHERE name = 'Mary'")[0]
    query = (
        "SELECT detail FROM review_lines JOIN hits ON hits.number = hit_number"
        " WHERE hits.id = ? AND level = 'HIT' AND kind = 'result' ORDER BY review_lines.number"
    )
    for hit in (measured, extended):
        before = [json.loads(line) for line in old.column(query, hit)]
        assert len(before) > 10
        assert old.results(hit) == old.results(hit, 3) == before
    # One more answer, and everything is compared again: what is new with what was kept before.
    coat, sweater, green = ANSWERS
    old.submit(old.accept(extended, mary), list(green.items()))
    assert told(old, extended, {"Ada": coat, "Grace": sweater, "Mary": green})
    assert [action for action, *_ in old.actions(extended)] == ["extend", "approve"]
    old.submit(old.accept(half, joan), [*coat.items(), ("gold", "1")])
    assert told(old, half, {"Ada": coat, "Mary": green, "Joan": coat})
    assert [action for action, *_ in old.actions(half)] == ["approve", "reject", "approve"]
    decided = old.actions(measured)
    more = {"HITId": measured, "NumberOfAdditionalAssignments": 1}
    old.market.perform("CreateAdditionalAssignmentsForHIT", more)
    old.submit(old.accept(measured, joan), [*coat.items(), ("gold", "1")])
    assert told(old, measured, {"Ada": coat, "Grace": sweater, "Mary": green, "Joan": coat})
    assert old.actions(measured)[: len(decided)] == decided
    assert len(old.column(query, measured)) == 1
