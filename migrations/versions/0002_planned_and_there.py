"""What the platform has otherwise than planned, work that it lost, and answers of programs

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BEFORE = "state IN ('opened', 'answered', 'submitted', 'approved', 'rejected', 'superseded')"
AFTER = "state IN ('opened', 'answered', 'submitted', 'approved', 'rejected', 'taken in', 'superseded')"


def upgrade() -> None:
    op.create_table(
        "differences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("hit_id", sa.Integer(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("planned", sa.Text(), nullable=False),
        sa.Column("there", sa.Text(), nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("over_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["hit_id"], ["hits.id"], name=op.f("fk_differences_hit_id_hits")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_differences_study_id_studies")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_differences")),
    )
    with op.batch_alter_table("differences") as differences:
        differences.create_index(differences.f("ix_differences_hit_id"), ["hit_id"], unique=False)
        differences.create_index(differences.f("ix_differences_study_id"), ["study_id"], unique=False)
    with op.batch_alter_table("hits") as hits:
        hits.add_column(sa.Column("next_expires_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("assignments") as assignments:
        assignments.add_column(
            sa.Column("by_program", sa.Boolean(), nullable=False, server_default=sa.false())
        )
        assignments.drop_constraint(op.f("ck_assignments_state"), type_="check")
        assignments.create_check_constraint(op.f("ck_assignments_state"), AFTER)
    with op.batch_alter_table("assignments") as assignments:
        assignments.alter_column("by_program", server_default=None)
    # Nothing told programs and people apart before: in a simulated study, all were taken for programs.
    op.execute(
        "UPDATE assignments SET by_program = (SELECT simulated FROM studies WHERE studies.id = study_id)"
    )


def downgrade() -> None:
    op.execute("UPDATE assignments SET state = 'answered' WHERE state = 'taken in'")
    with op.batch_alter_table("assignments") as assignments:
        assignments.drop_constraint(op.f("ck_assignments_state"), type_="check")
        assignments.create_check_constraint(op.f("ck_assignments_state"), BEFORE)
        assignments.drop_column("by_program")
    with op.batch_alter_table("hits") as hits:
        hits.drop_column("next_expires_at")
    with op.batch_alter_table("differences") as differences:
        differences.drop_index(differences.f("ix_differences_study_id"))
        differences.drop_index(differences.f("ix_differences_hit_id"))
    op.drop_table("differences")
