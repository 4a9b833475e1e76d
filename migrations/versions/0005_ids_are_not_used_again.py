"""The id of a claim that was deleted is never another person's: addresses that we have signed hold it

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

INDEXES = (
    ("uq_assignments_held_row", ["endpoint", "row_id"], "holds_row", True),
    ("ix_assignments_held", ["study_id", "endpoint", "row_id"], "holds_row", False),
    ("ix_assignments_open", ["study_id", "endpoint", "lease_until"], "state = 'opened'", False),
)
"""Indexes of some rows, which a copy of the table would lose."""


def upgrade() -> None:
    copied({"sqlite_autoincrement": True})


def downgrade() -> None:
    copied({})


def copied(kwargs: dict[str, bool]) -> None:
    """Copy the table. A PostgreSQL sequence never goes back."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for name, *_ in INDEXES:
        op.drop_index(name, "assignments")
    with op.batch_alter_table("assignments", recreate="always", table_kwargs=kwargs):
        pass
    for name, columns, where, unique in INDEXES:
        op.create_index(name, "assignments", columns, unique=unique, sqlite_where=sa.text(where))
