"""Rows that nobody holds before the last one, and how many places of a HIT are taken, kept by triggers

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

DONE = "('answered', 'submitted', 'approved', 'rejected')"
ANOTHER = "(OLD.row_id IS NULL OR NEW.row_id IS NULL OR NEW.row_id <> OLD.row_id)"
CAME = f"NEW.holds_row AND (NOT OLD.holds_row OR {ANOTHER})"
GONE = f"OLD.holds_row AND (NOT NEW.holds_row OR {ANOTHER})"
GAP = """
INSERT INTO gaps SELECT OLD.study_id, OLD.endpoint, OLD.row_id WHERE OLD.row_id IS NOT NULL
ON CONFLICT DO NOTHING;
"""
HELD = """
DELETE FROM gaps WHERE study_id = NEW.study_id AND endpoint = NEW.endpoint AND row_id = NEW.row_id;
INSERT INTO gaps SELECT NEW.study_id, NEW.endpoint, skipped.id FROM rows AS skipped
WHERE skipped.study_id = NEW.study_id
AND skipped.ordinal < (SELECT ordinal FROM rows WHERE id = NEW.row_id)
AND skipped.ordinal > coalesce((SELECT ordinal FROM rows WHERE id = (SELECT max(row_id) FROM (
SELECT max(row_id) AS row_id FROM assignments
WHERE study_id = NEW.study_id AND endpoint = NEW.endpoint AND row_id < NEW.row_id AND holds_row
UNION ALL
SELECT max(row_id) FROM gaps
WHERE study_id = NEW.study_id AND endpoint = NEW.endpoint AND row_id < NEW.row_id
) AS nearest)), -1);
"""
"""Somebody has the row, and the rows that were skipped for it are gaps: all before it are held or gaps."""
FOUND = """
INSERT INTO gaps SELECT top.study_id, top.endpoint, rows.id FROM (
SELECT study_id, endpoint, max(row_id) AS row_id FROM assignments WHERE holds_row GROUP BY study_id, endpoint
) AS top JOIN rows ON rows.study_id = top.study_id AND rows.id < top.row_id
WHERE NOT EXISTS (
SELECT 1 FROM assignments AS held
WHERE held.endpoint = top.endpoint AND held.row_id = rows.id AND held.holds_row
)
"""


def _counts(claim: str) -> str:
    """Whether a claim takes a place of its HIT."""
    return f"(NOT {claim}.row_replaced AND ({claim}.holds_row OR {claim}.state IN {DONE}))"


MOVED = f"{_counts('OLD')} <> {_counts('NEW')} OR OLD.hit_id <> NEW.hit_id"
LEFT = f"UPDATE hits SET taken = taken - 1 WHERE id = OLD.hit_id AND {_counts('OLD')};"
ENTERED = f"UPDATE hits SET taken = taken + 1 WHERE id = NEW.hit_id AND {_counts('NEW')};"
ON_HOLD, ON_PLACE = "UPDATE OF holds_row, row_id", "UPDATE OF hit_id, holds_row, row_replaced, state"
TRIGGERS = {
    "row_taken_new": ("INSERT", "NEW.holds_row", HELD),
    "row_taken": (ON_HOLD, CAME, HELD),
    "row_free": (ON_HOLD, GONE, GAP),
    "row_free_deleted": ("DELETE", "OLD.holds_row", GAP),
    "place_new": ("INSERT", _counts("NEW"), ENTERED),
    "place_moved": (ON_PLACE, MOVED, LEFT + ENTERED),
    "place_deleted": ("DELETE", _counts("OLD"), LEFT),
}
"""After what, when, and what is done then. A later revision that copies `assignments`, `hits` or `rows` on
SQLite has to drop them before, and to make them again."""


def upgrade() -> None:
    op.create_table(
        "gaps",
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("row_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("study_id", "endpoint", "row_id", name=op.f("pk_gaps")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_gaps_study_id_studies")),
        sa.ForeignKeyConstraint(["row_id"], ["rows.id"], name=op.f("fk_gaps_row_id_rows")),
    )
    op.add_column("hits", sa.Column("taken", sa.Integer(), nullable=False, server_default="0"))
    if op.get_bind().dialect.name == "postgresql":
        # What an older program changes between the counts and their triggers, nobody would count.
        op.execute("LOCK TABLE assignments IN SHARE ROW EXCLUSIVE MODE")
    op.execute(FOUND)
    op.execute(
        "UPDATE hits SET taken = (SELECT count(*) FROM assignments WHERE hit_id = hits.id AND"
        f" {_counts('assignments')})"
    )
    for name, (after, when, does) in TRIGGERS.items():
        made = f"CREATE TRIGGER {name} AFTER {after} ON assignments FOR EACH ROW WHEN ({when})"
        if op.get_bind().dialect.name == "sqlite":
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
    op.drop_column("hits", "taken")
    op.drop_table("gaps")
