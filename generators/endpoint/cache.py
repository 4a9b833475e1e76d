"""Keeps every answer that was paid for on disk: no request is paid twice, and answers are there without a
network."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from humaneval.errors import InputError

FILE = "answers.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, reply TEXT NOT NULL, made TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (
    endpoint TEXT, model TEXT, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,
    PRIMARY KEY (endpoint, model)
) WITHOUT ROWID;
"""


class Tokens(NamedTuple):
    """The tokens that were paid for."""

    read: int
    written: int


class Cache:
    """One SQLite file in a folder. Safe for several threads and processes; the first answer stays."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError if the folder cannot be created or its file is not a cache."""
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as connection:
                connection.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from None

    def get(self, key: str) -> Any:
        """The reply that is kept under `key`, or None."""
        try:
            with closing(self._open()) as connection:
                found = connection.execute("SELECT reply FROM answers WHERE key = ?", (key,)).fetchone()
            return None if found is None else json.loads(found[0])
        except (sqlite3.Error, ValueError) as error:
            raise self._failed(error) from None

    def put(self, key: str, reply: Any, endpoint: str, model: str, tokens: Tokens) -> None:
        """Keep a reply and what it cost, both or neither."""
        made = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            with closing(self._open()) as connection, connection:
                connection.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (key, json.dumps(reply), made)
                )
                connection.execute(
                    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET tokens_in = tokens_in +"
                    " excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out",
                    (endpoint, model, *tokens),
                )
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def spent(self, endpoint: str, model: str) -> Tokens:
        """All tokens that were paid for by processes that keep their answers here."""
        query = "SELECT tokens_in, tokens_out FROM spent WHERE endpoint = ? AND model = ?"
        try:
            with closing(self._open()) as connection:
                found = connection.execute(query, (endpoint, model)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return Tokens(*found) if found else Tokens(0, 0)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._folder / FILE, timeout=60)

    def _failed(self, error: Exception) -> InputError:
        return InputError(
            f"the cache in {self._folder} cannot be used: {error}",
            "Repair it or move it away, or name another folder: --option cache=FOLDER.",
        )
