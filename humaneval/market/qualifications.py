"""Who may take a HIT: MTurk's system qualifications that a worker's record here can answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.market.refusals import RefusedError, invalid
from humaneval.market.tables import FINISHED, Assignment, State, Worker
from humaneval.market.wording import country_name

PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
LOCALE = "00000000000000000071"
MASTERS = ("2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2NDP2L92HECWY8NS8H3CK0CP5L9GHO")

MOST_REQUIREMENTS = 10
SMALL_RECORD = 100
"""Below this many submissions a worker's approval rate counts as 100 %, as it did on MTurk."""

_SETS = ("In", "NotIn")
_PRESENCE = ("Exists", "DoesNotExist")
_GUARDS = {
    "Accept": ("accept",),
    "PreviewAndAccept": ("accept", "preview"),
    "DiscoverPreviewAndAccept": ("accept", "preview", "discover"),
}


@dataclass(frozen=True, slots=True)
class Record:
    """What a worker has done here and where they say they are."""

    percent_approved: int
    number_approved: int
    country: str


def record_of(session: Session, worker: Worker) -> Record:
    """A worker's record as it is now."""
    rows = session.execute(
        select(Assignment.state, func.count())
        .where(Assignment.worker_number == worker.number, Assignment.state.in_(FINISHED))
        .group_by(Assignment.state)
    )
    by_state = {state: int(count) for state, count in rows}
    approved, rejected = by_state.get(State.APPROVED, 0), by_state.get(State.REJECTED, 0)
    small = sum(by_state.values()) < SMALL_RECORD or approved + rejected == 0
    return Record(100 if small else 100 * approved // (approved + rejected), approved, worker.country)


def check_requirements(requirements: Sequence[Mapping[str, Any]]) -> None:
    """Raises RefusedError where a requirement could not be enforced here, rather than let anyone through it."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise invalid(f"A HIT can have at most {MOST_REQUIREMENTS} QualificationRequirements.")
    for requirement in requirements:
        _check(requirement)


def unmet(requirements: Sequence[Mapping[str, Any]], record: Record, action: str) -> list[str]:
    """In words, what keeps a worker with `record` from `action`: discover, preview or accept."""
    return [
        describe(requirement)
        for requirement in requirements
        if action in _guarded(requirement) and not _meets(requirement, record)
    ]


def describe(requirement: Mapping[str, Any]) -> str:
    """A requirement in words, for the worker."""
    names = {
        PERCENT_APPROVED: "your approval rate (%)",
        NUMBER_APPROVED: "your number of approved HITs",
        LOCALE: "your country",
    }
    name = names[requirement["QualificationTypeId"]]
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
    return " ".join(part for part in (name, phrases[requirement["Comparator"]], values) if part)


def _guarded(requirement: Mapping[str, Any]) -> tuple[str, ...]:
    if requirement.get("RequiredToPreview"):
        return _GUARDS["PreviewAndAccept"]
    return _GUARDS[requirement.get("ActionsGuarded", "Accept")]


def _values(requirement: Mapping[str, Any]) -> list[Any]:
    if requirement["QualificationTypeId"] == LOCALE:
        return [locale["Country"] for locale in requirement.get("LocaleValues", ())]
    return list(requirement.get("IntegerValues", ()))


def _check(requirement: Mapping[str, Any]) -> None:
    kind, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if kind in MASTERS:
        raise invalid("This marketplace has no Masters: leave that QualificationRequirement out.")
    if kind not in (PERCENT_APPROVED, NUMBER_APPROVED, LOCALE):
        raise RefusedError(
            "QualificationTypeDoesNotExist",
            f"QualificationType {kind} does not exist. This marketplace knows {PERCENT_APPROVED}"
            f" (Worker_PercentAssignmentsApproved), {NUMBER_APPROVED} (Worker_NumberHITsApproved) and {LOCALE} (Worker_Locale).",
        )
    right, wrong = ("LocaleValues", "IntegerValues") if kind == LOCALE else ("IntegerValues", "LocaleValues")
    values = requirement.get(right, [])
    if requirement.get(wrong):
        raise invalid(f"{wrong} cannot be used with QualificationType {kind}.")
    if "RequiredToPreview" in requirement and "ActionsGuarded" in requirement:
        raise invalid("RequiredToPreview and ActionsGuarded cannot be used together.")
    if comparator in _PRESENCE:
        if values:
            raise invalid(f"{right} must be left out with the Comparator {comparator}.")
        return
    if kind == LOCALE:
        if comparator not in ("EqualTo", "NotEqualTo", *_SETS):
            raise invalid(f"The Comparator {comparator} cannot be used with Worker_Locale.")
        if any("Subdivision" in locale for locale in values):
            raise invalid("This marketplace asks workers for a country, not for a Subdivision.")
    most = (30 if kind == LOCALE else 15) if comparator in _SETS else 1
    if not 1 <= len(values) <= most:
        raise invalid(
            f"{right} must have {'1' if most == 1 else f'1 to {most}'} with the Comparator {comparator}."
        )


def _meets(requirement: Mapping[str, Any], record: Record) -> bool:
    kind, comparator = requirement["QualificationTypeId"], requirement["Comparator"]
    if comparator in _PRESENCE:
        known = bool(record.country) if kind == LOCALE else True
        return known is (comparator == "Exists")
    wanted = _values(requirement)
    if kind == LOCALE:
        # Someone whose country is not known meets no requirement on it, not even "is not".
        within = record.country in wanted
        return bool(record.country) and within is (comparator in ("EqualTo", "In"))
    has = record.percent_approved if kind == PERCENT_APPROVED else record.number_approved
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
