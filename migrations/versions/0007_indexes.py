"""Indexes for what is looked for by rows, studies, generators and forms

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

WHOLE = (
    ("gaps", "row_id"),
    ("passages", "study_id"),
    ("passages", "generator_id"),
    ("payments", "assignment_id"),
)
KNOWN = (("hits", "row_id"), ("deleted_forms", "row_id"), ("passages", "other_generator_id"))
"""Most rows of these tables have no value in the column, and are never looked for by it."""


def upgrade() -> None:
    for table, column in WHOLE:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
    for table, column in KNOWN:
        known = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            op.f(f"ix_{table}_{column}"), table, [column], sqlite_where=known, postgresql_where=known
        )


def downgrade() -> None:
    for table, column in (*WHOLE, *KNOWN):
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
