"""Collects a study's answers while people work on it, and tells how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import func, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.status import EndpointStatus, study_status
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow

LOOK_SECONDS = 1.0
"""How often our own database is asked, which is cheap."""
SOON_SECONDS, LATE_SECONDS = 2.0, 60.0
"""The platform is asked at once if there are new answers, and then less and less often."""
REST = 10
"""Collecting takes at most one part of so many of the time, also while answers come all the time."""

Tell = Callable[[EndpointStatus], None]
Trouble = Callable[[HumanEvalError], None]


class EndedError(Exception):
    """Somebody has ended the work that this is raised in. What it did is stored."""


class Ending:
    """Whether somebody has asked to end: by Ctrl-C, say."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def stop(self) -> None:
        """Ask to end, from any thread or signal."""
        self._event.set()

    def asked(self, seconds: float = 0.0) -> bool:
        """Whether it was asked for, by `seconds` from now."""
        return self._event.wait(seconds)

    def check(self, amount: int = 0) -> None:
        """Raise EndedError if it was asked for. Verbs call this after each piece of their work."""
        if self._event.is_set():
            raise EndedError


def standing(at: StudyAtPlatform) -> EndpointStatus | None:
    """How far the study is at its platform; None if nothing was planned there yet."""
    return next((line for line in study_status(at.study) if line.endpoint == at.endpoint), None)


def watch(
    at: StudyAtPlatform,
    ending: Ending,
    tell: Tell = lambda line: None,
    trouble: Trouble = lambda error: None,
    until: Callable[[EndpointStatus], bool] = lambda line: False,
    beside: Callable[[], None] = lambda: None,
) -> None:
    """Collect until `ending`, or until the study is so far.

    `tell` gets each new state, `trouble` each error, once: the platform may come back, and HITs that differ
    from the plan need a person, but do not keep others from working. `beside` is called again and again.
    """
    seen: Pulse | None = None
    due, rested, wait, said, fresh = 0.0, 0.0, SOON_SECONDS, "", False

    def told_once(error: HumanEvalError) -> None:
        nonlocal said
        if error.message != said:
            trouble(error)
        said = error.message

    while True:
        try:
            pulse = pulse_of(at)
            fresh = fresh or (pulse != seen and pulse.answered > 0)
            began = time.monotonic()
            if began >= rested and (fresh or began >= due):
                try:
                    collect_work(at, ending.check)
                    said = ""
                except EndedError:
                    return
                except HumanEvalError as error:
                    told_once(error)
                pulse = pulse_of(at)
                wait = SOON_SECONDS if pulse != seen else min(2 * wait, LATE_SECONDS)
                ended, fresh = time.monotonic(), False
                due, rested = ended + wait, ended + REST * (ended - began)
            if pulse != seen:
                line = standing(at)
                if line is not None:
                    tell(line)
                    if until(line):
                        return
            seen = pulse
            beside()
        except HumanEvalError as error:  # the database is being restarted, for example
            told_once(error)
        if ending.asked(LOOK_SECONDS):
            return


class Pulse(NamedTuple):
    """What changes when anybody does anything."""

    works: int
    answered: int
    """Forms whose answers our server has and that are not collected."""
    done: int


def pulse_of(at: StudyAtPlatform) -> Pulse:
    """How much was done so far."""
    query = (
        select(AssignmentRow.state, func.count().label("works"))
        .where(AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint)
        .group_by(AssignmentRow.state)
    )
    with reading(at.engine) as session:
        counts = {row.state: row.works for row in session.execute(query)}
    answered, opened = counts.get("answered", 0), counts.get("opened", 0)
    return Pulse(sum(counts.values()), answered, sum(counts.values()) - answered - opened)
