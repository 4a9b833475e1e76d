"""Compares our books with those of the platform: each bonus, the approvals, and the balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import assignment_cost, bonus_kinds, spent
from humaneval.crowd.hit_terms import told
from humaneval.crowd.outbox import intend
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.plan_differences import accepted_gone, would_note
from humaneval.crowd.platform import Terms
from humaneval.crowd.published_hits import bonuses_listed, hits_of, refuse_elsewhere
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import Study

BALANCE = "balance"
"""Stored once: the balance of the account before the study's first HIT."""
ZERO = Decimal("0.00")
SANDBOX = Decimal("10000.00")
"""The balance of a sandbox, which never moves."""


class Reconciled(NamedTuple):
    """Our books beside the platform's."""

    balance: Decimal | None
    """The balance now; None if the platform does not say."""
    balance_before: Decimal | None
    """The balance before the study's first HIT."""
    paid: Decimal
    """What this study paid there, with fees, by our books."""
    elsewhere: Decimal
    """What people paid by hand, outside of the platform, by our books. The platform knows nothing of it."""
    held: Decimal
    """What this study may still cost: free places, work in progress, and work that waits for review."""
    unexplained: Decimal | None
    """balance_before − paid − held − balance: what others spent (negative: added)."""
    others: Decimal
    """What other studies of this database paid at the endpoint since then, with fees."""
    others_held: Decimal
    """What they may still cost."""
    left: Decimal | None
    """The part of `unexplained` that no study of this database explains."""
    bonuses: Decimal
    """Bonuses by our books, for the HITs whose bonuses the platform lists."""
    bonuses_there: Decimal
    """Bonuses by the platform's listing of this study's HITs."""
    bonuses_unlisted: Decimal
    """Bonuses by our books, for HITs that the platform no longer knows. They cannot be compared."""
    differences: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether nothing is unexplained, and nothing differs."""
        return not self.differences and not self.left


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
    hits, there = _hits_there(at)
    figures_differ = would_note(at, there.seen)
    with reading(at.engine) as session:
        states_differ = _states_differ(session, at, there.states)
        here = _bonuses(session, at, there.listed)
        there.bonuses = _as_forgotten(session, at, there.bonuses)
        forgotten = _bonuses(session, at, {hit.id for hit in hits} - there.listed)
        began = _began(session, at, at.id)
        others = _paid_by_others(session, at, began.at if began else None)
    held, paid = _held(at, hits, there), spent(at.study, at.endpoint, by_hand=False).total
    balance = at.platform.balance()
    lost = bool(hits) and {hit.id for hit in hits} <= accepted_gone(at.study, at.endpoint)
    unmoved = began is not None and began.balance == balance == SANDBOX and paid + held > 0
    unexplained, left, others_held = None, None, ZERO
    if began is not None and balance is not None and not lost and not unmoved:
        unexplained = left = began.balance - paid - held - balance
        if unexplained:
            others_held = sum((_held(other, *_hits_there(other)) for other in _others(at)), ZERO)
            left = _left(at, began, balance, unexplained, others + others_held)
    return Reconciled(
        balance=balance,
        balance_before=began.balance if began else None,
        paid=paid,
        elsewhere=spent(at.study, at.endpoint).total - paid,
        held=held,
        unexplained=unexplained,
        others=others,
        others_held=others_held,
        left=left,
        bonuses=_total(here),
        bonuses_there=_total(there.bonuses),
        bonuses_unlisted=_total(forgotten),
        differences=(
            *there.differences,
            *told(figures_differ, at.endpoint, at.sign),
            *states_differ,
            *_bonuses_differ(at, here, there.bonuses),
        ),
    )


class _Began(NamedTuple):
    """The balance before a study's first HIT, and when that was."""

    balance: Decimal
    at: datetime


def _began(session: Session, at: StudyAtPlatform, study_id: int) -> _Began | None:
    row = session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == at.endpoint,
            OutboxRow.operation == BALANCE,
            OutboxRow.subject == f"study {study_id}",
        )
    )
    if row is None or not row.answer or row.confirmed_at is None:
        return None
    return _Began(Decimal(row.answer["balance"]), row.confirmed_at)


def _others(at: StudyAtPlatform) -> list[StudyAtPlatform]:
    """The other studies of this database at the same platform."""
    with reading(at.engine) as session:
        names = session.scalars(
            select(StudyRow.name)
            .join(HitRow, HitRow.study_id == StudyRow.id)
            .where(HitRow.endpoint == at.endpoint, HitRow.external_id.is_not(None), StudyRow.id != at.id)
            .distinct()
        ).all()
    return [open_study_at(at.engine, name, at.platform) for name in names]


def _left(
    at: StudyAtPlatform, began: _Began, balance: Decimal, unexplained: Decimal, others: Decimal
) -> Decimal:
    """What other studies do not explain either, by the nearest of the possible accounts.

    The studies that began later explain what they cost. What those that began before had cost until then is
    not known, so they are counted from the first of them on.
    """
    with reading(at.engine) as session:
        all_began = [_began(session, at, other.id) for other in (at, *_others(at))]
    first = min((each for each in all_began if each is not None), key=lambda each: each.at, default=began)
    cost = began.balance - unexplained - balance  # of this study
    everything = cost + others + _paid_before(at, began.at)
    found = (unexplained, unexplained - others, first.balance - everything - balance)
    return min(found, key=abs)


def _paid_before(at: StudyAtPlatform, until: datetime) -> Decimal:
    """What other studies of this database had paid there until a moment."""
    with reading(at.engine) as session:
        return _paid_by_others(session, at, None) - _paid_by_others(session, at, until)


def _hits_there(at: StudyAtPlatform) -> tuple[list[HitRow], _There]:
    with reading(at.engine) as session:
        hits = [hit for hit in hits_of(session, at.study, at.endpoint) if hit.external_id is not None]
    return hits, _ask(at, hits)


def _held(at: StudyAtPlatform, hits: Sequence[HitRow], there: _There) -> Decimal:
    """What the study may still cost."""
    with reading(at.engine) as session:
        held = _compensations_due(session, at)
        for hit in hits:
            held += assignment_cost(session, at, hit).total * there.places.get(hit.id, 0)
    return held


def _ask(at: StudyAtPlatform, hits: Sequence[HitRow]) -> _There:
    """Ask the platform for each of these HITs."""
    there, accepted = _There(), accepted_gone(at.study, at.endpoint)
    for hit in hits:
        external_id = hit.external_id or ""
        bonuses = bonuses_listed(at.platform, external_id)
        if bonuses is not None:
            there.listed.add(hit.id)
            there.bonuses.update((bonus.assignment, bonus.amount) for bonus in bonuses)
        standing = at.platform.standing(external_id)
        if standing is None:
            if hit.closed_at is None and hit.id not in accepted:
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
    """What compensations may still cost that nobody has taken yet. A bonus is not held."""
    if at.platform.endpoint.plain_bonuses:
        return ZERO
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
    at: StudyAtPlatform, here: Counter[tuple[str, Decimal]], there: Counter[tuple[str, Decimal]]
) -> list[str]:
    sign, endpoint = at.sign, at.endpoint
    return [
        f"bonus of {sign}{amount} for {assignment}: {there[assignment, amount]} at {endpoint},"
        f" {here[assignment, amount]} in our books"
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
    """Bonuses that are paid by our books, for work on these HITs."""
    rows = session.execute(
        select(AssignmentRow.external_id, PaymentRow.amount)
        .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        .where(PaymentRow.study_id == at.id, PaymentRow.endpoint == at.endpoint)
        .where(PaymentRow.kind.in_(bonus_kinds(at)), PaymentRow.state == "paid", ~PaymentRow.elsewhere)
        .where(AssignmentRow.hit_id.in_(hits))
    )
    return Counter((external_id, amount) for external_id, amount in rows)


def _as_forgotten(
    session: Session, at: StudyAtPlatform, there: Counter[tuple[str, Decimal]]
) -> Counter[tuple[str, Decimal]]:
    """The bonuses at the platform without those of people who were forgotten here. Our books have the same
    amounts, without a person or a form."""
    paid = select(PaymentRow.amount).where(
        PaymentRow.study_id == at.id, PaymentRow.endpoint == at.endpoint, PaymentRow.assignment_id.is_(None)
    )
    shown = (PaymentRow.kind.in_(bonus_kinds(at)), PaymentRow.state == "paid", ~PaymentRow.elsewhere)
    nobodys = Counter(session.scalars(paid.where(*shown)))
    if not nobodys:
        return there
    known = set(session.scalars(select(AssignmentRow.external_id).where(AssignmentRow.study_id == at.id)))
    left = Counter(there)
    for assignment, amount in sorted(there):
        if assignment not in known:
            gone = min(nobodys[amount], left[assignment, amount])
            nobodys[amount] -= gone
            left[assignment, amount] -= gone
    return +left


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
