"""Secrets with which the marketplace signs addresses, and what it has confirmed

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


def downgrade() -> None:
    with op.batch_alter_table("assignments") as assignments:
        assignments.drop_column("confirmed")
    with op.batch_alter_table("hits") as hits:
        hits.drop_column("secret")
