"""A row that is handed out without the write lock: who looks at the same moment finds the same row."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from humaneval.crowd import claims


@contextmanager
def unlocked(engine: Engine) -> Iterator[Session]:
    with Session(engine, expire_on_commit=False) as session, session.begin():
        yield session


claims.writing = unlocked
