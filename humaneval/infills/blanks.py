"""The blanks to fill: stories as values, in the order of their import, and a shard of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import intern
from typing import Any, NamedTuple

from sqlalchemy import Engine, Select, select
from sqlalchemy.orm import Session

from humaneval.domain import Blank, Story
from humaneval.errors import UsageError
from humaneval.store.engine import reading
from humaneval.store.stories import AUTO, of_split, splits_hint
from humaneval.store.tables import StoryRow

READ_TOGETHER = 10_000
"""How many lines are read at once, if there may be millions."""


def stories_to_fill(engine: Engine, split: str = AUTO, first: int | None = None) -> list[Story]:
    """The first `first` stories of `split` (see `of_split`). Raises UsageError if there are none."""
    with reading(engine) as session:
        query = _STORIES.where(of_split(session, split)).order_by(StoryRow.id).limit(first)
        found = _stories(session, query)
        if not found:
            what = (
                f"there are no stories of split {split!r}"
                if split not in ("", AUTO)
                else "there are no stories"
            )
            raise UsageError(what, splits_hint(session))
        return found


def select_stories(engine: Engine, *, split: str | None = None, first: int | None = None) -> list[Story]:
    """The first `first` stories in the order of their import, of exactly one split or of all."""
    with reading(engine) as session:
        query = _STORIES.order_by(StoryRow.id)
        if split is not None:
            query = query.where(StoryRow.split == split)
        if first is not None:
            query = query.limit(first)
        return _stories(session, query)


_STORIES = select(StoryRow.key, StoryRow.title, StoryRow.source, StoryRow.split, StoryRow.sentences)
"""Columns, not rows: a story as a value takes a third of the time and the memory."""


def _stories(session: Session, query: Select[*tuple[Any, ...]]) -> list[Story]:
    lines = session.execute(query, execution_options={"yield_per": READ_TOGETHER})
    return [
        Story(key, tuple(sentences), title, intern(source), intern(split))
        for key, title, source, split, sentences in lines
    ]


def story_value(row: StoryRow) -> Story:
    """A stored story as a value."""
    return Story(row.key, tuple(row.sentences), row.title, row.source, row.split)


class Shard(NamedTuple):
    """One of several equal parts of the stories. `part` counts from 1."""

    part: int
    parts: int


WHOLE = Shard(1, 1)


def blanks_of(
    stories: Iterable[Story],
    positions: Sequence[int] = (),
    samples: int = 1,
    *,
    shard: Shard = WHOLE,
    rest: bool = False,
) -> list[Blank]:
    """Every blank of `stories` (without `positions`: at all of them), or those of one shard. All blanks of a
    story are in the same shard. The `rest` of a story never begins with its first sentence.
    """
    mine = [story for number, story in enumerate(stories) if number % shard.parts == shard.part - 1]
    return [
        Blank(story, position, sample)
        for story in mine
        for position in (positions or range(1 + rest, len(story.sentences) + 1))
        if position <= len(story.sentences)
        for sample in range(1, samples + 1)
    ]
