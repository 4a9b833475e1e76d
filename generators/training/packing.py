"""Batches: which documents, masked how, in which step. A function of seed and step alone, so a resumed run sees the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from generators.formats import ENCODERS, Example, Ids, SpecialIds, Types, fits, token_spans
from generators.masking import Hierarchical
from generators.training.corpus import Corpus

TRIES = 16


class Batch(NamedTuple):
    """Examples padded on the right to the longest among them: (B, T) ids and target types."""

    ids: Ids
    types: Types


def pad(examples: Sequence[Example]) -> Batch:
    """Examples as one batch."""
    width = max(len(example.ids) for example in examples)
    ids = np.zeros((len(examples), width), dtype=np.int32)
    types = np.zeros((len(examples), width), dtype=np.int8)
    for row, example in enumerate(examples):
        ids[row, : len(example.ids)] = example.ids
        types[row, : len(example.types)] = example.types
    return Batch(ids, types)


def examples(
    corpus: Corpus, kind: str, special: SpecialIds, *, seed: int, epoch: int, order: Sequence[int]
) -> Iterator[Example]:
    """One example of each document in `order`: its mask is drawn by (seed, epoch, document)."""
    encode = ENCODERS[kind]
    for number in order:
        rng = random.Random(f"{seed} {epoch} {number}")
        draw, tokens = Hierarchical().prepare(corpus.documents[number]), corpus.tokens[number]
        for _ in range(TRIES):
            spans = token_spans(tokens, draw(rng))
            if spans and fits(tokens, spans):
                yield encode(tokens, spans, special)
                break


def training_batches(
    corpus: Corpus, kind: str, special: SpecialIds, *, seed: int, size: int, start: int = 0
) -> Iterator[tuple[int, Batch]]:
    """(number, batch) without end, from number `start`. Each epoch has a fresh order and fresh masks."""
    per_epoch = -(-len(corpus.documents) // size)
    order = np.empty(0, dtype=np.int64)
    for number in itertools.count(start):
        epoch, within = divmod(number, per_epoch)
        if within == 0 or not len(order):
            order = np.random.default_rng([seed, epoch]).permutation(len(corpus.documents))
        part = order[within * size : (within + 1) * size].tolist()
        found = list(examples(corpus, kind, special, seed=seed, epoch=epoch + 1, order=part))
        if found:
            yield number, pad(found)


def evaluation_batches(
    corpus: Corpus, kind: str, special: SpecialIds, *, seed: int, size: int, limit: int
) -> list[Batch]:
    """Fixed batches for validation: one mask a document, by length, all of them scored."""
    count = min(limit, len(corpus.documents))
    found = sorted(
        examples(corpus, kind, special, seed=seed, epoch=0, order=range(count)),
        key=lambda example: len(example.ids),
    )
    return [pad(found[at : at + size]) for at in range(0, len(found), size)]
