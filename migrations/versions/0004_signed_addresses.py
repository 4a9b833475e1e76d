"""Secrets with which the marketplace signs addresses, and what it has confirmed

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

INDEXES = (
    ("ix_assignments_held", ["study_id", "endpoint", "row_id"], "holds_row"),
    ("ix_assignments_open", ["study_id", "endpoint", "lease_until"], "state = 'opened'"),
)


def upgrade() -> None:
    # HITs that are up already were published without a secret, and are not signed.
    with op.batch_alter_table("hits") as hits:
        hits.add_column(sa.Column("secret", sa.Text(), nullable=False, server_default=""))
    # Earlier claims count as they did.
    with op.batch_alter_table("assignments") as assignments:
        assignments.add_column(sa.Column("confirmed", sa.Boolean(), nullable=False, server_default=sa.true()))
    with op.batch_alter_table("hits") as hits:
        hits.alter_column("secret", server_default=None)
    with op.batch_alter_table("assignments") as assignments:
        assignments.alter_column("confirmed", server_default=None)
    # What a form's opening looks for: the rows that are held, and the claims whose time may be over.
    for name, columns, where in INDEXES:
        op.create_index(
            name, "assignments", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where)
        )


def downgrade() -> None:
    for name, _, _ in INDEXES:
        op.drop_index(name, "assignments")
    with op.batch_alter_table("assignments") as assignments:
        assignments.drop_column("confirmed")
    with op.batch_alter_table("hits") as hits:
        hits.drop_column("secret")
