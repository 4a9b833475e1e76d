"""The requirements that a worker must meet to take a HIT, in Mechanical Turk's terms."""

from __future__ import annotations

from typing import Any

from humaneval.crowd.platform import Participants
from humaneval.errors import PlatformError

MOST = 10
"""The most requirements that one HIT can have."""

_APPROVAL_PERCENT = "000000000000000000L0"
_APPROVED_HITS = "00000000000000000040"
_LOCALE = "00000000000000000071"
_MASTERS = "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH"
_SANDBOX_MASTERS = "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"

WORDS = {
    _APPROVAL_PERCENT: "approved percent",
    _APPROVED_HITS: "approved HITs",
    _LOCALE: "country",
    _MASTERS: "Masters",
    _SANDBOX_MASTERS: "Masters",
}
"""What the service's own qualifications are, for people."""


def requirements(people: Participants, *, sandbox: bool) -> list[dict[str, Any]]:
    """The QualificationRequirements for `people`. Raises PlatformError if there are more than the platform
    accepts."""
    found: list[dict[str, Any]] = []
    if people.countries:
        locales = [{"Country": country} for country in people.countries]
        found.append(_requirement(_LOCALE, "In", LocaleValues=locales))
    for type_id, least in (
        (_APPROVAL_PERCENT, people.min_approved_percent),
        (_APPROVED_HITS, people.min_approved_hits),
    ):
        if least:
            found.append(_requirement(type_id, "GreaterThanOrEqualTo", IntegerValues=[least]))
    if people.masters:
        found.append(_requirement(_SANDBOX_MASTERS if sandbox else _MASTERS, "Exists"))
    for qualified in people.qualified:
        if qualified.lacking:
            found.append(_requirement(qualified.id, "DoesNotExist"))
        elif qualified.at_least is None:
            found.append(_requirement(qualified.id, "Exists"))
        else:
            found.append(
                _requirement(qualified.id, "GreaterThanOrEqualTo", IntegerValues=[qualified.at_least])
            )
    if len(found) > MOST:
        raise PlatformError(
            f"the study has {len(found)} requirements for participants; the platform accepts {MOST}",
            "Require fewer qualifications, or exclude fewer studies.",
        )
    return found


def _requirement(type_id: str, comparator: str, **values: Any) -> dict[str, Any]:
    """A worker who does not meet it does not even see the HIT."""
    return {
        "QualificationTypeId": type_id,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }
