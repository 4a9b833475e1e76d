"""How often each worker has signed out, so that cookies of before are no longer valid

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
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.add_column(sa.Column("signed_out", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.alter_column("signed_out", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.drop_column("signed_out")
