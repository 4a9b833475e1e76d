"""Consent as it was read, what panels send, who is forgotten, exports, events

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # They may be empty, so SQLite need not copy the table: its indexes of some rows stay as they are.
    op.add_column("assignments", sa.Column("consent_hash", sa.Text(), nullable=True))
    op.add_column("assignments", sa.Column("consented_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("assignments", sa.Column("parameters", sa.JSON(), nullable=True))
    with op.batch_alter_table("payments") as payments:
        payments.alter_column("assignment_id", existing_type=sa.Integer(), nullable=True)
    op.create_table(
        "consent_texts",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_consent_texts")),
    )
    op.create_table(
        "forgotten",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_forgotten")),
    )
    op.create_table(
        "deleted_forms",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("row_id", sa.Integer(), nullable=True),
        sa.Column("responses", sa.Integer(), nullable=False),
        sa.Column("row_replaced", sa.Boolean(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deleted_forms")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_deleted_forms_study_id_studies")),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name=op.f("fk_deleted_forms_row_id_rows")),
    )
    op.create_table(
        "exports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exports")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_exports_study_id_studies")),
    )
    for name in ("deleted_forms", "exports"):
        op.create_index(op.f(f"ix_{name}_study_id"), name, ["study_id"])
    op.create_table(
        "events",
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("happened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("endpoint", "event_id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_about"), "events", ["about"])


def downgrade() -> None:
    op.drop_index(op.f("ix_events_about"), "events")
    op.drop_table("events")
    for name in ("exports", "deleted_forms"):
        op.drop_index(op.f(f"ix_{name}_study_id"), name)
    for name in ("exports", "deleted_forms", "forgotten", "consent_texts"):
        op.drop_table(name)
    # An older version needs a form for each payment.
    op.execute("DELETE FROM payments WHERE assignment_id IS NULL")
    with op.batch_alter_table("payments") as payments:
        payments.alter_column("assignment_id", existing_type=sa.Integer(), nullable=False)
    op.drop_column("assignments", "parameters")
    op.drop_column("assignments", "consented_at")
    op.drop_column("assignments", "consent_hash")
