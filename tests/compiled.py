"""Statements and pages are compiled once for all databases and apps of a test process: it takes longer than
running them.

SQLAlchemy keeps what it compiled by engine and by dialect object, Flask by app, and every test has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache


class Pages(BytecodeCache):
    """Compiled templates, by what they were compiled from."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key, bucket.checksum] = bucket.code


@pytest.fixture(scope="session", autouse=True)
def _one_cache() -> Iterator[None]:
    cache: LRUCache[Any, Any] = LRUCache(10_000)
    make = Engine.__init__

    def make_sharing(self: Engine, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        self._compiled_cache = cache

    with pytest.MonkeyPatch.context() as patch:
        for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
            patch.setattr(dialect, "__eq__", lambda one, other: type(one) is type(other), raising=False)
            patch.setattr(dialect, "__hash__", lambda one: hash(type(one)), raising=False)
        patch.setattr(Engine, "__init__", make_sharing)
        patch.setattr(Flask, "jinja_options", {"bytecode_cache": Pages()})
        yield
