"""The tables that leave the database: under names of one study, with times to the second.

A reader of two published archives must not see who took part in both. So every study has a key of its own,
made from the database's, and names for workers, HITs and assignments under it. Inside the database, one
worker stays one.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from humaneval.store.responses import comment_lines, commented, response_columns
from humaneval.store.tables import MetaRow, StudyRow

PSEUDONYM_KEY = "pseudonym key"
"""The database's own secret, which is made with its first worker."""
TELLING = 5
"""Characters: an id of this length or more is not left in a comment."""


class StudyNames:
    """Names under which one study's workers, HITs and assignments are published."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def worker(self, pseudonym: str) -> str:
        """The name of a worker; the database's own pseudonym does not show in it."""
        return "w" + self._name("worker", pseudonym)

    def hit(self, endpoint: str, external_id: str) -> str:
        return "h" + self._name("hit", f"{endpoint}\n{external_id}")

    def assignment(self, endpoint: str, external_id: str) -> str:
        """The name of a form. A panel's session id is part of an assignment's id."""
        return "a" + self._name("assignment", f"{endpoint}\n{external_id}")

    def shown(self, endpoint: str, external_id: str) -> str:
        """An assignment's id as the researcher sees it. It is the platform's own, which decisions there need.
        For links it is the name, because the id would show a panel's session."""
        return self.assignment(endpoint, external_id) if endpoint == "link" else external_id

    def _name(self, what: str, text: str) -> str:
        return hmac.digest(self._key, f"{what}\n{text}".encode(), "sha256").hex()[:12]


def names_of(session: Session, study: StudyRow) -> StudyNames:
    """The names of a study. Nothing is written: the key follows from the database's and the study."""
    row = session.get(MetaRow, PSEUDONYM_KEY)
    secret = bytes.fromhex(row.value) if row is not None else b""
    return StudyNames(hmac.digest(secret, f"study {study.id}\n{study.design_hash}".encode(), "sha256"))


def published_columns(
    session: Session, study: StudyRow, *, everything: bool = False, ids: bool = False
) -> dict[str, list[Any]]:
    """The response table of a study to be given away, by its columns. With `ids`, HITs and assignments stand
    there as the platform names them, and times to the microsecond."""
    return published(session, study, response_columns(session, study, everything=everything), ids=ids)


def published_comments(session: Session, study: StudyRow, *, ids: bool = False) -> list[dict[str, Any]]:
    """The comments of a study, in the same way. People write their ids there: `…` stands for them."""
    lines = comment_lines(session, commented(session, study))
    for line in lines:
        own = line.pop("ids")
        if not ids:
            line["comment"] = without_ids(line["comment"], own)
    columns = {name: [line[name] for line in lines] for name in (lines[0] if lines else ())}
    given = published(session, study, columns, ids=ids) if lines else {}
    return [dict(zip(given, line, strict=True)) for line in zip(*given.values(), strict=True)]


def without_ids(text: str, ids: Iterable[str]) -> str:
    """A text without these ids, however their letters are written, and without the parts that we joined: a
    study and a panel's id of a person, a panel's session and a number of our own. Shorter ones tell little.

    >>> without_ids("i am a1b2c3d4, in S-123", ["study 7 A1B2C3D4", "S-123-0123456789abcdef", "s"])
    'i am …, in …'
    """
    parts = {part for each in ids for part in (each, each.rpartition(" ")[2], each.rpartition("-")[0])}
    telling = sorted((re.escape(part) for part in parts if len(part) >= TELLING), key=len, reverse=True)
    return re.sub("|".join(telling), "…", text, flags=re.IGNORECASE) if telling else text


def to_the_second(moment: datetime | str | None) -> str | None:
    """A time in ISO 8601 without fractions: microseconds tell one form of a platform's log from another."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return moment.isoformat(timespec="seconds") if moment else None


def published(
    session: Session, study: StudyRow, columns: Mapping[str, list[Any]], *, ids: bool = False
) -> dict[str, list[Any]]:
    """Columns of the database under the names of one study."""
    names = names_of(session, study)
    given = {**columns, "worker": _each(names.worker, columns["worker"])}
    if ids:
        return given
    for name, renamed in (("assignment", names.assignment), ("hit", names.hit)):
        if name in columns:
            given[name] = _each(
                partial(_given, renamed), zip(columns["endpoint"], columns[name], strict=True)
            )
    for name in ("shown_at", "submitted_at"):
        if name in columns:
            given[name] = _each(to_the_second, columns[name])
    return given


def _given(renamed: Callable[[str, str], str], place: tuple[str, str | None]) -> str | None:
    endpoint, external_id = place
    return renamed(endpoint, external_id) if external_id else external_id


def _each(change: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """The changed values. One that comes again is changed once: a form has several responses."""
    kept: dict[Any, Any] = {}
    return [kept[one] if one in kept else kept.setdefault(one, change(one)) for one in values]
