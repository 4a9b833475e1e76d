"""Statements, pages and addresses are compiled once for all databases and apps of a test process: it takes
longer than using them.

SQLAlchemy keeps what it compiled by engine and by dialect object, Flask by app, and every test has its own.
So the tests register dialects of their own, which differ in that alone. Werkzeug compiles a function for each
address of an app, which is two thirds of the time to make a marketplace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from werkzeug.routing import Rule


class Pages(BytecodeCache):
    """Compiled templates, by what they were compiled from."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key, bucket.checksum] = bucket.code


class _Alike:
    """A dialect that equals every other of its class, and whose engines keep what they compiled together."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=STATEMENTS)


class SQLite(_Alike, SQLiteDialect_pysqlite):
    supports_statement_cache = True


class PostgreSQL(_Alike, PGDialect_psycopg):
    supports_statement_cache = True


STATEMENTS: dict[Any, Any] = {}
registry.register("sqlite", __name__, "SQLite")
registry.register("postgresql.psycopg", __name__, "PostgreSQL")


_compile = Rule._compile_builder
_BUILDERS: dict[Any, Callable[..., Any]] = {}


def _compiled_once(rule: Rule, append_unknown: bool = True) -> Callable[..., Any]:
    """The function that builds addresses of a rule. It takes the rule as its first argument."""
    if rule.defaults:
        return _compile(rule, append_unknown)
    key = (append_unknown, *rule._trace)
    if key not in _BUILDERS:
        _BUILDERS[key] = _compile(rule, append_unknown)
    return _BUILDERS[key]


@pytest.fixture(scope="session", autouse=True)
def _one_cache() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flask, "jinja_options", {"bytecode_cache": Pages()})
        patch.setattr(Rule, "_compile_builder", _compiled_once)
        yield
