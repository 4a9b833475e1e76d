"""Fills a report from the store: generators with their provenance, the design, the money, and what it takes
to
repeat the study."""

from __future__ import annotations

import hashlib
import platform
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version
from math import nan
from random import Random
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval import __version__
from humaneval.domain import SENTENCES
from humaneval.report.contents import (
    DesignFacts,
    ExampleFacts,
    GeneratorFacts,
    MoneyFacts,
    RepeatFacts,
    ReportData,
)
from humaneval.report.phrases import early
from humaneval.report.places import places_of
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.analysis.estimable import estimated
from humaneval.scoring.scores import ScoreTable
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.pay import Pay, hourly_pay
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import published
from humaneval.store.responses import READ_TOGETHER, deleted_forms, response_columns, rows_in
from humaneval.store.tables import (
    AssignmentRow,
    GeneratorRow,
    InfillRow,
    PassageRow,
    PaymentRow,
    RunRow,
    StoryRow,
    StudyRow,
    WorkerRow,
)
from humaneval.store.types import now
from humaneval.study.enlarge import stored_additions
from humaneval.study.file import StudyFile
from humaneval.study.money_paid import sums_paid
from humaneval.study.plan import cues_of, plan_of, stories_of
from humaneval.study.planned_cost import planned_cost
from humaneval.study.presets import in_force
from humaneval.study.scores import ready
from humaneval.study.stored import Study, hash_of_rows, settings_of
from humaneval.study.wage import hourly_at, median_minutes

Columns = Mapping[str, list[Any]]
"""A response table. With a mapping for each response it would take ten times the memory."""
UNREPORTED = frozenset(
    {"role", "study", "hit", "row", "order", "row_passages", "infill", "words", "shown_at"}
)
"""Columns of which a report says nothing beyond its analysis."""
A_PART = {"yield_per": READ_TOGETHER}
SOFTWARE = ("boto3", "flask", "jinja2", "matplotlib", "numpy", "pandas", "scipy", "sqlalchemy", "waitress")


def study_report(
    study: Study,
    table: ScoreTable,
    *,
    title: str = "",
    analysis: Analysis | None = None,
    summary: str = "",
) -> ReportData:
    """Everything that the store knows about `study`, with its scores."""
    settings = study.settings
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        own = response_columns(session, row, without=UNREPORTED)
        given = published(session, row, own)
        return ReportData(
            title=title or study.name,
            table=table,
            analysis=analysis,
            plan=(
                plan_of(
                    settings,
                    stories=stories_of(study),
                    rows=rows_in(session, row.id),
                    sentences=table.asked.sentences,
                )
                if analysis
                else None
            ),
            cues=cues_of(study) if analysis else (),
            hourly=_hourly(session, row, settings, own) if analysis else None,
            summary=summary,
            simulated=min(len(_of(given, table, "simulated")), table.annotators.collected),
            platform_lost=len(_of(given, table, "platform_lost", "worker", "assignment")),
            deleted=deleted_forms(session, row.id),
            early="" if (table.rule.tests == "only") != row.is_test else early(*ready(study)),
            test=row.is_test,
            generators=tuple(
                _generator(session, settings, generator) for generator in settings.design.generators
            ),
            design=_design(session, row, settings),
            examples=_examples(session, row, settings),
            money=_money(session, row, settings, own),
            story_titles=_titles(session, row) if analysis else {},
            repeat=_repeat(session, row, given),
        )


def _of(given: Columns, table: ScoreTable, mark: str, *names: str) -> set[tuple[str, ...]]:
    """The annotators, or what else `names` tell apart, of the marked responses that the table is about."""
    tests = table.rule.tests == "only"
    who = zip(*(given[name] for name in names or ("worker",)), strict=True)
    marked = zip(given[mark], given["test"], who, strict=True)
    return {told for yes, test, told in marked if yes and bool(test) == tests}


def _generator(session: Session, settings: StudyFile, name: str) -> GeneratorFacts:
    row = session.scalars(select(GeneratorRow).where(GeneratorRow.name == name)).one()
    run = session.scalars(
        select(RunRow).where(RunRow.generator_id == row.id).order_by(RunRow.id.desc())
    ).first()
    counts = session.execute(
        select(InfillRow.status, func.count())
        .where(InfillRow.generator_id == row.id)
        .group_by(InfillRow.status)
    )
    facts = GeneratorFacts(name, str(settings.design.role(name)), row.kind, infills=dict(counts.all()))
    if run is None:
        return facts
    return GeneratorFacts(
        name,
        facts.role,
        row.kind,
        run.checkpoint,
        run.seed,
        run.settings,
        run.batch,
        {k: str(v) for k, v in run.versions.items()},
        facts.infills,
        run.hash,
    )


def _design(session: Session, study: StudyRow, settings: StudyFile) -> DesignFacts:
    design = settings.design
    stories = session.scalar(
        select(func.count(PassageRow.story_id.distinct())).where(PassageRow.study_id == study.id)
    )
    preset = (
        study.settings_text.partition("\n")[0].removeprefix("# preset: ")
        if study.settings_text.startswith("# preset: ")
        else ""
    )
    rows = rows_in(session, study.id)
    return DesignFacts(
        question=settings.page.question,
        stories=stories,
        positions=design.positions,
        rows=rows,
        passages_per_row=settings.row_size,
        annotators=-(-rows // design.rows_per_annotator),
        rows_per_annotator=design.rows_per_annotator,
        order=(
            "Williams square"
            if settings.row_size == len(settings.conditions)
            else "balanced incomplete blocks"
        ),
        top_up=design.top_up,
        preset=preset,
        seed=study.seed,
        hash=hash_of_rows(session, study),
        additions=tuple(each.describe() for each in stored_additions(session, study.id)),
    )


def _examples(session: Session, study: StudyRow, settings: StudyFile) -> tuple[ExampleFacts, ...]:
    """For each position, a blank drawn by the study's seed from those that every generator of the study
    filled."""
    found: dict[int, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    passages = session.execute(
        select(PassageRow.position, PassageRow.story_id, GeneratorRow.name, PassageRow.id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .where(PassageRow.study_id == study.id)
        .order_by(PassageRow.id),
        execution_options=A_PART,
    )
    for position, story, name, passage in passages:
        found[position][story][name] = passage
    rng = Random(f"examples {study.seed}")
    examples = []
    for position in sorted(found):
        whole = [story for story, by in found[position].items() if len(by) == len(settings.design.generators)]
        if not whole:
            continue
        of = session.get_one(StoryRow, rng.choice(whole))
        shown = {
            name: session.get_one(PassageRow, passage).sentences[position - 1]
            for name, passage in found[position][of.id].items()
        }
        infills = {name: shown[name] for name in settings.design.generators}
        examples.append(ExampleFacts(of.title, tuple(of.sentences), position, infills))
    return tuple(examples)


def _titles(session: Session, study: StudyRow) -> dict[str, str]:
    rows = session.execute(
        select(StoryRow.key, StoryRow.title, StoryRow.sentences).where(
            StoryRow.id.in_(select(PassageRow.story_id).where(PassageRow.study_id == study.id))
        )
    )
    return {key: title.strip() or _first_words(sentences[0]) for key, title, sentences in rows}


def _first_words(sentence: str) -> str:
    words = sentence.split()
    return " ".join(words[:6]) + "…" * (len(words) > 6)


def _money(session: Session, study: StudyRow, settings: StudyFile, own: Columns) -> MoneyFacts:
    paid = sums_paid(session, study.id)
    reward, rewards = settings.hit.reward, _rewards(session, study)
    minutes = median_minutes(_open_seconds(session, study, own))
    return MoneyFacts(
        currency=settings.hit.currency,
        reward=settings.hit.reward,
        rewards_paid=tuple(sorted(set(rewards.values()))),
        rewards=paid.rewards,
        bonuses=paid.bonuses,
        fees=paid.fees,
        planned=planned_cost(session, study.id, settings),
        spent=paid.spent,
        compensations=paid.compensations or None,
        pretended=paid.pretended or None,
        median_seconds=minutes * 60 if minutes else None,
        median_hourly=hourly_at(reward, minutes),
        hourly_target=settings.hit.hourly,
        time_source="from opening the form to sending it" if minutes else "",
    )


def _open_seconds(session: Session, study: StudyRow, own: Columns) -> list[float]:
    """How long each form was open, in the way of `humaneval status`: from opening it to its answers."""
    reported = set(zip(own["worker"], own["assignment"], strict=True))
    work = session.execute(
        select(
            WorkerRow.pseudonym,
            AssignmentRow.external_id,
            AssignmentRow.opened_at,
            func.coalesce(AssignmentRow.answered_at, AssignmentRow.submitted_at),
        )
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(AssignmentRow.study_id == study.id)
    )
    return [
        (sent - opened).total_seconds()
        for worker, form, opened, sent in work
        if opened and sent and (worker, form) in reported
    ]


def _rewards(session: Session, study: StudyRow) -> dict[tuple[str, str], Decimal]:
    """(annotator, assignment) → the reward that was paid, which may be another than planned."""
    paid = session.execute(
        select(WorkerRow.pseudonym, AssignmentRow.external_id, PaymentRow.amount)
        .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(PaymentRow.study_id == study.id, PaymentRow.kind == "reward", PaymentRow.state == "paid")
    )
    return {(worker, assignment): amount for worker, assignment, amount in paid}


def _seconds(own: Columns) -> Iterator[tuple[str, str, float | None]]:
    """The annotator, the form and the time of each response."""
    return zip(own["worker"], own["assignment"], own["seconds"], strict=True)


def _hourly(session: Session, study: StudyRow, settings: StudyFile, own: Columns) -> Pay | NotEstimable:
    """Pay per hour over the forms whose responses are reported, with bonuses."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for worker, assignment, spent in _seconds(own):
        seconds[worker, assignment] += spent or nan
    bonuses = session.execute(
        select(PaymentRow.assignment_id, func.sum(PaymentRow.amount))
        .where(PaymentRow.study_id == study.id, PaymentRow.kind == "bonus", PaymentRow.state == "paid")
        .group_by(PaymentRow.assignment_id)
    )
    extra = {assignment: Decimal(amount) for assignment, amount in bonuses}
    rewards = _rewards(session, study)
    work = session.execute(
        select(
            AssignmentRow.id,
            WorkerRow.pseudonym,
            AssignmentRow.external_id,
            AssignmentRow.opened_at,
            func.coalesce(AssignmentRow.submitted_at, AssignmentRow.answered_at),
        )
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.state.in_(("submitted", "approved")))
        .order_by(AssignmentRow.id)
    )
    forms = [
        (worker, rewards.get((worker, form), settings.hit.reward) + extra.get(number, 0), opened, sent, form)
        for number, worker, form, opened, sent in work
        if (worker, form) in seconds
    ]
    if not forms:
        return NotEstimable("no form was paid")
    workers, paid, opened, sent, ids = zip(*forms, strict=True)
    # Two clocks may tell that a form was sent before it was opened: then its time is not known.
    opened = tuple(
        None if begun and end and end < begun else begun for begun, end in zip(opened, sent, strict=True)
    )
    timers = [seconds[one] for one in zip(workers, ids, strict=True)]
    return estimated(
        lambda: hourly_pay(
            workers, [float(one) for one in paid], list(opened), list(sent), in_page_seconds=timers
        )
    )


def _repeat(session: Session, study: StudyRow, given: Columns) -> RepeatFacts:
    stories = session.execute(
        select(StoryRow.key, StoryRow.sentences)
        .where(StoryRow.id.in_(select(PassageRow.story_id).where(PassageRow.study_id == study.id)))
        .order_by(StoryRow.key),
        execution_options=A_PART,
    )
    passages = session.scalars(
        select(PassageRow.shown_hash).where(PassageRow.study_id == study.id).order_by(PassageRow.shown_hash),
        execution_options=A_PART,
    )
    endpoints = session.scalars(
        select(AssignmentRow.endpoint)
        .where(AssignmentRow.study_id == study.id)
        .distinct()
        .order_by(AssignmentRow.endpoint)
    )
    told = ["worker", "story", "generator", "position", "choice"]
    told += [name for name in given if name in ("other", *_fields(study))]
    moments = [moment for moment in given["submitted_at"] if moment]
    return RepeatFacts(
        study_file=in_force(study.settings_text),
        study_hash=study.settings_hash,
        stories_hash=_hash((key, *sentences) for key, sentences in stories),
        passages_hash=_hash(passages),
        responses_hash=_hash(zip(*(given[name] for name in told), strict=True)),
        endpoint=", ".join(endpoints),
        places=places_of(session, study.id, settings_of(study)),
        software=software(),
        published_at=study.published_at,
        first_response_at=_moment(min(moments, default="")),
        last_response_at=_moment(max(moments, default="")),
        scored_at=now(),
    )


def _fields(study: StudyRow) -> list[str]:
    """The further fields of the study's question."""
    settings = settings_of(study)
    return [one.name for one in settings.asked.fields(settings.answer_settings, SENTENCES)[1:]]


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _hash(values: Iterable[Any]) -> str:
    """SHA-256 of the values as Python writes them, one a line."""
    whole = hashlib.sha256()
    for number, value in enumerate(values):
        whole.update(("\n" * (number > 0) + repr(value)).encode())
    return whole.hexdigest()


def software() -> dict[str, str]:
    """The versions of what computes and shows the scores."""
    versions = {"humaneval-toolkit": __version__, "python": platform.python_version()}
    for package in SOFTWARE:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
