"""JSON documents whose bytes depend on their values alone, written as they are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any

from humaneval.store.engine import batches

DIGITS_OF_FLOATS = 17
"""So many significant digits tell every float from all others."""
TOGETHER = 5_000
"""How many parts are joined at once: a document has millions of short ones."""

PLAIN = frozenset((str, int, float, bool, type(None)))


def document(value: Any, digits: int = DIGITS_OF_FLOATS) -> bytes:
    """`value` as JSON: keys sorted, floats to `digits` significant digits. An iterator becomes a list.

    >>> document({"b": (), "a": [0.123456, None]}, 3)
    b'{\\n "a": [\\n  0.123,\\n  null\\n ],\\n "b": []\\n}\\n'
    """
    return b"".join(_pieces(value, digits))


def write_document(path: Path, value: Any, digits: int = DIGITS_OF_FLOATS) -> Path:
    """Write the same to a file, so that what an iterator gives is never held as a whole."""
    with path.open("wb") as file:
        file.writelines(_pieces(value, digits))
    return path


def _pieces(value: Any, digits: int) -> Iterator[bytes]:
    for some in batches(_parts(value, digits, "\n"), TOGETHER):
        yield "".join(some).encode()
    yield b"\n"


def _parts(value: Any, digits: int, end: str) -> Iterator[str]:
    """The text of a value; `end` begins the line after each of its parts."""
    if isinstance(value, Mapping):
        named = sorted(((str(name), part) for name, part in value.items()), key=itemgetter(0))
        yield from _listed(
            "{}", ((f"{encode_basestring(name)}: ", part) for name, part in named), digits, end
        )
    elif isinstance(value, list | tuple | Iterator):
        yield from _listed("[]", (("", part) for part in value), digits, end)
    else:
        yield _plain(value, digits)


def _listed(brackets: str, parts: Iterable[tuple[str, Any]], digits: int, end: str) -> Iterator[str]:
    inner, before = end + " ", brackets[0]
    for name, part in parts:
        if type(part) in PLAIN:  # nearly all of them: no generator for each
            yield f"{before}{inner}{name}{_plain(part, digits)}"
        else:
            yield f"{before}{inner}{name}"
            yield from _parts(part, digits, inner)
        before = ","
    yield end + brackets[1] if before == "," else brackets


def _plain(value: Any, digits: int) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if not isinstance(value, float):
        raise TypeError(f"{type(value).__name__} is no value of JSON")
    if not isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    # Zero has no sign here: -0.0 and 0.0 are one score.
    return float.__repr__(float(f"{value:.{digits}g}") + 0.0)
