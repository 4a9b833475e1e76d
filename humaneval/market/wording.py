"""Texts for the worker site's pages: money, times, and files that are too large."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))

TOO_LARGE = (
    "What you sent is larger than the 4 MB that can be sent at once, or has too many fields or special"
    " characters, so nothing was stored. Go back and send less."
)


def money_text(cents: int) -> str:
    """Cents as dollars.

    >>> money_text(5), money_text(123456)
    ('$0.05', '$1,234.56')
    """
    return f"${cents // 100:,}.{cents % 100:02d}"


def duration_text(seconds: float) -> str:
    """A length of time in at most two units, rounded down, and never negative.

    >>> duration_text(3600), duration_text(5400.9), duration_text(59), duration_text(-1)
    ('1 hour', '1 hour 30 minutes', '59 seconds', '0 seconds')
    """
    left = max(0, int(seconds))
    words: list[str] = []
    for size, unit in _UNITS:
        count, rest = divmod(left, size)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
            left = rest
        elif words:
            break
        if len(words) == 2:
            break
    return " ".join(words) or "0 seconds"


def moment_text(moment: datetime) -> str:
    """A point in time to the minute, with its zone.

    >>> from datetime import UTC
    >>> moment_text(datetime(2026, 11, 3, 14, 5, tzinfo=UTC))
    '3 Nov 2026, 14:05 UTC'
    """
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def time_left(deadline: datetime, now: datetime) -> str:
    """The time until `deadline`, in words: whole minutes from a minute on, the nearest one from ten on.

    >>> at = datetime(2026, 11, 3)
    >>> [time_left(at + timedelta(seconds=left), at) for left in (2699, 119, 59)]
    ['45 minutes', '1 minute', '59 seconds']
    """
    left: timedelta = deadline - now
    seconds = left.total_seconds()
    if seconds >= 600:
        return duration_text(60 * round(seconds / 60))
    return duration_text(seconds - seconds % 60 if seconds >= 60 else seconds)
