"""Weights in large pages of memory, where Linux has them.

A step of one row reads all weights once. With pages of 4 KiB the processor looks up an address for each of
100,000 pages, and this takes a tenth of the step.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import NamedTuple

PAGE = 2 << 20
_WANTED, _AT_ONCE = 14, 25
"""Linux's MADV_HUGEPAGE, and MADV_COLLAPSE, which kernels before 6.1 do not know."""


class Span(NamedTuple):
    """A piece of memory."""

    begin: int
    end: int


def use_huge_pages(spans: Iterable[Span]) -> None:
    """Ask for large pages under these pieces of memory. It is advice: nothing depends on the answer."""
    if sys.platform != "linux":
        return
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is None:
        return
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for begin, end in whole_pages(spans):
        for advice in (_WANTED, _AT_ONCE):
            advise(begin, end - begin, advice)


def whole_pages(spans: Iterable[Span]) -> list[Span]:
    """The large pages that lie within pieces, or within neighbours that are less than a page apart.

    >>> far = Span(9 * PAGE + 1, 9 * PAGE + 2)
    >>> whole_pages([Span(3 * PAGE - 9, 4 * PAGE), Span(PAGE - 1, 3 * PAGE - 99), far])
    [Span(begin=2097152, end=8388608)]
    """
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.begin - joined[-1].end < PAGE:
            last = joined.pop()
            span = Span(last.begin, max(last.end, span.end))
        joined.append(span)
    found = (Span(-(-begin // PAGE) * PAGE, end // PAGE * PAGE) for begin, end in joined)
    return [span for span in found if span.begin < span.end]
