"""Adds stories to the database. Importing the same stories again adds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Engine, select

from humaneval.domain import Story
from humaneval.errors import InputError
from humaneval.store.engine import writing_alone
from humaneval.store.tables import SENTENCE_COLUMNS, StoryRow


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
