"""The mask function of Donahue et al. (ACL 2020, section 4), and its variants.

A document is a hierarchy of paragraphs, sentences and words. Every node is masked with probability p = 0.03,
and nothing inside a masked node is masked again. With probability 0.5, a masked word becomes an n-gram of up
to 8 words. This covers about 15 % of the words. Variants mask one granularity only.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from math import log, log1p
from typing import NamedTuple

from generators.masks.documents import Document
from generators.masks.spans import Draw, Granularity, MaskedSpan
from generators.masks.words import word_spans

PROBABILITY = 0.03
LONGEST_NGRAM = 8


class _Tree(NamedTuple):
    """The nodes of a document that may be masked, each before its parts; words are the leaves."""

    spans: list[tuple[int, int]]
    inner: dict[int, tuple[Granularity, int]]
    """For each node that is not a word: its granularity, and the node after its last part."""
    ends: list[int]
    """For each sentence, the node after its last word."""


@dataclass(frozen=True, slots=True)
class Hierarchical:
    """The paper's mask function, or its variant that masks only one granularity.

    `probability` (0–1) is that of each node. With `parity`, one number is drawn for each node, as in the
    reference code, so that equal streams of random numbers give equal masks. Otherwise the distance to the
    next masked node is drawn: the distribution is the same, and it takes a fraction of the time.
    """

    only: Granularity | None = None
    probability: float = PROBABILITY
    parity: bool = False

    @property
    def name(self) -> str:
        """`hierarchical`, or the granularity."""
        return self.only or "hierarchical"

    @property
    def types(self) -> tuple[str, ...]:
        """All five granularities, whichever are drawn, so that a blank has the same id in every variant."""
        return tuple(Granularity)

    def prepare(self, document: Document) -> Draw:
        """Cut the document into its nodes."""
        if self.probability <= 0:
            return lambda rng: []
        spans, inner, ends = _tree(document, self.only)
        count = len(spans)
        parity, probability = self.parity, self.probability
        # The number of nodes that are skipped is geometric: it is at least k with probability (1 - p)^k.
        scale = 1 / log1p(-probability) if probability < 1 else 0.0
        ngrams = {Granularity.NGRAM: 1.0, Granularity.WORD: 0.0, None: 0.5}.get(self.only, 0.0)

        # Called millions of times: the cost of masking is what this function looks up and calls.
        def draw(rng: random.Random) -> list[MaskedSpan]:
            mask: list[MaskedSpan] = []
            chance = rng.random
            node = 0
            while True:
                if parity:
                    while node < count and chance() >= probability:
                        node += 1
                else:
                    node += int(log(1.0 - chance()) * scale)
                if node >= count:
                    return mask
                start, end = spans[node]
                if node in inner:
                    type, after = inner[node]
                elif ngrams > 0 and chance() < ngrams:
                    longest = min(LONGEST_NGRAM, ends[bisect_right(ends, node)] - node)
                    # `randint` gives the same distribution, but takes five times as long.
                    length = rng.randint(1, longest) if parity else 1 + int(longest * chance())
                    type, after = Granularity.NGRAM, node + length
                    end = spans[after - 1][1]
                else:
                    type, after = Granularity.WORD, node + 1
                mask.append(_new_span(MaskedSpan, (type, start, end)))
                node = after

        return draw


# `MaskedSpan(...)` runs a constructor written in Python; this takes a third of the time.
_new_span = tuple.__new__


def _tree(document: Document, only: Granularity | None) -> _Tree:
    """All nodes of the document, or only those of one granularity, which then have no parts."""
    text = document.text
    whole, paragraphs, sentences = (
        only in (None, level) for level in (Granularity.DOCUMENT, Granularity.PARAGRAPH, Granularity.SENTENCE)
    )
    words = only in (None, Granularity.NGRAM, Granularity.WORD)
    spans: list[tuple[int, int]] = [(0, len(text))] if whole and text else []
    inner: dict[int, tuple[Granularity, int]] = {}
    ends: list[int] = []
    for paragraph, sentence_spans in document.paragraphs:
        outer = len(spans)
        if paragraphs:
            spans.append(paragraph)
        for part in sentence_spans:
            at = len(spans)
            if sentences:
                spans.append(part)
            if words:
                spans += word_spans(text, *part)
                ends.append(len(spans))
            if sentences:
                inner[at] = Granularity.SENTENCE, len(spans)
        if paragraphs:
            inner[outer] = Granularity.PARAGRAPH, len(spans)
    if whole:
        inner[0] = Granularity.DOCUMENT, len(spans)
    return _Tree(spans, inner, ends)


def one_span(document: Document, granularity: Granularity, rng: random.Random) -> MaskedSpan | None:
    """One span of that granularity, all equally likely, or None if there are none: an example of a test set.

    Sentences exclude the metadata, such as a story's title line; all other granularities include it. N-grams
    are those of one random division of each sentence into n-grams.
    """
    if granularity == Granularity.SENTENCE:
        document = document._replace(paragraphs=document.paragraphs[document.metadata :])
    spans = Hierarchical(granularity, probability=1.0).prepare(document)(rng)
    return rng.choice(spans) if spans else None
