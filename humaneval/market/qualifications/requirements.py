"""Which workers may take a HIT: by the requester's own qualifications, and by the system's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, func, select

from humaneval.market.protocol.countries import country_name, country_names
from humaneval.market.protocol.refusals import RefusedError, invalid
from humaneval.market.tables.assignments import FINISHED, Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.qualifications import Qualification, QualificationType
from humaneval.market.workers import Person
from humaneval.store.types import table

PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
LOCALE = "00000000000000000071"
SYSTEM = {
    PERCENT_APPROVED: "Worker_PercentAssignmentsApproved",
    NUMBER_APPROVED: "Worker_NumberHITsApproved",
    LOCALE: "Worker_Locale",
}
"""The system's qualifications, computed from a worker's record: by id, with MTurk's names."""
ABSENT = {
    "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH": "Masters",
    "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6": "Masters",  # in the sandbox
    "2NDP2L92HECWY8NS8H3CK0CP5L9GHO": "Masters",  # specialised, like the next two
    "2F1KVCNHMVHV8E9PBUB2A4J79LU20F": "Masters",
    "2TGBB6BFMFFOM08IBMAFGGESC1UWJX": "Masters",
    "00000000000000000060": "Worker_Adult",
}
"""MTurk's own qualifications that do not exist here."""

MOST_REQUIREMENTS = 10
SMALL_RECORD = 100
"""With fewer submissions, a worker's approval rate counts as 100 %, as on MTurk."""

_SETS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")
_GUARDS = {
    "Accept": ("accept",),
    "PreviewAndAccept": ("accept", "preview"),
    "DiscoverPreviewAndAccept": ("accept", "preview", "discover"),
}
_NEWER, _OLDER = "ActionsGuarded", "RequiredToPreview"
"""Two names for one thing: the older is true where the newer is more than Accept."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a worker has done here, the country they gave, and the scores of their qualifications, by id."""

    percent_approved: int
    number_approved: int
    country: str
    scores: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A requirement that a worker does not meet, in words. `ask_for`: a qualification to request."""

    text: str
    ask_for: str = ""

    def __str__(self) -> str:
        return self.text


def record_of(work: Transaction, worker: Person, requirements: Iterable[Mapping[str, Any]]) -> Record:
    """A worker's current record, as far as `requirements` ask for it."""
    asked = {each["QualificationTypeId"] for each in requirements}
    mine = {"worker": worker.number}
    by_state: dict[State, int] = {}
    if PERCENT_APPROVED in asked or NUMBER_APPROVED in asked:
        by_state = dict(work.connection.execute(_FINISHED, mine).all())
    approved, rejected = by_state.get(State.APPROVED, 0), by_state.get(State.REJECTED, 0)
    small = sum(by_state.values()) < SMALL_RECORD or approved + rejected == 0
    return Record(
        100 if small else 100 * approved // (approved + rejected),
        approved,
        worker.country,
        dict(work.connection.execute(_HELD, mine).all()) if asked - SYSTEM.keys() else {},
    )


_DONE, _TYPES, _HOLDINGS = (table(each) for each in (Assignment, QualificationType, Qualification))
_TYPE = select(QualificationType).where(
    QualificationType.id == bindparam("id"), QualificationType.deleted.is_(False)
)
_FINISHED = (
    select(_DONE.c.state, func.count())
    .where(_DONE.c.worker_number == bindparam("worker"), _DONE.c.state.in_(FINISHED))
    .group_by(_DONE.c.state)
)
_HELD = (
    select(_TYPES.c.id, _HOLDINGS.c.value)
    .join_from(_HOLDINGS, _TYPES)
    .where(_HOLDINGS.c.worker_number == bindparam("worker"), _HOLDINGS.c.revoked.is_(False))
)


def check_requirements(work: Transaction, requirements: Sequence[Mapping[str, Any]]) -> None:
    """Raises RefusedError if a requirement could not be enforced here: it must not let everyone pass."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise invalid(f"A HIT can have at most {MOST_REQUIREMENTS} QualificationRequirements.")
    for requirement in requirements:
        kind = requirement["QualificationTypeId"]
        if kind in ABSENT:
            raise invalid(f"This marketplace has no {ABSENT[kind]}. Leave out that QualificationRequirement.")
        if kind not in SYSTEM and not find_type(work, kind).active:
            raise RefusedError(
                "InvalidQualificationTypeState",
                f"QualificationType {kind} is Inactive; only Active ones can be required.",
            )
        _check(requirement)


def read_back(requirement: Mapping[str, Any]) -> dict[str, Any]:
    """A requirement as the service shows it: with both names of what it guards, whichever was sent."""
    guarded = _guards(requirement)
    return {**requirement, _OLDER: guarded != "Accept", _NEWER: guarded}


def canonical(requirement: Mapping[str, Any]) -> dict[str, Any]:
    """A requirement in one form, however it was written: what is compared to know a HIT type again."""
    guarded = _guards(requirement)
    rest = {name: value for name, value in requirement.items() if name not in (_OLDER, _NEWER)}
    return rest if guarded == "Accept" else {**rest, _NEWER: guarded}


def is_lack(requirement: Mapping[str, Any]) -> bool:
    """Whether it asks a worker not to hold one of the requester's qualifications.

    Requesters give it to people who have done their part, so it says nothing to the others.
    """
    return requirement["Comparator"] == "DoesNotExist" and requirement["QualificationTypeId"] not in SYSTEM


def find_type(work: Transaction, type_id: str) -> QualificationType:
    """The requester's qualification type with this id. Raises RefusedError."""
    found = work.session.scalar(_TYPE, {"id": type_id})
    if found is not None:
        return found
    if type_id in SYSTEM:
        raise RefusedError(
            "NotPermitted", f"{SYSTEM[type_id]} is computed by the system; it cannot be granted."
        )
    known = ", ".join(f"{kind} ({name})" for kind, name in SYSTEM.items())
    raise RefusedError(
        "QualificationTypeDoesNotExist",
        f"QualificationType {type_id} does not exist. Besides the types that were created here,"
        f" there are {known}.",
    )


def unmet(requirements: Sequence[Mapping[str, Any]], record: Record, action: str) -> list[Mapping[str, Any]]:
    """The requirements for `action` (discover, preview, accept) that a worker with `record` does not meet."""
    return [
        requirement
        for requirement in requirements
        if action in _GUARDS[_guards(requirement)] and not _meets(requirement, record)
    ]


def obstacles(lacking: Sequence[Mapping[str, Any]], known: Mapping[str, QualificationType]) -> list[Obstacle]:
    """What keeps a worker from something, in words for the worker: requirements that `unmet` found. `known`
    comes from `types_of`."""
    return [
        Obstacle(describe(each, known), each["QualificationTypeId"] if _can_be_asked_for(each, known) else "")
        for each in lacking
    ]


def types_of(work: Transaction, requirements: Iterable[Mapping[str, Any]]) -> Mapping[str, QualificationType]:
    """The requester's own qualification types that are required, by id, including deleted ones."""
    ids = {each["QualificationTypeId"] for each in requirements} - SYSTEM.keys()
    if not ids:
        return {}
    found = work.session.scalars(select(QualificationType).where(QualificationType.id.in_(ids)))
    return {kind.id: kind for kind in found}


def describe(requirement: Mapping[str, Any], known: Mapping[str, QualificationType]) -> str:
    """A requirement in words, for the worker."""
    names = {
        PERCENT_APPROVED: "your approval rate (%)",
        NUMBER_APPROVED: "your number of approved tasks",
        LOCALE: "your country",
    }
    kind, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if kind in known:
        name = f"“{known[kind].name}”"
        if comparator in _PRESENCE:
            return f"you {'hold' if comparator == 'Exists' else 'do not hold'} {name}"
        names[kind] = f"your score in {name}"
    phrases = {
        "LessThan": "is less than",
        "LessThanOrEqualTo": "is at most",
        "GreaterThan": "is more than",
        "GreaterThanOrEqualTo": "is at least",
        "EqualTo": "is",
        "NotEqualTo": "is not",
        "In": "is one of",
        "NotIn": "is none of",
        "Exists": "is known",
        "DoesNotExist": "is not known",
    }
    values = ", ".join(
        country_name(value) if isinstance(value, str) else str(value) for value in _values(requirement)
    )
    return " ".join(part for part in (names[kind], phrases[comparator], values) if part)


def _can_be_asked_for(requirement: Mapping[str, Any], known: Mapping[str, QualificationType]) -> bool:
    kind = known.get(requirement["QualificationTypeId"])
    return (
        kind is not None and kind.active and not kind.deleted and requirement["Comparator"] != "DoesNotExist"
    )


def _guards(requirement: Mapping[str, Any]) -> str:
    guarded: str | None = requirement.get(_NEWER)
    return guarded or ("PreviewAndAccept" if requirement.get(_OLDER) else "Accept")


def _values(requirement: Mapping[str, Any]) -> list[Any]:
    if requirement["QualificationTypeId"] == LOCALE:
        return [locale["Country"] for locale in requirement.get("LocaleValues", ())]
    return list(requirement.get("IntegerValues", ()))


def _check(requirement: Mapping[str, Any]) -> None:
    kind, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    right, wrong = ("LocaleValues", "IntegerValues") if kind == LOCALE else ("IntegerValues", "LocaleValues")
    values = requirement.get(right, [])
    if requirement.get(wrong):
        raise invalid(f"{wrong} cannot be used with QualificationType {kind}.")
    if _OLDER in requirement and requirement[_OLDER] != (_guards(requirement) != "Accept"):
        raise invalid(
            f"{_OLDER} {str(requirement[_OLDER]).lower()} contradicts {_NEWER} {requirement[_NEWER]}. Leave"
            f" out {_OLDER}."
        )
    if comparator in _PRESENCE:
        if values:
            raise invalid(f"{right} must be left out with the Comparator {comparator}.")
        return
    if kind == LOCALE:
        if comparator not in ("EqualTo", "NotEqualTo", *_SETS):
            raise invalid(f"The Comparator {comparator} cannot be used with Worker_Locale.")
        if any("Subdivision" in locale for locale in values):
            raise invalid("This marketplace asks workers for a country, not for a Subdivision.")
        for locale in values:
            if locale["Country"] not in country_names():
                raise invalid(f"ISO 3166 has no country {locale['Country']!r}.")
    most = (30 if kind == LOCALE else 15) if comparator in _SETS else 1
    if not 1 <= len(values) <= most:
        raise invalid(
            f"{right} must have {'1' if most == 1 else f'1 to {most}'} with the Comparator {comparator}."
        )


def _meets(requirement: Mapping[str, Any], record: Record) -> bool:
    kind, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if comparator in _PRESENCE:
        known = bool(record.country) if kind == LOCALE else kind in SYSTEM or kind in record.scores
        return known is (comparator == "Exists")
    wanted = _values(requirement)
    if kind == LOCALE:
        # A worker whose country is not known meets no requirement on it, not even "is not".
        within = record.country in wanted
        return bool(record.country) and within is (comparator in ("EqualTo", "In"))
    scores = {
        **record.scores,
        PERCENT_APPROVED: record.percent_approved,
        NUMBER_APPROVED: record.number_approved,
    }
    # A worker without the qualification meets no comparison with its score either.
    if kind not in scores:
        return False
    has = scores[kind]
    outcomes: dict[str, bool] = {
        "LessThan": has < wanted[0],
        "LessThanOrEqualTo": has <= wanted[0],
        "GreaterThan": has > wanted[0],
        "GreaterThanOrEqualTo": has >= wanted[0],
        "EqualTo": has == wanted[0],
        "NotEqualTo": has != wanted[0],
        "In": has in wanted,
        "NotIn": has not in wanted,
    }
    return outcomes[comparator]
