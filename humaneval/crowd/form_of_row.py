"""What a person who has claimed a row is shown: its form, and where its answers go afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Connection, Engine, bindparam, select
from sqlalchemy.orm import Session

from humaneval.crowd.form_page import Form, ShownPassage, tells_position
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.platform import UNASKED
from humaneval.crowd.stored_claim import find_work
from humaneval.errors import GoneError
from humaneval.store.engine import connected
from humaneval.store.responses import TEST_ENDPOINTS
from humaneval.store.tables import PassageRow, RowPassageRow, RowRow, StoryRow, StudyRow
from humaneval.store.types import padded, table
from humaneval.study.asked import asked_by
from humaneval.study.file import StudyFile
from humaneval.study.stored import MOST_PARSED, settings_of
from humaneval.study.words import Channel, channel_at


@dataclass(frozen=True, slots=True)
class Place:
    """An opened form: what to show, and where its answers go afterwards."""

    form: Form
    assignment_id: int
    external_id: str
    endpoint: str
    hit_key: str
    channel: Channel
    answered: Mapping[str, str] | None
    """The answers that are already stored, as they came."""
    passed_on: bool
    """Whether the platform has since given the assignment to another worker: anything submitted would be
    theirs."""


def load_form(engine: Engine, assignment_id: int) -> Place:
    """The form of an opened assignment."""
    with connected(engine) as connection:
        work = find_work(connection, assignment_id)
    if work is None:
        raise GoneError(f"there is no assignment {assignment_id}", "Open the form again.")
    hit = work.hit
    return Place(
        form_shown(engine, hit, work.row_id),
        work.id,
        work.external_id,
        hit.endpoint,
        hit.key,
        channel_of(hit),
        work.answered,
        work.passed_on,
    )


_by_link: dict[str, StudyFile] = {}


def shown_settings(hit: FoundHit) -> StudyFile:
    """The settings as people who come through `hit` read them. The same study gives the same object."""
    if not hit.audience:
        return hit.settings
    if hit.settings_hash not in _by_link:
        if len(_by_link) >= MOST_PARSED:
            _by_link.clear()
        _by_link[hit.settings_hash] = hit.settings.by_link
    return _by_link[hit.settings_hash]


def form_shown(engine: Engine, hit: FoundHit, row_id: int | None) -> Form:
    """What a row shows to people who come to it through `hit`."""
    with connected(engine) as connection:
        shown = passages_of(connection, [] if row_id is None else [row_id])
    return form_with(hit, shown.get(row_id or 0, []))


def passages_of(connection: Connection, row_ids: Sequence[int]) -> dict[int, list[Any]]:
    """The passages of rows as they are stored, by row."""
    found: dict[int, list[Any]] = {}
    for passage in connection.execute(_SHOWN, {"rows": padded(row_ids)}).all() if row_ids else ():
        found.setdefault(passage.row_id, []).append(passage)
    return found


def form_with(hit: FoundHit, rows: Sequence[Any]) -> Form:
    """What these passages of a row are to people who come through `hit`."""
    settings = shown_settings(hit)
    passages = _shown(rows, settings)
    form_hash = rows[0].shown_hash if rows else ""
    return Form(settings, passages, form_hash, hit.simulated, tests_at(hit.is_test, hit.endpoint))


def channel_of(hit: FoundHit) -> Channel:
    """How people come to the forms of `hit`."""
    return cast(Channel, hit.audience) if hit.audience else channel_at(hit.endpoint)


def tests_of(study: StudyRow, endpoint: str) -> tuple[str, ...]:
    """What kinds of test the study is at `endpoint`, as keys of words; empty if it is no test."""
    return tests_at(study.is_test, endpoint)


def tests_at(is_test: bool, endpoint: str) -> tuple[str, ...]:
    """The same for a study that is a pilot, or not."""
    return ("pilot",) * is_test + ("rehearsal",) * (endpoint in TEST_ENDPOINTS)


def form_of(session: Session, study: StudyRow, row_id: int | None, endpoint: str = "") -> Form:
    """What row `row_id` of `study` shows at `endpoint`; nothing for None."""
    settings = settings_of(study)
    if endpoint in UNASKED:
        settings = settings.by_link
    tests = tests_of(study, endpoint)
    if row_id is None:
        return Form(settings, (), "", study.simulated, tests)
    rows = passages_of(session.connection(), [row_id])[row_id]
    passages = _shown(rows, settings)
    return Form(settings, passages, rows[0].shown_hash, study.simulated, tests)


def _shown(rows: Sequence[Any], study: StudyFile) -> tuple[ShownPassage, ...]:
    """The passages of a row. Their positions are left out unless the question tells them."""
    question, settings = asked_by(study)
    told = tells_position(question)
    lengths = {len(row.sentences) for row in rows}
    fields = {count: tuple(field.name for field in question.fields(settings, count)) for count in lengths}
    return tuple(
        ShownPassage(
            row.place,
            tuple(row.sentences),
            row.title if study.page.show_titles else "",
            row.position if told else 0,
            alternative=row.alternative or "",
            fields=fields[len(row.sentences)],
        )
        for row in rows
    )


_rows, _places, _passages, _stories = map(table, (RowRow, RowPassageRow, PassageRow, StoryRow))
_SHOWN = (
    select(
        _places.c.row_id,
        _places.c.place,
        _passages.c.sentences,
        _passages.c.position,
        _passages.c.alternative,
        _stories.c.title,
        _rows.c.shown_hash,
    )
    .join_from(_places, _rows, _rows.c.id == _places.c.row_id)
    .join(_passages, _passages.c.id == _places.c.passage_id)
    .join(_stories, _stories.c.id == _passages.c.story_id)
    .where(_places.c.row_id.in_(bindparam("rows", expanding=True)))
    .order_by(_places.c.place)
)
