"""What platforms say while somebody looks at a study: asked in the background, kept with its time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from humaneval.crowd.platform import UNASKED
from humaneval.crowd.published_hits import published_at
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.uncollected import There, ask, still_new
from humaneval.errors import HumanEvalError
from humaneval.server_logs import failure
from humaneval.store.types import now
from humaneval.study.stored import Study

FRESH_SECONDS = 20.0
"""How long an answer counts. People who look on must not make us ask often."""

_log = logging.getLogger(__name__)


class Told(NamedTuple):
    """What a platform said about a study, and when."""

    there: There
    at: datetime


class Heard:
    """`open_at` opens a study at an endpoint, both by name, with the requester's keys. Without it, nobody is
    asked."""

    def __init__(self, open_at: Callable[[str, str], StudyAtPlatform] | None) -> None:
        self._open_at = open_at
        self._told: dict[tuple[str, str], Told] = {}
        self._asked: dict[tuple[str, str], float] = {}
        self._turn = threading.Lock()

    def of(self, study: Study) -> Mapping[str, Told]:
        """What was said last, by endpoint. It returns at once; a platform that is to be asked again answers
        later."""
        found = {}
        for endpoint in published_at(study) if self._open_at else ():
            place = (endpoint, study.name)
            if endpoint not in UNASKED and self._is_due(place):
                threading.Thread(target=self._ask, args=place, name="heard", daemon=True).start()
            told = self._told.get(place)
            if told is not None:  # what was collected since then must not count twice
                new = frozenset(still_new(study.engine, told.there.new))
                found[endpoint] = told._replace(there=told.there._replace(new=new))
        return found

    def _is_due(self, place: tuple[str, str]) -> bool:
        with self._turn:
            due = time.monotonic() - self._asked.get(place, -FRESH_SECONDS) >= FRESH_SECONDS
            if due:
                self._asked[place] = time.monotonic()
            return due

    def _ask(self, endpoint: str, study: str) -> None:
        if self._open_at is None:
            return
        try:
            there = ask(self._open_at(endpoint, study), note=False)
        except HumanEvalError as error:
            there = There(silent=error.message)
        except Exception as error:
            _log.error("asking %s failed: %s", endpoint, failure(error))
            return
        self._told[endpoint, study] = Told(there, now())
