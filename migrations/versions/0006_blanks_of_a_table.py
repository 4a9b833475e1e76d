"""A study made from a table shows the blanks of that table alone

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "study_blanks",
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("story_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("study_id", "story_id", "position", name=op.f("pk_study_blanks")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_study_blanks_study_id_studies")),
        sa.ForeignKeyConstraint(["story_id"], ["stories.id"], name=op.f("fk_study_blanks_story_id_stories")),
        sa.CheckConstraint("position BETWEEN 1 AND 20", name=op.f("ck_study_blanks_position")),
    )
    op.create_index(op.f("ix_study_blanks_story_id"), "study_blanks", ["story_id"])


def downgrade() -> None:
    op.drop_table("study_blanks")
