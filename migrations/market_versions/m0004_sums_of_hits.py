"""The places of each HIT and the money held for it, kept by triggers; indexes; invitations that end

Revision ID: m0004
Revises: m0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m0004"
down_revision = "m0003"
branch_labels = None
depends_on = None

STAGES = ("accepted", "submitted", "approved", "rejected")
SUMS = f"held, {', '.join(STAGES)}"


def _counted(*changes: tuple[str, str]) -> str:
    """Each stage with its change: the sign and the line of an assignment that came to it, or left it."""
    return ", ".join(
        f"{stage} = {stage}"
        + "".join(f" {sign} CASE WHEN {line}.state = '{stage}' THEN 1 ELSE 0 END" for sign, line in changes)
        for stage in STAGES
    )


def _at(line: str, change: str) -> str:
    return f"UPDATE hit_sums SET {change} WHERE hit_number = {line}.hit_number;"


CAME, LEFT = _at("NEW", _counted(("+", "NEW"))), _at("OLD", _counted(("-", "OLD")))
TRIGGERS = {
    "hit_new": (
        "INSERT ON hits",
        "true",
        f"INSERT INTO hit_sums (hit_number, {SUMS}) VALUES (NEW.number, 0, 0, 0, 0, 0);",
    ),
    "assignment_new": ("INSERT ON assignments", "true", CAME),
    "assignment_moved": (
        "UPDATE OF state ON assignments",
        "NEW.state <> OLD.state",
        _at("NEW", _counted(("+", "NEW"), ("-", "OLD"))),
    ),
    "assignment_deleted": ("DELETE ON assignments", "true", LEFT),
    "entry_new": (
        "INSERT ON entries",
        "NEW.hit_number IS NOT NULL AND NEW.on_hold <> 0",
        _at("NEW", "held = held + NEW.on_hold"),
    ),
}
"""After what, when, and what is done then. A later revision that copies `hits`, `assignments` or `entries` on
SQLite has to drop them before, and to make them again."""
OF_STATE = "(SELECT count(*) FROM assignments WHERE hit_number = hits.number AND state = '{}')"
FOUND = f"""
INSERT INTO hit_sums (hit_number, {SUMS}) SELECT number,
coalesce((SELECT sum(on_hold) FROM entries WHERE hit_number = hits.number), 0),
{", ".join(map(OF_STATE.format, STAGES))} FROM hits
"""

IN_ORDER = {
    "assignments": [["hit_number", "state", "turn"], ["hit_number", "turn"]],
    "qualifications": [["type_number", "number"]],
}
"""The columns of new indexes: a page of a list reads no more than it shows."""


def upgrade() -> None:
    with op.batch_alter_table("account") as account:
        account.add_column(sa.Column("invitations_revoked", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("account") as account:
        account.alter_column("invitations_revoked", server_default=None)
    for table, indexes in IN_ORDER.items():
        for columns in indexes:
            op.create_index(f"ix_{table}_{'_'.join(columns)}", table, columns)
    op.drop_index("ix_assignments_hit_number_state", "assignments")
    op.create_table(
        "hit_sums",
        sa.Column("hit_number", sa.Integer(), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        *(sa.Column(stage, sa.Integer(), nullable=False) for stage in STAGES),
        sa.ForeignKeyConstraint(["hit_number"], ["hits.number"], name=op.f("fk_hit_sums_hit_number_hits")),
        sa.PrimaryKeyConstraint("hit_number", name=op.f("pk_hit_sums")),
    )
    sqlite = op.get_bind().dialect.name == "sqlite"
    if not sqlite:
        # What another program changes between the sums and their triggers, nobody would count.
        op.execute("LOCK TABLE hits, assignments, entries IN SHARE ROW EXCLUSIVE MODE")
    op.execute(FOUND)
    for name, (after, when, does) in TRIGGERS.items():
        made = f"CREATE TRIGGER {name} AFTER {after} FOR EACH ROW WHEN ({when})"
        if sqlite:
            op.execute(f"{made} BEGIN {does} END")
        else:
            op.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN {does} RETURN NULL; END $$"
            )
            op.execute(f"{made} EXECUTE FUNCTION {name}()")


def downgrade() -> None:
    sqlite = op.get_bind().dialect.name == "sqlite"
    for name in TRIGGERS:
        op.execute(f"DROP TRIGGER {name}" if sqlite else f"DROP FUNCTION {name}() CASCADE")
    op.drop_table("hit_sums")
    op.create_index("ix_assignments_hit_number_state", "assignments", ["hit_number", "state"])
    for table, indexes in IN_ORDER.items():
        for columns in indexes:
            op.drop_index(f"ix_{table}_{'_'.join(columns)}", table)
    with op.batch_alter_table("account") as account:
        account.drop_column("invitations_revoked")
