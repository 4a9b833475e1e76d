"""Collects every other study that is up at the same place: one `up` serves them all."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError
from humaneval.running.servers import OpenAt
from humaneval.running.watch import LATE_SECONDS, REST, EndedError, Ending, Pulse, Trouble, pulse_of
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, StudyRow

AGAIN_SECONDS = 5.0
"""Answers that our server has and the platform had not are looked for again so soon."""


class OtherStudies:
    """The other studies that are up where `at` is. Each is collected when somebody has answered, and now and
    then: a static page's answers do not come to our server."""

    def __init__(
        self,
        at: StudyAtPlatform,
        open_at: OpenAt,
        ending: Ending,
        trouble: Trouble,
        joined: Callable[[str], None] = lambda name: None,
    ) -> None:
        """`joined` is called once with the name of each."""
        self._at, self._open_at, self._ending, self._trouble = at, open_at, ending, trouble
        self._joined = joined
        self._open: dict[str, StudyAtPlatform] = {}
        self._seen: dict[str, Pulse] = {}
        self._due: dict[str, float] = {}
        self._said: dict[str, str] = {}

    def __call__(self) -> None:
        """Collect what is due. Troubles are told once each."""
        for name in self._names():
            try:
                self._look(name)
            except HumanEvalError as error:
                self._tell(name, error)

    def _look(self, name: str) -> None:
        if name not in self._open:
            self._open[name] = self._open_at(self._at.endpoint, name)
            self._joined(name)
        other = self._open[name]
        pulse = pulse_of(other)
        new = pulse.answered and pulse != self._seen.get(name)
        if new or time.monotonic() >= self._due.get(name, 0):
            self._collect(name, other)

    def finish(self) -> None:
        """Collect each once more. Whatever is asked for now, it is not to end this."""
        for name, other in self._open.items():
            try:
                collect_work(other)
            except HumanEvalError as error:
                self._tell(name, error)

    def _collect(self, name: str, other: StudyAtPlatform) -> None:
        began = time.monotonic()
        try:
            collect_work(other, self._ending.check)
            self._said[name] = ""
        except EndedError:
            return
        except HumanEvalError as error:
            self._tell(name, error)
        pulse = self._seen[name] = pulse_of(other)
        took = time.monotonic() - began
        wait = AGAIN_SECONDS if pulse.answered else LATE_SECONDS
        self._due[name] = time.monotonic() + max(wait, REST * took)

    def _tell(self, name: str, error: HumanEvalError) -> None:
        if error.message != self._said.get(name):
            self._trouble(error)
        self._said[name] = error.message

    def _names(self) -> list[str]:
        with reading(self._at.engine) as session:
            found = session.scalars(
                select(StudyRow.name)
                .join(HitRow, HitRow.study_id == StudyRow.id)
                .where(
                    StudyRow.id != self._at.id,
                    HitRow.endpoint == self._at.endpoint,
                    HitRow.external_id.is_not(None),
                    HitRow.closed_at.is_(None),
                )
                .distinct()
            )
            return list(found)
