"""The control passages of a form, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from humaneval.crowd.answers import read_answers
from humaneval.domain import Role
from humaneval.scoring.questions.question import Truth
from humaneval.store.tables import PassageRow, RowPassageRow
from humaneval.store.types import table
from humaneval.study.asked import asked_by, truth_of, with_truth
from humaneval.study.file import StudyFile

_places, _passages = table(RowPassageRow), table(PassageRow)
_OF_ROW = with_truth(
    select(_places.c.place)
    .join_from(_places, _passages, _passages.c.id == _places.c.passage_id)
    .where(_places.c.row_id == bindparam("row"))
    .order_by(_places.c.place)
)


class Placed(NamedTuple):
    """What only the researcher knows of the passage at a place of a form."""

    place: int
    truth: Truth


def passages_of(connection: Connection, study: StudyFile, row_id: int | None) -> list[Placed]:
    """The passages of a row, in the order of their places."""
    lines = connection.execute(_OF_ROW, {"row": row_id})
    return [Placed(line.place, truth_of(line, study)) for line in lines]


def missed_control(
    connection: Connection, study: StudyFile, row_id: int | None, fields: Mapping[str, str]
) -> bool:
    """Whether a control of the row has another answer than an obvious one in these form fields, or none."""
    asked, passages = asked_by(study), passages_of(connection, study, row_id)
    counts = {each.place: each.truth.sentences for each in passages}
    given = read_answers(fields, asked, counts).given
    return any(
        each.place not in given or not asked.passed(each.truth, given[each.place].answer)
        for each in passages
        if each.truth.role is Role.CONTROL
    )
