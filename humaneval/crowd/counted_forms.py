"""The forms of a study, counted in the database: however many there are, they are few lines here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import DateTime, Label, and_, case, func, literal, or_, select, type_coerce
from sqlalchemy.orm import Session

from humaneval.crowd.uncollected import Place
from humaneval.store.responses import READ_TOGETHER
from humaneval.store.tables import COLLECTED, AssignmentRow
from humaneval.store.types import Moment
from humaneval.study.stored import Study

New = Mapping[str, Collection[Place]]
"""Endpoint → what its platform says is submitted there and not collected."""


class Forms(NamedTuple):
    """Forms of a study that are alike, counted."""

    endpoint: str
    state: str
    hit_id: int | None
    """Of those that wait: the platform may have lost their HIT. Otherwise None."""
    external_id: str | None
    """Of those that may be among what the platform says is new; otherwise None."""
    is_stray: bool
    holds_row: bool
    row_replaced: bool
    excluded: str
    by_program: bool
    number: int
    opened: int
    """How many of them somebody has open under a running lease."""
    began: datetime
    """When the first of them was opened."""
    auto_approval_at: datetime | None
    """The first."""

    @property
    def why_unusable(self) -> str:
        """Why they do not count; empty if they do."""
        return self.excluded or ("rejected" if self.state == "rejected" else "")


def has_arrived(form: Any, new: Collection[Place]) -> bool:
    """Whether an answered form is submitted, and not collected."""
    by_link = form.endpoint == "link"
    return form.state == "answered" and (by_link or Place(form.hit_id, form.external_id) in new)


def number_of(work: Iterable[Forms]) -> int:
    """How many they are together."""
    return sum(each.number for each in work)


def counted_forms(session: Session, study: Study, moment: datetime, new: New) -> list[Forms]:
    """All forms that the study has, at every endpoint; a lease is over if it ended before `moment`."""
    row = AssignmentRow
    alike = (
        row.endpoint,
        row.state,
        case((row.state.in_(("answered", "submitted")), row.hit_id)).label("waits_at"),
        case((and_(row.state == "answered", row.endpoint.in_(new)), row.external_id)).label("may_be_new"),
        row.is_stray.label("stray"),
        row.holds_row,
        row.row_replaced,
        row.excluded,
        row.by_program,
    )
    lines = session.execute(
        select(
            *alike,
            func.count(),
            func.count().filter(row.state == "opened", row.lease_until > moment),
            func.min(func.coalesce(row.opened_at, literal(moment, Moment()))),
            func.min(row.auto_approval_at),
        )
        .where(row.study_id == study.id)
        .group_by(*(each.name if isinstance(each, Label) else each for each in alike))
    )
    return [Forms(*line) for line in lines]


def seconds_taken(session: Session, study: Study, new: New) -> dict[str, list[float]]:
    """How long each submitted form took, by endpoint. If the answers did not reach our server, the platform's
    time is used."""
    row, found = AssignmentRow, defaultdict[str, list[float]](list)
    sent = func.coalesce(row.answered_at, row.submitted_at)
    plain = DateTime(timezone=True)  # for a difference, the zone is not needed, and takes long to add
    spans = type_coerce(row.opened_at, plain), type_coerce(sent, plain)
    lines = session.execute(
        select(row.endpoint, *spans, row.state, row.hit_id, row.external_id).where(
            row.study_id == study.id,
            or_(row.state == "answered", and_(row.state.in_(COLLECTED), ~row.is_stray)),
            row.opened_at.is_not(None),
            sent.is_not(None),
        ),
        execution_options={"yield_per": READ_TOGETHER},
    )
    for line in lines:
        endpoint, opened, answered, state, *_ = line
        if state != "answered" or has_arrived(line, new.get(endpoint, ())):
            found[endpoint].append((answered - opened).total_seconds())
    return found
