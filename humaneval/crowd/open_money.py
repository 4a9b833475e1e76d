"""Money that is still open for somebody's work: until it is settled, nothing about them may be deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import BONUS, COMPENSATE, MONEY, REJECT, is_compensation
from humaneval.crowd.panel_postbacks import POSTBACK, postback_subject
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.personal_data import OUTBOX, writes_about, writes_about_forms
from humaneval.crowd.platform import CSV
from humaneval.errors import UsageError
from humaneval.store.engine import ASKED_FOR, batches
from humaneval.store.export_pseudonyms import names_of
from humaneval.store.tables import TAKEN_IN, AssignmentRow, PaymentRow, StudyRow
from humaneval.study.stored import fetch_command, settings_of
from humaneval.text import PAYING, command, counted

PANEL_HAS = timedelta(days=7)
"""A panel that says nothing for so long keeps nobody from being deleted."""


@dataclass(frozen=True, slots=True)
class Open:
    """A form whose money is not settled: why, and the command that settles it."""

    why: str
    way_out: str
    when: str = "First"
    """When that command helps."""


def refuse_open_money(
    session: Session,
    workers: Collection[int],
    now: datetime,
    what: str,
    done: str = "Nothing was deleted.",
    writes: Collection[int] | None = None,
) -> None:
    """Raise UsageError if money is open for the work of one of these workers. `what` could not be done.
    `writes` are those that may name them, if that is known: all of them are read otherwise."""
    found = open_money(session, workers, now, writes)
    if not found:
        return
    first, *more = found
    others = f", and {counted(len(more), 'more form')} like that" if more else ""
    raise UsageError(f"{what}: {first.why}{others}", f"{done} {first.when}: `{first.way_out}`")


def open_money(
    session: Session, workers: Collection[int], now: datetime, writes: Collection[int] | None = None
) -> list[Open]:
    """The forms of these workers for which money is open, the first of each study first."""
    forms: list[AssignmentRow] = []
    payments: dict[int, list[PaymentRow]] = {}
    for some in batches(sorted(workers), ASKED_FOR):
        theirs = select(AssignmentRow).where(AssignmentRow.worker_id.in_(some))
        forms += session.scalars(theirs.order_by(AssignmentRow.id))
        paid = select(PaymentRow).join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        for payment in session.scalars(paid.where(AssignmentRow.worker_id.in_(some))):
            payments.setdefault(payment.assignment_id or 0, []).append(payment)
    studies = {study.id: study for study in session.scalars(select(StudyRow))}
    found = [
        one
        for form in forms
        for one in _of_form(session, studies[form.study_id], form, payments.get(form.id, []), now)
    ]
    pending = [OUTBOX.c.state == "pending", OUTBOX.c.operation.in_(MONEY)]
    if writes is not None:
        pending.append(OUTBOX.c.id.in_(writes))
    found += _unsure(session, writes_about(session, workers, *pending), studies)
    named = [{"id": form.id, "endpoint": form.endpoint, "external_id": form.external_id} for form in forms]
    waiting = {
        line["subject"]
        for line in writes_about_forms(session, named)
        if line["operation"] == POSTBACK and line["state"] == "pending"
        if line["created_at"] > now - PANEL_HAS
    }
    return found + [
        _not_credited(session, studies[form.study_id], form)
        for form in forms
        if postback_subject(form.id) in waiting
    ]


def _not_credited(session: Session, study: StudyRow, form: AssignmentRow) -> Open:
    shown = names_of(session, study).shown(form.endpoint, form.external_id)
    say = command("collect", study.name, "--to", form.endpoint, "--again")
    return Open(f"the panel has not confirmed the credit for form {shown} of {study.name!r}", say)


def _of_form(
    session: Session, study: StudyRow, form: AssignmentRow, payments: Sequence[PaymentRow], now: datetime
) -> Iterator[Open]:
    shown, to = names_of(session, study).shown(form.endpoint, form.external_id), ("--to", form.endpoint)
    settings, link = settings_of(study), form.endpoint == "link"
    pays = settings.hit.reward > 0 and not (link and settings.link.pay == "none")
    due = [payment for payment in payments if payment.state == "due"]
    if due:
        say = _settling(
            COMPENSATE if due[0].kind == COMPENSATION else BONUS, study.name, shown, form.endpoint
        )
        what = f"a {due[0].kind} of {settings.hit.sign}{due[0].amount}"
        yield Open(f"{what} for form {shown} of {study.name!r} is due", say)
    elif form.state == "submitted" and (pays or not link):
        why = f"form {shown} of {study.name!r} is not approved or rejected yet"
        if form.endpoint == CSV:
            when = "Once it is decided at the site, and the results are downloaded again"
            yield Open(why, fetch_command(study.name, CSV), when)
        else:
            yield Open(why, command("approve", study.name, shown, *to))
    elif form.state == TAKEN_IN and pays and not payments:
        say = command("compensate", study.name, shown, *to, *PAYING)
        yield Open(f"form {shown} of {study.name!r} is not paid: the platform lost it", say)
    elif form.state in ("opened", "answered", "superseded") and not link and _may_come(form, now):
        say, lease = command("collect", study.name, *to), form.lease_until
        why = f"form {shown} of {study.name!r} may still be submitted"
        if lease is None or lease <= now:
            yield Open(why, say)
        else:
            until = f"{lease:%Y-%m-%d %H:%M} UTC"
            when = f"Once the person has sent or returned it, or after {until}"
            yield Open(f"{why} (until {until})", say, when)


def _may_come(form: AssignmentRow, now: datetime) -> bool:
    """Whether the platform may have, or get, work that nobody has collected. After the time, `collect` takes
    the row away."""
    return form.holds_row or (form.lease_until is not None and form.lease_until > now)


def _unsure(
    session: Session, writes: Sequence[Mapping[str, Any]], studies: Mapping[int, StudyRow]
) -> Iterator[Open]:
    """What is open by writes about money that no answer has confirmed."""
    for one in writes:
        study, endpoint = studies[one["study_id"]], one["endpoint"]
        operation = COMPENSATE if is_compensation(one["operation"], one["subject"]) else one["operation"]
        form = names_of(session, study).shown(endpoint, one["subject"].split()[1])
        yield Open(
            f"it is not known whether the {operation} for form {form} of {study.name!r} was done",
            _settling(operation, study.name, form, endpoint),
        )


def _settling(operation: str, study: str, form: str, endpoint: str) -> str:
    """The command that makes a write of this kind, or finishes it."""
    if operation == BONUS:
        return command("bonus", study, form, "--to", endpoint, *PAYING)
    if operation == COMPENSATE:
        return command("compensate", study, form, "--to", endpoint, *PAYING)
    if operation == REJECT:
        return command("reject", study, form, "--to", endpoint, "--reason", "REASON")
    return command("approve", study, form, "--to", endpoint)
