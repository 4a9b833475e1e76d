"""Compares a study's plan with its outcome. Both are counted from stored rows and answers, not from how they
were made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise, permutations, product
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from humaneval.domain import Role
from humaneval.scoring.questions.question import DETECT, Condition, pair_name
from humaneval.store.engine import reading
from humaneval.store.responses import TEST_ENDPOINTS
from humaneval.store.tables import (
    COLLECTED,
    AssignmentRow,
    GeneratorRow,
    PassageRow,
    ResponseRow,
    RowPassageRow,
    RowRow,
    StoryRow,
    WorkerRow,
)
from humaneval.study.enlarge import Addition, additions_of
from humaneval.study.file import DesignSection, StudyFile
from humaneval.study.stored import Study, length_of_study
from humaneval.text import as_read


class Range(NamedTuple):
    """The smallest and the largest count."""

    smallest: int
    largest: int


class AuditCount(NamedTuple):
    """How evenly something is spread over `cells` cells: as planned, and in the answers that count."""

    what: str
    cells: int
    planned: Range
    achieved: Range | None
    """None while no answer counts."""


class GeneratorCount(NamedTuple):
    """Responses to one generator, planned and counting: in all, and by position."""

    generator: str
    planned: int
    analysed: int
    positions: Mapping[int, tuple[int, int]]
    """Position: (planned, analysed)."""


class StoryTwice(NamedTuple):
    """One worker who answered more than one passage of a story, which is its text, whatever its ids."""

    worker: str
    story: str
    passages: int


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows there are in each state. A row is lost if it was answered and none of its answers
    counts."""

    planned: int
    answered: int
    analysed: int
    lost: int


@dataclass(frozen=True, slots=True)
class Audit:
    """A study's plan and its outcome. The study's own exclusion rule decided, at `collect`, which answers
    count."""

    study: str
    rows: Rows
    balance: tuple[AuditCount, ...]
    generators: tuple[GeneratorCount, ...]
    chance_nominal: float | None
    """None if the question has no score of chance."""
    chance_achieved: float | None
    """1 − Σ picks × positions over the answers that count; None without answers to Human passages."""
    stories_twice: tuple[StoryTwice, ...]
    additions: tuple[Addition, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "study": self.study,
            "rows": asdict(self.rows),
            "balance": [
                {
                    "what": line.what,
                    "cells": line.cells,
                    "planned": line.planned._asdict(),
                    "achieved": line.achieved and line.achieved._asdict(),
                }
                for line in self.balance
            ],
            "generators": [
                {
                    "generator": line.generator,
                    "planned": line.planned,
                    "analysed": line.analysed,
                    "positions": {
                        str(at): {"planned": planned, "analysed": analysed}
                        for at, (planned, analysed) in line.positions.items()
                    },
                }
                for line in self.generators
            ],
            "chance": {"nominal": self.chance_nominal, "achieved": self.chance_achieved},
            "stories_twice": [each._asdict() for each in self.stories_twice],
            "design_additions": [each.to_json() for each in self.additions],
        }


class _Passage(NamedTuple):
    form: int
    """The row of the plan, or the assignment."""
    row: int | None
    place: int
    generator: str
    position: int
    story: str
    choice: int = 0


def audit(study: Study) -> Audit:
    """Count the plan and the answers of the study."""
    settings = study.settings
    with reading(study.engine) as session:
        texts = _texts(session, study)
        sentences = length_of_study(session, study.id)
        planned = _planned(session, study, texts)
        endpoints = _endpoints(session, study)
        counted = _counted(session, study, endpoints, texts)
        answered = _answered_rows(session, study, endpoints)
        twice = _stories_twice(session, study, endpoints, texts)
    nominal = settings.asked.chance(settings.answer_settings, sentences)
    analysed = {passage.row for passage in counted}
    rows = {passage.row for passage in planned}
    return Audit(
        study=study.name,
        rows=Rows(len(rows), len(answered), len(analysed), len(answered - analysed)),
        balance=_balance(settings, sentences, planned, counted),
        generators=_generators(settings, sentences, planned, counted),
        chance_nominal=nominal.value if nominal else None,
        chance_achieved=_chance(settings.design, counted) if settings.question == DETECT else None,
        stories_twice=twice,
        additions=additions_of(study),
    )


def _texts(session: Session, study: Study) -> dict[int, str]:
    """For the row of each story of the study, the first id that its text has."""
    rows = session.scalars(
        select(StoryRow)
        .where(StoryRow.id.in_(select(PassageRow.story_id).where(PassageRow.study_id == study.id)))
        .order_by(StoryRow.id)
    )
    first: dict[str, str] = {}
    return {row.id: first.setdefault(as_read(row.sentences), row.key) for row in rows}


def _planned(session: Session, study: Study, texts: Mapping[int, str]) -> list[_Passage]:
    lines = session.execute(
        select(RowRow.id, RowPassageRow.place, *_SHOWN_BY, PassageRow.position, PassageRow.story_id)
        .join(RowPassageRow, RowPassageRow.row_id == RowRow.id)
        .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .outerjoin(_OTHER, _OTHER.id == PassageRow.other_generator_id)
        .where(RowRow.study_id == study.id)
        .order_by(RowRow.ordinal, RowPassageRow.place)
    )
    return [
        _Passage(row, row, place, _named(generator, other), position, texts[story])
        for row, place, generator, other, position, story in lines
    ]


_OTHER = aliased(GeneratorRow)
_SHOWN_BY = (GeneratorRow.name, _OTHER.name.label("other"))


def _named(generator: str, other: str | None) -> str:
    """The name of the condition that these generators make."""
    return generator if other is None else pair_name(generator, other)


def _endpoints(session: Session, study: Study) -> Sequence[str]:
    """The endpoints of the answers; rehearsals only if there is nothing else."""
    found = session.scalars(
        select(AssignmentRow.endpoint)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.state.in_(COLLECTED))
        .distinct()
    ).all()
    return [one for one in found if one not in TEST_ENDPOINTS] or found


def _counted(
    session: Session, study: Study, endpoints: Sequence[str], texts: Mapping[int, str]
) -> list[_Passage]:
    """Answers from forms that were neither rejected nor excluded."""
    lines = session.execute(
        select(
            AssignmentRow.id,
            AssignmentRow.row_id,
            ResponseRow.place,
            *_SHOWN_BY,
            PassageRow.position,
            PassageRow.story_id,
            ResponseRow.choice,
        )
        .join(ResponseRow, ResponseRow.assignment_id == AssignmentRow.id)
        .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .outerjoin(_OTHER, _OTHER.id == PassageRow.other_generator_id)
        .where(
            AssignmentRow.study_id == study.id,
            AssignmentRow.endpoint.in_(endpoints),
            AssignmentRow.state.in_(("submitted", "approved")),
            AssignmentRow.excluded == "",
        )
        .order_by(AssignmentRow.id, ResponseRow.place)
    )
    return [
        _Passage(form, row, place, _named(generator, other), position, texts[story], choice)
        for form, row, place, generator, other, position, story, choice in lines
    ]


def _answered_rows(session: Session, study: Study, endpoints: Sequence[str]) -> set[int | None]:
    return set(
        session.scalars(
            select(AssignmentRow.row_id).where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint.in_(endpoints),
                AssignmentRow.state.in_(COLLECTED),
                ~AssignmentRow.is_stray,
            )
        )
    )


def _stories_twice(
    session: Session, study: Study, endpoints: Sequence[str], texts: Mapping[int, str]
) -> tuple[StoryTwice, ...]:
    """Over all answers, whether they count or not: the worker has met the story."""
    lines = session.execute(
        select(WorkerRow.pseudonym, PassageRow.story_id)
        .join(AssignmentRow, AssignmentRow.worker_id == WorkerRow.id)
        .join(ResponseRow, ResponseRow.assignment_id == AssignmentRow.id)
        .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
        .where(
            AssignmentRow.study_id == study.id,
            AssignmentRow.endpoint.in_(endpoints),
            AssignmentRow.state.in_(COLLECTED),
        )
    )
    met = Counter((worker, texts[story]) for worker, story in lines)
    return tuple(StoryTwice(*one, times) for one, times in sorted(met.items()) if times > 1)


def _positions(settings: StudyFile, sentences: int, condition: Condition) -> Sequence[int]:
    """The positions that are stored for a condition's passages."""
    whole = settings.asked.rest and condition.role is Role.HUMAN
    return (sentences + 1,) if whole else settings.design.positions


def _balance(
    settings: StudyFile, sentences: int, planned: Sequence[_Passage], counted: Sequence[_Passage]
) -> tuple[AuditCount, ...]:
    # A control that is in every row, while other generators are in some, is not meant to be even.
    design, conditions = settings.design, settings.conditions
    partial = settings.row_size < len(conditions)
    evenly = [one for one in conditions if not (partial and one.role is Role.CONTROL)]
    even = [one.name for one in evenly]
    at = [(one.name, at) for one in evenly for at in _positions(settings, sentences, one)]
    without = f" (without {design.control})" if len(even) < len(conditions) else ""
    forms, done = _by_form(planned), _by_form(counted)

    def spread(what: str, cells: Iterable[Any], cell_of: Callable[[_Passage], Any]) -> AuditCount:
        """How evenly passages are spread over `cells`."""
        return _line(what, list(cells), map(cell_of, planned), map(cell_of, counted))

    places = range(1, settings.row_size + 1)
    lines = [
        spread(f"generator × position{without}", at, _GENERATOR_AT),
        spread(f"generator × place in the form{without}", product(even, places), _GENERATOR_PLACE),
        _line(
            f"ordered neighbours{without}", list(permutations(even, 2)), _neighbours(forms), _neighbours(done)
        ),
    ]
    if partial:
        together = [tuple(sorted(pair)) for pair in combinations(even, 2)]
        lines.append(
            _line(f"pairs in one form{without}", together, _together(forms, even), _together(done, even))
        )
    return (
        *lines,
        spread("responses per blank", sorted({_BLANK(one) for one in planned}), _BLANK),
        spread("responses per passage", sorted({_PASSAGE(one) for one in planned}), _PASSAGE),
        _met_twice(forms, done),
    )


_GENERATOR_AT = attrgetter("generator", "position")
_GENERATOR_PLACE = attrgetter("generator", "place")
_BLANK = attrgetter("story", "position")
_PASSAGE = attrgetter("story", "position", "generator")


def _met_twice(forms: Mapping[int, Sequence[_Passage]], done: Mapping[int, Sequence[_Passage]]) -> AuditCount:
    """How many passages of a form show a story that the form has shown before."""
    planned, seen = (
        [len(of) - len({one.story for one in of}) for of in each.values()] for each in (forms, done)
    )
    return AuditCount(
        "stories met twice in a form",
        len(planned),
        Range(min(planned), max(planned)),
        Range(min(seen), max(seen)) if seen else None,
    )


def _line(what: str, cells: Sequence[Any], planned: Iterable[Any], achieved: Iterable[Any]) -> AuditCount:
    found = Counter(achieved)
    return AuditCount(
        what, len(cells), _range(Counter(planned), cells), _range(found, cells) if found else None
    )


def _range(counts: Mapping[Any, int], cells: Sequence[Any]) -> Range:
    values = [counts.get(cell, 0) for cell in cells]
    return Range(min(values, default=0), max(values, default=0))


def _by_form(passages: Iterable[_Passage]) -> dict[int, list[_Passage]]:
    forms: dict[int, list[_Passage]] = defaultdict(list)
    for passage in passages:
        forms[passage.form].append(passage)
    return forms


def _neighbours(forms: Mapping[int, Sequence[_Passage]]) -> list[tuple[str, str]]:
    return [
        (before.generator, after.generator)
        for of in forms.values()
        for before, after in pairwise(of)
        if after.place == before.place + 1
    ]


def _together(forms: Mapping[int, Sequence[_Passage]], even: Sequence[str]) -> list[tuple[str, ...]]:
    return [
        pair
        for of in forms.values()
        for pair in combinations(sorted({one.generator for one in of} & set(even)), 2)
    ]


def _generators(
    settings: StudyFile, sentences: int, planned: Sequence[_Passage], counted: Sequence[_Passage]
) -> tuple[GeneratorCount, ...]:
    plan = Counter((one.generator, one.position) for one in planned)
    done = Counter((one.generator, one.position) for one in counted)
    return tuple(
        GeneratorCount(
            name,
            sum(plan[name, at] for at in positions),
            sum(done[name, at] for at in positions),
            {at: (plan[name, at], done[name, at]) for at in sorted(positions)},
        )
        for name, positions in (
            (one.name, _positions(settings, sentences, one)) for one in settings.conditions
        )
    )


def _chance(design: DesignSection, counted: Sequence[_Passage]) -> float | None:
    picks = Counter(one.choice for one in counted if one.generator == design.human)
    positions = Counter(one.position for one in counted if one.generator != design.control)
    if not picks:
        return None
    found = sum(count * positions[at] for at, count in picks.items())
    return 1 - found / (picks.total() * positions.total())
