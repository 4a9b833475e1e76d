"""The tables: stories, infills, studies, HITs, answers and payments. One class a table."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ColumnElement, ForeignKey, UniqueConstraint, and_
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.domain import MOST_SENTENCES, InfillStatus, Role
from humaneval.store.differences import DifferenceRow as DifferenceRow
from humaneval.store.events import EventRow as EventRow
from humaneval.store.meta import MetaRow as MetaRow
from humaneval.store.payments import PaymentRow as PaymentRow
from humaneval.store.people import ConsentTextRow as ConsentTextRow
from humaneval.store.people import DeletedFormRow as DeletedFormRow
from humaneval.store.people import ExportRow as ExportRow
from humaneval.store.people import ForgottenRow as ForgottenRow
from humaneval.store.study_blanks import StudyBlankRow as StudyBlankRow
from humaneval.store.types import NEVER_AGAIN, Base, between, index_known, index_where, now, one_of


class StoryRow(Base):
    __tablename__ = "stories"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    """The id in the story file."""
    title: Mapped[str]
    source: Mapped[str]
    split: Mapped[str] = mapped_column(index=True)
    sentences: Mapped[list[str]]
    created_at: Mapped[datetime] = mapped_column(default=now)


class GeneratorRow(Base):
    __tablename__ = "generators"
    __table_args__ = (NEVER_AGAIN,)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    configuration_hash: Mapped[str]
    """Hash of kind, checkpoint, seed and settings. One name never mixes two, apart from several tables."""
    created_at: Mapped[datetime] = mapped_column(default=now)


class RunRow(Base):
    """One provenance of a generator's infills."""

    __tablename__ = "runs"
    __table_args__ = (UniqueConstraint("generator_id", "hash"), NEVER_AGAIN)

    id: Mapped[int] = mapped_column(primary_key=True)
    generator_id: Mapped[int] = mapped_column(ForeignKey("generators.id"))
    checkpoint: Mapped[str]
    seed: Mapped[int]
    settings: Mapped[dict[str, Any]]
    batch: Mapped[dict[str, Any]]
    versions: Mapped[dict[str, Any]]
    hash: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)


class InfillRow(Base):
    __tablename__ = "infills"
    __table_args__ = (
        UniqueConstraint("generator_id", "story_id", "position", "sample"),
        one_of("status", InfillStatus),
        between("position", 1, MOST_SENTENCES),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    generator_id: Mapped[int] = mapped_column(ForeignKey("generators.id"))
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), index=True)
    story_id: Mapped[int] = mapped_column(ForeignKey("stories.id"), index=True)
    position: Mapped[int]
    sample: Mapped[int]
    text: Mapped[str]
    status: Mapped[str]
    detail: Mapped[str]
    extra: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(default=now)


class StudyRow(Base):
    __tablename__ = "studies"
    __table_args__ = (NEVER_AGAIN,)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    is_test: Mapped[bool]
    """A pilot: its answers are marked as such and never pooled."""
    simulated: Mapped[bool] = mapped_column(default=False)
    """Set before the first simulated annotator answers, and never cleared. `by_program` says who answered."""
    seed: Mapped[int]
    settings: Mapped[dict[str, Any]]
    settings_text: Mapped[str]
    """The study file, as written."""
    settings_hash: Mapped[str]
    design_hash: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)
    published_at: Mapped[datetime | None]
    rows: Mapped[list[RowRow]] = relationship(order_by="RowRow.ordinal", back_populates="study")


class StudyAdditionRow(Base):
    """Rows added to a study after it was made. Its settings and first rows stay the same."""

    __tablename__ = "study_additions"
    __table_args__ = (CheckConstraint("rows_after > rows_before", name="rows"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    rows_before: Mapped[int]
    rows_after: Mapped[int]
    responses_before: Mapped[int]  # collected when the addition was decided
    reason: Mapped[str]
    design_hash: Mapped[str]  # of all rows, including the earlier ones
    created_at: Mapped[datetime] = mapped_column(default=now)


_KEY = ("study_id", "story_id", "position", "generator_id")


class PassageRow(Base):
    """A passage as shown. Its text is stored here, so that it never changes with the story."""

    __tablename__ = "passages"
    __table_args__ = (
        # Apart, because two passages without another generator would never count as the same.
        index_where("uq_passages_alone", *_KEY, where="other_generator_id IS NULL", unique=True),
        index_where(
            "uq_passages_pair",
            *_KEY,
            "other_generator_id",
            where="other_generator_id IS NOT NULL",
            unique=True,
        ),
        index_known("passages", "other_generator_id"),
        one_of("role", Role),
        between("position", 1, MOST_SENTENCES + 1),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    story_id: Mapped[int] = mapped_column(ForeignKey("stories.id"))
    generator_id: Mapped[int] = mapped_column(ForeignKey("generators.id"), index=True)
    infill_id: Mapped[int | None] = mapped_column(ForeignKey("infills.id"), index=True)
    position: Mapped[int]
    """The held-out sentence, or where the machine begins: one more than there are if a person wrote all."""
    role: Mapped[str]
    sentences: Mapped[list[str]]
    other_generator_id: Mapped[int | None] = mapped_column(ForeignKey("generators.id"))
    """Of a second sentence that is shown beside the first; None if there is one."""
    other_infill_id: Mapped[int | None] = mapped_column(ForeignKey("infills.id"), index=True)
    alternative: Mapped[str | None]
    """The second sentence."""
    shown_hash: Mapped[str]
    story: Mapped[StoryRow] = relationship()
    generator: Mapped[GeneratorRow] = relationship(foreign_keys=[generator_id])
    other_generator: Mapped[GeneratorRow | None] = relationship(foreign_keys=[other_generator_id])


class RowRow(Base):
    """One annotator's form."""

    __tablename__ = "rows"
    __table_args__ = (UniqueConstraint("study_id", "ordinal"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"))
    ordinal: Mapped[int]
    shown_hash: Mapped[str] = mapped_column(index=True)
    study: Mapped[StudyRow] = relationship(back_populates="rows")
    places: Mapped[list[RowPassageRow]] = relationship(order_by="RowPassageRow.place")


class RowPassageRow(Base):
    __tablename__ = "row_passages"

    row_id: Mapped[int] = mapped_column(ForeignKey("rows.id"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    passage_id: Mapped[int] = mapped_column(ForeignKey("passages.id"), index=True)
    passage: Mapped[PassageRow] = relationship()


AUDIENCES = ("open", "personal", "panel")
"""The people who may use one of our links: anybody, one person, or the members of a panel."""


class HitRow(Base):
    """A planned HIT or link of ours. It has an `external_id` once it is published."""

    __tablename__ = "hits"
    __table_args__ = (
        UniqueConstraint("endpoint", "external_id"),
        CheckConstraint("assignments >= 1", name="assignments"),
        index_known("hits", "row_id"),
        one_of("audience", ("", *AUDIENCES)),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    endpoint: Mapped[str]
    key: Mapped[str] = mapped_column(unique=True)
    """An unguessable key in the form's address and in the platform's annotation."""
    assignments: Mapped[int]
    row_id: Mapped[int | None] = mapped_column(ForeignKey("rows.id"))
    """The row of a static page; otherwise None."""
    audience: Mapped[str] = mapped_column(default="")
    """The people who may use the link; empty for a HIT."""
    secret: Mapped[str] = mapped_column(default="")  # our marketplace signs with it; empty: nothing is signed
    external_id: Mapped[str | None]
    expires_at: Mapped[datetime | None]
    next_expires_at: Mapped[datetime | None]  # kept before the platform is called, until that is recorded
    closed_at: Mapped[datetime | None]  # when it was deleted on the platform
    created_at: Mapped[datetime] = mapped_column(default=now)
    taken: Mapped[int] = mapped_column(default=0, server_default="0")
    """How many of its places are taken. Triggers of the database count: a claim takes one if it holds its row
    or its work is done, until its row is offered again."""
    study: Mapped[StudyRow] = relationship()


class GapRow(Base):
    """A row that nobody holds at an endpoint, before the last one that somebody has held there.

    Triggers of the database write this table, whatever changes a claim. So nobody looks through all rows.
    """

    __tablename__ = "gaps"

    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), primary_key=True)
    endpoint: Mapped[str] = mapped_column(primary_key=True)
    row_id: Mapped[int] = mapped_column(ForeignKey("rows.id"), primary_key=True, index=True)


OUTBOX_STATES = ("pending", "confirmed", "refused")


class OutboxRow(Base):
    """One write to a platform, committed before the call and confirmed after it."""

    __tablename__ = "outbox"
    __table_args__ = (
        UniqueConstraint("endpoint", "operation", "subject"),
        one_of("state", OUTBOX_STATES),
        NEVER_AGAIN,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    endpoint: Mapped[str]
    operation: Mapped[str]
    subject: Mapped[str]
    """What the write is about, for example `hit 12`. With the operation it identifies the write."""
    token: Mapped[str] = mapped_column(unique=True)
    request: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="pending")
    attempts: Mapped[int] = mapped_column(default=0)
    answer: Mapped[dict[str, Any] | None]
    error: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime] = mapped_column(default=now)
    attempted_at: Mapped[datetime | None]
    confirmed_at: Mapped[datetime | None]


class WorkerRow(Base):
    """A worker as a keyed pseudonym, which is all that exports and reports see."""

    __tablename__ = "workers"
    __table_args__ = (NEVER_AGAIN,)

    id: Mapped[int] = mapped_column(primary_key=True)
    pseudonym: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class WorkerIdentityRow(Base):
    """The platforms' own worker ids: the one restricted table."""

    __tablename__ = "worker_identities"
    __table_args__ = (UniqueConstraint("endpoint", "external_id"),)

    worker_id: Mapped[int] = mapped_column(ForeignKey("workers.id"), primary_key=True)
    endpoint: Mapped[str]
    external_id: Mapped[str]


TAKEN_IN = "taken in"
"""The state of work that the platform lost: a person has accepted what our server holds of it."""
ASSIGNMENT_STATES = ("opened", "answered", "submitted", "approved", "rejected", TAKEN_IN, "superseded")
COLLECTED = ("submitted", "approved", "rejected", TAKEN_IN)
"""States of work that was submitted to the platform and collected from it, or taken in without it."""


class AssignmentRow(Base):
    """One worker's attempt at one HIT. Platforms reuse assignment ids, so the worker is part of the key."""

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("endpoint", "external_id", "worker_id"),
        one_of("state", ASSIGNMENT_STATES),
        index_where("uq_assignments_held_row", "endpoint", "row_id", where="holds_row", unique=True),
        index_where("ix_assignments_held", "study_id", "endpoint", "row_id", where="holds_row"),
        index_where("ix_assignments_open", "study_id", "endpoint", "lease_until", where="state = 'opened'"),
        NEVER_AGAIN,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    hit_id: Mapped[int] = mapped_column(ForeignKey("hits.id"), index=True)
    endpoint: Mapped[str]
    external_id: Mapped[str]
    worker_id: Mapped[int] = mapped_column(ForeignKey("workers.id"), index=True)
    row_id: Mapped[int | None] = mapped_column(ForeignKey("rows.id"), index=True)
    holds_row: Mapped[bool]
    """While it is true, no other worker gets the row."""
    state: Mapped[str]
    lease_until: Mapped[datetime | None]
    opened_at: Mapped[datetime | None]
    answered_at: Mapped[datetime | None]  # when our server had stored the answers
    submitted_at: Mapped[datetime | None]  # when the platform received the answers
    auto_approval_at: Mapped[datetime | None]
    reviewed_at: Mapped[datetime | None]
    """When we last approved or rejected it. Older statements of the platform do not count."""
    consent_version: Mapped[str] = mapped_column(default="")
    consent_hash: Mapped[str | None]  # of the text, as `consent_texts` has it; None if we did not show it
    consented_at: Mapped[datetime | None]  # when our server had stored it, with the answers
    excluded: Mapped[str] = mapped_column(default="")
    """Why `review` decided that these answers do not count; empty if they count."""
    confirmed: Mapped[bool] = mapped_column(default=True)
    """Whether the platform signed the address or showed the submission: it is really this worker's."""
    by_program: Mapped[bool] = mapped_column(default=False)
    """Whether a simulated annotator answered, and not a person."""
    row_replaced: Mapped[bool] = mapped_column(default=False)
    """Whether a HIT was planned to offer the row again."""
    differences: Mapped[str] = mapped_column(default="")
    """How the platform's answers differ from our server's copy; empty if they agree."""
    parameters: Mapped[dict[str, Any] | None]
    """What a panel sent beside its ids, as the study file names it."""

    @hybrid_property
    def is_stray(self) -> bool:
        """Work at one of our HITs without a form of ours. Kept, never paid or rejected automatically."""
        return self.row_id is None and self.state in COLLECTED

    @is_stray.inplace.expression
    @classmethod
    def _is_stray(cls) -> ColumnElement[bool]:
        return and_(cls.row_id.is_(None), cls.state.in_(COLLECTED))

    worker: Mapped[WorkerRow] = relationship()
    row: Mapped[RowRow | None] = relationship()
    hit: Mapped[HitRow] = relationship()


class AnswerRow(Base):
    """Answers as they arrived, from our own form (`server`) or from the platform (`platform`)."""

    __tablename__ = "answers"
    __table_args__ = (UniqueConstraint("assignment_id", "source"), one_of("source", ("server", "platform")))

    id: Mapped[int] = mapped_column(primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))
    source: Mapped[str]
    fields: Mapped[dict[str, Any]]
    received_at: Mapped[datetime] = mapped_column(default=now)


class ResponseRow(Base):
    """One answer to one passage: what scores are computed from."""

    __tablename__ = "responses"
    __table_args__ = (
        UniqueConstraint("assignment_id", "place"),
        between("choice", 1, MOST_SENTENCES + 1),
        one_of("source", ("server", "platform", "both")),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"))
    passage_id: Mapped[int] = mapped_column(ForeignKey("passages.id"), index=True)
    place: Mapped[int]
    choice: Mapped[int]
    """The answer to the first field of the study's question."""
    answer: Mapped[dict[str, Any] | None]
    """The answers to all fields, if there are several."""
    seconds: Mapped[float | None]
    shown_hash: Mapped[str]
    source: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)


METADATA = Base.metadata
"""All tables of this module. Take it from here: `Base` alone has no table before this module is loaded."""
