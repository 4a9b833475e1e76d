"""How a form ended, from our own data: a completion code says no more than this."""

from __future__ import annotations

from sqlalchemy import Engine, bindparam, select

from humaneval.crowd.answers import read_answers
from humaneval.crowd.prolific.draft import COMPLETED, FAILED_CHECK
from humaneval.crowd.work import Work
from humaneval.domain import Role
from humaneval.store.engine import connected
from humaneval.store.tables import PassageRow, RowPassageRow
from humaneval.store.types import table

_places, _passages = table(RowPassageRow), table(PassageRow)
_CONTROLS = (
    select(_places.c.place, _passages.c.position)
    .join_from(_places, _passages, _passages.c.id == _places.c.passage_id)
    .where(_places.c.row_id == bindparam("row"), _passages.c.role == Role.CONTROL)
)


def outcome_of(engine: Engine, work: Work) -> str:
    """The outcome of a form that is answered: whether its control was missed, if the study's rule asks."""
    if work.hit.settings.exclusions.missed_control == "none":
        return COMPLETED
    chosen = {choice.place: choice.choice for choice in read_answers(work.answered or {}).choices}
    with connected(engine) as connection:
        controls = connection.execute(_CONTROLS, {"row": work.row_id}).all()
    missed = any(chosen.get(place) != position for place, position in controls)
    return FAILED_CHECK if missed else COMPLETED


def completion_url(site: str, code: str) -> str:
    """Where a person hands a submission over."""
    return f"{site}/submissions/complete?cc={code}"
