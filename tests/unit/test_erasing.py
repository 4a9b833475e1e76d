"""Tests of deleting for good: the file is written anew, but not while others would wait for long."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from humaneval.store import erase
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.erase import LOG_IN_USE, clean_files, overwrite_deleted


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A database of which most was deleted."""
    made = open_engine(f"sqlite:///{tmp_path / 'study.db'}")
    with writing(made) as session:
        session.execute(text("CREATE TABLE answers (id INTEGER PRIMARY KEY, comment)"))
        rows = [{"id": number, "comment": f"secret {number} " * 50} for number in range(400)]
        session.execute(text("INSERT INTO answers VALUES (:id, :comment)"), rows)
    with writing(made) as session:
        overwrite_deleted(session)
        session.execute(text("DELETE FROM answers"))
    yield made
    made.dispose()


def _file(engine: Engine) -> Path:
    return Path(str(engine.url.database))


def _size(engine: Engine) -> int:
    with reading(engine) as session:
        return int(session.scalar(text("PRAGMA page_count")) or 0)


def _log_of(engine: Engine) -> str:
    with reading(engine) as session:
        return str(session.scalar(text("PRAGMA journal_mode")))


@pytest.mark.parametrize("quick", [0, erase.QUICK])
def test_a_file_that_nobody_else_has_open_is_written_anew_whatever_its_size(
    engine: Engine, quick: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "QUICK", quick)
    assert _size(engine) > 50
    assert clean_files(engine) == ()
    assert _size(engine) < 10
    assert b"secret" not in _file(engine).read_bytes()
    assert _log_of(engine) == "wal"


def test_a_small_file_is_written_anew_while_others_have_it_open(engine: Engine) -> None:
    with closing(sqlite3.connect(_file(engine))) as other:
        other.execute("SELECT * FROM answers").fetchall()
        assert clean_files(engine) == ()
        other.execute("INSERT INTO answers VALUES (1, 'still there')")
        other.commit()
    assert _size(engine) < 10
    assert _log_of(engine) == "wal"


def test_nobody_waits_until_a_large_file_is_written_anew(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "QUICK", 0)
    with closing(sqlite3.connect(_file(engine), timeout=0)) as other:
        other.execute("SELECT * FROM answers").fetchall()
        before = _size(engine)
        (left,) = clean_files(engine)
        assert "other programs have it open" in left
        assert "humaneval db clean" in left
        assert _size(engine) == before
        assert b"secret" not in _file(engine).read_bytes()  # overwritten, and the log is empty
        assert clean_files(engine, whoever_waits=True) == ()
        assert _size(engine) < 10


def test_a_log_that_somebody_reads_is_left_to_them(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "WAIT_SECONDS", 0)
    with closing(sqlite3.connect(_file(engine))) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM answers").fetchall()
        assert clean_files(engine) == (LOG_IN_USE,)
