"""A submission, a person's go at a Prolific study, in one shape, although list, detail and event differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from humaneval.errors import PlatformError
from humaneval.text import quoted

RESERVED, ACTIVE, AWAITING = "RESERVED", "ACTIVE", "AWAITING REVIEW"
APPROVED, REJECTED = "APPROVED", "REJECTED"
RETURNED, TIMED_OUT = "RETURNED", "TIMED OUT"
UNDER_WAY = frozenset((RESERVED, ACTIVE))
GIVEN_UP = frozenset((RETURNED, TIMED_OUT))
"""The place is open again, and nothing is submitted."""
REOPENED = GIVEN_UP | {REJECTED}
"""The place is open again."""
IN_PART, SCREENED = "PARTIALLY APPROVED", "SCREENED OUT"
STATES = {AWAITING: "submitted", APPROVED: "approved", IN_PART: "approved", REJECTED: "rejected"}
"""Those that say that work was submitted, as our states. An unknown one is never final."""
LEFT = GIVEN_UP | {SCREENED}
"""The person has left, and has submitted nothing."""
SETTLED = LEFT | STATES.keys()
"""Nothing more is submitted. In any other state, even an unknown one, something may be."""
KNOWN = UNDER_WAY | GIVEN_UP | STATES.keys() | {"PROCESSING", SCREENED}

_NAMES = {
    "id": ("id", "resource_id"),
    "participant": ("participant_id", "participant"),
    "study": ("study_id", "study"),
    "code": ("entered_code", "study_code"),
}
_READ = {name for names in _NAMES.values() for name in names} | {
    "status",
    "started_at",
    "completed_at",
    "return_requested",
    "bonus_payments",
}
_NOT_KEPT = frozenset({"ip"})
"""What Prolific tells and nobody needs."""


@dataclass(frozen=True, slots=True)
class Session:
    """A submission, in Prolific's word, in any state. Its id is the SESSION_ID of our form's address."""

    id: str
    participant: str
    study: str
    status: str
    """In capitals with blanks, even if it is an unknown one."""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    code: str = ""
    """The completion code that the person brought; "NOCODE" or "" if none."""
    return_requested: datetime | None = None
    bonuses: tuple[Decimal, ...] | None = None
    """Paid bonuses in major units; None if this answer does not tell."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields that nobody here knows, as they came."""

    @property
    def state(self) -> str | None:
        """Our state of submitted work; None if nothing is known to be submitted."""
        return STATES.get(self.status)


def session_of(told: Mapping[str, Any]) -> Session:
    """A submission as a list, a detail or an event tells it. What is missing is empty.

    >>> session_of({"id": "6a", "participant_id": "5b", "status": "TIMED-OUT"}).status
    'TIMED OUT'
    """

    def first(name: str) -> str:
        found = [told[each] for each in _NAMES[name] if told.get(each) is not None]
        return str(found[0]) if found else ""

    return Session(
        id=first("id"),
        participant=first("participant"),
        study=first("study"),
        status=status_of(told.get("status")),
        started_at=moment_of(told.get("started_at")),
        completed_at=moment_of(told.get("completed_at")),
        code=first("code"),
        return_requested=moment_of(told.get("return_requested")),
        bonuses=_amounts(told.get("bonus_payments")),
        more={name: each for name, each in told.items() if name not in _READ | _NOT_KEPT},
    )


def status_of(told: object) -> str:
    """A status in one spelling, whichever it is.

    >>> [status_of(each) for each in ("AWAITING_REVIEW", "TIME-OUT", "SCREENED OUT", "SOMETHING NEW", None)]
    ['AWAITING REVIEW', 'TIMED OUT', 'SCREENED OUT', 'SOMETHING NEW', '']
    """
    text = " ".join(str(told or "").upper().replace("_", " ").replace("-", " ").split())
    return TIMED_OUT if text in ("TIME OUT", "TIMEOUT", "TIMEDOUT") else text


def moment_of(told: object) -> datetime | None:
    """A time in ISO 8601, in UTC; None if it is missing or cannot be read.

    >>> moment_of("0001-01-01T00:00:00+14:00")
    """
    try:
        moment = datetime.fromisoformat(str(told))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # before the year 1, for example
        return None


def minor(amount: Decimal) -> int:
    """Major units as Prolific's rewards have them.

    >>> minor(Decimal("1.50"))
    150
    """
    return int(amount * 100)


def major(amount: object) -> Decimal:
    """Minor units as our books have them. Raises PlatformError for anything that is no amount.

    >>> major(150)
    Decimal('1.50')
    """
    try:
        found = Decimal(str(amount))
        if isinstance(amount, bool) or not found.is_finite():
            raise ArithmeticError
        return (found / 100).quantize(Decimal("0.01"))
    except ArithmeticError:
        raise PlatformError(f"Prolific says {quoted(str(amount), 100)} where an amount should be") from None


def whole(number: object) -> int:
    """A whole number of less than ten digits. Raises PlatformError for anything else.

    >>> whole("30")
    30
    """
    try:
        found = Decimal(str(number))
        if isinstance(number, bool) or not abs(found) < 10**9 or found % 1:
            raise ArithmeticError
        return int(found)
    except ArithmeticError:
        raise PlatformError(f"Prolific says {quoted(str(number), 100)} where a number should be") from None


def _amounts(told: object) -> tuple[Decimal, ...] | None:
    """Paid bonuses; None if there is no list of amounts."""
    try:
        return tuple(map(major, told)) if isinstance(told, list) else None
    except PlatformError:
        return None
