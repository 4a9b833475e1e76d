"""The same world with what a requester does more rarely: compensations, letters, exclusions, top-ups, undone
rejections."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from humaneval.crowd import workers
from humaneval.crowd.approve import approve_work
from humaneval.crowd.close import CLOSE, close_all
from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.costs import COMPENSATE
from humaneval.crowd.notify import NOTIFY, notify_workers
from humaneval.crowd.participants import LIST
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import PUBLISH
from humaneval.crowd.reversible import EXCLUDE
from humaneval.crowd.study_at import open_study_at
from humaneval.market.assignments import accept
from humaneval.market.offers import find_visible, offers
from humaneval.market.protocol.answer_xml import Field, answer_xml
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.submissions import Answer, submit
from humaneval.market.tables.assignments import TAKEN, Assignment
from humaneval.market.tables.hits import Hit
from humaneval.market.tables.qualifications import Qualification
from humaneval.market.tables.workers import Message, Worker
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, WorkerIdentityRow
from humaneval.store.types import now
from tests.schedules.world import FORMS, STUDY, WORKERS, World

COMPENSATION = Decimal("0.50")
UNSENT = ("opened", "answered")
LETTER = {"subject": "Thank you", "text": "Your work helps us."}


class WideWorld(World):
    """More verbs, each of which may die, and what must be true of them."""

    def __init__(self, folder: Path, templates: Path) -> None:
        self.compensated = set[tuple[str, str]]()
        super().__init__(folder, templates)

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self.compensated = set()

    # The verbs

    def undo(self, who: int, dies_in: int = 0) -> None:
        """A rejection is taken back, one of this worker's if there is none."""
        self.reject(who)
        with reading(self.engine) as session:
            rejected = session.scalar(
                select(AssignmentRow.external_id).where(AssignmentRow.state == "rejected").limit(1)
            )
        if rejected is not None:
            self.undone.add(rejected)
            self._undo(rejected, dies_in)

    def _undo(self, assignment: str, dies_in: int) -> None:
        with self.process(dies_in):
            self.reached["undone"] += approve_work(
                open_study_at(self.engine, STUDY, self.platform),
                assignments=[assignment],
                undo_rejection=True,
            )

    def top_up(self, dies_in: int = 0) -> None:
        self.hear()
        with self.process(dies_in):
            plan_hits(open_study_at(self.engine, STUDY, self.platform), top_up=True)
            publish_hits(open_study_at(self.engine, STUDY, self.platform), public_url=FORMS)

    def notify(self, dies_in: int = 0) -> None:
        self.hear()
        self.approve()
        with self.process(dies_in):
            notify_workers(open_study_at(self.engine, STUDY, self.platform), **LETTER)

    def exclude(self, who: int, dies_in: int = 0) -> None:
        self._switch(who, dies_in, on=True)

    def readmit(self, who: int, dies_in: int = 0) -> None:
        """Somebody who is on the list, like everyone who has worked, comes off it."""
        self.exclude(who)
        self._switch(who, dies_in, on=False)

    def _switch(self, who: int, dies_in: int, *, on: bool) -> None:
        with self.market.reading() as work:
            worker = self._worker(work, who)
        if worker is not None:
            with self.process(dies_in):
                workers.exclude_workers(open_study_at(self.engine, STUDY, self.platform), [worker.id], on=on)

    def close(self, dies_in: int = 0) -> None:
        with self.process(dies_in):
            close_all(open_study_at(self.engine, STUDY, self.platform), wait=0)

    def compensate(self, who: int, dies_in: int = 0) -> None:
        """What the worker, or else another, began last and never sent is made good once its time is over;
        what was sent is not."""
        begun = (
            select(AssignmentRow.id, AssignmentRow.external_id, WorkerIdentityRow.external_id)
            .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
            .order_by(
                (WorkerIdentityRow.external_id == self._id_of(who)).desc(),
                AssignmentRow.state.in_(UNSENT).desc(),
                AssignmentRow.id.desc(),
            )
        )
        with reading(self.engine) as session:
            found = session.execute(begun.limit(1)).first()
        if found is None:
            return
        id, assignment, worker = found
        # Both clocks are the same one outside of this world.
        self.wait(2)
        with writing(self.engine) as session:
            over = update(AssignmentRow).where(AssignmentRow.id == id, AssignmentRow.state.in_(UNSENT))
            session.execute(over.values(lease_until=now() - timedelta(minutes=1)))
        self.compensated.add((assignment, worker))
        self._compensate(assignment, worker, dies_in)

    def _compensate(self, assignment: str, worker: str, dies_in: int) -> None:
        with self.process(dies_in):
            compensate_worker(
                open_study_at(self.engine, STUDY, self.platform),
                assignment=assignment,
                worker=worker,
                amount=COMPENSATION,
                reason="It was our fault.",
            )

    def take(self, who: int) -> None:
        """The worker takes a compensation, if there is one for them."""
        with self.market.writing() as work:
            worker = self._worker(work, who)
            for offer in offers(work, worker).groups if worker else ():
                assert worker is not None
                if self.is_form(find_visible(work, worker, offer.hit_id).question):
                    continue
                try:
                    assignment = accept(work, worker, offer.hit_id)
                except NotPossibleError:
                    continue
                submit(work, assignment.id, Answer(answer_xml([Field("compensation", "1")])))

    def _id_of(self, who: int) -> str:
        with self.market.reading() as work:
            return work.session.scalar(select(Worker.id).where(Worker.name == f"worker {who}")) or ""

    # What must be true

    def settle(self) -> None:
        self.faults.replace((), 0)
        for assignment, worker in sorted(self.compensated):
            self._compensate(assignment, worker, 0)
        for assignment in sorted(self.undone):
            self._undo(assignment, 0)
        with reading(self.engine) as session:
            made_good = _compensations(session)
        for who in range(1, WORKERS + 1) if made_good else ():
            self.take(who)
        super().settle()
        if made_good:
            self.collect()
        with reading(self.engine) as session:
            begun = session.scalars(select(OutboxRow.id).where(OutboxRow.operation == CLOSE)).first()
        if begun:
            self.wait(2)  # who is at work is waited for
            self.close()

    def compare(self, there: Session, here: Session) -> None:
        """Besides: nobody has a letter twice, and no work is both paid and made good."""
        super().compare(there, here)
        letters = Counter(there.scalars(_LETTERS))
        assert set(letters.values()) <= {1}, letters
        payments = here.execute(_PAYMENTS).all()
        assert len(payments) == len(set(payments)), payments
        for id, kind, state in payments:
            assert kind != "compensation" or state not in ("submitted", "approved"), id
        made_good = _compensations(here)
        paid_for = [made_good[note] for note in there.scalars(_SENT_IN) if note in made_good]
        assert len(paid_for) == len(set(paid_for)), paid_for

    def check_lists(self) -> None:
        """The study's list at the platform has the workers whom we put there last, and no others."""
        with reading(self.engine) as session:
            listed = session.scalar(select(OutboxRow).where(OutboxRow.operation == LIST))
            turns = session.scalars(
                select(OutboxRow)
                .where(OutboxRow.operation.in_(EXCLUDE), OutboxRow.state == "confirmed")
                .order_by(OutboxRow.id)
            ).all()
            names = {row.worker_id: row.external_id for row in session.scalars(select(WorkerIdentityRow))}
        last = {int(row.subject.split()[3]): row.operation for row in turns}
        wanted = {names[worker] for worker, operation in last.items() if operation == EXCLUDE.on}
        with self.market.reading() as work:
            held = {
                one.worker.id
                for one in work.session.scalars(select(Qualification).where(Qualification.revoked.is_(False)))
                if listed is not None and listed.answer and one.type.id == listed.answer["id"]
            }
        assert held == wanted, (held, wanted)

    @staticmethod
    def may_stay_pending(closed: bool) -> set[str]:
        """A letter that may have arrived is not sent again by itself; what is closed is not published any
        more."""
        return {NOTIFY, PUBLISH} if closed else {NOTIFY}

    def check_settled(self) -> None:
        super().check_settled()
        self.check_lists()
        with reading(self.engine) as session:
            confirmed = select(OutboxRow.operation).where(OutboxRow.state == "confirmed")
            done = Counter(session.scalars(confirmed))
            hits = len(session.scalars(select(HitRow.id)).all())
        self.reached["topped up"] += hits > 2
        self.reached["closed"] += done[CLOSE] > 0
        self.reached["letter"] += done[NOTIFY] > 0
        self.reached["excluded"] += done[EXCLUDE.on] > 0
        self.reached["readmitted"] += done[EXCLUDE.off] > 0


def _compensations(here: Session) -> dict[str, str]:
    """The annotations of the HITs of compensations, and whose work each is for: confirmed or not."""
    return {f"humaneval:{request['key']}": subject for request, subject in here.execute(_MADE_GOOD)}


# Asked after every step, so they are made once.
_LETTERS = select(Message.worker_number).where(Message.subject == LETTER["subject"])
_SENT_IN = (
    select(Hit.annotation).select_from(Assignment).join(Assignment.hit).where(Assignment.state.in_(TAKEN))
)
_MADE_GOOD = select(OutboxRow.request, OutboxRow.subject).where(OutboxRow.operation == COMPENSATE)
_PAYMENTS = (
    select(PaymentRow.assignment_id, PaymentRow.kind, AssignmentRow.state)
    .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
    .where(PaymentRow.kind != "bonus")
)
