"""A HIT or link as a visitor comes to it, with its study: one statement, for every page of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, select

from humaneval.store.tables import HitRow, StudyRow
from humaneval.store.types import padded, table
from humaneval.study.file import StudyFile
from humaneval.study.stored import Study, settings_by_hash


class FoundHit(NamedTuple):
    """A planned HIT or link, and what never changes of its study."""

    id: int
    key: str
    endpoint: str
    assignments: int
    row_id: int | None
    audience: str
    secret: str
    external_id: str | None
    expires_at: datetime | None
    study_id: int
    study_name: str
    is_test: bool
    simulated: bool
    design_hash: str
    settings_hash: str
    settings: StudyFile

    def study(self, engine: Engine) -> Study:
        """Its study."""
        return Study(engine, self.study_id, self.study_name, self.settings, self.design_hash)


_hits, _studies = table(HitRow).c, table(StudyRow).c

HIT_COLUMNS = (
    _hits.id,
    _hits.key,
    _hits.endpoint,
    _hits.assignments,
    _hits.row_id,
    _hits.audience,
    _hits.secret,
    _hits.external_id,
    _hits.expires_at,
    _studies.id,
    _studies.name,
    _studies.is_test,
    _studies.simulated,
    _studies.design_hash,
    _studies.settings_hash,
)
"""Those of a FoundHit, its settings aside."""
_HITS = (
    select(*HIT_COLUMNS)
    .join_from(table(HitRow), table(StudyRow), _hits.study_id == _studies.id)
    .where(_hits.key.in_(bindparam("keys", expanding=True)))
)


def find_hit(connection: Connection, key: str) -> FoundHit | None:
    """The HIT or link with this key."""
    return find_hits(connection, [key])[0]


def find_hits(connection: Connection, keys: Sequence[str]) -> list[FoundHit | None]:
    """The HITs or links with these keys."""
    rows = connection.execute(_HITS, {"keys": padded(keys)}).all()
    found = {row.key: found_hit(connection, row) for row in rows}
    return [found.get(key) for key in keys]


def found_hit(connection: Connection, row: Sequence[Any]) -> FoundHit:
    """The HIT in the HIT_COLUMNS of a row."""
    settings = settings_by_hash(connection, row[9], row[14])
    return FoundHit._make((*row[:15], settings))
