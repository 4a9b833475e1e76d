"""Pages that differ in a few texts only: rendered once, and filled in again and again."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from markupsafe import escape

MOST_KEPT = 256
"""How many pages are kept, of all studies together."""

_MARK = secrets.token_hex(12)
_HOLE = re.compile(f"{_MARK}x([0-9]+)x")


class _Skeleton(NamedTuple):
    about: object
    """Kept, so that no other object can get its identity."""
    parts: list[str]
    """Text and numbers of values, in turns."""


_kept: dict[Hashable, _Skeleton] = {}


def filled(
    key: Hashable, about: object, values: Sequence[str], render: Callable[[Sequence[str]], str]
) -> str:
    """The page that `render` makes of `values`, each of which it only shows, escaped.

    `key` and the identity of `about` say all else that the page depends on. Any thread may call this.
    """
    whole = (key, id(about), len(values))
    skeleton = _kept.get(whole)
    if skeleton is None:
        page = render([f"{_MARK}x{number}x" for number in range(len(values))])
        skeleton = _Skeleton(about, _HOLE.split(page))
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[whole] = skeleton
    parts = list(skeleton.parts)
    parts[1::2] = [escape(values[int(number)]) for number in parts[1::2]]
    return "".join(parts)
