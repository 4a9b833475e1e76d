"""What one step at the marketplace costs with few and with many HITs, and a run of many workers at once.

    python benchmarks/market.py                   # statements and CPU ms a step, at 100 and at 10,000 HITs
    python benchmarks/market.py --together 200    # so many workers at once, against a marketplace of its own

The first asks the application itself, without HTTP. The second counts how many accepts are refused.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask.testing import FlaskClient
from sqlalchemy import Engine, event, insert
from sqlalchemy.orm import Session

from benchmarks.publishing import marketplace
from humaneval.market import Mode, create_market_app, open_market
from humaneval.market.tables.account import Account, Entry
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.hits import Hit, HitType
from humaneval.market.tables.qualifications import Qualification, QualificationType
from humaneval.market.tables.workers import Worker
from humaneval.store.types import now

PLACES = 9
ANSWER = "<QuestionFormAnswers/>" + " " * 2000
QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/'
    'ExternalQuestion.xsd"><ExternalURL>https://lab.example/form</ExternalURL><FrameHeight>600</FrameHeight>'
    "</ExternalQuestion>"
)


def fill(engine: Engine, hits: int) -> None:
    """One HIT type. A tenth of its HITs are answered, by a hundred workers; the first of them did most."""
    moment, answered = now(), hits // 10
    with Session(engine) as session, session.begin():
        kind = HitType(
            id="TYPE",
            group_id="GROUP",
            fingerprint="f",
            title="Which sentence?",
            description="Read.",
            keywords="",
            reward_cents=50,
            assignment_seconds=3600,
            auto_approval_seconds=86400 * 7,
            qualifications=[],
            made_at=moment,
        )
        workers = [
            Worker(id=f"A{place:013}", handle=f"w{place}", name=f"w{place}", country="", made_at=moment)
            for place in range(100)
        ]
        session.add_all([kind, *workers])
        session.flush()
        session.execute(insert(Hit), hit_lines(kind.number, hits, answered, moment))
        numbers = [each.number for each in workers]
        session.execute(insert(Assignment), assignment_lines(numbers, answered, moment))
        hold(session, hits, answered, moment)
        qualify(session, numbers[1:], moment)


def hit_lines(kind: int, hits: int, answered: int, moment: datetime) -> list[dict[str, Any]]:
    """HITs of one type, the first of them answered."""
    common = {
        "hit_type_number": kind,
        "question": QUESTION,
        "annotation": "",
        "fee_cents": 10,
        "made_at": moment,
        "expires_at": moment + timedelta(days=7),
        "reviewing": False,
        "disposed": False,
        "expired": False,
        "policy_due": False,
    }
    done = {"max_assignments": 1, "status": "Reviewable", "finished_at": moment}
    free = {"max_assignments": PLACES, "status": "Assignable", "finished_at": None}
    return [{**common, "id": f"H{place}", **(done if place < answered else free)} for place in range(hits)]


def assignment_lines(workers: Sequence[int], answered: int, moment: datetime) -> list[dict[str, Any]]:
    """One submitted assignment for each HIT that is answered."""
    common = {
        "state": State.SUBMITTED,
        "accepted_at": moment,
        "deadline": moment + timedelta(hours=1),
        "submitted_at": moment,
        "auto_approve_at": moment + timedelta(days=7),
        "answer": ANSWER,
    }
    return [
        {
            **common,
            "id": f"S{place}",
            "hit_number": place + 1,
            "turn": place + 1,
            "worker_number": workers[0 if place % 2 else place // 2 % 99 + 1],
        }
        for place in range(answered)
    ]


def hold(session: Session, hits: int, answered: int, moment: datetime) -> None:
    """The money that the HITs hold, in the account's books."""
    prices = [60 * (1 if place < answered else PLACES) for place in range(hits)]
    held: list[dict[str, Any]] = [
        {
            "kind": "hold",
            "hit_number": place,
            "made_at": moment,
            "paid": 0,
            "fees": 0,
            "available": -price,
            "on_hold": price,
        }
        for place, price in enumerate(prices, 1)
    ]
    session.execute(insert(Entry), held)
    account = session.get_one(Account, 1)
    account.available -= sum(prices)
    account.on_hold += sum(prices)


def qualify(session: Session, workers: Sequence[int], moment: datetime) -> None:
    """A qualification that these workers hold."""
    test = QualificationType(
        id="TAKEN", name="Took part", keywords="", description="d", active=True, deleted=False, made_at=moment
    )
    session.add(test)
    session.flush()
    common = {"type_number": test.number, "value": 1, "reason": "", "revoked": False, "granted_at": moment}
    session.execute(insert(Qualification), [{**common, "worker_number": number} for number in workers])


class Site:
    """The worker site and the API of one application, asked without HTTP."""

    def __init__(self, engine: Engine, client: FlaskClient) -> None:
        self._client = client
        self.statements = 0
        event.listen(engine, "before_cursor_execute", self._count)

    def _count(self, *_: Any) -> None:
        self.statements += 1

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        """One call of the API."""
        target = f"MTurkRequesterServiceV20170117.{operation}"
        reply = self._client.post("/", data=json.dumps(params), headers={"X-Amz-Target": target})
        assert reply.status_code == 200, (operation, reply.text)
        answer: dict[str, Any] = reply.json or json.loads(reply.text)
        return answer

    def get(self, path: str) -> str:
        """One page."""
        reply = self._client.get(path)
        assert reply.status_code == 200, (path, reply.text)
        return reply.text

    def post(self, path: str, **fields: str) -> str:
        """One form; returns where it leads."""
        reply = self._client.post(path, data=fields)
        assert reply.status_code in (200, 303), (path, reply.status_code, reply.text)
        return reply.headers.get("Location", "")

    def csrf(self) -> str:
        """The token of this worker's forms."""
        return token_in(self.get("/messages"))


def token_in(page: str) -> str:
    """The token of a page's forms."""
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, page
    return found.group(1)


def steps(site: Site, hits: int, times: int) -> Iterator[tuple[str, list[Callable[[], object]]]]:
    """The name of each step, and its calls: as many as `times`."""
    site.post("/signin", name="w0")
    csrf = site.csrf()
    first = hits // 10
    yield "page: list", [lambda: site.get("/hits")] * times
    yield "page: my work", [lambda: site.get("/my-work")] * times
    yield "page: preview", [lambda: site.get(f"/hits/H{hits - 1}")] * times
    taken: list[str] = []

    def accept(place: int) -> None:
        taken.append(site.post(f"/hits/H{first + place}/accept", csrf=csrf).rpartition("/")[2])

    yield "accept", [partial(accept, place) for place in range(times)]
    yield "page: work", [partial(site.get, f"/assignments/{each}") for each in taken]
    yield (
        "submit",
        [partial(site.post, "/mturk/externalSubmit", assignmentId=each, q="1") for each in taken],
    )
    made = {
        "Title": "t",
        "Description": "d",
        "Reward": "0.10",
        "AssignmentDurationInSeconds": 600,
        "LifetimeInSeconds": 3600,
        "MaxAssignments": PLACES,
        "Question": QUESTION,
    }
    last = f"H{hits - 1}"
    api: dict[str, Callable[[int], dict[str, Any]]] = {
        "CreateHIT": lambda place: made,
        "GetHIT": lambda place: {"HITId": last},
        "ListHITs": lambda place: {"MaxResults": 100},
        "ListReviewableHITs": lambda place: {"MaxResults": 100},
        "ListAssignmentsForHIT": lambda place: {"HITId": f"H{place}"},
        "ApproveAssignment": lambda place: {"AssignmentId": f"S{place}"},
        "SendBonus": lambda place: {
            "AssignmentId": f"S{place}",
            "WorkerId": worker_of(place),
            "BonusAmount": "0.10",
            "Reason": "r",
        },
        "GetAccountBalance": lambda place: {},
        "UpdateExpirationForHIT": lambda place: {
            "HITId": f"H{first + place}",
            "ExpireAt": time.time() + 9999,
        },
        "DeleteHIT": lambda place: {"HITId": f"H{place}"},
        "AssociateQualificationWithWorker": lambda place: {
            "QualificationTypeId": "TAKEN",
            "WorkerId": worker_of(place),
        },
        "ListWorkersWithQualificationType": lambda place: {"QualificationTypeId": "TAKEN", "MaxResults": 100},
        "ListQualificationTypes": lambda place: {"MustBeRequestable": True, "MustBeOwnedByCaller": True},
    }
    for operation, params in api.items():
        yield operation, [partial(site.call, operation, **params(place)) for place in range(times)]


def worker_of(place: int) -> str:
    """The worker who answered the HIT at `place`."""
    return f"A{0 if place % 2 else place // 2 % 99 + 1:013}"


def measure(hits: int, times: int) -> dict[str, tuple[float, float]]:
    """Statements and CPU milliseconds a call, by step."""
    found: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        engine = open_market(Path(folder) / "market.db")
        app = create_market_app(
            engine, mode=Mode.LOCAL, public_url="http://127.0.0.1:1", balance=Decimal(1_000_000)
        )
        fill(engine, hits)
        site = Site(engine, app.test_client())
        for name, calls in steps(site, hits, times):
            before, begun = site.statements, time.process_time()
            for call in calls:
                call()
            spent = time.process_time() - begun
            found[name] = ((site.statements - before) / len(calls), 1000 * spent / len(calls))
        engine.dispose()
    return found


class Browser:
    """One worker's connection and cookie."""

    def __init__(self, address: str) -> None:
        self._at = urlsplit(address)
        self._cookie = ""
        self.waited: list[float] = []

    def ask(self, method: str, path: str, **fields: str) -> tuple[int, str, str]:
        """The status, where it leads, and the page."""
        headers = {"Cookie": self._cookie, "Content-Type": "application/x-www-form-urlencoded"}
        begun = time.monotonic()
        connection = http.client.HTTPConnection(self._at.hostname or "", self._at.port, timeout=120)
        connection.request(method, path, urlencode(fields) if fields else None, headers)
        reply = connection.getresponse()
        page = reply.read().decode()
        connection.close()
        self.waited.append(time.monotonic() - begun)
        self._cookie = (reply.headers["Set-Cookie"] or self._cookie).partition(";")[0]
        return reply.status, reply.headers["Location"] or "", page


def work(address: str, name: str, forms: int) -> tuple[Counter[str], list[float]]:
    """One worker, who accepts what the list offers and submits it, until nothing is left."""
    browser, met = Browser(address), Counter[str]()
    browser.ask("POST", "/signin", name=name)
    for _ in range(forms):
        page = browser.ask("GET", "/hits")[2]
        offered = re.search(r'action="([^"]+/accept[^"]*)">(.*?)</form>', page, re.DOTALL)
        if offered is None:
            met["nothing left"] += 1
            break
        sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', offered[2]))
        status, leads, _ = browser.ask("POST", offered[1].replace("&amp;", "&"), **sent)
        met["accepted" if status == 303 else f"refused ({status})"] += 1
        if status == 303:
            assignment = leads.rpartition("/")[2]
            status = browser.ask("POST", "/mturk/externalSubmit", assignmentId=assignment, q="1")[0]
            met["submitted" if status == 200 else f"not submitted ({status})"] += 1
    return met, browser.waited


def together(workers: int, forms: int) -> dict[str, Any]:
    """Many workers at once, at HITs of one place each, as many as they can do in all."""
    with tempfile.TemporaryDirectory() as name, marketplace(Path(name)) as address:
        kind = None
        for _ in range(workers * forms):
            made = {
                "Title": "t",
                "Description": "d",
                "Reward": "0.01",
                "AssignmentDurationInSeconds": 600,
                "LifetimeInSeconds": 86400,
                "MaxAssignments": 1,
                "Question": QUESTION,
            }
            connection = http.client.HTTPConnection(urlsplit(address).netloc)
            target = "MTurkRequesterServiceV20170117.CreateHIT"
            connection.request("POST", "/", json.dumps(made), {"X-Amz-Target": target})
            kind = connection.getresponse().read()
            connection.close()
        assert kind is not None
        assert b"HITId" in kind, kind
        begun = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            runs = list(pool.map(lambda place: work(address, f"w{place}", forms), range(workers)))
        seconds = time.monotonic() - begun
    met = sum((each for each, _ in runs), Counter[str]())
    waits = sorted(wait for _, each in runs for wait in each)
    return {
        **met,
        "seconds": round(seconds, 1),
        "median wait": round(waits[len(waits) // 2], 3),
        "p99 wait": round(waits[len(waits) * 99 // 100], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--together", type=int, help="so many workers at once")
    parser.add_argument("--forms", type=int, default=2, help="forms of each of them")
    given = parser.parse_args()
    if given.together:
        print(json.dumps(together(given.together, given.forms)))
        return
    found = {hits: measure(hits, given.times) for hits in given.hits}
    print(f"{'':34}" + "".join(f"{hits:>10,} HITs      " for hits in given.hits))
    print(f"{'step':34}" + "statements  CPU ms  " * len(given.hits))
    for name in found[given.hits[0]]:
        cells = "".join(f"{found[hits][name][0]:10.1f}{found[hits][name][1]:8.1f}  " for hits in given.hits)
        print(f"{name:34}{cells}")


if __name__ == "__main__":
    main()
