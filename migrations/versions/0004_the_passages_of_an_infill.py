"""An index for the passages that show an infill: deleting one looked through all passages

Revision ID: 0004
Revises: 0002
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_passages_infill_id"), "passages", ["infill_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_passages_infill_id"), "passages")
