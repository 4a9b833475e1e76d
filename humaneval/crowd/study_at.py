"""A study at a platform: the value that every function which calls a platform takes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from humaneval.crowd.platform import Platform
from humaneval.study.file import StudyFile
from humaneval.study.stored import Study, open_study


@dataclass(frozen=True, slots=True)
class StudyAtPlatform:
    """An opened study, and the platform where it is or will be published.

    Nothing here changes while a verb runs. HITs, assignments and payments are read when they are needed.
    """

    study: Study
    platform: Platform

    @property
    def engine(self) -> Engine:
        return self.study.engine

    @property
    def id(self) -> int:
        return self.study.id

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def settings(self) -> StudyFile:
        return self.study.settings

    @property
    def endpoint(self) -> str:
        """The name of the platform's endpoint, as stored rows have it."""
        return self.platform.endpoint.name

    @property
    def sign(self) -> str:
        """What stands before an amount."""
        return self.settings.hit.sign


def open_study_at(engine: Engine, name: str, platform: Platform) -> StudyAtPlatform:
    """The study called `name` at `platform`. Raises UsageError with the names that there are."""
    return StudyAtPlatform(open_study(engine, name), platform)
