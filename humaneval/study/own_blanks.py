"""The blanks of a study that was made from a table: it shows no others, whatever is stored later."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.store.engine import ASKED_FOR, batches
from humaneval.store.tables import METADATA, StoryRow, StudyBlankRow
from humaneval.study.usable_infills import AT_ONCE, Only


def store_blanks(session: Session, study_id: int, only: Only) -> None:
    """Store the blanks that a new study shows."""
    ids: dict[str, int] = {}
    for keys in batches(sorted(only), ASKED_FOR):
        ids |= dict(session.execute(select(StoryRow.key, StoryRow.id).where(StoryRow.key.in_(keys))).all())
    lines = (
        {"study_id": study_id, "story_id": ids[key], "position": position}
        for key, positions in only.items()
        for position in sorted(positions)
    )
    for some in batches(lines, AT_ONCE):
        session.execute(METADATA.tables["study_blanks"].insert(), some)


def stored_blanks(session: Session, study_id: int) -> Only | None:
    """The blanks of a study from a table; None for a study that shows whatever its generators have filled."""
    found: dict[str, set[int]] = defaultdict(set)
    lines = session.execute(
        select(StoryRow.key, StudyBlankRow.position)
        .join(StoryRow, StoryRow.id == StudyBlankRow.story_id)
        .where(StudyBlankRow.study_id == study_id)
    )
    for key, position in lines:
        found[key].add(position)
    return found or None
