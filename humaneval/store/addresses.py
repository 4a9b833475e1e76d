"""Where `up` has served a database's forms and marketplace, kept in that database.

Annotators have these addresses, and published HITs lead to them. So every command that opens the database
uses them, unless a setting says otherwise.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine, make_url, select
from sqlalchemy.exc import SQLAlchemyError

from humaneval.errors import HumanEvalError
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.files import is_writable, read_only_address
from humaneval.store.tables import MetaRow

KEY = "addresses"
SQLITE = "sqlite:///"
PATIENCE_SECONDS = "5"
"""Commands that need no database do not wait long for a server that does not answer."""


def keep_addresses(engine: Engine, addresses: Mapping[str, str]) -> Mapping[str, str]:
    """Keep settings by their names, in place of those that were kept before. Returns those."""
    value = json.dumps(dict(addresses))
    with writing(engine) as session:
        row = session.get(MetaRow, KEY)
        if row is None:
            session.add(MetaRow(key=KEY, value=value))
            return {}
        before: Mapping[str, str] = json.loads(row.value)
        row.value = value
    return before


def kept_addresses(url: str) -> Mapping[str, str]:
    """What is kept in the database at `url`; nothing if there is none, or none of ours.

    This changes nothing in a file, and does not say what is wrong with it: that is said when it is opened.
    """
    path = Path(url.removeprefix(SQLITE))
    try:
        value = _in_file(path) if url.startswith(SQLITE) else _on_server(url)
        found = json.loads(value) if value else {}
    except (sqlite3.Error, SQLAlchemyError, HumanEvalError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _in_file(path: Path) -> str | None:
    if not path.is_file():
        return None
    address = f"{path.absolute().as_uri()}?mode=rw" if is_writable(path) else read_only_address(path)
    with closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
    return row[0] if row else None


def _on_server(url: str) -> str | None:
    there = make_url(url)
    if "connect_timeout" not in there.query:
        there = there.update_query_dict({"connect_timeout": PATIENCE_SECONDS})
    engine = open_engine(there.render_as_string(hide_password=False), pool=False)
    try:
        with reading(engine) as session:
            return session.scalar(select(MetaRow.value).where(MetaRow.key == KEY))
    finally:
        engine.dispose()
