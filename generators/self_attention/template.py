"""A text with its blanks as the network reads it: ids, segments and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.self_attention.vocabulary import BOS, EOS, MASK, PAD

SEGMENT = 256
"""The positions of a segment: that of a word is SEGMENT · segment + offset. So this is also the context on
each side of a blank."""
Ids = NDArray[np.int64]


class Template(NamedTuple):
    """A text in which each blank is one `<m>`. Segments alternate text, blank, text, …, from 0; offsets start
    at 0 in each."""

    ids: list[int]
    segments: list[int]
    offsets: list[int]

    @property
    def positions(self) -> list[int]:
        return [SEGMENT * segment + at for segment, at in zip(self.segments, self.offsets, strict=True)]


def template_of(pieces: Sequence[Sequence[int]]) -> Template:
    """The template of a text whose pieces have these ids: <BOS>, the pieces with <m> between them, <EOS>.
    Blank i (from 0) is segment 2i + 1. A filled blank belongs to the text, so the first open one is always
    segment 1.

    >>> template_of([[10, 11], [12], []])
    Template(ids=[1, 10, 11, 4, 12, 4, 2], segments=[0, 0, 0, 1, 2, 3, 4], offsets=[0, 1, 2, 0, 0, 0, 0])
    """
    texts = [list(piece) for piece in pieces]
    texts[0].insert(0, BOS)
    texts[-1].append(EOS)
    parts = [texts[0]]
    for text in texts[1:]:
        parts += [[MASK], text]
    return Template(
        [id for part in parts for id in part],
        [segment for segment, part in enumerate(parts) for _ in part],
        [offset for part in parts for offset in range(len(part))],
    )


def padded(rows: Sequence[Sequence[int]]) -> Ids:
    """(rows, longest), padded with PAD at the end."""
    found = np.full((len(rows), max(map(len, rows))), PAD)
    for at, row in enumerate(rows):
        found[at, : len(row)] = row
    return found
