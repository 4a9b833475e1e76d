"""The marketplace's file has the tables that its models describe."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, Engine, inspect

from humaneval.market.tables.base import MarketTable


def test_C66_the_migration_makes_the_tables_of_the_models(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), MarketTable.metadata) == []
    found = inspect(engine)
    for table in MarketTable.metadata.sorted_tables:  # compare_metadata does not look at checks
        models = {str(each.name) for each in table.constraints if isinstance(each, CheckConstraint)}
        assert {each["name"] for each in found.get_check_constraints(table.name)} == models, table.name
        assert all(constraint.name for constraint in table.constraints)
