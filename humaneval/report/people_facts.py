"""What the store knows about the people of a study, for boards and checklists: counts, never persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.report.places import places_of
from humaneval.store.engine import reading
from humaneval.store.responses import Deleted, answerers, deleted_forms
from humaneval.store.tables import COLLECTED, AssignmentRow, ConsentTextRow, HitRow, StudyRow
from humaneval.study.consent import Consent, consent_of
from humaneval.study.stored import Study
from humaneval.study.words import Channel, channel_at
from humaneval.text import Answerers, counted

FEWEST = 5
"""Smaller groups are not counted out: in them, a figure may be about a person whom somebody knows."""
SUPPRESSED = "fewer than 5"
NOT_TOLD = "number not told"
NOBODY_YET: tuple[Channel, bool] = ("hit", False)
"""As whom people would come if nothing is up: by which channel, and whether by link."""


@dataclass(frozen=True, slots=True)
class AgreedTo:
    """A text of consent, and how many forms came with it. None: nobody has come yet."""

    consent: Consent
    forms: int | None


@dataclass(frozen=True, slots=True)
class PeopleFacts:
    """The people of a study, in counts."""

    who: Answerers
    consents: tuple[AgreedTo, ...]
    """As stored with the answers; before there are any, as it will be read."""
    without_text: int
    """Forms with a version of the consent whose text was not stored: older ones, and static pages."""
    by_endpoint: Mapping[str, int]
    """Endpoint → people who have answered there."""
    places: Mapping[str, str]
    """Endpoint → the place in words."""
    rejected: int
    """People with a rejected form."""
    deleted: Deleted


def people_facts(study: Study) -> PeopleFacts:
    """What is known about the people of `study`."""
    with reading(study.engine) as session:
        work = (AssignmentRow.study_id == study.id, ~AssignmentRow.by_program)
        people = func.count(AssignmentRow.worker_id.distinct())
        by_endpoint = session.execute(
            select(AssignmentRow.endpoint, people)
            .where(*work, AssignmentRow.state.in_(("answered", *COLLECTED)))
            .group_by(AssignmentRow.endpoint)
            .order_by(AssignmentRow.endpoint)
        )
        rejected = session.scalar(select(people).where(*work, AssignmentRow.state == "rejected"))
        untold = select(func.count()).where(
            *work, AssignmentRow.consent_version != "", AssignmentRow.consent_hash.is_(None)
        )
        return PeopleFacts(
            answerers(session, session.get_one(StudyRow, study.id)),
            _agreed(session, study) or _to_be_read(session, study),
            session.scalar(untold.select_from(AssignmentRow)) or 0,
            dict(by_endpoint.all()),
            places_of(session, study.id, study.settings),
            rejected or 0,
            deleted_forms(session, study.id),
        )


def _agreed(session: Session, study: Study) -> tuple[AgreedTo, ...]:
    rows = session.execute(
        select(ConsentTextRow, func.count())
        .join(AssignmentRow, AssignmentRow.consent_hash == ConsentTextRow.hash)
        .where(AssignmentRow.study_id == study.id, ~AssignmentRow.by_program)
        .group_by(ConsentTextRow.hash)
        .order_by(ConsentTextRow.channel, ConsentTextRow.hash)
    )
    return tuple(
        AgreedTo(Consent(one.version, cast(Channel, one.channel), one.language, one.text), forms)
        for one, forms in rows
    )


def _to_be_read(session: Session, study: Study) -> tuple[AgreedTo, ...]:
    ways = select(HitRow.audience, HitRow.endpoint).where(HitRow.study_id == study.id).distinct()
    channels: set[tuple[Channel, bool]] = {
        (cast(Channel, way) if way else channel_at(at), bool(way)) for way, at in session.execute(ways)
    }
    return tuple(
        AgreedTo(consent_of(study.settings.by_link if by_link else study.settings, channel), None)
        for channel, by_link in sorted(channels or {NOBODY_YET})
    )


def counted_out(groups: Mapping[str, int]) -> dict[str, str]:
    """How many people are in each group, without small groups.

    If one group alone is small, the next one is not told either: the total would give it away.

    >>> counted_out({"GB": 20, "IE": 3, "US": 9}), counted_out({"GB": 2})
    ({'GB': '20', 'IE': 'fewer than 5', 'US': 'number not told'}, {'GB': 'fewer than 5'})
    """
    small = [name for name, people in groups.items() if 0 < people < FEWEST]
    told = {name: SUPPRESSED if name in small else f"{people:,}" for name, people in groups.items()}
    others = sorted((people, name) for name, people in groups.items() if people >= FEWEST)
    if len(small) == 1 and others:
        told[others[0][1]] = NOT_TOLD
    return told


def few(number: int, what: str) -> str:
    """A number of things that people have made, unless it is small.

    >>> few(4, "form"), few(7, "form")
    ('fewer than 5 forms', '7 forms')
    """
    return f"{SUPPRESSED} {what}s" if number < FEWEST else counted(number, what)


def at_least_five(people: int) -> str:
    """A number of people, unless it is small.

    >>> at_least_five(4), at_least_five(0), at_least_five(1200)
    ('fewer than 5', 'none', '1,200')
    """
    return "none" if not people else SUPPRESSED if people < FEWEST else f"{people:,}"
