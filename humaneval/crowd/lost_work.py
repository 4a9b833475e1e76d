"""Finds lost work, so that its worker can be paid, and refuses work that the platform itself can pay."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.adopt import orphans
from humaneval.crowd.find_assignment import pay_by_hand, platform_id, settled, shown_ids
from humaneval.crowd.mturk_csv import refuse_by_file
from humaneval.crowd.plan_differences import figures_there
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.published_hits import GONE, submitted
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.workers import find_worker, stored_as
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, WorkerRow
from humaneval.store.types import now
from humaneval.text import PAYING, command

SENT_IN = ("submitted", "approved", "rejected")
"""States of work that is known to be submitted."""


def lost_work(
    session: Session, at: StudyAtPlatform, assignment: str, worker: str, *, elsewhere: bool = False
) -> AssignmentRow:
    """The work under a platform's id that can be compensated. Raises UsageError for other work.

    `worker` says whose work it was, if the platform gave one assignment to several people. A payment
    `elsewhere` is also for decided work that the platform lost, and for people who came by link.
    """
    refuse_by_file(at)
    found = work_under(session, at, assignment, worker)
    lost = GONE in figures_there(session, found.hit_id)
    by_link = at.endpoint == "link" and (at.settings.link.pay == "none" or found.state != "submitted")
    by_hand = elsewhere and (lost or by_link)
    if found.state in SENT_IN and not by_hand:
        raise UsageError(
            f"assignment {assignment} was submitted{f', and {at.endpoint} no longer has it' * lost}",
            (settled(session, at, found) or pay_by_hand(at, assignment))
            if lost
            else f"Pay it with: {to_pay(at, found, assignment)}",
        )
    open_still = not lost and found.lease_until is not None and found.lease_until > now()
    if found.state in ("opened", "answered", "superseded") and open_still:
        raise UsageError(
            f"assignment {assignment} can still be submitted until {found.lease_until:%Y-%m-%d %H:%M} UTC",
            "It could be paid twice. Compensate it after that time.",
        )
    return found


def work_under(session: Session, at: StudyAtPlatform, assignment: str, worker: str) -> AssignmentRow:
    """The one piece of work under a platform's id, or under the name that `review` shows, whatever its state.
    Raises UsageError if there is none, or several."""
    under_this_id = select(AssignmentRow).where(
        AssignmentRow.study_id == at.id,
        AssignmentRow.endpoint == at.endpoint,
        AssignmentRow.external_id == platform_id(session, at, assignment),
    )
    if worker:
        under_this_id = under_this_id.where(
            AssignmentRow.worker_id == find_worker(session, at.endpoint, stored_as(at, worker))
        )
    theirs = session.scalars(under_this_id.order_by(AssignmentRow.id)).all()
    if not theirs:
        raise UsageError(
            f"the study has no assignment {assignment!r}{' of this worker' * bool(worker)} at {at.endpoint}",
            "A compensation is for a worker who had a form of this study open.",
        )
    if len(theirs) > 1:
        people = [session.get_one(WorkerRow, one.worker_id).pseudonym for one in theirs]
        raise UsageError(
            f"{at.endpoint} gave assignment {assignment} to {len(people)} people, one after the other:"
            f" {', '.join(people)}",
            "Name the worker whose work was lost with --worker.",
        )
    return theirs[0]


def to_pay(at: StudyAtPlatform, work: AssignmentRow, shown: str) -> str:
    """The command that pays submitted work, or pays more for it if it is paid; `shown` is its id."""
    if work.state == "approved":
        return command("bonus", at.name, shown, "--to", at.endpoint, *PAYING)
    undo = ["--undo-rejection"] * (work.state == "rejected")
    return command("approve", at.name, shown, "--to", at.endpoint, *undo)


def refuse_if_submitted(at: StudyAtPlatform, work: AssignmentRow) -> None:
    """Ask the platform, too: work that is submitted there and not collected yet would be paid twice."""
    with reading(at.engine) as session:
        whom = external_worker_id(session, work.worker_id)
        hit = session.get_one(HitRow, work.hit_id)
        (shown,) = shown_ids(session, at, [work])
    external_id = hit.external_id
    if external_id is None:
        # People can work at a HIT that an interrupted `publish` made and did not record.
        unrecorded = orphans(at).values()
        external_id = next((one.published.external_id for one in unrecorded if one.hit_id == hit.id), None)
    # Also work whose row went to somebody else: it can still be handed in, and is paid then.
    if external_id is None or hit.closed_at is not None or work.state in SENT_IN:
        return
    there = submitted(at.platform, external_id) or ()
    if any((one.external_id, one.worker) == (work.external_id, whom) for one in there):
        raise UsageError(
            f"assignment {shown} was submitted at {at.endpoint}, and is not collected yet",
            f"Collect it first: `{command('collect', at.name, '--to', at.endpoint)}`.\nAlso, afterwards, pay"
            f" it: `{command('approve', at.name, shown, '--to', at.endpoint)}`.",
        )


def refuse_by_link(at: StudyAtPlatform, assignment: str, message: str) -> None:
    """Raise PlatformError, with the way to pay by hand, if people came by link: no platform can pay them."""
    if at.endpoint != "link":
        return
    with reading(at.engine) as session:
        said = settled(session, at, work_under(session, at, assignment, ""))
    raise PlatformError(message, said or pay_by_hand(at, assignment))
