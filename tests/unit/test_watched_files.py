"""Tests of the files of a database under a running server: which copies over them are noticed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from humaneval.store import watched_files
from humaneval.store.engine import open_engine, writing
from humaneval.store.watched_files import WatchedFiles

ROWS = 400


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A database of some hundred pages, of which only the first and the last are compared each time."""
    monkeypatch.setattr(watched_files, "EDGE", 4096)
    monkeypatch.setattr(watched_files, "random", lambda: 0.0)
    made = open_engine(f"sqlite:///{tmp_path / 'study.db'}")
    with writing(made) as session:
        session.execute(text("CREATE TABLE answers (id INTEGER PRIMARY KEY, fields)"))
        rows = [{"id": number, "fields": "a" * 3000} for number in range(ROWS)]
        session.execute(text("INSERT INTO answers VALUES (:id, :fields)"), rows)
    _copy_log(made)
    yield made
    made.dispose()


def _file(engine: Engine) -> Path:
    return Path(str(engine.url.database))


def _copy_log(engine: Engine) -> None:
    with closing(sqlite3.connect(_file(engine))) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _change_a_row(engine: Engine) -> None:
    with writing(engine) as session:
        session.execute(text("UPDATE answers SET fields = :to WHERE id = :id"), {"id": 200, "to": "b" * 3000})


@pytest.mark.parametrize("log_goes_on", [False, True])
def test_an_older_copy_in_which_only_a_row_differs_is_noticed(engine: Engine, log_goes_on: bool) -> None:
    files, older = WatchedFiles(engine), _file(engine).read_bytes()
    _change_a_row(engine)
    with engine.connect() as keeps_the_log, closing(sqlite3.connect(_file(engine))) as other:
        keeps_the_log.execute(text("SELECT 1"))
        other.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
        assert files.are_the_same()
        if log_goes_on:  # from its beginning, over what was copied
            other.execute("INSERT INTO answers VALUES (1000, 'c')")
            other.commit()
        assert files.are_the_same()
        assert len(older) == _file(engine).stat().st_size
        _file(engine).write_bytes(older)
        assert not files.are_the_same()


def test_a_copy_of_the_same_state_is_none(engine: Engine) -> None:
    files = WatchedFiles(engine)
    _change_a_row(engine)
    with closing(sqlite3.connect(_file(engine))) as other:
        other.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    assert files.are_the_same()
    _file(engine).write_bytes(_file(engine).read_bytes())
    os.utime(_file(engine), (0, 0))
    assert files.are_the_same()
