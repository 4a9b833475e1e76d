"""The account's sums; indexes for what grows with the HITs; how often each worker has signed out

Revision ID: m0002
Revises: m0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m0002"
down_revision = "m0001"
branch_labels = None
depends_on = None

POTS = ("available", "on_hold", "paid", "fees")


def upgrade() -> None:
    for pot in POTS:
        op.add_column("account", sa.Column(pot, sa.Integer(), nullable=False, server_default="0"))
    sums = ", ".join(f"{pot} = (SELECT coalesce(sum({pot}), 0) FROM entries)" for pot in POTS)
    op.execute(f"UPDATE account SET {sums}")
    op.create_index("ix_hits_status_hit_type_number", "hits", ["status", "hit_type_number"])
    op.create_index("ix_hits_disposed_number", "hits", ["disposed", "number"])
    of_worker = ["worker_number", "state", "hit_number"]
    op.create_index("ix_assignments_worker_number_state_hit_number", "assignments", of_worker)
    # Cookies of before are then no longer valid.
    with op.batch_alter_table("workers") as workers:
        workers.add_column(sa.Column("signed_out", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("workers") as workers:
        workers.alter_column("signed_out", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("workers") as workers:
        workers.drop_column("signed_out")
    op.drop_index("ix_assignments_worker_number_state_hit_number", "assignments")
    op.drop_index("ix_hits_disposed_number", "hits")
    op.drop_index("ix_hits_status_hit_type_number", "hits")
    with op.batch_alter_table("account") as account:
        for pot in reversed(POTS):
            account.drop_column(pot)
