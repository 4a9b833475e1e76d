"""Runs migrations on the engine that the toolkit passes in. There is no alembic.ini and no offline mode."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from sqlalchemy import TypeDecorator

from humaneval.errors import StoreError

engine = context.config.attributes["engine"]
metadata = context.config.attributes["metadata"]
UPGRADING = 0x68756D616E
"""The number of the lock on PostgreSQL."""


def plain_type(kind: str, item: Any, _: Any) -> str | Literal[False]:
    """Write the plain column type into a migration, not our class around it, which may change."""
    return f"sa.{item.impl_instance!r}" if kind == "type" and isinstance(item, TypeDecorator) else False


with engine.execution_options(writes=True).connect() as connection:
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        # A batch migration copies a table and drops the old one; enforced foreign keys would cascade. SQLite
        # ignores the pragma inside a transaction, so it is set on the raw connection before one begins.
        connection.connection.driver_connection.execute("PRAGMA foreign_keys=OFF")
    try:
        # One transaction for everything, also on SQLite, where Alembic by default uses none.
        context.configure(
            connection=connection,
            target_metadata=metadata,
            render_as_batch=True,
            transactional_ddl=True,
            render_item=plain_type,
        )
        with context.begin_transaction():
            if connection.dialect.name == "postgresql":
                # Another program that upgrades, too, waits here, and then finds nothing to do. On SQLite it
                # waits for the transaction.
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADING})")
            context.run_migrations()
            if sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()):
                raise StoreError(
                    f"the database has {len(broken)} broken references, the first in table {broken[0][0]}",
                    "Nothing was changed. `humaneval db check` lists them. Restore a backup from before the"
                    " damage.",
                )
    finally:
        if sqlite:
            connection.rollback()
            connection.connection.driver_connection.execute("PRAGMA foreign_keys=ON")
