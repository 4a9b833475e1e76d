"""Adds stories to the database. Importing the same stories again adds nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Engine, String, and_, cast, func, select, true
from sqlalchemy.orm import Session

from humaneval.domain import Story
from humaneval.errors import InputError
from humaneval.store.engine import ASKED_FOR, batches, in_turns, reading, writing_alone
from humaneval.store.tables import METADATA, StoryRow
from humaneval.text import command

AUTO = "auto"
"""What names no split: the stories that were imported are used."""
TEST = "test"
STORED_TEXT = cast(StoryRow.sentences, String)
"""The sentences of a story as they are stored, which `running_text` reads."""


def running_text(stored: str) -> str:
    """The text of a story. What stands between its sentences is neither letter nor digit.

    Nearly all the time, the JSON that is stored is such a text already: of 100,000 stories, to read it takes
    a third of a second.

    >>> running_text('["He ran.", "It rained."]')
    '["He ran.", "It rained."]'
    """
    return stored if stored.isascii() and "\\" not in stored else "\n".join(json.loads(stored))


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


TOGETHER = 1_000
"""Stories that are added in one transaction: some hundredths of a second."""


def add_stories(engine: Engine, stories: Iterable[Story]) -> Imported:
    """Add `stories`. InputError, and none is added, if one of them is already stored with other sentences.

    They are added a thousand at a time: after a kill, importing them again adds the rest.
    """
    given = list(stories)
    found = [0, 0, 0]
    with reading(engine) as session:
        for batch in batches(given, ASKED_FOR):
            compared = _compared(session, batch)
            for place, number in enumerate((len(compared.new), compared.known, compared.other_split)):
                found[place] += number
    for batch in in_turns(given, TOGETHER) if found[0] else ():
        with writing_alone(engine, "some of these stories") as session:
            new = [story for part in batches(batch, ASKED_FOR) for story in _compared(session, part).new]
            if new:
                session.execute(METADATA.tables["stories"].insert(), [_columns(story) for story in new])
    return Imported(*found)


class _Compared(NamedTuple):
    """New stories, how many are there already, and how many of those are in another split."""

    new: list[Story]
    known: int
    other_split: int


def _compared(session: Session, stories: Sequence[Story]) -> _Compared:
    lines = session.execute(
        select(StoryRow.key, StoryRow.split, StoryRow.sentences).where(
            StoryRow.key.in_([story.id for story in stories])
        )
    )
    there = {key: (split, tuple(sentences)) for key, split, sentences in lines}
    known = [story for story in stories if story.id in there]
    for story in known:
        if there[story.id][1] != story.sentences:
            raise InputError(
                f"story {story.id!r} is already in the database with other sentences",
                "Nothing was imported. Change the ids in the file, or use another database.",
            )
    other_split = sum(there[story.id][0] != story.split for story in known)
    return _Compared([story for story in stories if story.id not in there], len(known), other_split)


def _columns(story: Story) -> dict[str, Any]:
    return {
        "key": story.id,
        "title": story.title,
        "source": story.source,
        "split": story.split,
        "sentences": list(story.sentences),
    }
