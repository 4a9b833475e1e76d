"""CPU time of every operation and page of a marketplace, with few and with many HITs, answers and people.

    python benchmarks/market_growth.py [--sizes 1000 100000] [--times 8]

Of a size N there are N HITs of one type, and one HIT with N answers by N people: half of them are approved. A
tenth of these people have a bonus, wait for a qualification or are blocked; all hold one and have a message.
Worker w0 did N/20 HITs. The application is asked without HTTP.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import Connection, Engine, insert, select, update

from benchmarks.market import ANSWER, QUESTION, Site, fill
from humaneval.market import Mode, create_market_app, open_market
from humaneval.market.tables.account import Account, Entry, RequestToken
from humaneval.market.tables.assignments import Assignment, Bonus, State
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.hits import Event, Hit
from humaneval.market.tables.qualifications import Qualification, QualificationRequest, QualificationType
from humaneval.market.tables.workers import Message, Worker, WorkerBlock
from humaneval.store.engine import batches
from humaneval.store.types import now, table

FIRST = 1000
"""The number of the first of the people who answered the large HIT."""
LARGE, TYPE, FEE = "LARGE", "TYPE", 10
NEW = {"Title": "t", "Description": "d", "Reward": "0.50", "AssignmentDurationInSeconds": 3600}
MADE = {"LifetimeInSeconds": 86400, "MaxAssignments": 9, "Question": QUESTION}
EVENTS = {"Transport": "Email", "Destination": "a@b.example", "Version": "2006-05-05"}
Calls = Sequence[Callable[[], object]]


def add(connection: Connection, kind: type[MarketTable], lines: Iterable[dict[str, Any]]) -> None:
    """Add rows, a thousand at a time."""
    for some in batches(lines, 1000):
        connection.execute(insert(table(kind)), some)


def enlarge(engine: Engine, size: int) -> None:
    """The large HIT with its people, and what they hold, got and wait for."""
    moment = now()
    with engine.begin() as connection:
        hits = table(Hit)
        one = connection.execute(select(hits).limit(1)).mappings().one()
        large = {**one, "number": None, "id": LARGE, "max_assignments": 2 * size + 100, "finished_at": None}
        connection.execute(insert(hits), {**large, "status": "Assignable"})
        number = connection.scalar(select(hits.c.number).where(hits.c.id == LARGE)) or 0
        person = {"country": "", "links_revoked": 0, "signed_out": 0, "made_at": moment}
        add(connection, Worker, ({**person, **named(place)} for place in range(size)))
        answer(connection, number, size, moment)
        pay(connection, number, size, moment)
        qualify(connection, size, moment)
        tell(connection, size, moment)


def named(place: int) -> dict[str, Any]:
    """The number and the names of one of the people."""
    name = f"AB{place:012}"
    return {"number": FIRST + place, "id": name, "handle": name, "name": name}


def answer(connection: Connection, hit: int, size: int, moment: datetime) -> None:
    """An answer of each of the people; every other one is approved."""
    later = moment + timedelta(days=7)
    done = {"hit_number": hit, "accepted_at": moment, "deadline": later, "answer": ANSWER}
    done |= {"submitted_at": moment, "auto_approve_at": later}
    turns = {"number": FIRST + size, "turn": FIRST + size}
    add(
        connection,
        Assignment,
        (
            {
                **done,
                **{name: first + place for name, first in turns.items()},
                "id": f"L{place}",
                "worker_number": FIRST + place,
                "state": State.SUBMITTED if place % 2 else State.APPROVED,
                "approved_at": None if place % 2 else moment,
            }
            for place in range(size)
        ),
    )


def pay(connection: Connection, hit: int, size: int, moment: datetime) -> None:
    """What the large HIT holds, the rewards from it, and bonuses."""
    price, held, paid = 50 + FEE, (50 + FEE) * (2 * size + 100), (size + 1) // 2
    line = {"hit_number": hit, "made_at": moment, "available": 0, "on_hold": 0, "paid": 0, "fees": 0}
    add(connection, Entry, [{**line, "kind": "hold", "available": -held, "on_hold": held}])
    reward = {**line, "kind": "reward", "on_hold": -price, "paid": 50, "fees": FEE}
    places = range(0, size, 2)
    add(connection, Entry, ({**reward, "assignment_number": FIRST + size + place} for place in places))
    pots = table(Account).c
    moved = {"available": pots.available - held, "on_hold": pots.on_hold + held - price * paid}
    moved |= {"paid": pots.paid + 50 * paid, "fees": pots.fees + FEE * paid}
    connection.execute(update(table(Account)).values(moved))
    bonus = {"cents": 5, "fee_cents": 1, "reason": "r", "paid_at": moment}
    tenth = range(size // 10)
    add(connection, Bonus, ({**bonus, "assignment_number": FIRST + size + place} for place in tenth))


def qualify(connection: Connection, size: int, moment: datetime) -> None:
    """All people hold one qualification, and a tenth of them wait for another."""
    kinds = table(QualificationType)
    taken = connection.scalar(select(kinds.c.number).where(kinds.c.id == "TAKEN"))
    holds = {"type_number": taken, "value": 1, "revoked": False, "reason": "", "granted_at": moment}
    add(connection, Qualification, ({**holds, "worker_number": FIRST + place} for place in range(size)))
    kind = {"id": "ASKED", "name": "Asked for", "keywords": "", "description": "d", "active": True}
    connection.execute(insert(kinds), {**kind, "deleted": False, "made_at": moment})
    asked = connection.scalar(select(kinds.c.number).where(kinds.c.id == "ASKED"))
    waits = {"type_number": asked, "state": "submitted", "reason": "", "asked_at": moment}
    waits |= {"submitted_at": moment}
    requests = ({**waits, "id": f"Q{place}", "worker_number": FIRST + place} for place in range(size // 10))
    add(connection, QualificationRequest, requests)


def tell(connection: Connection, size: int, moment: datetime) -> None:
    """Messages, blocks, events, and calls that were made with a token."""
    message = {"subject": "s", "text": "t", "read": False, "sent_at": moment}
    add(connection, Message, ({**message, "worker_number": FIRST + place} for place in range(size)))
    block = {"reason": "r", "made_at": moment}
    add(connection, WorkerBlock, ({**block, "worker_number": FIRST + place} for place in range(0, size, 10)))
    event = {"kind": "HITCreated", "transport": "Email", "destination": "a@b.example", "document": {}}
    add(connection, Event, ({**event, "made_at": moment} for _ in range(size)))
    token = {"operation": "CreateHIT", "made": "H1", "made_at": moment}
    add(connection, RequestToken, ({**token, "token": f"{place}"} for place in range(size)))


Params = Callable[[int], dict[str, Any]]


def of_hits(size: int, dearer: str) -> dict[str, Params]:
    """Operations of HITs, each with what its calls ask for."""
    tenth, large = size // 10, {"HITId": LARGE}
    note = {"Notification": {**EVENTS, "EventTypes": ["HITExpired"]}}
    return {
        "CreateHIT": lambda place: {**NEW, **MADE, "UniqueRequestToken": f"new {place}"},
        "CreateHITType": lambda place: {**NEW, "Title": f"t{place}"},
        "CreateHITWithHITType": lambda place: {"HITTypeId": TYPE, **MADE},
        "GetHIT": lambda place: large,
        "ListHITs": lambda place: {"MaxResults": 100},
        "ListReviewableHITs": lambda place: {"MaxResults": 100},
        "ListHITsForQualificationType": lambda place: {"QualificationTypeId": "TAKEN", "MaxResults": 100},
        "ListReviewPolicyResultsForHIT": lambda place: large,
        "CreateAdditionalAssignmentsForHIT": lambda place: {**large, "NumberOfAdditionalAssignments": 9},
        "UpdateExpirationForHIT": lambda place: {**large, "ExpireAt": time.time() + 99999 + place},
        "UpdateHITTypeOfHIT": lambda place: {"HITId": f"H{tenth + 50 + place}", "HITTypeId": dearer},
        "UpdateHITReviewStatus": lambda place: {"HITId": f"H{50 - place}"},
        "UpdateNotificationSettings": lambda place: {"HITTypeId": dearer, **note},
        "SendTestEventNotification": lambda place: {**note, "TestEventType": "HITExpired"},
    }


def of_answers() -> dict[str, Params]:
    """Operations of answers and money, at the large HIT."""
    return {
        "ListAssignmentsForHIT": lambda place: {"HITId": LARGE, "MaxResults": 100},
        "GetAssignment": lambda place: {"AssignmentId": f"L{place}"},
        "ApproveAssignment": lambda place: {"AssignmentId": f"L{4 * place + 1}"},
        "RejectAssignment": lambda place: {"AssignmentId": f"L{4 * place + 3}", "RequesterFeedback": "f"},
        "SendBonus": lambda place: {
            "AssignmentId": f"L{place}",
            "WorkerId": f"AB{place:012}",
            "BonusAmount": "0.10",
            "Reason": "r",
        },
        "ListBonusPayments": lambda place: {"HITId": LARGE, "MaxResults": 100},
        "GetAccountBalance": lambda place: {},
    }


def of_people(size: int, kinds: Sequence[str]) -> dict[str, Params]:
    """Operations of qualifications and people. `kinds` are qualifications that nobody holds."""
    taken, asked = {"QualificationTypeId": "TAKEN"}, {"QualificationTypeId": "ASKED"}
    named = {"Description": "d", "QualificationTypeStatus": "Active"}

    def who(place: int) -> str:
        return f"AB{size - 10 * place - 1:012}"

    return {
        "CreateQualificationType": lambda place: {**named, "Name": f"name {place}"},
        "GetQualificationType": lambda place: taken,
        "UpdateQualificationType": lambda place: {**taken, "Description": f"d{place}"},
        "ListQualificationTypes": lambda place: {"MustBeRequestable": True},
        "AssociateQualificationWithWorker": lambda place: {**taken, "WorkerId": who(place)},
        "GetQualificationScore": lambda place: {**taken, "WorkerId": who(place)},
        "DisassociateQualificationFromWorker": lambda place: {**taken, "WorkerId": who(place)},
        "ListWorkersWithQualificationType": lambda place: {**taken, "MaxResults": 100},
        "ListQualificationRequests": lambda place: {**asked, "MaxResults": 100},
        "AcceptQualificationRequest": lambda place: {"QualificationRequestId": f"Q{2 * place}"},
        "RejectQualificationRequest": lambda place: {"QualificationRequestId": f"Q{2 * place + 1}"},
        "NotifyWorkers": lambda place: {"Subject": "s", "MessageText": "t", "WorkerIds": [who(place)]},
        "ListWorkerBlocks": lambda place: {"MaxResults": 100},
        "CreateWorkerBlock": lambda place: {"WorkerId": who(place), "Reason": "r"},
        "DeleteWorkerBlock": lambda place: {"WorkerId": f"AB{10 * place:012}"},
        "DeleteQualificationType": lambda place: {"QualificationTypeId": kinds[place]},
    }


def operations(site: Site, size: int, times: int) -> Iterator[tuple[str, Calls]]:
    """The operations of the requester's API, but for files that workers sent."""
    named = {"Description": "d", "QualificationTypeStatus": "Active"}
    made = [site.call("CreateQualificationType", **named, Name=f"n{place}") for place in range(times)]
    kinds = [each["QualificationType"]["QualificationTypeId"] for each in made]
    dearer = site.call("CreateHITType", **{**NEW, "Reward": "0.60"})["HITTypeId"]
    for name, params in (of_hits(size, dearer) | of_answers() | of_people(size, kinds)).items():
        yield name, [partial(site.call, name, **params(place)) for place in range(times)]
    reviewed = range(60, 60 + times)
    for place in reviewed:
        site.call("ApproveAssignment", AssignmentId=f"S{place}")
    yield "DeleteHIT", [partial(site.call, "DeleteHIT", HITId=f"H{place}") for place in reviewed]


def pages(sites: Sequence[Site]) -> Iterator[tuple[str, Calls]]:
    """What workers do: the first of these did much, and the others are new. All take the large HIT."""
    named = zip(sites, ["w0", *(f"new {place}" for place in range(1, len(sites)))], strict=True)
    yield "sign in", [partial(site.post, "/signin", name=name) for site, name in named]
    shown = {"list of tasks": "/hits", "preview": f"/hits/{LARGE}", "my work": "/my-work"}
    shown |= {"messages": "/messages", "qualifications": "/qualifications"}
    for page, path in shown.items():
        yield page, [partial(sites[0].get, path)] * len(sites)
    tokens = [site.csrf() for site in sites]
    taken: list[str] = []

    def accept(site: Site, token: str) -> None:
        taken.append(site.post(f"/hits/{LARGE}/accept", csrf=token).rpartition("/")[2])

    both = list(zip(sites, tokens, strict=True))
    yield "accept", [partial(accept, *each) for each in both]
    back = [(*each, taken[place]) for place, each in enumerate(both)]
    taken.clear()
    yield "return", [partial(site.post, f"/assignments/{mine}/return", csrf=at) for site, at, mine in back]
    for site, token in both:
        accept(site, token)
    work = list(zip(sites, taken, strict=True))
    yield "work", [partial(site.get, f"/assignments/{mine}") for site, mine in work]
    sent = "/mturk/externalSubmit"
    yield "submit", [partial(site.post, sent, assignmentId=mine, q="1") for site, mine in work]


def measure(size: int, times: int) -> dict[str, float]:
    """CPU milliseconds of each operation and page. The first call of each only warms up."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        engine = open_market(Path(folder) / "market.db")
        address, balance = "http://127.0.0.1:1", Decimal(1_000_000)
        app: Flask = create_market_app(engine, mode=Mode.LOCAL, public_url=address, balance=balance)
        fill(engine, size)
        enlarge(engine, size)
        sites = [Site(engine, app.test_client()) for _ in range(times + 1)]
        for name, (first, *others) in chain(operations(sites[0], size, times + 1), pages(sites)):
            first()
            gc.collect()  # or it falls into whichever step comes next
            begun = time.process_time()
            for call in others:
                call()
            found[name] = 1000 * (time.process_time() - begun) / times
        engine.dispose()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--times", type=int, default=8)
    given = parser.parse_args()
    found = {size: measure(size, given.times) for size in given.sizes}
    print(f"{'CPU ms':40}" + "".join(f"{size:>10,}" for size in given.sizes))
    for name in found[given.sizes[0]]:
        print(f"{name:40}" + "".join(f"{found[size][name]:10.1f}" for size in given.sizes))


if __name__ == "__main__":
    main()
