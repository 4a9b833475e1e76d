"""Runs migrations on the engine that the toolkit hands over; there is no alembic.ini and no offline mode."""

from __future__ import annotations

from alembic import context

engine = context.config.attributes["engine"]
metadata = context.config.attributes["metadata"]

with engine.connect() as connection:
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        # A batch migration copies a table and drops the old one: with foreign keys enforced that would cascade.
        # SQLite ignores the pragma inside a transaction, so it is set on the raw connection before one begins.
        connection.connection.driver_connection.execute("PRAGMA foreign_keys=OFF")
    try:
        context.configure(
            connection=connection,
            target_metadata=metadata,
            render_as_batch=True,
            transaction_per_migration=True,
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
        if sqlite:
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                raise RuntimeError(f"broken references after the migration: {broken[:5]}")
    finally:
        if sqlite:
            connection.rollback()
            connection.connection.driver_connection.execute("PRAGMA foreign_keys=ON")
