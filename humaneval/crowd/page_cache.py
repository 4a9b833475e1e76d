"""Keeps rendered pages that differ in a few texts only: each is rendered once, and filled in for every
visit."""

from __future__ import annotations

import re
import secrets
import threading
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
    holes: list[int]
    """The numbers."""


_kept: dict[Hashable, _Skeleton] = {}
_rendering = threading.RLock()


def filled(
    key: Hashable, about: object, values: Sequence[str], render: Callable[[Sequence[str]], str]
) -> str:
    """The page that `render` makes of `values`. It may only show each of them, escaped.

    `key` and the identity of `about` say all else that the page depends on. Any thread may call this.
    """
    whole = (key, id(about), len(values))
    skeleton = _kept.get(whole)
    if skeleton is None:
        with _rendering:  # of a crowd that comes to a new server, one renders for all
            skeleton = _kept.get(whole) or _made(whole, about, render)
    parts = list(skeleton.parts)
    shown = _escaped(values)
    parts[1::2] = [shown[number] for number in skeleton.holes]
    return "".join(parts)


def _made(
    whole: tuple[Hashable, int, int], about: object, render: Callable[[Sequence[str]], str]
) -> _Skeleton:
    page = render([f"{_MARK}x{number}x" for number in range(whole[2])])
    parts = _HOLE.split(page)
    skeleton = _Skeleton(about, parts, [int(number) for number in parts[1::2]])
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[whole] = skeleton
    return skeleton


def _escaped(values: Sequence[str]) -> Sequence[str]:
    """All of them at once if they are plain text: dozens of calls take longer."""
    whole = "\0".join(values)
    if all(type(each) is str for each in values) and whole.count("\0") == len(values) - 1:
        return str(escape(whole)).split("\0")
    return [escape(each) for each in values]
