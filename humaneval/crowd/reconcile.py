"""Compares our ledger with the platform's own books: each bonus, the approvals, and the balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import bonuses_listed, hits_of, refuse_elsewhere
from humaneval.crowd.as_planned import told, would_note
from humaneval.crowd.ledger import BONUS, assignment_cost, spent
from humaneval.crowd.outbox import intend
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.platform import Terms
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.stored import Study

BALANCE = "balance"
"""Stored once: the balance of the account before the study's first HIT."""
ZERO = Decimal("0.00")


class Reconciled(NamedTuple):
    """Our books beside the platform's, in dollars."""

    balance: Decimal | None
    """The balance now; None if the platform does not say."""
    balance_before: Decimal | None
    """The balance before the study's first HIT."""
    paid: Decimal
    """What this study paid there, with fees, by our ledger."""
    elsewhere: Decimal
    """What people paid by hand, outside of the platform, by our ledger. The platform knows nothing of it."""
    held: Decimal
    """What this study may still cost: free places, work in progress, and work that waits for review."""
    unexplained: Decimal | None
    """balance_before − paid − held − balance: what others spent (negative: added)."""
    others: Decimal
    """What other studies of this database paid at the endpoint since then, with fees. What they may still
    cost is not known here."""
    bonuses: Decimal
    """Bonuses by our ledger, for the HITs whose bonuses the platform lists."""
    bonuses_there: Decimal
    """Bonuses by the platform's listing of this study's HITs."""
    bonuses_unlisted: Decimal
    """Bonuses by our ledger, for HITs that the platform no longer knows. They cannot be compared."""
    differences: tuple[str, ...]


def note_balance(session: Session, study: Study, endpoint: str, balance: Decimal | None) -> None:
    """Store the balance before the study's first HIT at this endpoint. Later calls change nothing."""
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


@dataclass(slots=True)
class _There:
    """What the platform says about the study's HITs."""

    places: dict[int, int] = field(default_factory=dict)
    """HIT → its assignments that may still be paid."""
    seen: dict[int, Terms | None] = field(default_factory=dict)
    """HIT → its figures."""
    listed: set[int] = field(default_factory=set)
    """The HITs whose bonuses the platform lists."""
    bonuses: Counter[tuple[str, Decimal]] = field(default_factory=Counter)
    """(assignment, amount) → how many."""
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    """(HIT, assignment) → state."""
    differences: list[str] = field(default_factory=list)


def reconcile(at: StudyAtPlatform) -> Reconciled:
    """Ask the platform for its books and compare. Changes nothing, here or at the platform."""
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        hits = [hit for hit in hits_of(session, at.study, at.endpoint) if hit.external_id is not None]
    there = _ask(at, hits)
    figures_differ = would_note(at, there.seen)
    with reading(at.engine) as session:
        states_differ = _states_differ(session, at, there.states)
        here = _bonuses(session, at, there.listed)
        forgotten = _bonuses(session, at, {hit.id for hit in hits} - there.listed)
        before = session.scalar(
            select(OutboxRow).where(
                OutboxRow.endpoint == at.endpoint,
                OutboxRow.operation == BALANCE,
                OutboxRow.subject == f"study {at.id}",
            )
        )
        held = _compensations_due(session, at)
        for hit in hits:
            held += assignment_cost(session, at, hit).total * there.places.get(hit.id, 0)
        others = _paid_by_others(session, at, before.confirmed_at if before else None)
    balance, paid = at.platform.balance(), spent(at.study, at.endpoint, by_hand=False).total
    began = Decimal(before.answer["balance"]) if before is not None and before.answer else None
    return Reconciled(
        balance=balance,
        balance_before=began,
        paid=paid,
        elsewhere=spent(at.study, at.endpoint).total - paid,
        held=held,
        others=others,
        unexplained=began - paid - held - balance if began is not None and balance is not None else None,
        bonuses=_total(here),
        bonuses_there=_total(there.bonuses),
        bonuses_unlisted=_total(forgotten),
        differences=(
            *there.differences,
            *told(figures_differ, at.endpoint),
            *states_differ,
            *_bonuses_differ(at.endpoint, here, there.bonuses),
        ),
    )


def _ask(at: StudyAtPlatform, hits: Sequence[HitRow]) -> _There:
    """Ask the platform for each of these HITs."""
    there = _There()
    for hit in hits:
        external_id = hit.external_id or ""
        bonuses = bonuses_listed(at.platform, external_id)
        if bonuses is not None:
            there.listed.add(hit.id)
            there.bonuses.update((bonus.assignment, bonus.amount) for bonus in bonuses)
        standing = at.platform.standing(external_id)
        if standing is None:
            if hit.closed_at is None:
                there.differences.append(f"{at.endpoint} no longer has the HIT {external_id}")
            continue
        there.seen[hit.id] = standing.terms
        work = {(one.external_id, one.state) for one in at.platform.submissions(external_id)}
        there.states.update({(external_id, assignment): state for assignment, state in work})
        waiting = sum(state == "submitted" for _, state in work)
        open_places = 0 if standing.expired else standing.free
        there.places[hit.id] = open_places + standing.in_hand + waiting
    return there


def _compensations_due(session: Session, at: StudyAtPlatform) -> Decimal:
    """What compensations may still cost that nobody has taken yet."""
    due = session.scalars(
        select(PaymentRow).where(
            PaymentRow.study_id == at.id,
            PaymentRow.endpoint == at.endpoint,
            PaymentRow.state == "due",
            PaymentRow.kind == COMPENSATION,
        )
    )
    return sum((payment.amount + payment.fee for payment in due), ZERO)


def _bonuses_differ(
    endpoint: str, here: Counter[tuple[str, Decimal]], there: Counter[tuple[str, Decimal]]
) -> list[str]:
    return [
        f"bonus of ${amount} for {assignment}: {there[assignment, amount]} at {endpoint},"
        f" {here[assignment, amount]} in our ledger"
        for assignment, amount in sorted({*there, *here})
        if there[assignment, amount] != here[assignment, amount]
    ]


def _paid_by_others(session: Session, at: StudyAtPlatform, since: datetime | None) -> Decimal:
    payments = select(PaymentRow).where(
        PaymentRow.study_id != at.id, PaymentRow.endpoint == at.endpoint, PaymentRow.state == "paid"
    )
    payments = payments.where(~PaymentRow.elsewhere)
    if since is not None:
        payments = payments.where(PaymentRow.paid_at >= since)
    return sum((payment.amount + payment.fee for payment in session.scalars(payments)), ZERO)


def _total(bonuses: Counter[tuple[str, Decimal]]) -> Decimal:
    return sum((amount * count for (_, amount), count in bonuses.items()), ZERO)


def _bonuses(session: Session, at: StudyAtPlatform, hits: set[int]) -> Counter[tuple[str, Decimal]]:
    """Bonuses that are paid by our ledger, for work on these HITs."""
    rows = session.execute(
        select(AssignmentRow.external_id, PaymentRow.amount)
        .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        .where(PaymentRow.study_id == at.id, PaymentRow.endpoint == at.endpoint)
        .where(PaymentRow.kind == BONUS, PaymentRow.state == "paid", AssignmentRow.hit_id.in_(hits))
    )
    return Counter((external_id, amount) for external_id, amount in rows)


def _states_differ(session: Session, at: StudyAtPlatform, states: dict[tuple[str, str], str]) -> list[str]:
    """Work whose state differs between the platform and our database. Work that is not collected yet is no
    difference."""
    ours = session.execute(
        select(HitRow.external_id, AssignmentRow.external_id, AssignmentRow.state)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .where(AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint)
        .where(AssignmentRow.state.in_(("submitted", "approved", "rejected")))
    )
    return [
        f"assignment {external_id}: {there} at {at.endpoint}, {state} here"
        for hit, external_id, state in ours
        if (there := states.get((hit or "", external_id))) is not None and there != state
    ]
