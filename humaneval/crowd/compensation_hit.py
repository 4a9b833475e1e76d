"""The HIT that pays one person for lost work: planned, put up, looked up and taken down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import COMPENSATE, approval_subject
from humaneval.crowd.find_assignment import paid_meanwhile
from humaneval.crowd.form_page import Delivery, render
from humaneval.crowd.hit_terms import Difference, compare, figures, told
from humaneval.crowd.outbox import Intent, hold_study, intend, intent_of, perform, token_for
from humaneval.crowd.participants import COMPENSATION, compensation_of
from humaneval.crowd.platform import UNASKED, Cost, Offer, Participants, Published, Qualified
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.published_hits import submitted
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow, WorkerIdentityRow, WorkerRow
from humaneval.store.types import now
from humaneval.study.words import channel_at, words_of
from humaneval.text import WRITING, command

DAYS = 30
"""How long the worker has to find the HIT."""
MINUTES = 60


class Order(NamedTuple):
    """A compensation that is intended: the HIT to put up, and its worker."""

    intent: Intent
    offer: Offer
    worker: str
    """The platform's id of the worker."""
    pseudonym: str
    keys: Sequence[str]
    """Those that the HIT may have, if an earlier try or an older copy of the database made it."""
    there: dict[str, Any] | None
    """The platform's ids of the HIT that is up, if there is one."""
    paid: bool
    payment: int
    """The line of the books."""
    assignment: str


def ordered(
    session: Session, at: StudyAtPlatform, work: AssignmentRow, amount: Decimal, reason: str, cost: Cost
) -> Order:
    """The compensation with its write and its line in the books, both made if they are not there."""
    row = _intended(session, at, work, amount, reason)
    payment = _payment(session, at, work, cost, row)
    session.flush()
    return Order(
        intent_of(row),
        _offer(at, row.request["key"], amount, row.request["reason"]),
        external_worker_id(session, work.worker_id),
        session.get_one(WorkerRow, work.worker_id).pseudonym,
        list(dict.fromkeys([row.request["key"], *_keys(session, at, work)])),
        row.answer if row.state == "confirmed" else None,
        payment.state == "paid",
        payment.id,
        work.external_id,
    )


def _intended(
    session: Session, at: StudyAtPlatform, work: AssignmentRow, amount: Decimal, reason: str
) -> OutboxRow:
    """The write that puts the HIT up. UsageError if it may be up already with another amount or reason."""
    row = intend(
        session,
        study_id=at.id,
        endpoint=at.endpoint,
        operation=COMPENSATE,
        subject=approval_subject(work),
        key=at.study.design_hash,
        request={"amount": str(amount), "reason": reason, "key": _keys(session, at, work)[0]},
    )
    if row.state == "refused" or not row.attempts:
        # It is certain that nothing was put up, so the terms can still change.
        row.request = {**row.request, "amount": str(amount), "reason": reason}
    if row.request["amount"] != str(amount):
        raise UsageError(
            f"a compensation of {at.sign}{row.request['amount']} for {work.external_id} is on its way"
            " already",
            "Give the same amount; it is paid once.",
        )
    if row.request["reason"] != reason:
        raise UsageError(
            f"the compensation for {work.external_id} is on its way already with another reason:"
            f" {row.request['reason']}",
            "The worker reads that one. Give it again, or write to them:"
            f" {command('notify', at.name, 'WORKER', '--to', at.endpoint, *WRITING)}",
        )
    return row


def _keys(session: Session, at: StudyAtPlatform, work: AssignmentRow) -> list[str]:
    """The key of the HIT for this work, and the one that an earlier version would have given it.

    If an older copy of the database is put back, it has forgotten the write, and its own ids of workers may
    be others. The HIT is found by the platform's ids, from which its key follows.
    """
    known = session.get(WorkerIdentityRow, work.worker_id)
    theirs = [f"assignment {work.external_id} of {known.external_id}"] if known is not None else []
    return [
        f"c{token_for(at.endpoint, COMPENSATE, subject, at.study.design_hash)[:24]}"
        for subject in (*theirs, approval_subject(work))
    ]


def _payment(
    session: Session, at: StudyAtPlatform, work: AssignmentRow, cost: Cost, row: OutboxRow
) -> PaymentRow:
    """The line of the books for the compensation, made if it is not there."""
    payment = compensation_of(session, work)
    if payment is not None and payment.elsewhere:
        raise paid_meanwhile(work.external_id)
    if payment is None:
        payment = PaymentRow(
            study_id=at.id,
            endpoint=work.endpoint,
            assignment_id=work.id,
            kind=COMPENSATION,
            purpose=COMPENSATION,
            amount=cost.rewards,
            fee=cost.fees,
            reason=row.request["reason"],
            state="due",
        )
        session.add(payment)
    if row.state != "confirmed":
        payment.amount, payment.fee, payment.reason = cost.rewards, cost.fees, row.request["reason"]
    return payment


def refuse_other(at: StudyAtPlatform, order: Order, made: Published) -> None:
    """Take the HIT down and raise PlatformError if it is not as planned: it is paid without another look."""
    planned = figures(at.platform.terms(order.offer))
    del planned["requirements"]  # the list of its one worker is made with it
    found = compare(planned, None, made.terms, now())
    if not found:
        return
    at.platform.expire(made.external_id)
    lines = told(
        [Difference(made.external_id, what, *each) for what, each in found.items()], at.endpoint, at.sign
    )
    raise PlatformError(
        f"the HIT of this compensation is not as planned: {'; '.join(lines)}",
        f"It was taken down. Correct it at {at.endpoint}, and run the command again.",
    )


def withdraw_hit(at: StudyAtPlatform, work: AssignmentRow, reason: str) -> None:
    """Take down the HIT that compensates for this work, if there is one: its worker is paid elsewhere.
    PlatformError if it is taken.

    The platform is asked even if our database knows of none: an older copy of it may have been put back. One
    that is taken is then recorded, with this `reason`.
    """
    if at.endpoint in UNASKED or at.platform.endpoint.plain_bonuses:
        return
    with reading(at.engine) as session:
        row, line = write_of(session, work), compensation_of(session, work)
        keys = [*([row.request["key"]] if row is not None else []), *_keys(session, at, work)]
    known = row.answer if row is not None else None
    found = None if known else next(iter(at.platform.find(keys).values()), None)
    external_id = known["external_id"] if known else found.external_id if found else ""
    before = at.platform.standing(external_id) if external_id else None
    if before is None:
        return
    at.platform.expire(external_id)
    standing = at.platform.standing(external_id)
    if submitted(at.platform, external_id) or (standing is not None and standing.in_hand):
        if line is not None and line.elsewhere:
            raise PlatformError(
                f"the HIT with the compensation for {work.external_id} is taken, and the books have it"
                " as paid elsewhere, too",
                f"What {at.endpoint} pays for it is in no line of the books:"
                f" `{command('status', at.name, '--reconcile')}` shows it.",
            )
        if found is not None and before.terms.reward is not None:
            _record(at, work, found, before.terms.reward, row.request["reason"] if row else reason)
        raise PlatformError(
            f"the HIT with the compensation for {work.external_id} is taken already",
            f"Run `{command('collect', at.name, '--to', at.endpoint)}`: it enters what is paid there.",
        )


def _record(at: StudyAtPlatform, work: AssignmentRow, found: Published, amount: Decimal, reason: str) -> None:
    """Record a compensation that is up although our database does not know it: `collect` then enters it."""
    cost = at.platform.cost(amount, 1)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        order = ordered(session, at, session.get_one(AssignmentRow, work.id), amount, reason, cost)
    perform(
        at.engine,
        order.intent,
        lambda: found,
        lambda _, made: {"external_id": made.external_id, "group": made.group},
    )


def write_of(session: Session, work: AssignmentRow) -> OutboxRow | None:
    return session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == work.endpoint,
            OutboxRow.operation == COMPENSATE,
            OutboxRow.subject == approval_subject(work),
        )
    )


def put_up(at: StudyAtPlatform, order: Order) -> Published:
    """Put the HIT up, or find the one that an earlier try has put up. PlatformError if somebody enters
    meanwhile that the worker was paid elsewhere: then it is taken down."""
    at.platform.check(order.offer)
    made: Published = perform(
        at.engine,
        order.intent,
        lambda: _publish(at, order),
        lambda _, made: {"external_id": made.external_id, "group": made.group},
    )
    refuse_other(at, order, made)
    refuse_paid_by_hand(at, order, up=True)
    return made


def _publish(at: StudyAtPlatform, order: Order) -> Published:
    """Each step finds what an earlier try has done: the list by its name, the worker on it, the HIT by its
    token or key."""
    platform = at.platform
    name = f"Payment for work that was lost, no. {order.intent.number}"
    only = platform.make_list(name, words_of(at.settings).plain("list_compensated"))
    platform.put_on_list(only, order.worker)
    if there := platform.find(order.keys):
        return next(iter(there.values()))
    refuse_paid_by_hand(at, order)
    only_them = replace(order.offer, participants=Participants(qualified=(Qualified(only),)))
    return platform.publish(only_them, order.intent.token)


def refuse_paid_by_hand(at: StudyAtPlatform, order: Order, *, up: bool = False) -> None:
    """Raise PlatformError if somebody has entered meanwhile that the worker was paid elsewhere. If the HIT is
    `up`, it is taken down."""
    with reading(at.engine) as session:
        payment = session.get(PaymentRow, order.payment)
        if payment is None or not payment.elsewhere:
            return
        work = session.get_one(AssignmentRow, payment.assignment_id)
    if up:
        withdraw_hit(at, work, "")
    raise paid_meanwhile(order.assignment)


def _offer(at: StudyAtPlatform, key: str, amount: Decimal, reason: str) -> Offer:
    channel = channel_at(at.endpoint)
    words = words_of(at.settings, channel)
    delivery = Delivery(action=at.platform.endpoint.submit_origin + "/mturk/externalSubmit", static=True)
    return Offer(
        key=key,
        title=words.compensation_title(at.settings),
        description=words.plain("compensation_description"),
        keywords=(f"compensation {key[:7]}",),
        reward=amount,
        assignments=1,
        assignment_seconds=MINUTES * 60,
        lifetime_seconds=DAYS * 86_400,
        auto_approval_seconds=0,
        page=render("compensation.html", at.settings, channel, delivery=delivery, reason=reason),
    )
