"""Puts answers to a study straight into its database: for tests of what comes after collecting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

from sqlalchemy import Engine, delete, select

from humaneval.domain import Role
from humaneval.scoring.questions.question import CHOICE, DETECT, Truth
from humaneval.store.engine import writing
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    DifferenceRow,
    HitRow,
    PassageRow,
    PaymentRow,
    ResponseRow,
    RowRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.stored import get_study, settings_of

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def answer(
    engine: Engine,
    name: str = "study",
    *,
    seed: int = 0,
    spammers: int = 1,
    endpoint: str = "production",
    programs: int = 0,
) -> None:
    """One annotator a row, who notices the Control, but for the first so many; guesses the rest; a minute
    a form. The last `programs` of them are programs."""
    rng = Random(seed)
    with writing(engine) as session:
        study = get_study(session, name)
        settings = settings_of(study)
        study.published_at = BEGAN
        study.simulated = study.simulated or programs > 0
        hit = HitRow(
            study_id=study.id,
            endpoint=endpoint,
            key=f"key-{name}",
            assignments=len(study.rows),
            external_id="HIT1",
        )
        session.add(hit)
        session.flush()
        for number, row in enumerate(
            session.scalars(select(RowRow).where(RowRow.study_id == study.id).order_by(RowRow.ordinal))
        ):
            worker = WorkerRow(pseudonym=f"p{number:03}")
            session.add(worker)
            session.flush()
            session.add(
                WorkerIdentityRow(worker_id=worker.id, endpoint=endpoint, external_id=f"AWORKER{number:03}")
            )
            opened = BEGAN + timedelta(minutes=number)
            assignment = AssignmentRow(
                study_id=study.id,
                hit_id=hit.id,
                endpoint=endpoint,
                external_id=f"A{number}",
                worker_id=worker.id,
                row_id=row.id,
                holds_row=True,
                state="approved",
                opened_at=opened,
                submitted_at=opened + timedelta(seconds=90),
                consent_version="1",
                by_program=number >= len(study.rows) - programs,
            )
            session.add(assignment)
            session.flush()
            for place in row.places:
                passage = place.passage
                seen = passage.role == Role.CONTROL and number >= spammers
                if settings.question == DETECT:
                    choice = passage.position if seen else rng.randrange(1, 6)
                    if passage.role == Role.CONTROL and not seen:
                        choice = passage.position % 5 + 1
                    given = {CHOICE: choice}
                else:
                    given = _given(settings, passage, seen, rng)
                session.add(
                    ResponseRow(
                        assignment_id=assignment.id,
                        passage_id=passage.id,
                        place=place.place,
                        choice=next(iter(given.values())),
                        answer=given if len(given) > 1 else None,
                        seconds=60 / len(row.places) + rng.random(),
                        shown_hash=passage.shown_hash,
                        source="server",
                    )
                )


def _given(settings: StudyFile, passage: PassageRow, seen: bool, rng: Random) -> dict[str, int]:
    """An answer to another question than detect, by its fields: to a Control passage obvious if `seen`."""
    names = [passage.generator.name, *([passage.other_generator.name] if passage.other_generator else [])]
    length = len(passage.sentences)
    truth = Truth(tuple(names), Role(passage.role), passage.position, length, settings.design.control)
    asked, own = settings.asked, settings.answer_settings
    while True:
        given = dict(asked.simulate(rng, truth, [0.5] * len(names), True, own))
        if passage.role != Role.CONTROL or asked.passed(truth, given, own) == seen:
            return given


COMMENT = "<script>alert(1)</script> & <b>thanks</b>"


def answer_half(engine: Engine, name: str = "study") -> None:
    """The same in the middle of its life: a quarter is approved and paid, a quarter is submitted, and one
    form each is answered and open. There are a stray, a comment, and differences of a HIT and of answers."""
    answer(engine, name)
    with writing(engine) as session:
        study = get_study(session, name)
        work = session.scalars(
            select(AssignmentRow).where(AssignmentRow.study_id == study.id).order_by(AssignmentRow.id)
        ).all()
        moment, quarter = now(), len(work) // 4
        for number, one in enumerate(work):
            one.opened_at = moment - timedelta(minutes=200 - number)
            if number < quarter:
                session.add(_reward(one))
            elif number < 2 * quarter:
                one.state, one.auto_approval_at = "submitted", moment + timedelta(hours=9)
            else:
                session.execute(delete(ResponseRow).where(ResponseRow.assignment_id == one.id))
                one.state, one.submitted_at = "opened", None
                one.lease_until = moment + timedelta(hours=1)
            if number <= 2 * quarter:
                one.answered_at = one.opened_at + timedelta(seconds=100)
                said = {"comment": COMMENT if number == 1 else ""}
                session.add(AnswerRow(assignment_id=one.id, source="server", fields=said))
            if number == 2 * quarter:
                one.state, one.lease_until = "answered", None
            if number > 2 * quarter + 1:
                session.execute(delete(AssignmentRow).where(AssignmentRow.id == one.id))
        work[0].differences = "story 2: 3 on our server, 4 there"
        hit = session.get_one(HitRow, work[0].hit_id)
        hit.expires_at = moment + timedelta(days=1)
        session.add(
            DifferenceRow(
                study_id=study.id,
                hit_id=hit.id,
                endpoint=hit.endpoint,
                what="reward",
                planned="$0.80",
                there="$5.00",
            )
        )
        session.add(
            AssignmentRow(
                study_id=study.id,
                hit_id=hit.id,
                endpoint=hit.endpoint,
                external_id="STRAY1",
                worker_id=work[-1].worker_id,
                holds_row=False,
                state="submitted",
                submitted_at=moment,
                excluded="matches no form",
            )
        )


def _reward(one: AssignmentRow) -> PaymentRow:
    return PaymentRow(
        study_id=one.study_id,
        endpoint=one.endpoint,
        assignment_id=one.id,
        kind="reward",
        purpose="reward",
        amount=Decimal("0.80"),
        fee=Decimal("0.16"),
        state="paid",
        paid_at=now(),
    )
