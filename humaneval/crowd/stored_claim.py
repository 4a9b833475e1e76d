"""One worker's claim as it is stored, with its HIT and its answers: one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, exists, func, or_, select

from humaneval.crowd.answers import Answers, read_answers
from humaneval.crowd.found_hit import HIT_COLUMNS, FoundHit, found_hit
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    StudyRow,
    WorkerIdentityRow,
)
from humaneval.store.types import padded, table
from humaneval.study.asked import asked_by

_work, _later = table(AssignmentRow), table(AssignmentRow).alias("later")
_answers, _rows, _places = table(AnswerRow), table(RowRow), table(RowPassageRow)
_passages, _identities = table(PassageRow), table(WorkerIdentityRow)


class Work(NamedTuple):
    """A claim of a worker, and what its form was."""

    id: int
    external_id: str
    worker_id: int
    worker: str | None
    """The platform's id of the worker; None if it was purged."""
    row_id: int | None
    holds_row: bool
    state: str
    confirmed: bool
    lease_until: datetime | None
    form_hash: str
    passages: int
    sentences: int
    """How many sentences a passage of the form has."""
    answered: Mapping[str, str] | None
    """The answers that are already stored, as they came."""
    passed_on: bool
    """Whether the platform has since given the assignment to another worker: anything submitted would be
    theirs."""
    hit: FoundHit

    def read(self, fields: Mapping[str, str]) -> Answers:
        """What these form fields say about its passages."""
        counts = dict.fromkeys(range(1, self.passages + 1), self.sentences)
        return read_answers(fields, asked_by(self.hit.settings), counts)


# Some platforms give a returned assignment to the next worker under the same id. What nobody has confirmed
# takes no confirmed work away.
PASSED_ON = exists().where(
    _later.c.endpoint == _work.c.endpoint,
    _later.c.external_id == _work.c.external_id,
    _later.c.worker_id != _work.c.worker_id,
    _later.c.opened_at > _work.c.opened_at,
    or_(_later.c.confirmed, ~_work.c.confirmed),
)

_of_form = (
    select(_places.c.place)
    .join_from(_places, _passages, _passages.c.id == _places.c.passage_id)
    .where(_places.c.row_id == _work.c.row_id)
    .correlate(_work)
)
_COLUMNS = (
    _work.c.id,
    _work.c.external_id,
    _work.c.worker_id,
    _identities.c.external_id,
    _work.c.row_id,
    _work.c.holds_row,
    _work.c.state,
    _work.c.confirmed,
    _work.c.lease_until,
    func.coalesce(_rows.c.shown_hash, ""),
    _of_form.with_only_columns(func.count()).scalar_subquery(),
    _of_form.with_only_columns(
        func.coalesce(func.max(func.json_array_length(_passages.c.sentences)), 0)
    ).scalar_subquery(),
    _answers.c.fields,
    PASSED_ON,
)
_WORKS = (
    select(*_COLUMNS, *HIT_COLUMNS)
    .select_from(_work)
    .join(table(HitRow), table(HitRow).c.id == _work.c.hit_id)
    .join(table(StudyRow), table(StudyRow).c.id == table(HitRow).c.study_id)
    .outerjoin(_identities, _identities.c.worker_id == _work.c.worker_id)
    .outerjoin(_rows, _rows.c.id == _work.c.row_id)
    .outerjoin(_answers, and_(_answers.c.assignment_id == _work.c.id, _answers.c.source == "server"))
    .where(_work.c.id.in_(bindparam("ids", expanding=True)))
)


def find_work(connection: Connection, assignment_id: int) -> Work | None:
    """The claim with this id of ours."""
    return find_works(connection, [assignment_id])[0]


def find_works(connection: Connection, ids: Sequence[int]) -> list[Work | None]:
    """The claims with these ids."""
    rows: Sequence[Any] = connection.execute(_WORKS, {"ids": padded(ids)}).all()
    own = len(_COLUMNS)
    found = {row[0]: Work._make((*row[:own], found_hit(connection, row[own:]))) for row in rows}
    return [found.get(id) for id in ids]
