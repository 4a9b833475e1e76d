"""Rows for people who come at the same moment: those who come for the first time share a few statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, bindparam, select

from humaneval.crowd.claims import (
    Opened,
    Outcome,
    Visit,
    counts_places,
    has_form,
    new_claim,
    open_in,
    release_now_and_then,
)
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.free_rows import next_rows, places_taken
from humaneval.crowd.pseudonyms import add_workers, strangers
from humaneval.store.tables import AssignmentRow
from humaneval.store.together import add_rows
from humaneval.store.types import padded, table

_work, _IDS = table(AssignmentRow), ("id", "external_id")
_TAKEN = select(_work.c.external_id).where(
    _work.c.endpoint == bindparam("at"), _work.c.external_id.in_(bindparam("of", expanding=True))
)


class Opening(NamedTuple):
    """Somebody who opens a form."""

    engine: Engine
    hit: FoundHit
    visit: Visit


def open_all(connection: Connection, openings: Sequence[Opening]) -> list[Opened]:
    """What `open_in` leads to for each of these visits, one after the other. Visits by people without any
    record come first. All of them are about one study, which the transaction holds."""
    found: dict[int, Opened] = {}
    plain = {number: each for number, each in enumerate(openings) if _is_plain(each)}
    for endpoint in dict.fromkeys(each.hit.endpoint for each in plain.values()):
        here = {number: each for number, each in plain.items() if each.hit.endpoint == endpoint}
        if len(here) > 1:  # otherwise nothing is shared
            found |= _dealt(connection, endpoint, here)
    for number, each in enumerate(openings):
        if number not in found:
            found[number] = open_in(connection, each.engine, each.hit, each.visit)
    return [found[number] for number in range(len(openings))]


def _is_plain(opening: Opening) -> bool:
    """Whether a person without any record gets the next row, if there is one and the HIT has places."""
    hit, visit = opening.hit, opening.visit
    if not has_form(hit, visit) or visit.returned or visit.giving_way:
        return False
    ended = hit.expires_at is not None and hit.expires_at <= visit.now
    return not hit.audience or not (ended or hit.settings.participants.exclude_studies)


def _dealt(connection: Connection, endpoint: str, openings: Mapping[int, Opening]) -> dict[int, Opened]:
    """What people get who come to the endpoint for the first time, as far as rows and places suffice."""
    some = next(iter(openings.values()))
    release_now_and_then(connection, some.engine, some.hit, some.visit.now)
    first = _first_of_each(openings)
    names = strangers(connection, endpoint, [each.visit.worker for each in first.values()])
    of = [each.visit.assignment for each in first.values()]
    taken = set(connection.scalars(_TAKEN, {"at": endpoint, "of": padded(of)}))
    places = Counter(places_taken(connection, {each.hit.id for each in first.values()}))
    chosen: dict[int, Opening] = {}
    for number, each in first.items():
        hit, visit = each.hit, each.visit
        full = counts_places(hit, visit) and places[hit.id] >= hit.assignments
        if visit.worker in names and visit.assignment not in taken and not full:
            chosen[number] = each
            places[hit.id] += 1
    rows = next_rows(connection, some.hit, len(chosen), some.visit.now) if chosen else []
    chosen = dict(list(chosen.items())[: len(rows)])
    workers = [each.visit.worker for each in chosen.values()]
    ids = add_workers(connection, endpoint, {worker: names[worker] for worker in workers}) if workers else {}
    new = {number: each for number, each in chosen.items() if each.visit.worker in ids}
    claims = {
        number: new_claim(each.hit, each.visit, ids[each.visit.worker], row)
        for (number, each), row in zip(new.items(), rows, strict=False)
    }
    made: dict[str, int] = {}
    for columns in {tuple(claim) for claim in claims.values()}:  # what a panel sent may be a column, or not
        alike = [claim for claim in claims.values() if tuple(claim) == columns]
        made |= {external_id: id for id, external_id in add_rows(connection, _work, alike, returning=_IDS)}
    return {
        number: Opened(Outcome.FORM, made[claim["external_id"]], claim["row_id"])
        for number, claim in claims.items()
    }


def _first_of_each(openings: Mapping[int, Opening]) -> dict[int, Opening]:
    """The first opening of each worker and of each assignment."""
    first: dict[int, Opening] = {}
    workers, assignments = set[str](), set[str]()
    for number, each in openings.items():
        if each.visit.worker not in workers and each.visit.assignment not in assignments:
            first[number] = each
        workers.add(each.visit.worker)
        assignments.add(each.visit.assignment)
    return first
