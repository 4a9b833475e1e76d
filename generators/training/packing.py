"""Batches: which examples are in which step, and the weight of each of their tokens.

Batches depend only on the seed and the step, so that a resumed run and several processes see the same ones. A
batch is flat: its examples follow each other without padding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from generators.checkpoints.sequences import Examples, Ints, Target, encode
from generators.sampling.flat_forward import Batch
from generators.training.examples import MaskedCorpus
from generators.training.loss import Loss, Mean, read_loss

ANSWERS = (Target.INFILL, Target.INFILL_SPECIAL, Target.INFILL_REDUNDANT)
PAPERS = read_loss(Mean.TWO)


def weighted(examples: Examples, loss: Loss = PAPERS, *, parts: int = 1) -> Batch:
    """The loss as weights; by default the paper's.

    Means are taken over the whole batch. With `parts`, they are taken over that many pieces of it and then
    averaged, as the paper's code does with its three micro-batches. A mean over nothing is 0. The first token
    of an example is not predicted and does not count. Since the weights are fixed here, micro-batches and
    several processes do not change them.
    """
    weights = np.zeros(len(examples.ids), dtype=np.float32)
    countable = np.ones(len(examples.ids), dtype=bool)
    countable[examples.bounds[:-1]] = False
    answer = np.isin(examples.types, ANSWERS) & countable
    context = (examples.types == Target.CONTEXT) & countable & loss.context
    pieces = np.array_split(np.arange(examples.size()), parts)
    for piece in pieces:
        if not len(piece):
            continue
        here = slice(examples.bounds[piece[0]], examples.bounds[piece[-1] + 1])
        counts = loss.answers * answer[here], 1.0 * context[here]
        for group in counts if loss.each else (counts[0] + counts[1],):
            weights[here] += group / ((group.sum() or 1.0) * parts)
    return Batch(examples.ids, examples.types, weights, examples.bounds)


def share(batch: Batch, number: int, of: int) -> Batch:
    """Every `of`-th example from `number` onwards: the share of one process or one micro-batch."""
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
    loss: Loss = PAPERS,
    plain_rows: float = 0.0,
    parts: int = 1,
) -> Iterator[Batch]:
    """Batches without end, from number `start`. Each pass over the corpus has a new order; a batch may span
    two passes. A share of `plain_rows` of the examples are read as plain text: S x E."""
    passes, order, at = -1, np.zeros(0, dtype=np.int64), start * size
    while True:
        chosen = np.zeros(0, dtype=np.int64)
        while len(chosen) < size:
            if at // corpus.examples != passes:
                passes = at // corpus.examples
                order = np.random.default_rng([seed, passes]).permutation(corpus.examples)
            found = order[at % corpus.examples :][: size - len(chosen)]
            chosen, at = np.concatenate([chosen, found]), at + len(found)
        if plain_rows:
            draws = np.random.default_rng([seed, at, 1]).random(size)
            examples = _mixed(strategy, corpus, chosen, draws < plain_rows)
        else:
            examples = encode(strategy, corpus.take(chosen), corpus.special)
        yield weighted(examples, loss, parts=parts)


def _mixed(strategy: str, corpus: MaskedCorpus, chosen: Ints, plain: NDArray[np.bool_]) -> Examples:
    """Examples of `strategy`, and after them those that are `plain` as LM reads them: all of it is
    context."""
    first = encode(strategy, corpus.take(chosen[~plain]), corpus.special)
    then = encode("lm", corpus.take(chosen[plain]), corpus.special)
    return Examples(
        np.concatenate([first.ids, then.ids]),
        np.concatenate([first.types, np.full(len(then.ids), Target.CONTEXT, dtype=np.int8)]),
        np.concatenate([first.bounds, first.bounds[-1] + then.bounds[1:]]),
    )


def evaluation_batches(
    corpus: MaskedCorpus, strategy: str, *, size: int, limit: int | None = None
) -> Iterator[Batch]:
    """Every example once, in order of length; with a `limit`, only that many, spread over the corpus."""
    count = corpus.examples if limit is None else min(limit, corpus.examples)
    chosen = np.arange(count) * corpus.examples // max(count, 1)
    order = chosen[np.argsort(corpus.lengths(strategy)[chosen], kind="stable")]
    for at in range(0, count, size):
        yield weighted(encode(strategy, corpus.take(order[at : at + size]), corpus.special))


def capacity(corpus: MaskedCorpus, strategy: str, size: int, *, plain_rows: bool = False) -> int:
    """A number of tokens that almost no batch of `size` examples exceeds: the mean plus five standard
    deviations, in steps of 64. With `plain_rows`, each example may also be read as plain text."""
    lengths = corpus.lengths(strategy)
    if plain_rows:
        lengths = np.maximum(lengths, corpus.lengths("lm"))
    most = size * lengths.mean() + 5 * size**0.5 * lengths.std()
    return -(-int(min(most, size * lengths.max())) // 64) * 64
