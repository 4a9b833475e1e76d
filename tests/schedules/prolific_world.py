"""A whole world in one process: our client, the stand-in for Prolific and its people, events on their way,
faults between them, and sudden deaths.

The client is the real one but for its sockets, and so are the stand-in and the form server: a request goes
straight into their WSGI applications.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urljoin, urlsplit

from sqlalchemy import Engine, event, select
from sqlalchemy.orm import Session
from urllib3.exceptions import ProtocolError
from waitress.channel import ClientDisconnected

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.ask_return import ASK_RETURN, ask_returns
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.close import CLOSE, close_all
from humaneval.crowd.collect import collect_work
from humaneval.crowd.costs import BONUS as BONUS_PAID
from humaneval.crowd.endpoints import prolific
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.more_places import PLACES as MORE
from humaneval.crowd.prolific.completion_codes import COMPLETED
from humaneval.crowd.prolific.decisions import LAGS
from humaneval.crowd.prolific.listen import listen
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import PUBLISH
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import HumanEvalError
from humaneval.market.faults.plan import Faults, read_line
from humaneval.market.prolific_standin import ProlificFault, taking_part
from humaneval.market.prolific_standin.app import create_prolific_app
from humaneval.market.prolific_standin.database import Books, Work
from humaneval.market.prolific_standin.deadlines import due_and_then
from humaneval.market.prolific_standin.deliveries import Parcel, deliver_due
from humaneval.market.prolific_standin.money import pots
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.studies import places_taken
from humaneval.market.prolific_standin.tables import Bonus, Project, Status, Study, StudyStatus, Submission
from humaneval.market.prolific_standin.terms import Terms
from humaneval.settings import Settings
from humaneval.simulated.browser import FoundForm, parse_page
from humaneval.store.engine import open_engine, reading
from humaneval.store.identity import Identity
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, ResponseRow
from humaneval.store.types import now
from humaneval.study.enlarge import enlarge
from humaneval.web.app import create_app
from humaneval.web.prolific_check import Checker

PROLIFIC, FORMS = "http://127.0.0.1:9", "http://localhost:8730"
STUDY, PLACES, PEOPLE, MINUTES = "study", 2, 8, 30
FILES = ("study.db", "prolific.db")
FAULTS = "throttled=0.02 throttled-bare=0.02 unavailable=0.03 reply-lost=0.04 dropped=0.04 processing=0.03"
FAULTS += " unknown-status=0.03 duplicate=0.1 disordered=0.1"
BONUS = Decimal("0.25")
REASON = (
    "In the story with the sentence that says that a computer wrote it, you marked another sentence. Sorry."
)
HANDED_IN = (Status.AWAITING_REVIEW, Status.APPROVED, Status.REJECTED)
COLLECTED = ("submitted", "approved", "rejected")


class Killed(BaseException):
    """The process dies here: nothing catches it but the world."""


class _Reply(NamedTuple):
    """What our client reads of a reply."""

    status: int
    headers: Any
    data: bytes


class ProlificWorld:
    """A stand-in, a form server and a database, made once and set back for every schedule. Steps are its
    methods `publish`, `collect`, …"""

    def __init__(self, folder: Path, templates: Path) -> None:
        self._folder, self._templates = folder, templates
        shutil.copytree(templates / "new", folder, dirs_exist_ok=True)
        self.engine, self.books = (open_engine(f"sqlite:///{folder / name}") for name in FILES)
        for engine in (self.engine, self.books):
            # No power is cut in here: what is tried is the order of commits.
            event.listen(
                engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF").close()
            )
        self.faults = Faults((), of=ProlificFault, sleep=lambda _: None)
        self.ahead, self.dies_in, self.bonuses = timedelta(), 0, set[str]()
        self.passed = 0.0
        """Seconds in all schedules so far: a server's own clock never goes back."""
        self.reached: Counter[str] = Counter()
        """What happened in all schedules so far."""
        # What is asked for together is there at the second look.
        self.there = Books(self.books, clock=self.clock, terms=Terms(delay=timedelta(seconds=LAGS[1])))
        self.site = create_prolific_app(self.there, self.faults).test_client(use_cookies=False)
        self.platform = self._platform()
        settings = Settings(prolific_url=PROLIFIC, public_url=FORMS, secret_key="k" * 40)
        checker = Checker(lambda endpoint, study: self.at(), lambda: time.monotonic() + self.passed)
        self.forms = create_app(settings, self.engine, checker=checker).test_client(use_cookies=False)
        event.listen(Session, "before_commit", self._before_commit)
        event.listen(Session, "after_commit", self._after_commit)

    def _platform(self) -> Prolific:
        with self.there.writing() as work:
            project = work.session.scalars(select(Project.id)).one()
        platform = Prolific(
            prolific(PROLIFIC), self.engine, token=self.there.token, project=project, wait=self._pass
        )
        platform._client._pool = self  # type: ignore[assignment]  # whose `request` is all that is used of it
        return platform

    def begin(self, seed: int) -> None:
        """Everything is as it was at first; `seed` draws the faults. Most begin with a study that is up."""
        self.is_up = seed % 4 != 0
        template = self._templates / ("up" if self.is_up else "new")
        for engine, name in zip((self.engine, self.books), FILES, strict=True):
            engine.dispose()
            for old in self._folder.glob(f"{name}-*"):
                old.unlink()
            shutil.copy(template / name, self._folder / name)
        self.faults.replace(read_line(FAULTS, ProlificFault), seed)
        self.ahead, self.dies_in, self.bonuses = timedelta(), 0, set()
        self.passed += 3600  # nothing of the last schedule is waited for

    def leave(self) -> None:
        event.remove(Session, "before_commit", self._before_commit)
        event.remove(Session, "after_commit", self._after_commit)
        self.engine.dispose()
        self.books.dispose()

    def clock(self) -> datetime:
        return now() + self.ahead

    def _pass(self, seconds: float) -> None:
        """Instead of waiting, time passes for everybody."""
        self.ahead += timedelta(seconds=seconds)
        self.passed += seconds

    def at(self) -> StudyAtPlatform:
        return open_study_at(self.engine, STUDY, self.platform)

    # The process and its death

    def request(
        self, method: str, url: str, *, body: bytes | None, headers: Any, redirect: bool, timeout: object
    ) -> _Reply:
        """Carry a call over, as a pool of connections does. Around one that changes something, the process
        can die."""
        changes = method != "GET"
        if changes:
            self.boundary()
        try:
            reply = self.site.open(
                url.removeprefix(PROLIFIC), base_url=PROLIFIC, method=method, data=body, headers=headers
            )
        except ClientDisconnected:
            raise ProtocolError("dropped") from None
        finally:
            if changes:
                self.boundary()
        return _Reply(reply.status_code, reply.headers, reply.data)

    def boundary(self) -> None:
        """A place where the process can die: it does at the one that was chosen."""
        if self.dies_in:
            self.dies_in -= 1
            if not self.dies_in:
                raise Killed

    def _before_commit(self, session: Session) -> None:
        if session.get_bind().engine is self.engine:
            self.boundary()

    def _after_commit(self, session: Session) -> None:
        if session.get_bind().engine is self.engine:
            self.boundary()

    @contextmanager
    def process(self, dies_in: int) -> Iterator[None]:
        """A verb's process. It may die, and the platform may refuse or fail: then it has said so."""
        self.dies_in = dies_in
        self.platform._decisions._approved.clear()  # what a process remembers dies with it
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
        """The study is published, if it is not up yet."""
        if not self.is_up:
            self.publish()

    def publish(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            plan_hits(self.at())
            publish_hits(self.at(), public_url=FORMS)

    def collect(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            collect_work(self.at())

    def approve(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            approve_work(self.at())

    def reject(self, who: int, dies_in: int = 0) -> None:
        with self.process(dies_in):
            reject_work(self.at(), assignments=self._known(who), reason=REASON, category="FAILED_CHECK")

    def ask(self, who: int, dies_in: int = 0) -> None:
        """Somebody is asked to return their work, and does it at once, if they can."""
        for assignment in self._known(who):
            with self.process(dies_in):
                self.reached["asked"] += ask_returns(self.at(), [assignment], REASON, dry_run=False)
            self._give_back(assignment)

    def bonus(self, who: int, dies_in: int = 0) -> None:
        for assignment in self._known(who):
            self.bonuses.add(assignment)
            self._bonus(assignment, dies_in)

    def _bonus(self, assignment: str, dies_in: int) -> None:
        with self.process(dies_in):
            pay_bonus(self.at(), assignment=assignment, amount=BONUS, reason="Thanks.", purpose="thanks")

    def pause(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            expire_all(self.at())

    def start(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            extend_all(self.at(), 1)

    def close(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            close_all(self.at(), wait=0)

    def more(self, dies_in: int = 0) -> None:
        """One form more, and a place for it, while people are at work."""
        with self.process(0):
            enlarge(self.at().study, 1, "more")
        self.publish(dies_in)

    def deliver(self) -> None:
        """Events go out: some twice, or after later ones."""

        def send(parcel: Parcel) -> bool:
            path = urlsplit(parcel.url).path
            reply = self.forms.post(path, data=parcel.body, headers=dict(parcel.headers))
            self.reached["event"] += 1
            return bool(200 <= reply.status_code < 300)

        deliver_due(self.there, send, self.faults)

    def _known(self, who: int) -> list[str]:
        """What this person has handed in, else what another has, as far as it is known here: one or none."""
        with self.there.writing() as work:
            query = select(Submission).where(Submission.status.in_(HANDED_IN)).order_by(Submission.number)
            found = [(one.id, one.participant.name) for one in work.session.scalars(query)]
        mine = [id for id, name in found if name == f"person {who}"]
        with reading(self.engine) as session:
            here = set(session.scalars(_COLLECTED))
        if not here.issuperset(id for id, _ in found):
            self.collect()
            with reading(self.engine) as session:
                here = set(session.scalars(_COLLECTED))
        return [id for id in mine or [id for id, _ in found] if id in here][:1]

    # Time and people

    def wait(self, minutes: int) -> None:
        """Time passes: places run out, and Prolific approves by itself."""
        self._pass(60 * minutes)

    def work(self, who: int, how: str) -> bool:
        """Somebody takes a place, if there is one, and does with it as `how` says. Whether there was one."""
        begun = self._begun(who)
        if begun is None:
            return False
        submission, address = begun
        if how == "leave":
            return True
        form = self._form(address)
        if form is None:
            self.reached["no form"] += 1
            self._give_back(submission)
        elif how == "return":
            self._give_back(submission)
        elif how == "quit":
            pass
        elif how == "leaked":
            self._hand_over(submission, self._code())
        elif how == "declined":
            back = self.forms.post(f"{form.action}/decline").headers["Location"]
            self._hand_over(submission, parse_qs(urlsplit(back).query)["cc"][0])
            self._give_back(submission)
        else:
            answers = {name: choices[0].value for name, choices in form.choices.items()}
            posted = self.forms.post(form.action, data=form.values | form.boxes | answers)
            (code,) = parse_qs(urlsplit(posted.headers["Location"]).query)["cc"]
            if how == "late":
                self.wait(2 * MINUTES)
            if how != "unsent":
                brought = {"nocode": None, "badcode": "WRONGCODE"}.get(how, code)
                self._hand_over(submission, brought, late=how == "late")
        self.reached[how] += 1
        return True

    def _begun(self, who: int) -> tuple[str, str] | None:
        try:
            with due_and_then(self.there) as work:
                running = select(Study).where(Study.status == StudyStatus.ACTIVE)
                study = work.session.scalars(running).first()
                if study is None:
                    return None
                person = taking_part.known_as(work, f"person {who}")
                submission = taking_part.reserve(work, study, person)
                return submission.id, taking_part.start(work, submission)
        except Refusal:
            return None

    def _form(self, address: str) -> FoundForm | None:
        reply = self.forms.get(address.removeprefix(FORMS))
        if reply.status_code != 303 or "complete?" in reply.headers["Location"]:
            return None
        url = urljoin(address, reply.headers["Location"]).removeprefix(FORMS)
        reply = self.forms.get(url)
        found = parse_page(url, reply.status_code, reply.text).form(field="form")
        if found is not None:
            found.action = url
        return found

    def _code(self) -> str:
        with self.there.writing() as work:
            (study,) = work.session.scalars(select(Study).where(Study.status != StudyStatus.UNPUBLISHED))
            codes = study.body["completion_codes"]
        return next(str(each["code"]) for each in codes if each["code_type"] == COMPLETED)

    def _hand_over(self, submission: str, code: str | None, *, late: bool = False) -> None:
        self._does(submission, lambda work, mine: taking_part.complete(work, mine, code, late=late))

    def _give_back(self, submission: str) -> None:
        self._does(submission, taking_part.give_back)

    def _does(self, submission: str, act: Callable[[Work, Submission], None]) -> None:
        try:
            with due_and_then(self.there) as work:
                act(work, work.session.scalars(select(Submission).where(Submission.id == submission)).one())
        except Refusal:
            self.reached["too late"] += 1

    # What must be true

    def settle(self) -> None:
        """Nothing goes wrong any more, every free place is taken, and every verb runs until all is done."""
        self.faults.replace((), 0)
        self.wait(3 * MINUTES)  # who is at work runs out of time
        with reading(self.engine) as session:
            pending = set(session.scalars(_PENDING))
            planned = session.scalars(select(HitRow.external_id)).all()
        if pending & {PUBLISH, MORE} or not planned or not all(planned):
            self.publish()
        if self._status() == StudyStatus.PAUSED:
            self.start()
        newcomer, before = PEOPLE, self.reached["no form"]
        while self.work(newcomer := newcomer + 1, "submit"):
            assert self.reached["no form"] == before, "a place without a row"
        while self.deliver_all():
            pass
        self.collect()
        self.approve()
        for assignment in sorted(self.bonuses):
            self._bonus(assignment, 0)
        with reading(self.engine) as session:
            left = session.scalars(_COLLECTED.where(AssignmentRow.state == "submitted")).all()
        if left:  # what matches no form is decided by name
            with self.process(0):
                approve_work(self.at(), assignments=left)
        if CLOSE in pending:
            self.close()

    def _status(self) -> str:
        with self.there.writing() as work:
            query = select(Study.status).where(Study.status != StudyStatus.UNPUBLISHED)
            return str(work.session.scalars(query).one())

    def deliver_all(self) -> bool:
        before = self.reached["event"]
        self.deliver()
        return self.reached["event"] > before

    def check_not_ahead(self) -> None:
        """What we call approved, rejected or paid is so there. Nothing is there twice."""
        with self.there.writing() as work, reading(self.engine) as session:
            self.compare(work.session, session)

    def compare(self, there: Session, here: Session) -> None:
        states = {one.id: one for one in there.scalars(select(Submission))}
        paid = Counter(tuple(row) for row in there.execute(_BONUSES_THERE))
        assert set(paid.values()) <= {1}, paid
        published = there.scalars(select(Study.id).where(Study.status != StudyStatus.UNPUBLISHED)).all()
        assert len(published) <= 1, published
        for row in here.scalars(select(AssignmentRow)):
            one = states[row.external_id]
            if row.state in COLLECTED:  # nobody is taken for submitted who is not
                assert one.completed_at is not None, (row.external_id, row.state)
            if row.state in ("approved", "rejected"):
                assert one.status == row.state.upper(), (row.external_id, row.state, one.status)
            if one.status == Status.ACTIVE:  # nobody loses the row at which they are at work
                assert row.holds_row, (row.external_id, row.state)
        for id, amount in here.execute(_BONUSES_HERE):
            assert (id, int(amount * 100)) in paid, id
        assert set(here.scalars(select(HitRow.external_id))) - {None} <= set(published)

    def check_settled(self) -> None:
        """Every submission is here in its state, every row has one holder, every cent is accounted for."""
        with self.there.writing() as work:
            (study,) = work.session.scalars(select(Study).where(Study.status != StudyStatus.UNPUBLISHED))
            there = work.session.scalars(select(Submission).where(Submission.status.in_(HANDED_IN)))
            done = {one.id: one.status for one in there}
            free = study.body["total_available_places"] - places_taken(work, study)
            moved, stopped = pots(work), study.status
        with reading(self.engine) as session:
            self.compare_all(session, done)
            held = session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)).all()
            paid = session.scalars(select(PaymentRow).where(PaymentRow.state == "paid")).all()
            pending = set(session.scalars(_PENDING))
            self.reached.update(each.kind for each in paid)
        assert len(held) == len(set(held)), held
        if stopped == StudyStatus.ACTIVE:
            assert free == 0, free
        # A bonus may stay unconfirmed for ever, and nobody has asked again for a return.
        assert pending <= {BONUS_PAID, ASK_RETURN}, pending
        books = reconcile(self.at())
        assert (books.differences, books.left) == ((), 0), books
        spent = sum((each.amount + each.fee for each in paid), Decimal(0))
        gone = moved.paid + moved.fees + moved.tax
        assert gone == spent * 100, (moved, spent)
        assert moved.available + moved.locked + gone == self.there.terms.opening

    def compare_all(self, session: Session, done: dict[str, Status]) -> None:
        rows = session.scalars(select(AssignmentRow).where(AssignmentRow.state.in_(COLLECTED)))
        here = {row.external_id: row for row in rows}
        assert set(here) == set(done), (set(here), set(done))
        answered = Counter(session.scalars(select(ResponseRow.assignment_id)))
        for id, row in here.items():
            assert row.state.upper() == done[id], (id, row.state, done[id])
            assert answered[row.id] in (0, 4), id
            # A rejected one has given its row away; of the others, the row is theirs or somebody took it.
            assert row.state != "rejected" or not row.holds_row, id
        self.reached.update(row.state for row in here.values())


_PENDING = select(OutboxRow.operation).where(OutboxRow.state == "pending")
_COLLECTED = select(AssignmentRow.external_id).where(AssignmentRow.state.in_(COLLECTED))
_BONUSES_THERE = select(Submission.id, Bonus.amount).join(Bonus, Bonus.submission_number == Submission.number)
_BONUSES_HERE = (
    select(AssignmentRow.external_id, PaymentRow.amount)
    .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
    .where(PaymentRow.state == "paid", PaymentRow.kind == "bonus")
)


def make_templates(folder: Path, study: Callable[[Engine], Any]) -> None:
    """The databases that schedules begin with: a study and an account, before and after publishing."""
    for name in ("new", "up"):
        (folder / name).mkdir(parents=True)
    engine = open_engine(f"sqlite:///{folder / 'new' / 'study.db'}")
    study(engine)
    Identity(engine)  # the copies have one id
    engine.dispose()
    from humaneval.market.prolific_standin import open_prolific

    books = open_prolific(folder / "new" / "prolific.db")
    Books(books)
    books.dispose()
    world = ProlificWorld(folder / "up", folder)
    listen(world.engine, world.platform, f"{FORMS}/prolific/events")
    world.publish()
    world.leave()
