"""Decides if a worker gets a form: not after all of theirs, not if kept out, not with another form in
hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, select, union_all
from sqlalchemy.orm import Session

from humaneval.crowd.block_history import turned
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.participants import DONE, forms_allowed, is_kept_out
from humaneval.crowd.reversible import worker_subject
from humaneval.store.tables import AssignmentRow
from humaneval.store.types import table
from humaneval.study.stored import Study

_work = table(AssignmentRow).c
_AT = select(
    _work.id,
    _work.study_id,
    _work.external_id,
    _work.worker_id,
    _work.hit_id,
    _work.row_id,
    _work.state,
    _work.holds_row,
    _work.lease_until,
    _work.confirmed,
).where(_work.endpoint == bindparam("at"))
# Two statements in one: for "or", SQLite would read all of the endpoint.
_CLAIMS = union_all(
    _AT.where(_work.worker_id == bindparam("worker")),
    _AT.where(_work.external_id == bindparam("assignment"), _work.worker_id != bindparam("worker")),
).order_by("id")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker has, or had, of a HIT."""

    id: int
    study_id: int
    external_id: str
    worker_id: int
    hit_id: int
    row_id: int | None
    state: str
    holds_row: bool
    lease_until: datetime | None
    confirmed: bool

    @property
    def open(self) -> bool:
        """Whether its form is open and holds a row."""
        return self.state == "opened" and self.holds_row


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one worker at an endpoint, and those of others under one assignment id."""

    hit: FoundHit
    worker_id: int
    external_id: str
    all: Sequence[Claim]

    @property
    def mine(self) -> Claim | None:
        """The worker's claim under this id. By link, if there is none, it is the form that they have begun
        and not answered: with a form for each session, one person could answer two.
        """
        own = [each for each in self.all if each.worker_id == self.worker_id]
        named = [each for each in own if each.external_id == self.external_id]
        if not named and self.hit.audience:
            named = [each for each in self._here if each.state in ("opened", "superseded")]
        return named[-1] if named else None

    @property
    def done(self) -> list[Claim]:
        """The forms of the study that the worker has done, as far as the platform has confirmed them."""
        return [each for each in self._here if each.state in DONE and each.confirmed]

    @property
    def open_elsewhere(self) -> list[Claim]:
        """Open forms of the study that the worker has, and those of other workers under the same id."""
        return [each for each in self.all if each.study_id == self.hit.study_id and each.open]

    @property
    def left_row(self) -> int | None:
        """The row that the worker had last in the study and did not answer, and gets again on coming back."""
        left = [each.row_id for each in self._here if each.state in ("opened", "superseded")]
        return left[-1] if left else None

    def in_hand(self, now: datetime) -> int | None:
        """The form that the worker has open in another HIT: platforms let a worker take several."""
        if self.hit.audience:
            return None
        others = [each for each in self._here if each.hit_id != self.hit.id and each.open]
        live = [each.id for each in others if each.lease_until is not None and each.lease_until >= now]
        return live[0] if live else None

    @property
    def _here(self) -> list[Claim]:
        """Of the worker, in the study."""
        return [
            each
            for each in self.all
            if each.worker_id == self.worker_id and each.study_id == self.hit.study_id
        ]


def find_claims(connection: Connection, hit: FoundHit, worker_id: int, external_id: str) -> Claims:
    """What this worker has at the endpoint of `hit`, and who else came under this assignment id."""
    given = {"at": hit.endpoint, "worker": worker_id, "assignment": external_id}
    return Claims(
        hit, worker_id, external_id, [Claim(**row) for row in connection.execute(_CLAIMS, given).mappings()]
    )


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many forms a worker may do, and whether they are kept out whatever they have done."""

    allowed: int
    kept_out: bool


def admitted(connection: Connection, study: Study, endpoint: str, worker_id: int) -> Admitted:
    """What the study and the switches say of a worker."""
    subjects = [worker_subject(worker_id), worker_subject(worker_id, study.id)]
    if study.settings.participants.exclude_studies or turned(connection, endpoint, subjects) != ():
        with Session(connection) as session:
            return Admitted(
                forms_allowed(session, study, endpoint, worker_id),
                is_kept_out(session, study, endpoint, worker_id),
            )
    return Admitted(study.settings.design.rows_per_annotator, False)
