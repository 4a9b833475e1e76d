"""More rows for a study that is made, and perhaps published: its settings and its first rows stay as they
are.

Each addition is written down with what there was to look at by then: to look at results and to add people
until they please finds differences that are not there far more often than the level says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from humaneval.design.rows import Design
from humaneval.errors import DesignError, UsageError
from humaneval.fees import MANY_ASSIGNMENTS, reward_fee
from humaneval.store.engine import reading, writing_alone
from humaneval.store.tables import AssignmentRow, ResponseRow, RowRow, StudyAdditionRow, StudyRow
from humaneval.study.file import MOST_ROWS, StudyFile, rounded_up
from humaneval.study.stored import (
    Material,
    design_hash,
    design_of,
    get_study,
    hash_of_rows,
    material_of,
    settings_of,
    store_rows,
)
from humaneval.text import counted

WARNING = (
    "Adding people after a look at the results makes errors more likely than the level says: "
    "say in the paper that their number was fixed beforehand, or report when and why it was raised."
)


@dataclass(frozen=True, slots=True)
class Addition:
    """One time that a study got more rows."""

    at: datetime
    rows_before: int
    rows_after: int
    responses_before: int
    """Responses that there were to look at, of real people or at a rehearsal."""
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
            f"{counted(self.rows_after, 'row')}, with {counted(self.responses_before, 'response')} in.{why}"
        )


def additions_of(engine: Engine, name: str) -> tuple[Addition, ...]:
    """Every addition to study `name`, the first one first."""
    with reading(engine) as session:
        return stored_additions(session, get_study(session, name))


@dataclass(frozen=True, slots=True)
class Proposal:
    """What so many rows more would be, before they are."""

    rows_before: int
    rows_after: int
    responses_before: int
    earlier: tuple[Addition, ...]
    rewards: Decimal
    """Of the new rows alone, in dollars, as the fees are: if every one is approved."""
    fees: Decimal
    minutes: float
    """Of all who fill in the new rows together."""

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


def propose(engine: Engine, name: str, annotators: int) -> Proposal:
    """What `enlarge` would do, at Mechanical Turk's rates. Writes nothing; raises what `enlarge` raises."""
    with reading(engine) as session:
        study = get_study(session, name)
        larger = _larger(session, study, annotators)
        hit, masters = larger.settings.hit, larger.settings.participants.masters
        fee = reward_fee(hit.reward, MANY_ASSIGNMENTS - 1, masters=masters)
        return Proposal(
            larger.before,
            larger.before + annotators,
            _responses(session, study),
            stored_additions(session, study),
            hit.reward * annotators,
            fee * annotators,
            hit.expected_minutes * annotators,
        )


def enlarge(
    engine: Engine, name: str, annotators: int, reason: str = "", *, rows_before: int | None = None
) -> Addition:
    """Give the study so many more rows. Its design with n + k rows begins with that of n rows.

    Raises DesignError where the stories or infills that it was made from have changed, so that its first rows
    cannot be continued; UsageError where `annotators` is no multiple of its responses per passage, where
    there would be too many rows, or where the study no longer has `rows_before` rows (None: however many it
    has).
    """
    with writing_alone(engine, f"study {name!r}") as session:
        study = get_study(session, name)
        settings, before, design, material = _larger(session, study, annotators)
        if rows_before not in (None, before):
            raise UsageError(
                f"study {name!r} had {rows_before:,} rows a moment ago and now has {before:,}: somebody else"
                " enlarged it",
                "Nothing was added. Run the command again to see what there is now.",
            )
        store_rows(session, study, settings, design, material, first=before)
        row = StudyAdditionRow(
            study_id=study.id,
            rows_before=before,
            rows_after=before + annotators,
            responses_before=_responses(session, study),
            reason=reason,
            design_hash=design_hash(design.rows, material),
        )
        session.add(row)
        session.flush()
        return _addition(row)


class _Larger(NamedTuple):
    settings: StudyFile
    before: int
    design: Design
    material: Material


def _larger(session: Session, study: StudyRow, annotators: int) -> _Larger:
    """The study's design with so many rows more; refused where it cannot be, see `enlarge`."""
    name, settings = study.name, settings_of(study)
    several = settings.design.responses_per_passage
    if annotators % several:
        raise UsageError(
            f"each passage of study {name!r} is judged {several} times, and {annotators} rows do not go"
            " round",
            f"Take a multiple: {rounded_up(annotators, several)}.",
        )
    before = _count(session, select(func.count()).select_from(RowRow).where(RowRow.study_id == study.id))
    if before + annotators > MOST_ROWS:
        raise UsageError(
            f"study {name!r} has {counted(before, 'row')}, and a study has at most {MOST_ROWS:,}:"
            f" {annotators:,} more are too many",
            f"Add at most {max(0, MOST_ROWS - before) // several * several:,}.",
        )
    material = material_of(session, settings, until=study.created_at)
    design = design_of(settings, material, before + annotators)
    if design_hash(design.rows[:before], material) != hash_of_rows(session, study):
        raise DesignError(
            f"study {name!r} cannot be enlarged: stories or infills that it was made from have changed since",
            "Make a study of its own for more annotators, with another seed.",
        )
    return _Larger(settings, before, design, material)


def _responses(session: Session, study: StudyRow) -> int:
    seen = select(func.count()).select_from(ResponseRow).join(AssignmentRow)
    return _count(session, seen.where(AssignmentRow.study_id == study.id))


def _count(session: Session, query: Any) -> int:
    return int(session.scalar(query) or 0)


def stored_additions(session: Session, study: StudyRow) -> tuple[Addition, ...]:
    """Every addition to the study, the first one first."""
    query = select(StudyAdditionRow).where(StudyAdditionRow.study_id == study.id)
    return tuple(_addition(row) for row in session.scalars(query.order_by(StudyAdditionRow.id)))


def _addition(row: StudyAdditionRow) -> Addition:
    return Addition(
        row.created_at, row.rows_before, row.rows_after, row.responses_before, row.reason, row.design_hash
    )
