"""Pays workers who lost work through our fault, and who submitted nothing that a bonus could be paid for.

Each of them gets a HIT that nobody else can see or take, with a single button. It is approved automatically
when it is submitted. At platforms that pay bonuses to everybody who took part, a bonus is paid instead. The
write is an outbox row: running it again goes on, and pays nobody twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.bonus import pay_lost_work
from humaneval.crowd.find_assignment import pay_by_hand
from humaneval.crowd.form_page import Delivery, render
from humaneval.crowd.hit_terms import Difference, compare, figures, told
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.lost_work import lost_work, refuse_by_link, refuse_if_submitted
from humaneval.crowd.outbox import TOGETHER, Intent, hold_study, intend, intent_of, perform, token_for
from humaneval.crowd.participants import COMPENSATION, compensation_of
from humaneval.crowd.platform import UNASKED, Cost, Offer, Participants, Published, Qualified
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.published_hits import refuse_elsewhere, submitted
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import money
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow, WorkerIdentityRow, WorkerRow
from humaneval.store.types import now
from humaneval.study.words import channel_at, words_of
from humaneval.text import WRITING, command

COMPENSATE = "compensate"
DAYS = 30
"""How long the worker has to find the HIT."""
MINUTES = 60


@dataclass(frozen=True, slots=True)
class Compensated:
    """A compensation that is up. `made_now` is False if it was up before and can still be taken."""

    worker: str
    cost: Cost
    preview_url: str
    made_now: bool
    paid: bool


class _Order(NamedTuple):
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


def compensate_worker(
    at: StudyAtPlatform,
    *,
    assignment: str,
    amount: Decimal,
    reason: str,
    worker: str = "",
    dry_run: bool = False,
) -> Compensated:
    """Put up a HIT of `amount` for the worker of an assignment that was never submitted, once for each
    (assignment, worker).

    `worker` says whose work it was, if the platform gave one assignment to several people. `dry_run` checks
    everything and does nothing.
    """
    amount, reason = money(amount), plain_words("reason", reason)
    if amount <= 0:
        raise UsageError("a compensation needs an amount above zero")
    refuse_by_link(at, assignment, "no compensation can be paid by link")
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        work = lost_work(session, at, assignment, worker)
        known = compensation_of(session, work)
        pseudonym = session.get_one(WorkerRow, work.worker_id).pseudonym
        session.expunge_all()
    if known is not None and known.elsewhere:
        return Compensated(pseudonym, Cost(known.amount, known.fee), "", made_now=False, paid=True)
    refuse_if_submitted(at, work)
    if at.platform.endpoint.plain_bonuses:  # everybody who took part there can get a bonus
        paid = pay_lost_work(
            at, assignment=assignment, amount=amount, reason=reason, worker=worker, dry_run=dry_run
        )
        made_now = paid.state == "due" if dry_run else paid.paid_now
        return Compensated(
            pseudonym, Cost(paid.amount, paid.fee), "", made_now, paid=not dry_run or not made_now
        )
    cost = at.platform.cost(amount, 1)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        order = _ordered(session, at, lost_work(session, at, assignment, worker), amount, reason, cost)
        if dry_run:
            session.rollback()
    # If nobody took it in time, the same HIT is put up again: it is still paid only once.
    ran_out = order.there is not None and not order.paid and _ran_out(at, order, order.there["external_id"])
    made_now = order.there is None or ran_out
    if dry_run:
        return Compensated(order.pseudonym, cost, "", made_now, order.paid)
    if ran_out and order.there is not None:
        at.platform.extend(order.there["external_id"], now() + timedelta(days=DAYS))
    try:
        group = order.there["group"] if order.there is not None else _put_up(at, order).group
    except PlatformError as error:
        if _forget_if_refused(at, order):
            error.hint = f"{error.hint}\n{pay_by_hand(at, assignment)}".strip()
        raise
    preview_url = at.platform.endpoint.preview_url.format(type=group)
    return Compensated(order.pseudonym, cost, preview_url, made_now, order.paid)


def _ordered(
    session: Session, at: StudyAtPlatform, work: AssignmentRow, amount: Decimal, reason: str, cost: Cost
) -> _Order:
    """The compensation with its write and its line in the books, both made if they are not there."""
    row = _intended(session, at, work, amount, reason)
    payment = _payment(session, at, work, cost, row)
    session.flush()
    return _Order(
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


def _forget_if_refused(at: StudyAtPlatform, order: _Order) -> bool:
    """Take the line of the books back if it is certain that nothing was put up: the person is still unpaid.
    Returns whether that is certain."""
    with writing(at.engine) as session:
        state = session.scalar(select(OutboxRow.state).where(OutboxRow.token == order.intent.token))
        payment = session.get(PaymentRow, order.payment)
        if state == "refused" and payment is not None and payment.state == "due":
            session.delete(payment)
        return state == "refused"


def _intended(
    session: Session, at: StudyAtPlatform, work: AssignmentRow, amount: Decimal, reason: str
) -> OutboxRow:
    """The write that puts the HIT up. UsageError if it may be up already with another amount or reason."""
    row = intend(
        session,
        study_id=at.id,
        endpoint=at.endpoint,
        operation=COMPENSATE,
        subject=_subject(work),
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
        for subject in (*theirs, _subject(work))
    ]


def _subject(work: AssignmentRow) -> str:
    return f"assignment {work.external_id} worker {work.worker_id}"


def _payment(
    session: Session, at: StudyAtPlatform, work: AssignmentRow, cost: Cost, row: OutboxRow
) -> PaymentRow:
    """The line of the books for the compensation, made if it is not there."""
    payment = compensation_of(session, work)
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


def _ran_out(at: StudyAtPlatform, order: _Order, external_id: str) -> bool:
    """Whether the time to find the HIT is over, and nobody has taken it. Raises PlatformError if it was
    deleted there, or has other figures."""
    platform = at.platform
    standing = platform.standing(external_id)
    if standing is None:
        raise PlatformError(
            f"{platform.endpoint.name} no longer has the HIT {external_id} with this compensation",
            "It was deleted there. Only the platform's own books show whether it was taken before. If it was"
            f" not: {pay_by_hand(at, order.assignment)}",
        )
    _refuse_other(at, order, Published(external_id, "", standing.terms))
    return standing.expired and not standing.in_hand and not submitted(platform, external_id)


def _refuse_other(at: StudyAtPlatform, order: _Order, made: Published) -> None:
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
    """Take down the HIT that compensates for this work, if there is one. PlatformError if it is taken.

    The platform is asked even if our database knows of none: an older copy of it may have been put back. One
    that is taken is then recorded, with this `reason`.
    """
    if at.endpoint in UNASKED or at.platform.endpoint.plain_bonuses:
        return
    with reading(at.engine) as session:
        row = _write_of(session, work)
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
        order = _ordered(session, at, session.get_one(AssignmentRow, work.id), amount, reason, cost)
    perform(
        at.engine,
        order.intent,
        lambda: found,
        lambda _, made: {"external_id": made.external_id, "group": made.group},
    )


def _write_of(session: Session, work: AssignmentRow) -> OutboxRow | None:
    return session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == work.endpoint,
            OutboxRow.operation == COMPENSATE,
            OutboxRow.subject == _subject(work),
        )
    )


def _put_up(at: StudyAtPlatform, order: _Order) -> Published:
    at.platform.check(order.offer)
    made: Published = perform(
        at.engine,
        order.intent,
        lambda: _publish(at, order),
        lambda _, made: {"external_id": made.external_id, "group": made.group},
    )
    _refuse_other(at, order, made)
    return made


def _publish(at: StudyAtPlatform, order: _Order) -> Published:
    """Each step finds what an earlier try has done: the list by its name, the worker on it, the HIT by its
    token or key."""
    platform = at.platform
    name = f"Payment for work that was lost, no. {order.intent.number}"
    only = platform.make_list(name, words_of(at.settings).plain("list_compensated"))
    platform.put_on_list(only, order.worker)
    if there := platform.find(order.keys):
        return next(iter(there.values()))
    only_them = replace(order.offer, participants=Participants(qualified=(Qualified(only),)))
    return platform.publish(only_them, order.intent.token)


def settle_compensations(at: StudyAtPlatform) -> int:
    """Enter the compensations that the platform has paid in the books. Returns how many are still due."""
    with reading(at.engine) as session:
        due = session.scalars(
            select(PaymentRow).where(
                PaymentRow.study_id == at.id,
                PaymentRow.endpoint == at.endpoint,
                PaymentRow.kind == COMPENSATION,
                PaymentRow.state == "due",
            )
        ).all()
        up = {}
        for payment in due:
            work = session.get_one(AssignmentRow, payment.assignment_id)
            row = _write_of(session, work)
            if row is not None and row.answer:
                up[payment.id] = str(row.answer["external_id"])
    paid = [
        payment_id
        for payment_id, external_id in up.items()
        if any(work.state == "approved" for work in submitted(at.platform, external_id) or ())
    ]
    standings = {payment_id: at.platform.standing(up[payment_id]) for payment_id in paid}
    for some in in_turns(standings.items(), TOGETHER):
        with writing(at.engine) as session:
            for payment_id, standing in some:
                payment = session.get_one(PaymentRow, payment_id)
                payment.state, payment.paid_at = "paid", now()
                if standing is not None and standing.terms.reward is not None:
                    cost = at.platform.cost(standing.terms.reward, 1)
                    payment.amount, payment.fee = cost.rewards, cost.fees
    return len(due) - len(paid)


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
