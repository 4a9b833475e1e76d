"""Indexes for what is looked for by rows, studies, generators and forms; ids that never come again

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
NEVER_AGAIN = ("studies", "generators", "runs", "outbox", "workers")
"""Tables whose ids programs keep from one transaction to the next. SQLite gave the id of a row that was
deleted to the next one, and what a program began about one was done to the other."""


def upgrade() -> None:
    _copied({"sqlite_autoincrement": True})
    for table, column in WHOLE:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
    for table, column in KNOWN:
        known = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            op.f(f"ix_{table}_{column}"), table, [column], sqlite_where=known, postgresql_where=known
        )


def _copied(options: dict[str, bool]) -> None:
    """Copy the tables with these options, on SQLite. PostgreSQL never gives an id again."""
    if op.get_bind().dialect.name == "sqlite":
        for table in NEVER_AGAIN:
            with op.batch_alter_table(table, recreate="always", table_kwargs=options):
                pass


def downgrade() -> None:
    for table, column in (*WHOLE, *KNOWN):
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
    _copied({})
