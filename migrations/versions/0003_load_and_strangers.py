"""Signed addresses, what the marketplace confirmed, payments by hand, and indexes for what grows

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_assignments_held", ["study_id", "endpoint", "row_id"], "holds_row"),
    ("ix_assignments_open", ["study_id", "endpoint", "lease_until"], "state = 'opened'"),
)


def upgrade() -> None:
    with op.batch_alter_table("payments") as payments:
        payments.add_column(sa.Column("elsewhere", sa.Boolean(), nullable=False, server_default=sa.false()))
    # HITs that are up already were published without a secret, and are not signed.
    with op.batch_alter_table("hits") as hits:
        hits.add_column(sa.Column("secret", sa.Text(), nullable=False, server_default=""))
    # Earlier claims count as they did.
    with op.batch_alter_table("assignments") as assignments:
        assignments.add_column(sa.Column("confirmed", sa.Boolean(), nullable=False, server_default=sa.true()))
    for table, column in (("payments", "elsewhere"), ("hits", "secret"), ("assignments", "confirmed")):
        with op.batch_alter_table(table) as changed:
            changed.alter_column(column, server_default=None)
    # What a form's opening looks for: the rows that are held, and the claims whose time may be over.
    for name, columns, where in INDEXES:
        op.create_index(
            name, "assignments", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where)
        )
    # Deleting an infill looked through all passages.
    op.create_index("ix_passages_infill_id", "passages", ["infill_id"])


def downgrade() -> None:
    op.drop_index("ix_passages_infill_id", "passages")
    for name, _, _ in INDEXES:
        op.drop_index(name, "assignments")
    for table, column in (("assignments", "confirmed"), ("hits", "secret"), ("payments", "elsewhere")):
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
