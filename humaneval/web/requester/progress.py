"""Where a study stands: by endpoint as `status` has it, by generator and position, and what waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import and_, case, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.advice import Line, owed_line, progress_lines, stray_lines, unpublished, waiting_lines
from humaneval.crowd.costs import INSTEAD
from humaneval.crowd.pseudonyms import without_ids
from humaneval.crowd.reversible import OVERTAKEN
from humaneval.crowd.review import undecided
from humaneval.crowd.settle import TAKE_BACK
from humaneval.crowd.status import EndpointStatus, study_status
from humaneval.store.engine import reading
from humaneval.store.responses import answerers
from humaneval.store.tables import (
    COLLECTED,
    AnswerRow,
    AssignmentRow,
    DifferenceRow,
    GeneratorRow,
    OutboxRow,
    PassageRow,
    RowPassageRow,
    StudyRow,
)
from humaneval.store.types import now
from humaneval.study.scores import Ready, ready
from humaneval.study.stored import Study, put_up
from humaneval.text import Answerers, command
from humaneval.web.requester.platform_status import Heard
from humaneval.web.requester.remembered import remembered


@dataclass(slots=True)
class Counts:
    """Passages of forms, by what has become of the forms."""

    planned: int = 0
    """In the design."""
    out: int = 0
    """Open in a browser now."""
    answered: int = 0
    """Answered on our server, and not collected."""
    collected: int = 0
    approved: int = 0

    def add(self, other: Counts) -> None:
        """Count these, too."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class OfGenerator:
    """How far the answers about one generator are, or about two that are shown together."""

    name: str
    role: str
    all: Counts = field(default_factory=Counts)
    at: dict[int, Counts] = field(default_factory=lambda: defaultdict(Counts))
    """By the position of the sentence that was replaced."""


def by_generator(study: Study, moment: datetime) -> list[OfGenerator]:
    """What rows show, in the study file's order."""
    where = (
        PassageRow.generator_id,
        PassageRow.other_generator_id,
        PassageRow.role,
        PassageRow.position,
    )
    found: dict[str, OfGenerator] = {}
    with reading(study.engine) as session:
        names = dict(session.execute(select(GeneratorRow.id, GeneratorRow.name)).all())
        in_forms = select(func.count()).where(RowPassageRow.passage_id == PassageRow.id).scalar_subquery()
        of_study = select(*where, in_forms.label("forms")).where(PassageRow.study_id == study.id).subquery()
        planned = session.execute(
            select(*of_study.c[:4], func.sum(of_study.c.forms)).group_by(*of_study.c[:4])
        )
        lines = [(*line[:4], Counts(planned=int(line[4]))) for line in planned if line[4]]
        is_open = and_(AssignmentRow.state == "opened", AssignmentRow.lease_until > moment)
        stage = case(
            (is_open, "out"),
            (AssignmentRow.state == "answered", "answered"),
            (AssignmentRow.state == "approved", "approved"),
            (AssignmentRow.state.in_(COLLECTED), "collected"),
        )
        # First by passage: there are few, and only their generators are looked up.
        answers = (
            select(RowPassageRow.passage_id, stage.label("stage"), func.count().label("number"))
            .join(AssignmentRow, AssignmentRow.row_id == RowPassageRow.row_id)
            .where(AssignmentRow.study_id == study.id, stage.is_not(None))
            .group_by(RowPassageRow.passage_id, "stage")
            .subquery()
        )
        work = session.execute(
            select(*where, answers.c.stage, func.sum(answers.c.number))
            .join(answers, answers.c.passage_id == PassageRow.id)
            .group_by(*where, answers.c.stage)
        )
        for *of_passage, reached, number in work:
            counts = Counts(**{reached: int(number)})
            if reached == "approved":
                counts.collected = counts.approved
            lines.append((*of_passage, counts))
    for generator, other, role, position, counts in lines:
        name = " | ".join(names[each] for each in (generator, other) if each is not None)
        of = found.setdefault(name, OfGenerator(name, role))
        of.all.add(counts)
        of.at[position].add(counts)
    order = {one.name: at for at, one in enumerate(study.settings.conditions)}
    return sorted(found.values(), key=lambda one: order.get(one.name, len(order)))


def by_position(generators: Iterable[OfGenerator]) -> dict[int, Counts]:
    """The same added up over generators, for the positions that the design has."""
    found: dict[int, Counts] = defaultdict(Counts)
    for one in generators:
        for position, counts in one.at.items():
            found[position].add(counts)
    return {position: counts for position, counts in sorted(found.items()) if counts.planned}


class Standing(NamedTuple):
    """A study as the list of studies shows it."""

    study: Study
    is_test: bool
    simulated: str
    """The warning about programs that answered; empty if only people did."""
    created_at: datetime
    endpoints: list[EndpointStatus]
    asked: dict[str, datetime]
    """When each platform that was asked answered, by endpoint."""
    at: datetime
    """When it was counted."""


def count_studies(session: Session) -> int:
    """How many studies the database has."""
    return session.scalar(select(func.count()).select_from(StudyRow)) or 0


def standing(study: Study, heard: Heard) -> Standing:
    """Where a study stands, by our database and what platforms said last."""
    return remembered(study, "standing", lambda: _standing(study, heard))


def _standing(study: Study, heard: Heard) -> Standing:
    told, moment = heard.of(study), now()
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        is_test, made_at, simulated = row.is_test, row.created_at, _warning(answerers(session, row), row)
    there = {endpoint: one.there for endpoint, one in told.items()}
    return Standing(
        study,
        is_test,
        simulated,
        made_at,
        study_status(study, moment, there),
        {endpoint: one.at for endpoint, one in told.items()},
        moment,
    )


class Details(NamedTuple):
    """What the page of a study shows beside where it stands."""

    generators: list[OfGenerator]
    waits: Waits
    said: list[Said]


def details(study: Study, stands: Standing) -> Details:
    """The same answers by generator, what waits, and the news."""
    return remembered(
        study,
        "details",
        lambda: Details(
            by_generator(study, stands.at),
            waiting(study, stands.endpoints, stands.at),
            last_said(study, [one.endpoint for one in stands.endpoints]),
        ),
    )


def forms_in(study: Study) -> Ready:
    """How many forms of the design are in."""
    return remembered(study, "ready", lambda: ready(study))


def warning(study: Study) -> str:
    """The warning about programs that answered; empty if only people did."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        return _warning(answerers(session, row), row)


def _warning(who: Answerers, row: StudyRow) -> str:
    if who.programs and who.people:
        return f"{who}. Numbers of both together say nothing about people."
    if who.programs or (row.simulated and not who.people):
        return "Simulated people: these numbers say nothing about real ones."
    return ""


class Waits(NamedTuple):
    """What waits for a person, in the words of `status` and `review`, with the command for each decision."""

    lines: list[Line]
    strays: list[Line]
    """About submissions that match no form."""


def waiting(study: Study, endpoints: Sequence[EndpointStatus], moment: datetime) -> Waits:
    """All that waits. What `status` only sends to `review` for is left out: these pages show it."""
    lines: list[Line] = []
    strays: list[Line] = []
    for one in endpoints:
        review, work = command("review", study.name, "--to", one.endpoint), undecided(study, one.endpoint)
        said = progress_lines(one, study.name, moment)
        lines += waiting_lines(study.name, one.endpoint, work)
        lines += [line for line in said if line.waits and line.command != review]
        lines += filter(None, [owed_line(one, study.name)])
        strays += stray_lines(study.name, one.endpoint, work.strays)
    return Waits(lines if endpoints else [unpublished(study.name, put_up(study))], strays)


class Said(NamedTuple):
    """Something that a platform said, and when."""

    endpoint: str
    what: str
    at: datetime | None


HERE_ALONE = ("exclude", TAKE_BACK)
"""What no platform has said: people are excluded after each form, and entries are taken back here."""
_OPERATIONS = {
    "readmit": "a person may take part again",
    "block": "a worker is blocked",
    "unblock": "a worker is not blocked any more",
    "list": "there is a list of people who are kept out",
    "places": "there are more places",
    "ask for a return": "a person is asked to return a form",
    "codes": "the codes at the end of a form are known",
    "postback": "the panel knows that a person is done",
    "publish": "a task is up",
    "publish link": "a link is up",
    "invite": "a link is up",
    "approve": "a form is approved",
    "reject": "a form is rejected",
    "bonus": "a bonus is paid",
    "compensate": "a task that makes good for lost work is up",
    "notify": "a letter is sent",
    "close": "a task is taken down",
    "balance": "the balance before the first task is known",
}


def last_said(study: Study, endpoints: Iterable[str]) -> list[Said]:
    """What each platform said last, as far as it was kept: nobody is asked here."""
    found: list[Said] = []
    with reading(study.engine) as session:
        for endpoint in endpoints:
            found += _last_said_at(session, study, endpoint)
    return found


def _last_said_at(session: Session, study: Study, endpoint: str) -> Iterator[Said]:
    here = (OutboxRow.study_id == study.id, OutboxRow.endpoint == endpoint)
    done = session.execute(
        select(OutboxRow.operation, OutboxRow.confirmed_at)
        .where(*here, OutboxRow.confirmed_at.is_not(None), OutboxRow.operation.not_in(HERE_ALONE))
        .order_by(OutboxRow.confirmed_at.desc(), OutboxRow.id.desc())
        .limit(1)
    ).first()
    if done:
        by_link = f"{done.operation} {endpoint}"
        words = _OPERATIONS.get(by_link) or _OPERATIONS.get(done.operation, f"“{done.operation}” worked")
        yield Said(endpoint, f"{words[0].upper()}{words[1:]}.", done.confirmed_at)
    came = session.scalar(
        select(func.max(AnswerRow.received_at))
        .join(AssignmentRow, AssignmentRow.id == AnswerRow.assignment_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
        .where(AnswerRow.source == "platform")
    )
    if came:
        yield Said(endpoint, "The answers of a form came.", came)
    failed = session.execute(
        select(OutboxRow.operation, OutboxRow.state, OutboxRow.error, OutboxRow.attempted_at)
        .where(*here, OutboxRow.state != "confirmed", OutboxRow.attempts > 0)
        .where(OutboxRow.error.not_in(("", OVERTAKEN, INSTEAD)))
        .order_by(OutboxRow.attempted_at.desc(), OutboxRow.id.desc())
        .limit(1)
    ).first()
    if failed:
        said = "Refused" if failed.state == "refused" else "Did not confirm"
        words = without_ids(session, failed.error)
        yield Said(endpoint, f"{said} “{failed.operation}”: {words}", failed.attempted_at)
    differs = session.execute(
        select(DifferenceRow.what, DifferenceRow.found_at)
        .where(DifferenceRow.study_id == study.id, DifferenceRow.endpoint == endpoint)
        .where(DifferenceRow.over_at.is_(None))
        .order_by(DifferenceRow.found_at.desc(), DifferenceRow.id.desc())
        .limit(1)
    ).first()
    if differs:
        yield Said(endpoint, f"Shows a HIT that is not as planned: {differs.what}.", differs.found_at)
