"""What the settings of a stored study say about its texts, and the texts contradict."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.domain import Role
from humaneval.resources import words_in
from humaneval.store.responses import READ_TOGETHER
from humaneval.store.tables import PassageRow, RowPassageRow, StoryRow
from humaneval.study.file import StudyFile
from humaneval.study.words import ENGLISH


def doubts_of_texts(session: Session, study_id: int, study: StudyFile) -> Iterator[str]:
    """Sentences about settings that hardly fit the stories and infills that the study shows."""
    stories: set[int] = set()
    controls: set[str] = set()
    words = 0
    shown = session.execute(
        select(PassageRow.story_id, PassageRow.sentences, PassageRow.position, PassageRow.role, func.count())
        .join(RowPassageRow, RowPassageRow.passage_id == PassageRow.id)
        .where(PassageRow.study_id == study_id)
        .group_by(PassageRow.id),
        execution_options={"yield_per": READ_TOGETHER},
    )
    for story, sentences, position, role, times in shown:
        stories.add(story)
        words += times * sum(len(sentence.split()) for sentence in sentences)
        if role == Role.CONTROL:
            controls.add(sentences[position - 1])
    rows = session.scalar(
        select(func.count(RowPassageRow.row_id.distinct()))
        .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
        .where(PassageRow.study_id == study_id)
    )
    titles = session.scalars(
        select(StoryRow.title).where(
            StoryRow.id.in_(select(PassageRow.story_id).where(PassageRow.study_id == study_id))
        )
    )
    untitled = sum(not title for title in titles)
    if study.page.show_titles and untitled:
        yield f"page.show_titles = true, but {untitled} of the {len(stories)} stories have no title"
    language, english = study.page.language_of_stories, words_in(ENGLISH)["control"]
    if english in controls and language.lower().split("-")[0] != ENGLISH:
        option = f"language={language}" if "control" in words_in(language) else "wordings=TEXT"
        yield (
            f"the stories are in {language}, and the control says “{english}”: generate one with --as NAME"
            f" --option {option}"
        )
    limit, minutes = study.exclusions.words_per_second, study.hit.expected_minutes
    usual = words / max(rows or 0, 1) / (minutes * 60)
    if 0 < limit < usual:
        yield (
            f"exclusions.words_per_second = {limit:g} excludes people who take hit.expected_minutes ="
            f" {minutes:g}: they read {usual:.1f} words a second"
        )
