"""Payments that people made by hand, outside of a platform

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
    with op.batch_alter_table("payments") as payments:
        payments.add_column(sa.Column("elsewhere", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("payments") as payments:
        payments.alter_column("elsewhere", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("payments") as payments:
        payments.drop_column("elsewhere")
