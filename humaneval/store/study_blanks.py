"""The table of the blanks that studies made from a table show."""

from __future__ import annotations

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from humaneval.domain import MOST_SENTENCES
from humaneval.store.types import Base, between


class StudyBlankRow(Base):
    """A blank that a study may show. A study without any shows whatever all its generators have filled."""

    __tablename__ = "study_blanks"
    __table_args__ = (between("position", 1, MOST_SENTENCES),)

    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), primary_key=True)
    story_id: Mapped[int] = mapped_column(ForeignKey("stories.id"), primary_key=True, index=True)
    position: Mapped[int] = mapped_column(primary_key=True)
