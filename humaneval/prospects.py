"""What can be said of a study before anybody is paid: its plan in numbers, and what cues alone would score."""

from __future__ import annotations

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session, joinedload

from humaneval.artefacts import CueScore, Shown, cue_scores, word_counts
from humaneval.domain import Role
from humaneval.planning.outlook import Plan
from humaneval.store.engine import reading
from humaneval.store.tables import PassageRow, StoryRow
from humaneval.studies import get_study
from humaneval.study_file import StudyFile


def plan_of(settings: StudyFile, *, stories: int = 0, rows: int = 0) -> Plan:
    """The study file's plan; `stories` is how many its passages are drawn from, 0 where that is not known.

    `rows` is how many there are, where they are more than the file says.
    """
    design, analysis, hit = settings.design, settings.analysis, settings.hit
    gate = settings.exclusions.missed_control != "none" and design.control in design.generators
    return Plan(
        annotators=max(1, (rows or design.annotators) // design.rows_per_annotator),
        rows_per_annotator=design.rows_per_annotator,
        passages_per_row=design.row_size,
        stories=stories,
        generators=len(design.generators),
        controls=1 if gate else 0,
        always=int(design.control in design.generators),
        comparisons=len(settings.pairs),
        expected_score=analysis.expected_score,
        smallest_effect=analysis.smallest_effect,
        power=analysis.power,
        level=analysis.level,
        worker_sd=analysis.worker_sd,
        story_sd=analysis.story_sd,
        spammers=analysis.spammers if gate else 0.0,
        reward=hit.reward,
        expected_minutes=hit.expected_minutes,
        masters=settings.participants.masters,
    )


def cues_of(engine: Engine, name: str) -> tuple[CueScore, ...]:
    """What cues alone would score on the passages of study `name`, Control aside. Words are rare by all stored stories."""
    with reading(engine) as session:
        study = get_study(session, name)
        passages = session.scalars(
            select(PassageRow)
            .where(PassageRow.study_id == study.id, PassageRow.role != str(Role.CONTROL))
            .options(joinedload(PassageRow.generator))
            .order_by(PassageRow.id)
        )
        shown = [Shown(tuple(one.sentences), one.generator.name, one.position) for one in passages]
        return cue_scores(shown, word_counts(_sentences(session)))


def stories_of(engine: Engine, name: str) -> int:
    """How many stories the passages of study `name` come from."""
    with reading(engine) as session:
        study = get_study(session, name)
        return len(
            session.scalars(
                select(PassageRow.story_id).where(PassageRow.study_id == study.id).distinct()
            ).all()
        )


def _sentences(session: Session) -> list[str]:
    fields = (StoryRow.sentence1, StoryRow.sentence2, StoryRow.sentence3, StoryRow.sentence4, StoryRow.sentence5)  # fmt: skip
    return [sentence for row in session.execute(select(*fields)) for sentence in row]
