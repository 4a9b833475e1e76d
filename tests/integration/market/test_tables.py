"""The marketplace's file has the tables that its models describe."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, Engine, inspect

from humaneval.market import Mode, open_account, open_market
from humaneval.market.account import Balance, balance, deposit
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import VERSIONS, transaction
from humaneval.store.migrate import downgrade, upgrade
from humaneval.store.types import now

pytestmark = pytest.mark.usefixtures("each_migrated")


def test_C66_the_migration_makes_the_tables_of_the_models(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), MarketTable.metadata) == []
    found = inspect(engine)
    for table in MarketTable.metadata.sorted_tables:  # compare_metadata does not look at checks
        models = {str(each.name) for each in table.constraints if isinstance(each, CheckConstraint)}
        assert {each["name"] for each in found.get_check_constraints(table.name)} == models, table.name
        assert all(constraint.name for constraint in table.constraints)


def test_a_file_of_the_first_revision_keeps_its_money(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "old.db")
    open_account(engine, Mode.LOCAL, balance=Decimal("12.50"))
    with transaction(engine, Mode.LOCAL, now, writes=True) as work:
        deposit(work, 50)
    downgrade(engine, "m0001", versions=VERSIONS, metadata=MarketTable.metadata)
    upgrade(engine, versions=VERSIONS, metadata=MarketTable.metadata)
    with transaction(engine, Mode.LOCAL, now, writes=False) as work:
        assert balance(work.session) == Balance(1300, 0, 0, 0)
    engine.dispose()
