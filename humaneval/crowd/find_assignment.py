"""Finds the assignment that a person names, and says how its worker can be paid if the platform lost it."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from humaneval.crowd.participants import compensation_of
from humaneval.crowd.plan_differences import figures_there
from humaneval.crowd.published_hits import GONE
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import to_accept
from humaneval.errors import PlatformError, UsageError
from humaneval.store.export_pseudonyms import names_of
from humaneval.store.tables import TAKEN_IN, AssignmentRow, StudyRow
from humaneval.text import PAYING, command


def find_assignment(session: Session, at: StudyAtPlatform, external_id: str) -> AssignmentRow:
    """The assignment that counts under a platform's id, or under the name that `review` shows of it.

    Raises UsageError if there is none, and PlatformError if it is not submitted yet.
    """
    given, found = external_id, _that_counts(session, at, external_id)
    if found is None and (external_id := platform_id(session, at, given)) != given:
        found = _that_counts(session, at, external_id)
    if found is None:
        elsewhere = session.scalars(
            select(AssignmentRow.endpoint).where(
                AssignmentRow.study_id == at.id, AssignmentRow.external_id == external_id
            )
        ).all()
        if at.endpoint in elsewhere:
            raise PlatformError(
                f"assignment {given} is not submitted at {at.endpoint}:"
                " it was given back, or its time ran out",
                f"If it is submitted now, fetch it: {command('collect', at.name, '--to', at.endpoint)}",
            )
        if elsewhere:
            raise UsageError(
                f"assignment {given} is at {elsewhere[0]}, not at {at.endpoint}",
                f"Use --to {elsewhere[0]}.",
            )
        raise UsageError(
            f"the study has no assignment {given!r} at {at.endpoint}",
            f"See those that it has: `{command('review', at.name, '--to', at.endpoint)}`.\n"
            f"Also, if it was submitted since: `{command('collect', at.name, '--to', at.endpoint)}`.",
        )
    if found.state == TAKEN_IN or (
        found.state in ("opened", "answered") and GONE in figures_there(session, found.hit_id)
    ):
        raise PlatformError(
            f"{at.endpoint} no longer has assignment {given}: nothing can be decided or paid for it there",
            settled(session, at, found)
            or (
                "Its answers count all the same."
                if found.state == TAKEN_IN
                else f"Take in what our server has of it: `{to_accept(at, lost=True)}`."
            )
            + "\nAlso, pay with a HIT of its own:"
            f" `{command('compensate', at.name, given, '--to', at.endpoint, *PAYING)}`."
            f"\n{pay_by_hand(at, given)}",
        )
    if found.state in ("opened", "answered"):
        raise PlatformError(
            f"assignment {given} is not submitted yet",
            f"Run `{command('collect', at.name, '--to', at.endpoint)}` when it is.",
        )
    return found


def _that_counts(session: Session, at: StudyAtPlatform, external_id: str) -> AssignmentRow | None:
    of = {"study": at.id, "at": at.endpoint, "external": external_id}
    return session.scalars(_THAT_COUNTS, of).first()


# All work of a study may be named, so it is built once.
_THAT_COUNTS = (
    select(AssignmentRow)
    .where(
        AssignmentRow.study_id == bindparam("study"),
        AssignmentRow.endpoint == bindparam("at"),
        AssignmentRow.external_id == bindparam("external"),
        AssignmentRow.state != "superseded",
    )
    .order_by(AssignmentRow.state.in_(("opened", "answered")), AssignmentRow.id.desc())
)


def platform_id(session: Session, at: StudyAtPlatform, shown: str) -> str:
    """The platform's id of the assignment that is shown as `shown`. If there is none, `shown` itself."""
    if at.endpoint != "link":
        return shown
    mine = select(AssignmentRow.external_id).where(
        AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint
    )
    if session.scalar(mine.where(AssignmentRow.external_id == shown).limit(1)) is not None:
        return shown
    names, ids = names_of(session, session.get_one(StudyRow, at.id)), session.scalars(mine)
    return next((one for one in ids if names.assignment(at.endpoint, one) == shown), shown)


def shown_ids(session: Session, at: StudyAtPlatform, work: Collection[AssignmentRow]) -> list[str]:
    """The ids of assignments as `review` shows them: a panel's session is not for terminals and logs."""
    names = names_of(session, session.get_one(StudyRow, at.id))
    return [names.shown(one.endpoint, one.external_id) for one in work]


def refuse_lost(session: Session, at: StudyAtPlatform, work: AssignmentRow) -> None:
    """Raise PlatformError if the platform lost the HIT of this work: nothing can be paid for it there."""
    if GONE in figures_there(session, work.hit_id):
        raise PlatformError(
            f"{at.endpoint} no longer has the HIT of assignment {work.external_id}: it cannot pay for it",
            settled(session, at, work) or pay_by_hand(at, work.external_id),
            nothing_done=True,
        )


def settled(session: Session, at: StudyAtPlatform, work: AssignmentRow) -> str:
    """A sentence if the worker of this work was compensated, or is about to be; otherwise empty."""
    payment = compensation_of(session, work)
    if payment is None:
        return ""
    where = "elsewhere" if payment.elsewhere else f"at {at.endpoint}"
    did = "was paid" if payment.state == "paid" else "can take"
    return f"Its worker {did} {at.sign}{payment.amount} {where}."


def pay_by_hand(at: StudyAtPlatform, assignment: str) -> str:
    """What to do if a platform cannot pay for an assignment: a sentence that ends with a command."""
    enter = command("compensate", at.name, assignment, "--to", at.endpoint, "--elsewhere", *PAYING)
    return f"If you pay by hand where you can reach the worker, enter it in the books: {enter}"


def paid_meanwhile(assignment: str) -> PlatformError:
    """The error of a payment that goes no further, because somebody has entered another one."""
    error = PlatformError(
        f"it was entered meanwhile that the worker of {assignment} was paid elsewhere", "Nothing is paid now."
    )
    error.never_done = True
    return error
