"""Stories of any length, pairs, answers of several fields, a table's blanks, payments by hand; no id of a
claim is used again

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

FIVE = tuple(f"sentence{number}" for number in range(1, 6))
WIDENED = (("infills", "position", 20), ("passages", "position", 21), ("responses", "choice", 21))
"""A table, its column, and the most that it may hold: five before."""
KEY = ["study_id", "story_id", "position", "generator_id"]
UNIQUE = (
    ("uq_passages_alone", KEY, "other_generator_id IS NULL"),
    ("uq_passages_pair", [*KEY, "other_generator_id"], "other_generator_id IS NOT NULL"),
)
OF_SOME_ROWS = (
    ("uq_assignments_held_row", ["endpoint", "row_id"], "holds_row", True),
    ("ix_assignments_held", ["study_id", "endpoint", "row_id"], "holds_row", False),
    ("ix_assignments_open", ["study_id", "endpoint", "lease_until"], "state = 'opened'", False),
)
"""Indexes of some of the assignments, which a copy of the table would lose."""


def upgrade() -> None:
    _copied({"sqlite_autoincrement": True})
    op.add_column("stories", sa.Column("sentences", sa.JSON(), nullable=True))
    listed = "json_array" if op.get_bind().dialect.name == "sqlite" else "json_build_array"
    op.execute(f"UPDATE stories SET sentences = {listed}({', '.join(FIVE)})")
    with op.batch_alter_table("stories") as stories:
        stories.alter_column("sentences", existing_type=sa.JSON(), nullable=False)
        for column in FIVE:
            stories.drop_column(column)
    with op.batch_alter_table("passages") as passages:
        passages.add_column(sa.Column("other_generator_id", sa.Integer(), nullable=True))
        passages.add_column(sa.Column("other_infill_id", sa.Integer(), nullable=True))
        passages.add_column(sa.Column("alternative", sa.Text(), nullable=True))
        passages.create_foreign_key(
            op.f("fk_passages_other_generator_id_generators"), "generators", ["other_generator_id"], ["id"]
        )
        passages.create_foreign_key(
            op.f("fk_passages_other_infill_id_infills"), "infills", ["other_infill_id"], ["id"]
        )
        passages.drop_constraint(op.f("uq_passages_study_id_story_id_position_generator_id"), type_="unique")
    op.create_index("ix_passages_other_infill_id", "passages", ["other_infill_id"])
    op.add_column("responses", sa.Column("answer", sa.JSON(), nullable=True))
    _widen({table: most for table, _, most in WIDENED})
    for name, columns, where in UNIQUE:
        op.create_index(
            name,
            "passages",
            columns,
            unique=True,
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )
    op.create_table(
        "study_blanks",
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("story_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("study_id", "story_id", "position", name=op.f("pk_study_blanks")),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_study_blanks_study_id_studies")),
        sa.ForeignKeyConstraint(["story_id"], ["stories.id"], name=op.f("fk_study_blanks_story_id_stories")),
        sa.CheckConstraint("position BETWEEN 1 AND 20", name=op.f("ck_study_blanks_position")),
    )
    op.create_index(op.f("ix_study_blanks_story_id"), "study_blanks", ["story_id"])
    op.add_column("payments", sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Stories of other lengths, pairs and answers beyond five cannot go back: they stop it."""
    with op.batch_alter_table("payments") as payments:
        payments.drop_column("settled_at")
    op.drop_table("study_blanks")
    _copied({})
    for name, _, _ in UNIQUE:
        op.drop_index(name, "passages")
    _widen({table: 5 for table, _, _ in WIDENED})
    op.drop_index("ix_passages_other_infill_id", "passages")
    with op.batch_alter_table("responses") as responses:
        responses.drop_column("answer")
    with op.batch_alter_table("passages") as passages:
        passages.drop_constraint(op.f("fk_passages_other_infill_id_infills"), type_="foreignkey")
        passages.drop_constraint(op.f("fk_passages_other_generator_id_generators"), type_="foreignkey")
        for column in ("other_generator_id", "other_infill_id", "alternative"):
            passages.drop_column(column)
        passages.create_unique_constraint(op.f("uq_passages_study_id_story_id_position_generator_id"), KEY)
    for column in FIVE:
        op.add_column("stories", sa.Column(column, sa.Text(), nullable=True))
    sqlite = op.get_bind().dialect.name == "sqlite"
    for number, column in enumerate(FIVE):
        found = f"json_extract(sentences, '$[{number}]')" if sqlite else f"sentences ->> {number}"
        op.execute(f"UPDATE stories SET {column} = {found}")
    with op.batch_alter_table("stories") as stories:
        for column in FIVE:
            stories.alter_column(column, existing_type=sa.Text(), nullable=False)
        stories.drop_column("sentences")


def _widen(most: dict[str, int]) -> None:
    for table, column, _ in WIDENED:
        with op.batch_alter_table(table) as changed:
            changed.drop_constraint(op.f(f"ck_{table}_{column}"), type_="check")
            changed.create_check_constraint(
                op.f(f"ck_{table}_{column}"), f"{column} BETWEEN 1 AND {most[table]}"
            )


def _copied(kwargs: dict[str, bool]) -> None:
    """Copy the assignments: addresses that we have signed hold their ids, so the id of a deleted one is never
    another person's. A PostgreSQL sequence never goes back."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for name, *_ in OF_SOME_ROWS:
        op.drop_index(name, "assignments")
    with op.batch_alter_table("assignments", recreate="always", table_kwargs=kwargs):
        pass
    for name, columns, where, unique in OF_SOME_ROWS:
        op.create_index(name, "assignments", columns, unique=unique, sqlite_where=sa.text(where))
