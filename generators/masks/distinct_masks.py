"""Draws the masks of a document. No two are alike; faulty ones are drawn again, then counted by cause."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from generators.masks.documents import Document
from generators.masks.hierarchical_mask import Hierarchical
from generators.masks.spans import FAULTS, MaskedSpan, MaskFunction

TRIES = 16
"""How many times a mask is drawn, if it is faulty or repeats another of the same document."""

NOTHING = "masks nothing"


def draw_masks(
    mask: MaskFunction,
    document: Document,
    count: int,
    rng: random.Random,
    drops: Counter[str] | None = None,
    *,
    allow_empty: bool = True,
) -> list[tuple[MaskedSpan, ...]]:
    """Up to `count` masks of a document, no two alike; each is drawn up to 16 times until it can be used.

    A mask that is given up adds one to `drops` under the cause of its last try. A mask without a span is kept
    once at most, and never if `allow_empty` is false. Since masks differ, 16 masks of a story mask the whole
    document in about 2.7 % of cases, not 3 %.
    """
    drops = Counter() if drops is None else drops
    try:
        draw = mask.prepare(document)
    except FAULTS as error:
        drops[_failure(error)] += count
        return []
    types = frozenset(mask.types)
    sound = isinstance(mask, Hierarchical)  # its masks are valid by construction
    kept: dict[tuple[MaskedSpan, ...], None] = {}
    for _ in range(count):
        cause = ""
        for _ in range(TRIES):
            try:
                drawn = draw(rng)
            except FAULTS as error:
                cause = _failure(error)
                continue
            found = tuple(drawn)
            if found in kept:
                cause = "repeats another mask"
            elif not found and not allow_empty:
                cause = NOTHING
            elif not (cause := "" if sound else _fault(found, types, len(document.text))):
                kept[found] = None
                break
        else:
            drops[cause] += 1
    return list(kept)


def _fault(mask: Sequence[MaskedSpan], types: frozenset[str], length: int) -> str:
    """Why a mask cannot be used; empty if it can."""
    free_from = 0
    for type, start, end in mask:
        if type not in types:
            return f"unknown type: {type}"
        if start < 0 or end > length:
            return "outside the document"
        if start >= end:
            return "an empty span"
        if start < free_from:
            return "spans overlap"
        free_from = end
    return ""


def _failure(error: BaseException) -> str:
    first_line = str(error).partition("\n")[0][:200]
    return f"the mask function failed: {type(error).__name__}: {first_line}"
