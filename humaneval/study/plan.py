"""What can be said of a study before anybody is paid: its plan in numbers, and what cues alone would
score."""

from __future__ import annotations

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session, joinedload

from humaneval.design.rows import Cell, make_design
from humaneval.domain import Role
from humaneval.planning.cues import CueScore, Shown, cue_scores, word_counts
from humaneval.planning.plan import Plan
from humaneval.store.engine import reading
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, RowRow, StoryRow, StudyRow
from humaneval.study.file import StudyFile
from humaneval.study.stored import get_study, settings_of


def plan_of(settings: StudyFile, *, stories: int = 0, rows: int = 0) -> Plan:
    """The study file's plan; `stories` is how many there are to draw from, 0 where the file alone says.

    `rows` is how many there are, where they are more than the file says.
    """
    design, analysis, hit = settings.design, settings.analysis, settings.hit
    missed = settings.exclusions.missed_control
    systems = [name for name in design.generators if design.role(name) is Role.SYSTEM]
    with_human = analysis.below_human and design.human in design.generators
    return Plan(
        annotators=rows or design.annotators,
        rows_per_annotator=design.rows_per_annotator,
        passages_per_row=design.row_size,
        responses_per_passage=design.responses_per_passage,
        stories=stories or design.stories,
        generators=len(design.generators),
        controls=int(missed != "none" and design.control in design.generators),
        excluded="row" if missed == "row" else "annotator",
        always=int(design.control in design.generators),
        comparisons=len(settings.pairs),
        below_human=len(systems) if with_human else 0,
        adjust=analysis.adjust,
        expected_score=analysis.expected_score,
        smallest_effect=analysis.smallest_effect,
        power=analysis.power,
        level=analysis.level,
        worker_sd=analysis.worker_sd,
        story_sd=analysis.story_sd,
        spammers=analysis.spammers,
        top_up=design.top_up == "auto",
        reward=hit.reward,
        expected_minutes=hit.expected_minutes,
        masters=settings.participants.masters,
        positions=design.positions,
        seed=design.seed,
    )


def plan_of_study(engine: Engine, name: str) -> Plan:
    """The plan of the stored study `name`, with the rows that it has and the stories that are there for more
    of them."""
    with reading(engine) as session:
        study = get_study(session, name)
        settings = settings_of(study)
        rows = session.scalar(select(func.count()).where(RowRow.study_id == study.id))
        stories = max(_stories_left(session, settings), _stories_of(session, study))
        return plan_of(settings, stories=stories, rows=rows or 0)


def draft(plan: Plan) -> tuple[tuple[tuple[Cell, ...], ...], tuple[str, str]]:
    """The plan's forms, as `study create` would lay them out, and which two generators to simulate, the
    higher first.

    Raises DesignError where there are too few stories for a form.
    """
    others = plan.generators - plan.always
    named = ["human"] * bool(plan.below_human)
    systems = [f"system {number}" for number in range(1, others - len(named) + 1)]
    # Where it is not known how many stories there are, each whole block of the design has its own.
    block = len(plan.positions) * plan.generators
    stories = plan.stories or block * max(1, -(-plan.annotators // block)) * plan.forms_each
    made = make_design(
        generators=[*["control"] * plan.always, *named, *systems],
        blanks={str(number): plan.positions for number in range(stories)},
        annotators=plan.annotators,
        seed=plan.seed,
        positions=plan.positions,
        passages_per_row=plan.passages_per_row % plan.generators,
        responses_per_passage=plan.responses_per_passage,
        control="control",
    )
    return made.rows, (systems[0], systems[1]) if plan.comparisons else ("human", systems[0])


def cues_of(engine: Engine, name: str) -> tuple[CueScore, ...]:
    """What cues alone would score on the passages of study `name`, Control aside. Words are rare by all
    stored stories."""
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
        return _stories_of(session, get_study(session, name))


def _stories_of(session: Session, study: StudyRow) -> int:
    query = select(func.count(PassageRow.story_id.distinct())).where(PassageRow.study_id == study.id)
    return session.scalar(query) or 0


def _stories_left(session: Session, settings: StudyFile) -> int:
    """How many stories all the study's generators have infills for: as many as more rows could be drawn
    from."""
    design = settings.design
    filled = (
        select(InfillRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
        .where(GeneratorRow.name.in_(design.generators), InfillRow.position.in_(design.positions))
        .group_by(InfillRow.story_id)
        .having(func.count(InfillRow.generator_id.distinct()) == len(design.generators))
    )
    drawn = select(StoryRow.id).order_by(StoryRow.id)
    if design.split:
        drawn = drawn.where(StoryRow.split == design.split)
    if design.stories:
        drawn = drawn.limit(design.stories)
    there = select(func.count()).where(
        StoryRow.id.in_(select(drawn.subquery().c.id)), StoryRow.id.in_(filled)
    )
    return session.scalar(there) or 0


def _sentences(session: Session) -> list[str]:
    fields = (
        StoryRow.sentence1,
        StoryRow.sentence2,
        StoryRow.sentence3,
        StoryRow.sentence4,
        StoryRow.sentence5,
    )
    return [sentence for row in session.execute(select(*fields)) for sentence in row]
