"""The terms of a HIT in words: reward, places, times; as planned, as a platform has them, and how these
differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from humaneval.crowd.platform import Terms
from humaneval.crowd.published_hits import GONE
from humaneval.store.tables import HitRow
from humaneval.study.file import StudyFile

REWARD, PLACES, LIFETIME, QUESTION = "reward", "places", "lifetime", "question"
TERMS = "terms"
"""Where the planned figures stand in the request of a publication."""
SLACK = timedelta(minutes=5)
"""Clocks and calls make times differ by less than this."""
SHOWN = 3
"""How many HITs with the same difference are named."""


class Differs(NamedTuple):
    """One figure, as planned and as a platform has it."""

    planned: str
    there: str


class Difference(NamedTuple):
    """A figure of a HIT that is not at the platform as it was planned."""

    hit: str
    what: str
    planned: str
    there: str
    accepted_at: datetime | None = None


def figures(terms: Terms) -> dict[str, str]:
    """The figures that are told, in words, but for the lifetime.

    >>> from decimal import Decimal
    >>> figures(Terms(reward=Decimal("0.8"), assignment_seconds=5400))
    {'reward': '$0.80', 'time for an assignment': '90 minutes'}
    """
    delay = terms.auto_approval_seconds
    words = {
        REWARD: None if terms.reward is None else f"${terms.reward:.2f}",
        PLACES: None if terms.places is None else str(terms.places),
        "time for an assignment": _minutes(terms.assignment_seconds),
        "approval delay": None if delay is None else f"{delay / 3600:g} hours",
        QUESTION: None if terms.question is None else f"one with the hash {terms.question}",
        "requirements": terms.requirements,
        "title": terms.title,
        "description": terms.description,
        "keywords": terms.keywords,
    }
    return {name: word for name, word in words.items() if word is not None}


def _minutes(seconds: int | None) -> str | None:
    return None if seconds is None else f"{seconds / 60:g} minutes"


def compare(
    planned: Mapping[str, str], until: datetime | None, there: Terms, moment: datetime
) -> dict[str, Differs]:
    """What differs between planned figures and a platform's, by the name of the figure.

    `until` is when the HIT should run out. Once it has run out on both sides, it does not matter when.
    """
    has = figures(there)
    found = {
        name: Differs(planned[name], has[name])
        for name in planned
        if name in has and planned[name].strip() != has[name].strip()
    }
    if until is not None and there.expires_at is not None:
        both_over = until <= moment and there.expires_at <= moment
        if not both_over and abs(until - there.expires_at) > SLACK:
            found[LIFETIME] = Differs(_until(until), _until(there.expires_at))
    return found


def _until(moment: datetime) -> str:
    return f"until {moment:%Y-%m-%d %H:%M} UTC"


def planned_figures(settings: StudyFile, hit: HitRow, request: Mapping[str, object]) -> dict[str, str]:
    """The figures that a HIT should have. Older databases kept none: then those of the study file count."""
    terms = settings.hit
    kept = request.get(TERMS)
    known = figures(
        Terms(
            reward=terms.reward,
            places=hit.assignments,
            assignment_seconds=terms.assignment_minutes * 60,
            auto_approval_seconds=round(terms.auto_approval_days * 86_400),
        )
    )
    return {**known, **kept, PLACES: str(hit.assignments)} if isinstance(kept, dict) else known


def unaccepted(differences: Sequence[Difference]) -> list[Difference]:
    """Those that no person has accepted."""
    return [each for each in differences if each.accepted_at is None]


def told(differences: Sequence[Difference], endpoint: str, sign: str = "$") -> list[str]:
    """A line for each kind of difference, with the HITs that have it; `sign` stands before amounts.

    >>> told([Difference("3A", "reward", "$0.80", "$5.00")], "local")
    ['reward: planned $0.80, local has $5.00 (HIT 3A)']
    """
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for each in differences:
        groups[each.what, each.planned, each.there].append(each.hit)
    lines = []
    for (what, *both), hits in groups.items():
        # Figures are stored with a dollar, whatever the currency is.
        planned, there = (each.replace("$", sign) if what == REWARD else each for each in both)
        more = f" and {len(hits) - SHOWN} more" if len(hits) > SHOWN else ""
        named = f"HIT {', '.join(hits[:SHOWN])}{more}"
        lines.append(
            f"{endpoint} no longer has the {named}"
            if what == GONE
            else f"{what}: planned {planned}, {endpoint} has {there} ({named})"
        )
    return lines
