"""A whole world in one process: our client, the marketplace and its workers, faults between them, and sudden
deaths.

The client is the real one, boto3 and all, and so are the marketplace and the form server; only the sockets
are left out, so that thousands of schedules can be tried: a request goes straight into the marketplace's WSGI
application.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError
from sqlalchemy import event, select
from sqlalchemy.orm import Session
from waitress.channel import ClientDisconnected

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.collect import collect_work
from humaneval.crowd.endpoints import local
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import HumanEvalError
from humaneval.market import Faults, Mode, create_market_app, open_account
from humaneval.market.account import balance, dollars
from humaneval.market.assignments import accept, give_back
from humaneval.market.faults.plan import read_line
from humaneval.market.faults.reused_id import reuse_id
from humaneval.market.offers import find_visible, offers
from humaneval.market.operations import Market
from humaneval.market.protocol.answer_xml import Field, answer_xml
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.submissions import Answer, submit
from humaneval.market.tables.assignments import FINISHED, Assignment, Bonus, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit
from humaneval.market.tables.workers import Worker
from humaneval.market.workers import Person, find_named, find_worker, sign_up
from humaneval.settings import Settings
from humaneval.simulated.browser import FoundForm, parse_page
from humaneval.store.engine import open_engine, reading
from humaneval.store.identity import Identity
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, ResponseRow
from humaneval.store.types import now
from humaneval.web.app import create_app
from tests.fixtures import signed

MARKET, FORMS = "http://market.test", "http://localhost:8730"
STUDY, WORKERS = "study", 6
FAULTS = "throttled=0.04 unavailable=0.04 odd-status=0.03 reply-lost=0.06 dropped=0.06 empty-page=0.1"
FILES = ("study.db", "market.db")
OPENING = Decimal("10000.00")
BONUS = Decimal("0.25")


class Killed(BaseException):
    """The process dies here: nothing catches it but the world."""


class _Body:
    """What botocore reads a reply from."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._content


def _texts(headers: Any) -> dict[str, str]:
    """Headers of a signed request, some of which are bytes."""
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in headers.items()}


class World:
    """A marketplace, a form server and a database, made once and set back for every schedule: compiling
    statements and templates takes longer than running them. Steps are its methods `publish`, `collect`, …
    """

    def __init__(self, folder: Path, templates: Path) -> None:
        self._folder, self._templates = folder, templates
        self.engine, self.books = (open_engine(f"sqlite:///{folder / name}") for name in FILES)
        for engine in (self.engine, self.books):
            # No power is cut in here: what is tried is the order of commits, and most of the time would go to
            # the disk.
            event.listen(
                engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF").close()
            )
        self.faults = Faults((), sleep=lambda _: None)
        self.ahead, self.dies_in, self.bonuses = timedelta(), 0, set[str]()
        self.undone = set[str]()
        """Rejections that somebody takes back: until that is confirmed they are called rejected here."""
        self.reached: Counter[str] = Counter()
        """What happened in all schedules so far: a test whose people never hand anything over shows
        nothing."""
        self.begin(0)
        app = create_market_app(
            self.books, mode=Mode.LOCAL, public_url=MARKET, clock=self.clock, trouble=self.faults
        )
        self.browser = app.test_client(use_cookies=False)
        self.market = Market(self.books, Mode.LOCAL, self.clock)
        settings = Settings(market_url=MARKET, public_url=FORMS, secret_key="k" * 40)
        self.forms = create_app(settings, self.engine).test_client(use_cookies=False)
        self.platform = MTurk(local(MARKET))
        for client in (self.platform._turk.tokened, self.platform._turk.once):
            client.meta.events.register("before-send.mturk", self.send)
        event.listen(Session, "before_commit", self._before_commit)
        event.listen(Session, "after_commit", self._after_commit)

    def begin(self, seed: int) -> None:
        """Everything is as it was at first; `seed` draws the faults."""
        for engine, name in zip((self.engine, self.books), FILES, strict=True):
            engine.dispose()
            for old in self._folder.glob(f"{name}-*"):
                old.unlink()
            # Over the old one: a server takes a new file for a database that was replaced.
            shutil.copy(self._templates / name, self._folder / name)
        self.faults.replace(read_line(FAULTS), seed)
        self.ahead, self.dies_in, self.bonuses, self.undone = timedelta(), 0, set(), set()

    def send(self, request: Any, **_: Any) -> AWSResponse:
        """Carry a request over, unless the process dies before or after."""
        self.boundary("before a call")
        try:
            reply = self.browser.post(
                "/", data=request.body, headers=_texts(request.headers), base_url=MARKET
            )
        except ClientDisconnected:
            raise ConnectionClosedError(endpoint_url=MARKET) from None
        finally:
            self.boundary("after a call")
        return AWSResponse(request.url, reply.status_code, reply.headers, _Body(reply.data))

    def leave(self) -> None:
        event.remove(Session, "before_commit", self._before_commit)
        event.remove(Session, "after_commit", self._after_commit)
        self.engine.dispose()
        self.books.dispose()

    def clock(self) -> datetime:
        return now() + self.ahead

    # The process and its death

    def boundary(self, where: str) -> None:
        """A place where the process can die: it does at the one that was chosen."""
        if self.dies_in:
            self.dies_in -= 1
            if not self.dies_in:
                raise Killed(where)

    def _before_commit(self, session: Session) -> None:
        if session.get_bind().engine.url == self.engine.url:
            self.boundary("before a commit")

    def _after_commit(self, session: Session) -> None:
        if session.get_bind().engine.url == self.engine.url:
            self.boundary("after a commit")

    @contextmanager
    def process(self, dies_in: int) -> Iterator[None]:
        """A verb's process. It may die, and the platform may refuse or fail: then it has said so, and
        ends."""
        self.dies_in = dies_in
        try:
            yield
        except Killed:
            self.reached["killed"] += 1
        except HumanEvalError:
            self.reached["refused"] += 1
        finally:
            self.dies_in = 0

    # The verbs

    def open(self) -> None:
        """Every schedule begins with this."""
        self.publish()

    def publish(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            plan_hits(open_study_at(self.engine, STUDY, self.platform))
            publish_hits(open_study_at(self.engine, STUDY, self.platform), public_url=FORMS)

    def collect(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            collect_work(open_study_at(self.engine, STUDY, self.platform))

    def approve(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            approve_work(open_study_at(self.engine, STUDY, self.platform))

    def reject(self, who: int, dies_in: int = 0) -> None:
        with self.process(dies_in):
            reject_work(
                open_study_at(self.engine, STUDY, self.platform),
                assignments=self._known(who)[:1],
                reason="It was empty.",
            )

    def bonus(self, who: int, dies_in: int = 0) -> None:
        """A bonus for a worker's first form: the same one however often it is asked for."""
        for assignment in self._known(who)[:1]:
            self.bonuses.add(assignment)
            self._bonus(assignment, dies_in)

    def _bonus(self, assignment: str, dies_in: int) -> None:
        with self.process(dies_in):
            pay_bonus(
                open_study_at(self.engine, STUDY, self.platform),
                assignment=assignment,
                amount=BONUS,
                reason="Thank you.",
                purpose="thanks",
            )

    def expire(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            expire_all(open_study_at(self.engine, STUDY, self.platform))

    def extend(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            extend_all(open_study_at(self.engine, STUDY, self.platform), 2)

    def _known(self, who: int) -> list[str]:
        """What this worker has handed in, else what the others have, as far as it is known here."""
        handed_in = self.hear()
        mine = [id for id, name in handed_in if name == f"worker {who}"]
        with reading(self.engine) as session:
            here = set(session.scalars(select(AssignmentRow.external_id)))
        return [id for id in mine or [id for id, _ in handed_in] if id in here]

    def hear(self) -> list[tuple[str, str]]:
        """Collect, if anything was handed in since: a verb about somebody's work has nothing to do else.

        Gives all that is handed in, and whose it is.
        """
        with self.market.reading() as work:
            handed_in = [(one.id, one.name) for one in work.session.execute(_HANDED_IN)]
        with reading(self.engine) as session:
            here = set(session.scalars(_COLLECTED))
        if not {id for id, _ in handed_in} <= here:
            self.collect()
        return handed_in

    # Time and people

    def wait(self, hours: int) -> None:
        """Time passes at the marketplace: it forgets tokens, approves by itself, lets HITs expire."""
        self.ahead += timedelta(hours=hours)

    def work(self, who: int, how: str, reused: bool = False) -> None:
        """A worker takes a HIT, if there is one for them, and does with it as `how` says; `reused`: under
        an old id."""
        try:
            with self.market.writing() as work:
                worker = sign_up(work, f"worker {who}", "")
                offered = [find_visible(work, worker, one.hit_id) for one in offers(work, worker).groups]
                forms = [hit for hit in offered if self.is_form(hit.question)]
                if not forms:
                    return
                assignment = accept(work, worker, forms[0].id)
                if reused:
                    reuse_id(work, assignment)
                given = {"assignmentId": assignment.id, "hitId": assignment.hit.id, "workerId": worker.id}
                question = assignment.hit.question
        except NotPossibleError:
            return
        if how == "leave":
            return
        form = self._form(question, given)
        if form is None or how == "return":
            self._give_back(given)
            return
        answers = {name: choices[0][0] for name, choices in form.choices.items()} | form.boxes | form.values
        if how != "unseen":
            kept = self.forms.post(form.action, data=answers)
            # Its address is a relative one, which the test client does not follow.
            page = self.forms.get(urljoin(form.action, kept.headers.get("Location", "")))
            handed = parse_page(form.action, page.status_code, page.text).form(action="/mturk/externalSubmit")
            if handed is None:
                self._give_back(given)
                return
            answers = handed.values
        self.reached[how] += 1
        if how != "lost":
            with self.market.writing() as work:
                fields = [Field(name, value) for name, value in answers.items() if name != "assignmentId"]
                submit(work, given["assignmentId"], Answer(answer_xml(fields)))

    @staticmethod
    def is_form(question: str) -> bool:
        """Whether a HIT's question is a form of the study; else it is a compensation."""
        return "/form/" in question

    def _form(self, question: str, given: dict[str, str]) -> FoundForm | None:
        key, _, secret = question.partition("/form/")[2].partition("<")[0].partition("#sign=")
        query = signed(secret, given["assignmentId"], given["workerId"], given["hitId"])
        page = self.forms.get(f"/form/{key}?{query}&turkSubmitTo={MARKET}")
        found = parse_page(f"/form/{key}", page.status_code, page.text).form(field="form")
        if found is not None:
            found.action = urljoin(f"/form/{key}", found.action)
        return found

    def _give_back(self, given: dict[str, str]) -> None:
        with self.market.writing() as work:
            give_back(work, find_worker(work, given["workerId"]), given["assignmentId"])

    def _worker(self, work: Transaction, who: int) -> Person | None:
        return find_named(work, f"worker {who}")

    # What must be true

    def settle(self) -> None:
        """Nothing goes wrong any more, and every verb runs until all is done."""
        self.faults.replace((), 0)
        self.publish()
        self.collect()
        self.approve()
        # What matches no form is decided by name.
        with reading(self.engine) as session:
            strays = session.scalars(select(AssignmentRow.external_id).where(AssignmentRow.is_stray)).all()
        if strays:
            with self.process(0):
                approve_work(open_study_at(self.engine, STUDY, self.platform), assignments=strays)
        for assignment in sorted(self.bonuses):
            self._bonus(assignment, 0)
        self.expire()

    def check_not_ahead(self) -> None:
        with self.market.reading() as work, reading(self.engine) as here:
            self.compare(work.session, here)

    def compare(self, there: Session, here: Session) -> None:
        """What we call approved, rejected or paid is so at the marketplace. No HIT or bonus is there
        twice."""
        states = {tuple(row) for row in there.execute(_STATES_THERE)}
        paid = Counter(tuple(row) for row in there.execute(_BONUSES_THERE))
        notes = Counter(there.scalars(_NOTES))
        assert set(notes.values()) <= {1}, notes
        assert set(paid.values()) <= {1}, paid
        for id, state in here.execute(_DECIDED_HERE):
            undone = state == "rejected" and id in self.undone and (id, State.APPROVED) in states
            assert (id, State(state)) in states or undone, (id, state)
        for id, amount in here.execute(_BONUSES_HERE):
            assert (id, int(amount * 100)) in paid, id
        assert len(set(here.scalars(_UP))) <= len(notes)

    @staticmethod
    def may_stay_pending(closed: bool) -> set[str]:
        """Operations of which some may never be confirmed."""
        return set()

    def check_settled(self) -> None:
        """Every HIT of the plan is up once, every submission is here, every cent is accounted for."""
        self.check_not_ahead()
        with self.market.reading() as work:
            forms = [hit for hit in work.session.scalars(select(Hit)) if self.is_form(hit.question)]
            hits = {hit.annotation: hit.id for hit in forms}
            done = {
                one.id: one.state
                for one in work.session.scalars(select(Assignment))
                if one.state in FINISHED and self.is_form(one.hit.question)
            }
            bonuses = [one.cents for one in work.session.scalars(select(Bonus))]
            pots = balance(work.session)
            rewards = sum(
                one.hit.hit_type.reward_cents
                for one in work.session.scalars(select(Assignment))
                if one.state is State.APPROVED
            )
        with reading(self.engine) as session:
            rows = session.scalars(select(HitRow)).all()
            closed = any(row.closed_at is not None for row in rows)
            planned = {
                f"humaneval:{row.key}": row.external_id for row in rows if row.external_id or not closed
            }
            assert hits == planned
            pending = session.scalars(select(OutboxRow.operation).where(OutboxRow.state == "pending")).all()
            assert set(pending) <= self.may_stay_pending(closed), pending
            here = {
                row.external_id: row
                for row in session.scalars(
                    select(AssignmentRow).where(
                        AssignmentRow.state.in_(("submitted", "approved", "rejected"))
                    )
                )
            }
            answered = Counter(session.scalars(select(ResponseRow.assignment_id)))
            assert set(here) == set(done), (set(here), done)
            for id, row in here.items():
                assert answered[row.id] == (0 if row.is_stray else 4), id
                assert State(row.state) is done[id], (id, row.state, done[id])
            paid = [p for p in session.scalars(select(PaymentRow)) if p.state == "paid"]
        self.reached.update(p.kind for p in paid)
        self.reached.update(str(state) for state in done.values())
        assert Counter(int(p.amount * 100) for p in paid if p.kind == "bonus") == Counter(bonuses)
        assert len(bonuses) == len(self.bonuses)
        spent = sum((p.amount + p.fee for p in paid), Decimal(0))
        assert dollars(pots.available + pots.on_hold) + spent == OPENING
        assert pots.paid == rewards + sum(bonuses)
        assert dollars(pots.available + pots.on_hold + pots.paid + pots.fees) == OPENING


# Asked after every step, so they are made once.
_HANDED_IN = (
    select(Assignment.id, Worker.name)
    .join(Assignment.worker)
    .where(Assignment.state.in_(FINISHED))
    .order_by(Assignment.number)
)
_COLLECTED = select(AssignmentRow.external_id).where(
    AssignmentRow.state.in_(("submitted", "approved", "rejected"))
)
_STATES_THERE = select(Assignment.id, Assignment.state)
_BONUSES_THERE = select(Assignment.id, Bonus.cents).join(Bonus.assignment)
_NOTES = select(Hit.annotation)
_DECIDED_HERE = select(AssignmentRow.external_id, AssignmentRow.state).where(
    AssignmentRow.state.in_(("approved", "rejected"))
)
_BONUSES_HERE = (
    select(AssignmentRow.external_id, PaymentRow.amount)
    .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
    .where(PaymentRow.state == "paid", PaymentRow.kind == "bonus")
)
_UP = select(HitRow.external_id).where(HitRow.external_id.is_not(None))


def make_templates(folder: Path, study: Any) -> None:
    """The databases that every schedule begins with: a study, and an account."""
    engine = open_engine(f"sqlite:///{folder / 'study.db'}")
    study(engine)
    Identity(engine)  # the copies have one id
    engine.dispose()
    from humaneval.market import open_market

    books = open_market(folder / "market.db")
    open_account(books, Mode.LOCAL, balance=OPENING)
    books.dispose()
