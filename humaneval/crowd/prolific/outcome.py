"""How a form ended, from our own data: a completion code says no more than this."""

from __future__ import annotations

from sqlalchemy import Engine

from humaneval.crowd.controls import missed_control
from humaneval.crowd.prolific.draft import COMPLETED, FAILED_CHECK
from humaneval.crowd.work import Work
from humaneval.store.engine import connected


def outcome_of(engine: Engine, work: Work) -> str:
    """The outcome of a form that is answered: whether its control was missed, if the study's rule asks."""
    if work.hit.settings.exclusions.missed_control == "none":
        return COMPLETED
    with connected(engine) as connection:
        missed = missed_control(connection, work.hit.settings, work.row_id, work.answered or {})
    return FAILED_CHECK if missed else COMPLETED


def completion_url(site: str, code: str) -> str:
    """Where a person hands a submission over."""
    return f"{site}/submissions/complete?cc={code}"
