"""The first tables of the marketplace

Revision ID: m0001
Revises:
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    for make in (
        _account,
        _events,
        _hit_types,
        _qualification_types,
        _request_tokens,
        _workers,
        _hit_type_requirements,
        _hits,
        _messages,
        _qualification_requests,
        _qualifications,
        _worker_blocks,
        _assignments,
        _review_lines,
        _bonuses,
        _entries,
        _uploads,
        _upload_links,
    ):
        make()


def downgrade() -> None:
    for table in (
        "upload_links",
        "uploads",
        "entries",
        "bonuses",
        "review_lines",
        "assignments",
        "worker_blocks",
        "qualifications",
        "qualification_requests",
        "messages",
        "hits",
        "hit_type_requirements",
        "workers",
        "request_tokens",
        "qualification_types",
        "hit_types",
        "events",
        "account",
    ):
        op.drop_table(table)


def _account() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("signing_key", sa.Text(), nullable=False),
        sa.Column("public_url", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("mode IN ('local', 'sandbox')", name=op.f("ck_account_mode")),
        sa.CheckConstraint("id = 1", name=op.f("ck_account_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("transport", sa.Text(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_events")),
    )


def _hit_types() -> None:
    op.create_table(
        "hit_types",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("keywords", sa.Text(), nullable=False),
        sa.Column("reward_cents", sa.Integer(), nullable=False),
        sa.Column("assignment_seconds", sa.Integer(), nullable=False),
        sa.Column("auto_approval_seconds", sa.Integer(), nullable=False),
        sa.Column("qualifications", sa.JSON(), nullable=False),
        sa.Column("notification", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("notifying", sa.Boolean(), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("reward_cents >= 0", name=op.f("ck_hit_types_reward")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_hit_types")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_hit_types_fingerprint")),
        sa.UniqueConstraint("group_id", name=op.f("uq_hit_types_group_id")),
        sa.UniqueConstraint("id", name=op.f("uq_hit_types_id")),
    )


def _qualification_types() -> None:
    op.create_table(
        "qualification_types",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("keywords", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("retry_seconds", sa.Integer(), nullable=True),
        sa.Column("test", sa.Text(), nullable=True),
        sa.Column("test_seconds", sa.Integer(), nullable=True),
        sa.Column("answer_key", sa.Text(), nullable=True),
        sa.Column("auto_value", sa.Integer(), nullable=True),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(test IS NULL) = (test_seconds IS NULL)", name=op.f("ck_qualification_types_test")
        ),
        sa.CheckConstraint(
            "answer_key IS NULL OR test IS NOT NULL", name=op.f("ck_qualification_types_answer_key")
        ),
        sa.CheckConstraint(
            "auto_value IS NULL OR test IS NULL", name=op.f("ck_qualification_types_auto_value")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_qualification_types")),
        sa.UniqueConstraint("id", name=op.f("uq_qualification_types_id")),
    )
    op.create_index(
        "uq_qualification_types_name",
        "qualification_types",
        ["name"],
        unique=True,
        sqlite_where=sa.text("NOT deleted"),
        postgresql_where=sa.text("NOT deleted"),
    )


def _request_tokens() -> None:
    op.create_table(
        "request_tokens",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("made", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_request_tokens")),
        sa.UniqueConstraint("operation", "token", name=op.f("uq_request_tokens_operation_token")),
    )
    op.create_index(op.f("ix_request_tokens_made_at"), "request_tokens", ["made_at"])


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("links_revoked", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_workers")),
        sa.UniqueConstraint("handle", name=op.f("uq_workers_handle")),
        sa.UniqueConstraint("id", name=op.f("uq_workers_id")),
    )


def _hit_type_requirements() -> None:
    op.create_table(
        "hit_type_requirements",
        sa.Column("hit_type_number", sa.Integer(), nullable=False),
        sa.Column("qualification_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["hit_type_number"],
            ["hit_types.number"],
            name=op.f("fk_hit_type_requirements_hit_type_number_hit_types"),
        ),
        sa.PrimaryKeyConstraint("hit_type_number", "qualification_id", name=op.f("pk_hit_type_requirements")),
    )
    op.create_index(
        op.f("ix_hit_type_requirements_qualification_id"), "hit_type_requirements", ["qualification_id"]
    )


def _hits() -> None:
    op.create_table(
        "hits",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("hit_type_number", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("annotation", sa.Text(), nullable=False),
        sa.Column("max_assignments", sa.Integer(), nullable=False),
        sa.Column("fee_cents", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reviewing", sa.Boolean(), nullable=False),
        sa.Column("disposed", sa.Boolean(), nullable=False),
        sa.Column("expired", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("assignment_policy", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("hit_policy", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("policy_due", sa.Boolean(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status IN ('Assignable', 'Unassignable', 'Reviewable', 'Reviewing', 'Disposed')",
            name=op.f("ck_hits_status"),
        ),
        sa.CheckConstraint("fee_cents >= 0", name=op.f("ck_hits_fee")),
        sa.CheckConstraint("max_assignments >= 1", name=op.f("ck_hits_max_assignments")),
        sa.ForeignKeyConstraint(
            ["hit_type_number"], ["hit_types.number"], name=op.f("fk_hits_hit_type_number_hit_types")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_hits")),
        sa.UniqueConstraint("id", name=op.f("uq_hits_id")),
    )
    op.create_index(op.f("ix_hits_disposed_finished_at"), "hits", ["disposed", "finished_at"])
    op.create_index(op.f("ix_hits_expired_expires_at"), "hits", ["expired", "expires_at"])
    op.create_index(op.f("ix_hits_hit_type_number"), "hits", ["hit_type_number"])
    op.create_index(op.f("ix_hits_policy_due_status"), "hits", ["policy_due", "status"])
    op.create_index(op.f("ix_hits_status"), "hits", ["status"])


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker_number", sa.Integer(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("read", sa.Boolean(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["worker_number"], ["workers.number"], name=op.f("fk_messages_worker_number_workers")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_messages")),
    )
    op.create_index(op.f("ix_messages_worker_number"), "messages", ["worker_number"])


def _qualification_requests() -> None:
    op.create_table(
        "qualification_requests",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type_number", sa.Integer(), nullable=False),
        sa.Column("worker_number", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("test", sa.Text(), nullable=True),
        sa.Column("answer_key", sa.Text(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(state = 'testing') = (submitted_at IS NULL)",
            name=op.f("ck_qualification_requests_submitted_at"),
        ),
        sa.CheckConstraint(
            "state IN ('testing', 'submitted', 'granted', 'rejected')",
            name=op.f("ck_qualification_requests_state"),
        ),
        sa.ForeignKeyConstraint(
            ["type_number"],
            ["qualification_types.number"],
            name=op.f("fk_qualification_requests_type_number_qualification_types"),
        ),
        sa.ForeignKeyConstraint(
            ["worker_number"],
            ["workers.number"],
            name=op.f("fk_qualification_requests_worker_number_workers"),
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_qualification_requests")),
        sa.UniqueConstraint("id", name=op.f("uq_qualification_requests_id")),
    )
    op.create_index(op.f("ix_qualification_requests_type_number"), "qualification_requests", ["type_number"])
    op.create_index(
        op.f("ix_qualification_requests_worker_number"), "qualification_requests", ["worker_number"]
    )


def _qualifications() -> None:
    op.create_table(
        "qualifications",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("type_number", sa.Integer(), nullable=False),
        sa.Column("worker_number", sa.Integer(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("granted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["type_number"],
            ["qualification_types.number"],
            name=op.f("fk_qualifications_type_number_qualification_types"),
        ),
        sa.ForeignKeyConstraint(
            ["worker_number"], ["workers.number"], name=op.f("fk_qualifications_worker_number_workers")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_qualifications")),
        sa.UniqueConstraint(
            "type_number", "worker_number", name=op.f("uq_qualifications_type_number_worker_number")
        ),
    )
    op.create_index(op.f("ix_qualifications_worker_number"), "qualifications", ["worker_number"])


def _worker_blocks() -> None:
    op.create_table(
        "worker_blocks",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker_number", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["worker_number"], ["workers.number"], name=op.f("fk_worker_blocks_worker_number_workers")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_worker_blocks")),
        sa.UniqueConstraint("worker_number", name=op.f("uq_worker_blocks_worker_number")),
    )


def _assignments() -> None:
    op.create_table(
        "assignments",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("hit_number", sa.Integer(), nullable=False),
        sa.Column("worker_number", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "accepted",
                "submitted",
                "approved",
                "rejected",
                "returned",
                "abandoned",
                name="state",
                native_enum=False,
                create_constraint=True,
            ),
            nullable=False,
        ),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("auto_approve_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rejected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("feedback", sa.Text(), nullable=True),
        sa.CheckConstraint("(answer IS NULL) = (submitted_at IS NULL)", name=op.f("ck_assignments_answer")),
        sa.ForeignKeyConstraint(["hit_number"], ["hits.number"], name=op.f("fk_assignments_hit_number_hits")),
        sa.ForeignKeyConstraint(
            ["worker_number"], ["workers.number"], name=op.f("fk_assignments_worker_number_workers")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_assignments")),
        sa.UniqueConstraint("id", name=op.f("uq_assignments_id")),
        sa.UniqueConstraint("turn", name=op.f("uq_assignments_turn")),
    )
    op.create_index(op.f("ix_assignments_hit_number_state"), "assignments", ["hit_number", "state"])
    op.create_index(op.f("ix_assignments_state_auto_approve_at"), "assignments", ["state", "auto_approve_at"])
    op.create_index(op.f("ix_assignments_state_deadline"), "assignments", ["state", "deadline"])
    op.create_index(op.f("ix_assignments_worker_number"), "assignments", ["worker_number"])
    op.create_index(
        "uq_assignments_one_go",
        "assignments",
        ["hit_number", "worker_number"],
        unique=True,
        sqlite_where=sa.text("state IN ('accepted', 'submitted', 'approved', 'rejected')"),
        postgresql_where=sa.text("state IN ('accepted', 'submitted', 'approved', 'rejected')"),
    )


def _review_lines() -> None:
    op.create_table(
        "review_lines",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("hit_number", sa.Integer(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('result', 'action')", name=op.f("ck_review_lines_kind")),
        sa.CheckConstraint("level IN ('Assignment', 'HIT')", name=op.f("ck_review_lines_level")),
        sa.ForeignKeyConstraint(
            ["hit_number"], ["hits.number"], name=op.f("fk_review_lines_hit_number_hits")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_review_lines")),
    )
    op.create_index(op.f("ix_review_lines_hit_number"), "review_lines", ["hit_number"])


def _bonuses() -> None:
    op.create_table(
        "bonuses",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("assignment_number", sa.Integer(), nullable=False),
        sa.Column("cents", sa.Integer(), nullable=False),
        sa.Column("fee_cents", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("paid_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("cents > 0", name=op.f("ck_bonuses_amount")),
        sa.ForeignKeyConstraint(
            ["assignment_number"],
            ["assignments.number"],
            name=op.f("fk_bonuses_assignment_number_assignments"),
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_bonuses")),
    )
    op.create_index(op.f("ix_bonuses_assignment_number"), "bonuses", ["assignment_number"])


def _entries() -> None:
    op.create_table(
        "entries",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("hit_number", sa.Integer(), nullable=True),
        sa.Column("assignment_number", sa.Integer(), nullable=True),
        sa.Column("available", sa.Integer(), nullable=False),
        sa.Column("on_hold", sa.Integer(), nullable=False),
        sa.Column("paid", sa.Integer(), nullable=False),
        sa.Column("fees", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('opening', 'deposit') OR available + on_hold + paid + fees = 0",
            name=op.f("ck_entries_balanced"),
        ),
        sa.CheckConstraint("kind != 'deposit' OR available > 0", name=op.f("ck_entries_deposit")),
        sa.CheckConstraint(
            "kind IN ('opening', 'deposit', 'hold', 'release', 'reward', 'bonus')",
            name=op.f("ck_entries_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["assignment_number"],
            ["assignments.number"],
            name=op.f("fk_entries_assignment_number_assignments"),
        ),
        sa.ForeignKeyConstraint(["hit_number"], ["hits.number"], name=op.f("fk_entries_hit_number_hits")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_entries")),
    )
    op.create_index(op.f("ix_entries_assignment_number"), "entries", ["assignment_number"])
    op.create_index(op.f("ix_entries_hit_number"), "entries", ["hit_number"])


def _uploads() -> None:
    op.create_table(
        "uploads",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("assignment_number", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_number"],
            ["assignments.number"],
            name=op.f("fk_uploads_assignment_number_assignments"),
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_uploads")),
        sa.UniqueConstraint(
            "assignment_number", "question", name=op.f("uq_uploads_assignment_number_question")
        ),
        sa.UniqueConstraint("key", name=op.f("uq_uploads_key")),
    )


def _upload_links() -> None:
    op.create_table(
        "upload_links",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("upload_number", sa.Integer(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["upload_number"],
            ["uploads.number"],
            name=op.f("fk_upload_links_upload_number_uploads"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_upload_links")),
        sa.UniqueConstraint("token", name=op.f("uq_upload_links_token")),
    )
    op.create_index(op.f("ix_upload_links_until"), "upload_links", ["until"])
