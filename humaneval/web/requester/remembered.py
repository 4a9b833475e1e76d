"""Keeps for some seconds what takes long to count of a large study: all who look on share one count."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, func, select

from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow
from humaneval.study.stored import Study

T = TypeVar("T")
FORMS_A_SECOND, MOST_SECONDS = 500, 20
"""For each so many forms of a study, what was counted is kept for a second. Of a small study, nothing is."""
LONGER = 4
"""It is kept for at least so many times the seconds that counting took."""
LATE_SECONDS = 60
"""For so long after that, it does for those who come while somebody counts anew."""


class _Kept(Generic[T]):
    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.found: list[T] = []
        self.until = -math.inf


_kept: WeakKeyDictionary[Engine, dict[tuple[int, str], _Kept[Any]]] = WeakKeyDictionary()


def remembered(study: Study, what: str, count: Callable[[], T]) -> T:
    """What `count` says of a study, or has said some seconds ago. One thread counts at a time."""
    kept: _Kept[T] = _kept.setdefault(study.engine, {}).setdefault((study.id, what), _Kept())
    late = time.monotonic() - kept.until
    if late < 0 or not kept.turn.acquire(blocking=late > LATE_SECONDS):
        return kept.found[-1]
    began = time.monotonic()
    try:
        if began < kept.until:  # somebody has counted meanwhile
            return kept.found[-1]
        found, took = count(), time.monotonic() - began
        if seconds := _seconds(study):
            kept.found, kept.until = [found], time.monotonic() + max(seconds, LONGER * took)
        return found
    finally:
        kept.turn.release()


def _seconds(study: Study) -> int:
    """How long the figures of a study are kept."""
    forms = select(func.count()).select_from(AssignmentRow).where(AssignmentRow.study_id == study.id)
    with reading(study.engine) as session:
        return min((session.scalar(forms) or 0) // FORMS_A_SECOND, MOST_SECONDS)
