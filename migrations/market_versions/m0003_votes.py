"""The votes of each answer, which review policies compare

Revision ID: m0003
Revises: m0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m0003"
down_revision = "m0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "votes",
        sa.Column("assignment_number", sa.Integer(), nullable=False),
        sa.Column("votes", sa.Text(), nullable=False),
        sa.Column("known_score", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["assignment_number"],
            ["assignments.number"],
            name=op.f("fk_votes_assignment_number_assignments"),
        ),
        sa.PrimaryKeyConstraint("assignment_number", name=op.f("pk_votes")),
    )


def downgrade() -> None:
    op.drop_table("votes")
