"""The ids in an address that a person opens: found however they are spelt, and known when they are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from werkzeug.datastructures import MultiDict

from humaneval.text import refused_characters

LONGEST_ID = 128
MOST_PARAMETERS = 200
"""So many of an address are looked through for other spellings. One that is made up may have 60,000."""

_FORBIDDEN = re.compile(r"[\s{}\[\]<>$%\ufffd]")
"""Characters of a placeholder that nobody filled, or that no panel has in an id."""

_BROKEN = frozenset(("undefined", "null", "nan"))
_NOTHING = _BROKEN | {"none", "nil", "false", "true", "na", "empty", "missing", "unknown"}
"""What broken scripts write instead of an id: with it, everybody would be one person."""


def read_ids(given: MultiDict[str, str], names: Sequence[str]) -> dict[str, str]:
    """The values of the parameters `names`, without white space around them; "" if one is missing.

    A page or a program may have escaped an address twice (`amp;workerId`) or written a name in its own way
    (`WorkerID`, `worker_id`). The name as it should be comes first. If it is there several times, the last
    value that is not empty counts: a platform adds its own at the end.

    >>> read_ids(MultiDict([("amp;assignmentId", "3A"), ("WORKER_ID", "A1")]), ["assignmentId", "workerId"])
    {'assignmentId': '3A', 'workerId': 'A1'}

    Other spellings are looked for among the first 200 parameters.

    >>> read_ids(MultiDict([*[("a", "1")] * 200, ("WORKER_ID", "A1")]), ["workerId"])
    {'workerId': ''}
    """
    return {name: _last(given.getlist(name)) or _last(_otherwise_spelt(given, name)) for name in names}


def is_id(text: str, names: Sequence[str]) -> bool:
    """Whether `text` can be somebody's id.

    It cannot if it is too long, a placeholder of the parameters `names`, or what a broken script writes.

    >>> [is_id(text, ["PID"]) for text in ("5f3c9d", "undefined", "0", "[object Object]", "__PID__")]
    [True, False, False, False, False]
    """
    if not 0 < len(text) <= LONGEST_ID or _FORBIDDEN.search(text) or refused_characters(text):
        return False
    parts = [part for part in re.split(r"[\W_]+", text.casefold()) if part]
    if not parts or _plain(text) in _NOTHING | {_plain(name) for name in names}:
        return False
    return not _BROKEN & set(parts) and not all(part in _NOTHING or not part.strip("0") for part in parts)


def _last(values: Sequence[str]) -> str:
    return next((value.strip() for value in reversed(values) if value.strip()), "")


def _otherwise_spelt(given: MultiDict[str, str], name: str) -> list[str]:
    first = islice(given.items(multi=True), MOST_PARAMETERS)
    return [value for key, value in first if _plain(key) == _plain(name)]


def _plain(name: str) -> str:
    """A parameter's name without what people and programs write in their own way."""
    return re.sub(r"[\W_]+", "", re.sub(r"^(amp;)+", "", name.casefold()))
