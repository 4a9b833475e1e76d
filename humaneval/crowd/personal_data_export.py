"""All that is kept about one person, as plain values: for themselves, if they ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine

from humaneval.crowd.personal_data import find_person, names_in_exports, rows_about
from humaneval.store.engine import reading
from humaneval.store.exports import exports_of
from humaneval.store.tables import AssignmentRow, StudyRow
from humaneval.store.types import table

NOT_HERE = (
    "The platform or panel keeps records of its own about this person. Exports, archives and backups that"
    " were made before may hold their answers, too."
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept about a person: every row of every table, and the files that may hold their answers."""

    worker: str
    endpoint: str
    names: Mapping[str, str]
    """Study → the person's name in its exports."""
    tables: Mapping[str, list[dict[str, Any]]]
    exports: tuple[str, ...]
    first: datetime | None
    last: datetime | None

    @property
    def counts(self) -> dict[str, int]:
        """Table → rows."""
        return {name: len(lines) for name, lines in self.tables.items() if lines}

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "worker": self.worker,
            "endpoint": self.endpoint,
            "named_in_exports": dict(self.names),
            "tables": {name: lines for name, lines in self.tables.items() if lines},
            "exports": list(self.exports),
            "not_here": NOT_HERE,
        }


def kept_about(engine: Engine, who: str) -> Kept:
    """What is kept about the person whom a pseudonym or a platform's own id names. UsageError if nobody."""
    with reading(engine) as session:
        person = find_person(session, who)
        about = rows_about(session, person)
        work = about[table(AssignmentRow)]
        studies = {line["study_id"]: session.get_one(StudyRow, line["study_id"]).name for line in work}
        moments = [line["opened_at"] or line["submitted_at"] for line in work]
        found = [moment for moment in moments if moment is not None]
        return Kept(
            person.pseudonym,
            person.endpoint,
            names_in_exports(session, person),
            {of.name: [_plain(line, studies) for line in lines] for of, lines in about.items()},
            tuple(one for study in sorted(studies) for one in exports_of(session, study)),
            min(found, default=None),
            max(found, default=None),
        )


def _plain(line: Mapping[str, Any], studies: Mapping[int, str]) -> dict[str, Any]:
    """The values of a row as JSON has them, with the name of its study."""
    named = {"study": studies[line["study_id"]]} if line.get("study_id") in studies else {}
    return {**{name: _value(value) for name, value in line.items()}, **named}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
