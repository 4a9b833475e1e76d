"""Pays people who lost work through our fault and have nothing submitted that a bonus could be paid for.

A HIT that only this one person can see and take, with a single button; it is approved by itself as soon as it
is submitted. Each step is an outbox row: whoever runs it again goes on, and pays nobody twice.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import refuse_elsewhere, submitted
from humaneval.crowd.form_page import Delivery, templates
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.outbox import Intent, hold_study, intend, perform
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.platform import Cost, Offer, Participants, Platform, Published, Qualified
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.publish import orphans
from humaneval.crowd.workers import find_worker
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import money
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, StudyRow, WorkerRow
from humaneval.store.types import now
from humaneval.study.stored import get_study, settings_of

COMPENSATE = "compensate"
DAYS = 30
"""How long the worker has to find the HIT."""
MINUTES = 60


@dataclass(frozen=True, slots=True)
class Compensated:
    """A compensation that is up. `made_now` is False where it was before, and its worker can still take
    it."""

    worker: str
    cost: Cost
    preview_url: str
    made_now: bool
    paid: bool


def compensate(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    assignment: str,
    amount: Decimal,
    reason: str,
    worker: str = "",
    dry_run: bool = False,
) -> Compensated:
    """Put up a HIT of `amount` for the worker of an assignment that was never submitted, once for each of them.

    `worker` says whose it is, where the platform gave one assignment to several people. `dry_run` looks at
    everything and does nothing.
    """
    amount, reason = money(amount), plain_words("reason", reason)
    if amount <= 0:
        raise UsageError("a compensation needs an amount above zero")
    if platform.endpoint.name == "link":
        raise PlatformError("no compensation can be paid by link", "Pay it where you pay these people.")
    refuse_elsewhere(engine, name, platform)
    _refuse_if_submitted(engine, name, platform, assignment, worker)
    with writing(engine) as session:
        study = hold_study(session, name)
        work = _lost_work(session, study, platform.endpoint.name, assignment, worker)
        row = intend(
            session,
            study_id=study.id,
            endpoint=platform.endpoint.name,
            operation=COMPENSATE,
            subject=f"assignment {assignment} worker {work.worker_id}",
            key=study.design_hash,
            request={"amount": str(amount), "reason": reason, "key": "c" + secrets.token_urlsafe(18)},
        )
        if row.state == "refused" or not row.attempts:
            # Surely nothing was put up: what it would have been can still be changed.
            row.request = {**row.request, "amount": str(amount), "reason": reason}
        if row.request["amount"] != str(amount):
            raise UsageError(
                f"a compensation of ${row.request['amount']} for {assignment} is on its way already",
                "Give the same amount; it is paid once.",
            )
        if row.request["reason"] != reason:
            raise UsageError(
                f"the compensation for {assignment} is on its way already with another reason:"
                f" {row.request['reason']}",
                "The worker reads that one. Give it again, or write to them with `humaneval notify`.",
            )
        cost = platform.cost(amount, 1)
        payment = _payment(session, work)
        if payment is None:
            payment = PaymentRow(
                study_id=study.id,
                endpoint=work.endpoint,
                assignment_id=work.id,
                kind=COMPENSATION,
                purpose=COMPENSATION,
                amount=cost.rewards,
                fee=cost.fees,
                reason=reason,
                state="due",
            )
            session.add(payment)
        if row.state != "confirmed":
            payment.amount, payment.fee, payment.reason = cost.rewards, cost.fees, row.request["reason"]
        pseudonym = session.get_one(WorkerRow, work.worker_id).pseudonym
        whom, paid = external_worker_id(session, work.worker_id), payment.state == "paid"
        offer = _offer(study, row.request["key"], amount, row.request["reason"], platform)
        intent = Intent(row.id, row.operation, row.subject, row.token, row.attempts > 0)
        there = row.answer if row.state == "confirmed" else None
        if dry_run:
            session.rollback()
    # Nobody took it in time: it is put up again, the same one, and so it is paid once all the same.
    ran_out = there is not None and not paid and _ran_out(platform, there["external_id"])
    made_now = there is None or ran_out
    if dry_run:
        return Compensated(pseudonym, cost, "", made_now, paid)
    if ran_out and there is not None:
        platform.extend(there["external_id"], now() + timedelta(days=DAYS))
    if there is None:
        platform.check(offer)
        published = perform(
            engine,
            intent,
            lambda: _put_up(platform, offer, intent, whom),
            lambda _, made: {"external_id": made.external_id, "group": made.group},
        )
        group = published.group
    else:
        group = there["group"]
    return Compensated(pseudonym, cost, platform.endpoint.preview_url.format(type=group), made_now, paid)


def _ran_out(platform: Platform, external_id: str) -> bool:
    """Whether the time to find the HIT is over, and nobody has taken it. PlatformError where it was deleted
    there."""
    standing = platform.standing(external_id)
    if standing is None:
        raise PlatformError(
            f"{platform.endpoint.name} has no HIT {external_id} any more, with this compensation",
            "It was deleted there. Whether it was taken before is to be seen in the platform's own books"
            " alone.",
        )
    return standing.expired and not standing.in_hand and not submitted(platform, external_id)


def _put_up(platform: Platform, offer: Offer, intent: Intent, worker: str) -> Published:
    """Each step finds what an earlier try has done: the list by its name, the worker on it, the HIT by its
    token or key."""
    only = platform.make_list(f"Compensation {intent.token[:16]}", "For one person, whose work was lost.")
    platform.put_on_list(only, worker)
    if intent.attempted and (there := platform.find([offer.key]).get(offer.key)):
        return there
    only_them = replace(offer, participants=Participants(qualified=(Qualified(only),)))
    return platform.publish(only_them, intent.token)


def settle_compensations(engine: Engine, name: str, platform: Platform) -> int:
    """Enter in the ledger which compensations the platform has paid; returns how many are still to be
    taken."""
    endpoint = platform.endpoint.name
    with reading(engine) as session:
        study_id = get_study(session, name).id
        due = session.scalars(
            select(PaymentRow).where(
                PaymentRow.study_id == study_id,
                PaymentRow.endpoint == endpoint,
                PaymentRow.kind == COMPENSATION,
                PaymentRow.state == "due",
            )
        ).all()
        up = []
        for payment in due:
            work = session.get_one(AssignmentRow, payment.assignment_id)
            row = session.scalar(
                select(OutboxRow).where(
                    OutboxRow.endpoint == endpoint,
                    OutboxRow.operation == COMPENSATE,
                    OutboxRow.subject == f"assignment {work.external_id} worker {work.worker_id}",
                )
            )
            if row is not None and row.answer:
                up.append((payment.id, str(row.answer["external_id"])))
    paid = [
        payment_id
        for payment_id, external_id in up
        if any(work.state == "approved" for work in submitted(platform, external_id) or ())
    ]
    with writing(engine) as session:
        for payment_id in paid:
            payment = session.get_one(PaymentRow, payment_id)
            payment.state, payment.paid_at = "paid", now()
    return len(due) - len(paid)


def _refuse_if_submitted(engine: Engine, name: str, platform: Platform, assignment: str, worker: str) -> None:
    """Ask the platform, too: what nobody has collected yet is submitted all the same, and would be paid
    twice."""
    with reading(engine) as session:
        work = _lost_work(session, get_study(session, name), platform.endpoint.name, assignment, worker)
        whom = external_worker_id(session, work.worker_id)
        hit = session.get_one(HitRow, work.hit_id)
    external_id = hit.external_id
    if external_id is None:
        # People can work at what an interrupted `publish` made and did not record.
        unrecorded = orphans(engine, name, platform).values()
        external_id = next((one.published.external_id for one in unrecorded if one.hit_id == hit.id), None)
    if external_id is None or hit.closed_at is not None:
        return
    there = submitted(platform, external_id) or ()
    if any((one.external_id, one.worker) == (assignment, whom) for one in there):
        raise UsageError(
            f"assignment {assignment} was submitted at {platform.endpoint.name}, and is not collected yet",
            "Run `humaneval collect`; then pay it with `humaneval approve`.",
        )


def _lost_work(
    session: Session, study: StudyRow, endpoint: str, assignment: str, worker: str
) -> AssignmentRow:
    under_this_id = select(AssignmentRow).where(
        AssignmentRow.study_id == study.id,
        AssignmentRow.endpoint == endpoint,
        AssignmentRow.external_id == assignment,
    )
    if worker:
        under_this_id = under_this_id.where(AssignmentRow.worker_id == find_worker(session, endpoint, worker))
    theirs = session.scalars(under_this_id.order_by(AssignmentRow.id)).all()
    if not theirs:
        raise UsageError(
            f"the study has no assignment {assignment!r}{' of this worker' * bool(worker)} at {endpoint}",
            "A compensation is for somebody who had a form of this study open.",
        )
    if len(theirs) > 1:
        people = [session.get_one(WorkerRow, one.worker_id).pseudonym for one in theirs]
        raise UsageError(
            f"{endpoint} gave assignment {assignment} to {len(people)} people, one after the other:"
            f" {', '.join(people)}",
            "Say with --worker whose work was lost.",
        )
    (found,) = theirs
    if found.state in ("submitted", "approved", "rejected"):
        raise UsageError(
            f"assignment {assignment} was submitted",
            "Pay it with `humaneval approve`, or with `humaneval bonus` on top.",
        )
    if found.lease_until is not None and found.lease_until > now():
        raise UsageError(
            f"assignment {assignment} can still be sent in, until {found.lease_until:%Y-%m-%d %H:%M} UTC",
            "It could be paid twice. Compensate it when that time is over.",
        )
    return found


def _payment(session: Session, work: AssignmentRow) -> PaymentRow | None:
    return session.scalar(
        select(PaymentRow).where(
            PaymentRow.endpoint == work.endpoint,
            PaymentRow.assignment_id == work.id,
            PaymentRow.kind == COMPENSATION,
        )
    )


def _offer(study: StudyRow, key: str, amount: Decimal, reason: str, platform: Platform) -> Offer:
    settings = settings_of(study)
    page = templates().get_template("compensation.html")
    delivery = Delivery(action=platform.endpoint.submit_origin + "/mturk/externalSubmit", static=True)
    return Offer(
        key=key,
        title=f"Payment for your work on: {settings.hit.title}"[:128],
        description=(
            "For one person, whose work on an earlier HIT was lost. There is nothing to do but to send it."
        ),
        keywords=(f"compensation {key[:7]}",),
        reward=amount,
        assignments=1,
        assignment_seconds=MINUTES * 60,
        lifetime_seconds=DAYS * 86_400,
        auto_approval_seconds=0,
        page=page.render(study=settings, delivery=delivery, reason=reason),
    )
