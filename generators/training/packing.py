"""Batches: which examples in which step, and how much each of their tokens counts.

A function of seed and place alone, so that a resumed run sees the same batches, and so do several processes
that share them. A batch is flat: its examples one behind the other, no padding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from generators.checkpoints.sequences import Examples, Target, encode
from generators.sampling.flat_forward import Batch
from generators.training.examples import MaskedCorpus

ANSWERS = (Target.INFILL, Target.INFILL_SPECIAL, Target.INFILL_REDUNDANT)


def weighted(examples: Examples, *, context_loss: bool = True, parts: int = 1) -> Batch:
    """The paper's loss as weights: the mean over the answers' tokens plus the mean over the context's.

    The two means are taken over the whole batch; with `parts`, over that many pieces of it in turn and then
    averaged, as the paper's code does with its three micro-batches. A mean over nothing is 0. An example's
    first token is predicted by nothing and does not count. Since weights are fixed here, neither
    micro-batches nor several processes change them.
    """
    weights = np.zeros(len(examples.ids), dtype=np.float32)
    countable = np.ones(len(examples.ids), dtype=bool)
    countable[examples.bounds[:-1]] = False
    groups = [ANSWERS, (Target.CONTEXT,)] if context_loss else [ANSWERS]
    pieces = np.array_split(np.arange(examples.size()), parts)
    for piece in pieces:
        if not len(piece):
            continue
        here = slice(examples.bounds[piece[0]], examples.bounds[piece[-1] + 1])
        for group in groups:
            chosen = np.isin(examples.types[here], group) & countable[here]
            weights[here][chosen] = 1 / (max(int(chosen.sum()), 1) * parts)
    return Batch(examples.ids, examples.types, weights, examples.bounds)


def share(batch: Batch, number: int, of: int) -> Batch:
    """Every `of`-th example from `number` on: what one of several processes, or one micro-batch, works on."""
    if of == 1:
        return batch
    chosen = np.arange(number, len(batch.bounds) - 1, of)
    lengths = np.diff(batch.bounds)[chosen]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.repeat(batch.bounds[chosen] - bounds[:-1], lengths) + np.arange(bounds[-1])
    return Batch(batch.ids[tokens], batch.types[tokens], batch.weights[tokens], bounds)


def training_batches(
    corpus: MaskedCorpus,
    strategy: str,
    *,
    seed: int,
    size: int,
    start: int = 0,
    context_loss: bool = True,
    parts: int = 1,
) -> Iterator[Batch]:
    """Batches without end, from number `start`. Each pass over the corpus has a fresh order; batches run on
    over its end."""
    passes, order, at = -1, np.zeros(0, dtype=np.int64), start * size
    while True:
        chosen = np.zeros(0, dtype=np.int64)
        while len(chosen) < size:
            if at // corpus.examples != passes:
                passes = at // corpus.examples
                order = np.random.default_rng([seed, passes]).permutation(corpus.examples)
            found = order[at % corpus.examples :][: size - len(chosen)]
            chosen, at = np.concatenate([chosen, found]), at + len(found)
        examples = encode(strategy, corpus.take(chosen), corpus.special)
        yield weighted(examples, context_loss=context_loss, parts=parts)


def evaluation_batches(
    corpus: MaskedCorpus, strategy: str, *, size: int, limit: int | None = None
) -> Iterator[Batch]:
    """Every example once, in order of length; with a `limit`, that many from all over the corpus."""
    count = corpus.examples if limit is None else min(limit, corpus.examples)
    chosen = np.arange(count) * corpus.examples // max(count, 1)
    order = chosen[np.argsort(corpus.lengths(strategy)[chosen], kind="stable")]
    for at in range(0, count, size):
        yield weighted(encode(strategy, corpus.take(order[at : at + size]), corpus.special))


def capacity(corpus: MaskedCorpus, strategy: str, size: int) -> int:
    """Tokens that nearly no batch of `size` examples exceeds: the mean and five standard deviations, in steps
    of 64."""
    lengths = corpus.lengths(strategy)
    most = size * lengths.mean() + 5 * size**0.5 * lengths.std()
    return -(-int(min(most, size * lengths.max())) // 64) * 64
