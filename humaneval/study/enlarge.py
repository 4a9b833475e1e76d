"""Adds rows to an existing study, which may be published. Its settings and its first rows do not change.

Each addition is stored with the number of responses by then. Researchers who look at results, and add people
until they like them, find false differences far more often than the level says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.design.rows import Design
from humaneval.domain import rounded_up
from humaneval.errors import DesignError, UsageError
from humaneval.fees import MANY_ASSIGNMENTS, reward_fee
from humaneval.store.engine import reading, writing_alone
from humaneval.store.responses import rows_in
from humaneval.store.tables import AssignmentRow, ResponseRow, StudyAdditionRow, StudyRow
from humaneval.study.create import passage_ids, store_rows
from humaneval.study.file import MOST_ROWS
from humaneval.study.laid_out import by_name, design_hash, design_of, lay_out
from humaneval.study.own_blanks import stored_blanks
from humaneval.study.stored import Study, hash_of_rows
from humaneval.study.usable_infills import Shown, common_blanks, shown_by
from humaneval.text import counted

WARNING = (
    "Adding people after looking at the results makes errors more likely than the level says. "
    "Say in the paper that their number was fixed beforehand, or report when and why it was raised."
)


@dataclass(frozen=True, slots=True)
class Addition:
    """One addition of rows to a study."""

    at: datetime
    rows_before: int
    rows_after: int
    responses_before: int
    """Responses by then, by real people or at a rehearsal."""
    reason: str
    design_hash: str

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the warning."""
        return {
            "at": self.at.isoformat(),
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "responses_before": self.responses_before,
            "reason": self.reason,
            "design_hash": self.design_hash,
            "warning": WARNING,
        }

    def describe(self) -> str:
        """One sentence for a reader."""
        why = f" Reason given: {self.reason}" if self.reason else " No reason was given."
        return (
            f"On {self.at:%Y-%m-%d} the study was enlarged from {self.rows_before:,} to "
            f"{counted(self.rows_after, 'form')}, with {counted(self.responses_before, 'response')} in.{why}"
        )


def additions_of(study: Study) -> tuple[Addition, ...]:
    """Every addition to the study so far, the first one first."""
    with reading(study.engine) as session:
        return stored_additions(session, study.id)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an addition would be, before it is made."""

    rows_before: int
    rows_after: int
    responses_before: int
    earlier: tuple[Addition, ...]
    rewards: Decimal
    """For the new rows alone, in dollars, if all are approved."""
    fees: Decimal
    minutes: float
    """The time of all annotators of the new rows together."""

    @property
    def cost(self) -> Decimal:
        """Rewards and fees of the new rows."""
        return self.rewards + self.fees

    def to_json(self) -> dict[str, Any]:
        """Plain values; money as text."""
        return {
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "responses_before": self.responses_before,
            "earlier_additions": [each.to_json() for each in self.earlier],
            "rewards": str(self.rewards),
            "fees": str(self.fees),
            "cost": str(self.cost),
            "hours": self.minutes / 60,
        }


def propose(study: Study, annotators: int) -> Proposal:
    """What `enlarge` would do, at Mechanical Turk's rates. Stores nothing; raises the errors of `enlarge`."""
    hit, masters = study.settings.hit, study.settings.participants.masters
    with reading(study.engine) as session:
        larger = _larger(session, study, annotators)
        fee = reward_fee(hit.reward, MANY_ASSIGNMENTS - 1, masters=masters)
        return Proposal(
            larger.before,
            larger.before + annotators,
            _responses(session, study),
            stored_additions(session, study.id),
            hit.reward * annotators,
            fee * annotators,
            hit.expected_minutes * annotators,
        )


def enlarge(study: Study, annotators: int, reason: str = "", *, rows_before: int | None = None) -> Addition:
    """Add rows for `annotators` more. The design with n + k rows begins with the design with n rows.

    Raises DesignError if the stories or infills of the study have changed, so that its first rows cannot be
    continued. Raises UsageError if `annotators` is not a multiple of the responses per passage, or if there
    would be too many rows. Also if the study no longer has `rows_before` rows (None: any number).
    """
    with reading(study.engine) as session:
        before, design, shown = _larger(session, study, annotators)
        known = passage_ids(session, study.id)  # only another addition makes more, and is seen below
    planned = lay_out(study.settings, design, shown, first=before)
    hashed = design_hash(study.settings, design.rows, shown)
    with writing_alone(study.engine, f"study {study.name!r}") as session:
        before = rows_in(session, study.id)
        rows_before = planned.first if rows_before is None else rows_before
        if before != rows_before or before != planned.first:
            raise UsageError(
                f"study {study.name!r} had {rows_before:,} forms a moment ago and now has {before:,}:"
                " another program enlarged it",
                "Nothing was added. Run the command again to see the present state.",
            )
        store_rows(session, study.id, planned, known)
        row = StudyAdditionRow(
            study_id=study.id,
            rows_before=before,
            rows_after=before + annotators,
            responses_before=_responses(session, study),
            reason=reason,
            design_hash=hashed,
        )
        session.add(row)
        session.flush()
        return _addition(row)


class _Larger(NamedTuple):
    before: int
    design: Design
    shown: Shown


def _larger(session: Session, study: Study, annotators: int) -> _Larger:
    """The study's design with the additional rows. Raises the errors of `enlarge`."""
    name, settings = study.name, study.settings
    several = settings.design.responses_per_passage
    if annotators % several:
        raise UsageError(
            f"each passage of study {name!r} is judged {several} times, and {annotators} is not a multiple of"
            f" {several}",
            f"Add {rounded_up(annotators, several)} forms.",
        )
    before = rows_in(session, study.id)
    row = session.get_one(StudyRow, study.id)
    if before + annotators > MOST_ROWS:
        raise UsageError(
            f"study {name!r} has {counted(before, 'form')}, and a study can have at most {MOST_ROWS:,}:"
            f" {annotators:,} more are too many",
            f"Add at most {max(0, MOST_ROWS - before) // several * several:,}.",
        )
    common = common_blanks(session, settings, row.created_at, stored_blanks(session, row.id))
    design = design_of(settings, common, before + annotators)
    shown = shown_by(session, by_name(settings), design.rows, row.created_at)
    if design_hash(settings, design.rows[:before], shown) != hash_of_rows(session, row):
        raise DesignError(
            f"study {name!r} cannot be enlarged: its stories or infills have changed since it was made",
            "Make another study for more annotators, with another seed.",
        )
    return _Larger(before, design, shown)


def _responses(session: Session, study: Study) -> int:
    seen = select(func.count()).select_from(ResponseRow).join(AssignmentRow)
    return session.scalar(seen.where(AssignmentRow.study_id == study.id)) or 0


def stored_additions(session: Session, study_id: int) -> tuple[Addition, ...]:
    """Every addition to the study, the first one first."""
    query = select(StudyAdditionRow).where(StudyAdditionRow.study_id == study_id)
    return tuple(_addition(row) for row in session.scalars(query.order_by(StudyAdditionRow.id)))


def _addition(row: StudyAdditionRow) -> Addition:
    return Addition(
        row.created_at, row.rows_before, row.rows_after, row.responses_before, row.reason, row.design_hash
    )
