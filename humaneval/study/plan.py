"""A study before anybody is paid: its plan in numbers, and the scores that cues alone would give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.design.rows import Cell, make_design
from humaneval.domain import SENTENCES, Role
from humaneval.planning.cues import CuePassage, CueScore, cue_scores, word_counts
from humaneval.planning.plan import Plan
from humaneval.store.engine import reading
from humaneval.store.responses import READ_TOGETHER, rows_in
from humaneval.store.stories import STORED_TEXT, of_split, running_text
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, StoryRow
from humaneval.study.file import StudyFile
from humaneval.study.own_blanks import stored_blanks
from humaneval.study.stored import Study, length_of_study
from humaneval.study.usable_infills import drawn_stories, text_hash


def plan_of(settings: StudyFile, *, stories: int = 0, rows: int = 0, sentences: int = SENTENCES) -> Plan:
    """The plan of a study file.

    `stories` is the number of stories to draw from; with 0, the file's own number counts. `rows` is the
    number of rows, if it differs from the file's.
    """
    design, analysis, hit = settings.design, settings.analysis, settings.hit
    missed = settings.exclusions.missed_control
    systems = [name for name in design.generators if design.role(name) is Role.SYSTEM]
    with_human = analysis.below_human and design.human in design.generators and settings.asked.beside_human
    conditions, sentences = settings.conditions, _longest(settings, sentences)
    first = next((name for name in systems), "")
    controls = sum(one.role is Role.CONTROL for one in conditions)
    # Of several passages with the Control a short form shows one.
    gated = min(controls, 1) if settings.row_size < len(conditions) else controls
    return Plan(
        annotators=rows or design.annotators,
        rows_per_annotator=design.rows_per_annotator,
        passages_per_row=settings.row_size,
        responses_per_passage=design.responses_per_passage,
        stories=stories or design.stories,
        generators=len(conditions) - controls + gated,
        controls=gated if missed != "none" else 0,
        excluded="row" if missed == "row" else "annotator",
        always=gated,
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
        question=settings.question,
        scale=settings.asked.scales(settings.answer_settings, sentences)[0],
        foreseen=settings.asked.foreseen(settings.answer_settings, sentences),
        conditions_each=max(
            1, sum(first in one.generators and one.role is not Role.CONTROL for one in conditions)
        ),
    )


def _longest(settings: StudyFile, sentences: int) -> int:
    """The number of sentences, or more if the file names a position beyond it."""
    return max(sentences, *settings.design.positions)


def plan_of_study(study: Study) -> Plan:
    """The plan of a stored study, with its present rows and the stories that more rows could use."""
    with reading(study.engine) as session:
        stories = max(_stories_left(session, study), _stories_of(session, study))
        length = length_of_study(session, study.id)
        return plan_of(study.settings, stories=stories, rows=rows_in(session, study.id), sentences=length)


class Draft(NamedTuple):
    """Forms laid out for a plan, and the two generators that a simulation compares."""

    rows: tuple[tuple[Cell, ...], ...]
    pair: tuple[str, str]
    """The one with the higher score first."""


def draft(plan: Plan) -> Draft:
    """The plan's forms, as `study create` would lay them out. Of a question that shows pairs, the two are the
    orders of one pair.

    Raises DesignError if there are too few stories for a form.
    """
    others = plan.generators - plan.always
    named = ["human"] * bool(plan.below_human)
    systems = [f"system {number}" for number in range(1, others - len(named) + 1)]
    controls = ["control", *(f"control {number}" for number in range(2, plan.always + 1))][: plan.always]
    # If the number of stories is unknown, each whole block of the design has its own.
    block = len(plan.positions) * plan.generators
    stories = plan.stories or block * max(1, -(-plan.annotators // block)) * plan.forms_each
    made = make_design(
        generators=[*controls, *named, *systems],
        blanks={str(number): plan.positions for number in range(stories)},
        annotators=plan.annotators,
        seed=plan.seed,
        positions=plan.positions,
        passages_per_row=plan.passages_per_row % plan.generators,
        responses_per_passage=plan.responses_per_passage,
        control="control",
    )
    pair = (systems[0], systems[1]) if plan.comparisons else ("human", systems[0])
    return Draft(made.rows, pair)


def cues_of(study: Study) -> tuple[CueScore, ...]:
    """What cues alone would score on the passages of the study, without the Control; none if the question is
    not which sentence is the machine's. Word frequencies are counted over all stored stories."""
    if not study.settings.asked.marks_sentence:
        return ()
    with reading(study.engine) as session:
        counts = word_counts(_texts(session))
        passages = session.execute(
            select(PassageRow.sentences, GeneratorRow.name, PassageRow.position)
            .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
            .where(PassageRow.study_id == study.id, PassageRow.role != str(Role.CONTROL))
            .order_by(PassageRow.id),
            execution_options={"yield_per": READ_TOGETHER},
        )
        return cue_scores(
            (CuePassage(tuple(sentences), name, position) for sentences, name, position in passages), counts
        )


def stories_of(study: Study) -> int:
    """How many stories the passages of the study come from."""
    with reading(study.engine) as session:
        return _stories_of(session, study)


def _stories_of(session: Session, study: Study) -> int:
    query = select(func.count(PassageRow.story_id.distinct())).where(PassageRow.study_id == study.id)
    return session.scalar(query) or 0


def _stories_left(session: Session, study: Study) -> int:
    """How many stories, by their text, have infills by all generators: those that more rows could use."""
    design = study.settings.design
    filled = (
        select(InfillRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
        .where(GeneratorRow.name.in_(design.generators), InfillRow.position.in_(design.positions))
        .group_by(InfillRow.story_id)
        .having(func.count(InfillRow.generator_id.distinct()) == len(design.generators))
    )
    only = stored_blanks(session, study.id)
    if design.stories:  # whether they have infills or not, the first so many are the study's
        drawn, ready = drawn_stories(session, study.settings, only=only), set(session.scalars(filled))
        return len({story.text for story in drawn if story.id in ready})
    there = session.execute(
        select(StoryRow.key, STORED_TEXT).where(of_split(session, design.split), StoryRow.id.in_(filled)),
        execution_options={"yield_per": READ_TOGETHER},
    )
    return len({text_hash(stored) for key, stored in there if only is None or key in only})


def _texts(session: Session) -> Iterator[str]:
    """The text of every story, and never more than some thousand at once."""
    stored = session.scalars(select(STORED_TEXT), execution_options={"yield_per": READ_TOGETHER})
    return map(running_text, stored)
