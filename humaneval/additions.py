"""More rows for a study that is made, and perhaps published: its settings and its first rows stay as they are.

Each addition is written down with what there was to look at by then: to look at results and to add people until they
please finds differences that are not there far more often than the level says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from humaneval.errors import DesignError, UsageError
from humaneval.store.engine import reading, writing_alone
from humaneval.store.tables import AssignmentRow, ResponseRow, RowRow, StudyAdditionRow, StudyRow
from humaneval.studies import design_hash, design_of, get_study, material_of, settings_of, store_rows
from humaneval.study_file import rounded_up

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
            f"On {self.at:%Y-%m-%d} the study was enlarged from {self.rows_before} to {self.rows_after} rows, "
            f"with {self.responses_before} responses in.{why}"
        )


def additions_of(engine: Engine, name: str) -> tuple[Addition, ...]:
    """Every addition to study `name`, the first one first."""
    with reading(engine) as session:
        return stored_additions(session, get_study(session, name))


def enlarge(engine: Engine, name: str, annotators: int, reason: str = "") -> Addition:
    """Give the study so many more rows. Its design with n + k rows begins with that of n rows.

    Raises DesignError where the stories or infills that it was made from have changed, so that its first rows cannot
    be continued; UsageError where `annotators` is no multiple of its responses per passage.
    """
    with writing_alone(engine, f"study {name!r}") as session:
        study = get_study(session, name)
        settings = settings_of(study)
        several = settings.design.responses_per_passage
        if annotators % several:
            raise UsageError(
                f"each passage of study {name!r} is judged {several} times, and {annotators} rows do not go round",
                f"Take a multiple: {rounded_up(annotators, several)}.",
            )
        before = _count(session, select(func.count()).select_from(RowRow).where(RowRow.study_id == study.id))
        earlier = stored_additions(session, study)
        material = material_of(session, settings, until=study.created_at)
        design = design_of(settings, material, before + annotators)
        known = earlier[-1].design_hash if earlier else study.design_hash
        if design_hash(design.rows[:before], material) != known:
            raise DesignError(
                f"study {name!r} cannot be enlarged: stories or infills that it was made from have changed since",
                "Make a study of its own for more annotators, with another seed.",
            )
        store_rows(session, study, settings, design, material, first=before)
        seen = select(func.count()).select_from(ResponseRow).join(AssignmentRow)
        row = StudyAdditionRow(
            study_id=study.id,
            rows_before=before,
            rows_after=before + annotators,
            responses_before=_count(session, seen.where(AssignmentRow.study_id == study.id)),
            reason=reason,
            design_hash=design_hash(design.rows, material),
        )
        session.add(row)
        session.flush()
        return _addition(row)


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
