"""The further parameters that a panel sends with a person

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


def upgrade() -> None:
    with op.batch_alter_table("assignments") as assignments:
        assignments.add_column(sa.Column("parameters", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("assignments") as assignments:
        assignments.drop_column("parameters")
