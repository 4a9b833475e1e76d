"""Holds our ledger against the platform's own books: bonuses one by one, approvals, and the balance."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import bonuses_listed, hits_of, refuse_elsewhere
from humaneval.crowd.ledger import spent
from humaneval.crowd.outbox import intend
from humaneval.crowd.platform import Platform
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import get_study, settings_of

BALANCE = "balance"
"""Written down once: what the account had before the study's first HIT."""
ZERO = Decimal("0.00")


class Reconciled(NamedTuple):
    """Our books beside the platform's, in dollars."""

    balance: Decimal | None
    """What the account has now; None where the platform does not say."""
    balance_before: Decimal | None
    """What it had before the study's first HIT."""
    paid: Decimal
    """By this study, with fees, by our ledger."""
    held: Decimal
    """What this study may still cost: free places, work in hand, work that waits for review."""
    unexplained: Decimal | None
    """balance_before − paid − held − balance: what other studies, programs or people took (minus: put in)."""
    others: Decimal
    """What other studies of this database paid at the endpoint since then, with fees; what they hold is not
    known here."""
    bonuses: Decimal
    """By our ledger, at the HITs whose bonuses the platform lists."""
    bonuses_there: Decimal
    """By the platform's listing of this study's HITs."""
    bonuses_unlisted: Decimal
    """By our ledger, at HITs that the platform has forgotten: nothing can be held against these."""
    differences: tuple[str, ...]


def note_balance(session: Session, study: StudyRow, endpoint: str, balance: Decimal | None) -> None:
    """Keep what the account has before the study's first HIT at this endpoint; later calls change nothing."""
    if balance is None:
        return
    row = intend(
        session,
        study_id=study.id,
        endpoint=endpoint,
        operation=BALANCE,
        subject=f"study {study.id}",
        key=study.design_hash,
        request={},
    )
    if row.state != "confirmed":
        row.answer, row.state, row.confirmed_at = {"balance": str(balance)}, "confirmed", now()


def reconcile(engine: Engine, name: str, platform: Platform) -> Reconciled:
    """Ask the platform for its books and compare. Changes nothing, here or there."""
    refuse_elsewhere(engine, name, platform)
    endpoint = platform.endpoint.name
    held, differences = ZERO, []
    listed: set[int] = set()
    states: dict[tuple[str, str], str] = {}
    there: Counter[tuple[str, Decimal]] = Counter()
    with reading(engine) as session:
        study = get_study(session, name)
        settings = settings_of(study)
        hits = [hit for hit in hits_of(session, study, endpoint) if hit.external_id is not None]
        prices = {
            hit.id: (
                platform.cost(
                    settings.hit.reward, hit.assignments, masters=settings.participants.masters
                ).each(hit.assignments)
            )
            for hit in session.scalars(select(HitRow).where(HitRow.study_id == study.id))
        }
    for hit in hits:
        external_id = hit.external_id or ""
        bonuses = bonuses_listed(platform, external_id)
        if bonuses is not None:
            listed.add(hit.id)
            there.update((bonus.assignment, bonus.amount) for bonus in bonuses)
        standing = platform.standing(external_id)
        if standing is None:
            if hit.closed_at is None:
                differences.append(f"{endpoint} has no HIT {external_id} any more")
            continue
        work = {(one.external_id, one.state) for one in platform.submissions(external_id)}
        states.update({(external_id, assignment): state for assignment, state in work})
        waiting = sum(state == "submitted" for _, state in work)
        open_places = 0 if standing.expired else standing.free
        held += prices[hit.id].total * (open_places + standing.in_hand + waiting)
    with reading(engine) as session:
        study = get_study(session, name)
        differences += _states_differ(session, study, endpoint, states)
        here = _bonuses(session, study, endpoint, listed)
        forgotten = _bonuses(session, study, endpoint, {hit.id for hit in hits} - listed)
        before = session.scalar(
            select(OutboxRow).where(
                OutboxRow.endpoint == endpoint,
                OutboxRow.operation == BALANCE,
                OutboxRow.subject == f"study {study.id}",
            )
        )
        due = session.scalars(
            select(PaymentRow).where(
                PaymentRow.study_id == study.id,
                PaymentRow.endpoint == endpoint,
                PaymentRow.state == "due",
                PaymentRow.kind == "compensation",
            )
        ).all()
        others = _paid_by_others(session, study, endpoint, before.confirmed_at if before else None)
    held += sum((payment.amount + payment.fee for payment in due), ZERO)
    differences += [
        f"bonus of ${amount} for {assignment}: {there[assignment, amount]} at {endpoint},"
        f" {here[assignment, amount]} in our ledger"
        for assignment, amount in sorted({*there, *here})
        if there[assignment, amount] != here[assignment, amount]
    ]
    balance, paid = platform.balance(), spent(engine, name, endpoint).total
    began = Decimal(before.answer["balance"]) if before is not None and before.answer else None
    return Reconciled(
        balance=balance,
        balance_before=began,
        paid=paid,
        held=held,
        others=others,
        unexplained=began - paid - held - balance if began is not None and balance is not None else None,
        bonuses=_total(here),
        bonuses_there=_total(there),
        bonuses_unlisted=_total(forgotten),
        differences=tuple(differences),
    )


def _paid_by_others(session: Session, study: StudyRow, endpoint: str, since: datetime | None) -> Decimal:
    payments = select(PaymentRow).where(
        PaymentRow.study_id != study.id, PaymentRow.endpoint == endpoint, PaymentRow.state == "paid"
    )
    if since is not None:
        payments = payments.where(PaymentRow.paid_at >= since)
    return sum((payment.amount + payment.fee for payment in session.scalars(payments)), ZERO)


def _total(bonuses: Counter[tuple[str, Decimal]]) -> Decimal:
    return sum((amount * count for (_, amount), count in bonuses.items()), ZERO)


def _bonuses(
    session: Session, study: StudyRow, endpoint: str, hits: set[int]
) -> Counter[tuple[str, Decimal]]:
    """Bonuses that our ledger calls paid, for work on these HITs."""
    rows = session.execute(
        select(AssignmentRow.external_id, PaymentRow.amount)
        .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        .where(PaymentRow.study_id == study.id, PaymentRow.endpoint == endpoint)
        .where(PaymentRow.kind == "bonus", PaymentRow.state == "paid", AssignmentRow.hit_id.in_(hits))
    )
    return Counter((external_id, amount) for external_id, amount in rows)


def _states_differ(
    session: Session, study: StudyRow, endpoint: str, states: dict[tuple[str, str], str]
) -> list[str]:
    """Work that is approved on one side only: what was submitted there and not collected here is no
    difference."""
    ours = session.execute(
        select(HitRow.external_id, AssignmentRow.external_id, AssignmentRow.state)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
        .where(AssignmentRow.state.in_(("submitted", "approved", "rejected")))
    )
    return [
        f"assignment {external_id}: {there} at {endpoint}, {state} here"
        for hit, external_id, state in ours
        if (there := states.get((hit or "", external_id))) is not None and there != state
    ]
