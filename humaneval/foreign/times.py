"""Moments and durations as other platforms, and spreadsheets after them, write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from humaneval.errors import UsageError

ZONES = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "PST": -8,
    "PDT": -7,
    "MST": -7,
    "MDT": -6,
    "CST": -6,
    "CDT": -5,
    "EST": -5,
    "EDT": -4,
}
"""Hours from UTC of the zones that Mechanical Turk writes: Pacific time in batch files, others in older
ones."""

_TURK = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (\w{3}) +(\d{1,2}) (\d{1,2}):(\d\d):(\d\d) ([A-Z]{1,4}) (\d{4})"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK = re.compile(r"(?:(\d+) days?, *)?(\d+):(\d\d):(\d\d)(?:\.(\d+))? *(AM|PM)?", re.IGNORECASE)
_WORDS = re.compile(
    r"(?:(\d+) *(?:h|hours?|hrs?) *)?(?:(\d+) *(?:m|min|mins|minutes?) *)?(?:(\d+(?:\.\d+)?)"
    r" *(?:s|sec|secs|seconds?))?",
    re.IGNORECASE,
)
_EXCEL_ZERO = datetime(1899, 12, 31)


def zone(name: str | None) -> ZoneInfo | None:
    """The time zone called `name`. Raises UsageError where there is none."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"{name!r} is not a time zone that is known here", "Say for example Europe/Berlin or UTC."
        ) from None


def moment(text: str, assumed: ZoneInfo | timezone | None) -> datetime | None:
    """The moment in UTC, or None where the text does not say one for certain.

    Read are Mechanical Turk's own form, ISO 8601, and seconds since 1970. `assumed` is the zone of times that
    name none; without it these are not understood. Month and day as numbers with slashes could be either, and
    are not guessed.

    >>> str(moment("Wed May 06 11:46:36 PDT 2020", None))
    '2020-05-06 18:46:36+00:00'
    """
    text = text.strip()
    if found := _TURK.fullmatch(text):
        month, day, hour, minute, second, name, year = found.groups()
        if month.title() not in _MONTHS or name not in ZONES:
            return None
        here = timezone(timedelta(hours=ZONES[name]))
        return _or_none(
            int(year), _MONTHS.index(month.title()) + 1, int(day), int(hour), int(minute), int(second), here
        )
    if re.fullmatch(r"\d{9,10}(\.\d+)?", text):
        return datetime.fromtimestamp(float(text), UTC)
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        found_moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found_moment.tzinfo is None:
        if assumed is None:
            return None
        found_moment = found_moment.replace(tzinfo=assumed)
    return found_moment.astimezone(UTC)


def _or_none(
    year: int, month: int, day: int, hour: int, minute: int, second: int, here: timezone
) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=here).astimezone(UTC)
    except ValueError:
        return None


def duration(text: str) -> float | None:
    """Seconds, or None where the text does not say for certain how many.

    Read are numbers, hours:minutes:seconds as Excel shows a duration (also as a time of day, or as a day in
    January 1900 where it is longer than a day), and words (3 min 26 s). Two numbers with a colon could be
    minutes and seconds or hours and minutes, and are not guessed.

    >>> [duration(text) for text in ("206", "0:03:26", "12:03:26 AM", "1900-01-01T00:03:26", "3:26")]
    [206.0, 206.0, 206.0, 86606.0, None]
    """
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        return seconds if 0 <= seconds < float("inf") else None
    if found := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds_, fraction, half = found.groups()
        hour = int(hours) % 12 + 12 * (half.upper() == "PM") if half else int(hours)
        return (
            int(days or 0) * 86_400 + hour * 3600 + int(minutes) * 60 + float(f"{seconds_}.{fraction or 0}")
        )
    if text.startswith(("1899-12-3", "1900-01-")):
        try:
            return max(0.0, (datetime.fromisoformat(text) - _EXCEL_ZERO).total_seconds())
        except ValueError:
            return None
    if text and (found := _WORDS.fullmatch(text)):
        hours, minutes, seconds_ = found.groups()
        return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds_ or 0)
    return None
