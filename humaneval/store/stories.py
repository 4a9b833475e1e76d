"""Adds stories to the database. Importing the same stories again adds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, and_, func, select, true
from sqlalchemy.orm import Session

from humaneval.domain import Story
from humaneval.errors import InputError
from humaneval.store.engine import writing_alone
from humaneval.store.tables import SENTENCE_COLUMNS, StoryRow
from humaneval.text import command

AUTO = "auto"
"""What names no split: the stories that were imported are used."""
TEST = "test"


def of_split(session: Session, split: str, until: datetime | None = None) -> ColumnElement[bool]:
    """The condition for the stories of `split`, as of now or of `until`; all for an empty name.

    Stories without a split count as test stories. AUTO means the test stories, or all if there are none.
    """
    there = StoryRow.created_at <= until if until is not None else true()
    tested = StoryRow.split.in_((TEST, ""))
    if split == AUTO:
        split = TEST if session.scalar(select(StoryRow.id).where(there, tested).limit(1)) else ""
    if not split:
        return there
    return and_(there, tested if split == TEST else StoryRow.split == split)


def splits_hint(session: Session) -> str:
    """What to do if there are no stories of a split."""
    counts = session.execute(
        select(StoryRow.split, func.count()).group_by(StoryRow.split).order_by(StoryRow.split)
    ).all()
    if not counts:
        own, bundled = command("stories", "import", "FILE"), command("stories", "import", "--bundled")
        return f"Import some: `{own}`, or `{bundled}`."
    named = ", ".join(f"{split or 'without a split'} ({count:,})" for split, count in counts)
    return f"Stories: {named}. Name a split with --split, or take all with --split ''."


class Imported(NamedTuple):
    """How many stories were added, and how many were already there."""

    added: int
    already_there: int
    other_split: int
    """How many of those that were already there stay in another split."""


def add_stories(engine: Engine, stories: Iterable[Story]) -> Imported:
    """Add all of `stories` or none. InputError if one of them is already stored with other sentences."""
    with writing_alone(engine, "some of these stories") as session:
        there = {row.key: row for row in session.scalars(select(StoryRow))}
        new = []
        known = other_split = 0
        for story in stories:
            row = there.get(story.id)
            if row is None:
                sentences = zip((column.key for column in SENTENCE_COLUMNS), story.sentences, strict=True)
                new.append(
                    {
                        "key": story.id,
                        "title": story.title,
                        "source": story.source,
                        "split": story.split,
                        **dict(sentences),
                    }
                )
            elif row.sentences != story.sentences:
                raise InputError(
                    f"story {story.id!r} is already in the database with other sentences",
                    "Nothing was imported. Change the ids in the file, or use another database.",
                )
            else:
                known += 1
                other_split += row.split != story.split
        if new:
            session.execute(StoryRow.__table__.insert(), new)  # type: ignore[attr-defined]  # a Table, typed as its base class
    return Imported(len(new), known, other_split)
