"""The perplexity of a checkpoint on test examples of one granularity.

A test example has one span, drawn uniformly from all of that granularity in its document; the title of a
story is not one of its sentences. The mixture is the mask function of training, with one mask per document.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from generators.checkpoints.card import Card
from generators.checkpoints.checkpoint import Checkpoint
from generators.checkpoints.sequences import CONTEXT_LENGTH
from generators.checkpoints.weights import positions
from generators.masks.documents import Document
from generators.masks.hierarchical_mask import one_span
from generators.masks.named import load_mask
from generators.masks.spans import Draw, Granularity, MaskedSpan, MaskFunction
from generators.training.examples import MaskedCorpus, mask_corpus, nothing_left
from generators.training.model_perplexity import Perplexities, perplexities
from generators.training.packing import evaluation_batches
from humaneval.errors import UsageError

MIXTURE = "mixture"
GRANULARITIES = ("sentence", "document", "paragraph", "ngram", "word", MIXTURE)


@dataclass(frozen=True, slots=True)
class OneSpan:
    """A mask function that draws exactly one span of a granularity; a document without one gets no
    example."""

    granularity: Granularity
    types: tuple[str, ...] = tuple(Granularity)

    @property
    def name(self) -> str:
        return f"one {self.granularity}"

    def prepare(self, document: Document) -> Draw:
        def draw(rng: random.Random) -> Sequence[MaskedSpan]:
            span = one_span(document, self.granularity, rng)
            return () if span is None else (span,)

        return draw


@dataclass(frozen=True, slots=True)
class Score:
    """The perplexity of a checkpoint on one test set."""

    checkpoint: str
    strategy: str
    scratch: bool
    corpus: str
    granularity: str
    perplexities: Perplexities
    left_out: dict[str, int]
    vocabulary: int
    mask: str
    """The mask function of its training, which is also that of its mixture."""

    def record(self) -> dict[str, Any]:
        """The score for JSON."""
        found = self.perplexities
        return {
            "checkpoint": self.checkpoint,
            "strategy": self.strategy,
            "from_scratch": self.scratch,
            "corpus": self.corpus,
            "granularity": self.granularity,
            "perplexity": found.masked,
            "perplexity_with_ends": found.with_ends,
            "perplexity_of_context": None if found.context != found.context else found.context,
            "tokens": found.tokens,
            "examples": found.examples,
            "mean_length": found.mean_length,
            "left_out": self.left_out,
        }


def granularities(name: str, card: Card, asked: Sequence[str]) -> tuple[str, ...]:
    """The granularities to score the checkpoint `name` on. Raises UsageError if it has no blank for one."""
    known = (*card.blanks, MIXTURE)
    every = tuple(name for name in GRANULARITIES if name in known)
    chosen = tuple(dict.fromkeys(every if "all" in asked else asked))
    for wanted in chosen:
        if wanted not in every:
            raise UsageError(f"{name} has no {wanted} blanks", f"It was trained with: {', '.join(known)}.")
    return chosen


def masked_once(
    documents: Sequence[Document], checkpoint: Checkpoint, granularity: str, *, seed: int
) -> MaskedCorpus:
    """One masked example per document. It depends only on the seed and the number of the document, so
    checkpoints with the same tokenizer score the same tokens."""
    one: MaskFunction = (
        OneSpan(Granularity(granularity)) if granularity != MIXTURE else load_mask(checkpoint.card.mask)
    )
    return mask_corpus(
        documents,
        checkpoint.tokenizer,
        checkpoint.special,
        one,
        copies=1,
        seed=seed,
        allow_empty=granularity == MIXTURE,
    )


def score(
    name: str,
    checkpoint: Checkpoint,
    documents: Sequence[Document],
    granularity: str,
    *,
    corpus: str,
    seed: int = 0,
    batch: int = 32,
    autocast: str | None = None,
) -> Score:
    """The perplexity of masked text over one example per document. Raises InputError if none can be
    scored."""
    examples = masked_once(documents, checkpoint, granularity, seed=seed)
    if not examples.examples:
        raise nothing_left(
            f"none of the {len(documents)} documents can be scored with granularity {granularity}", examples
        )
    strategy = checkpoint.card.kind
    if positions(checkpoint.model) < CONTEXT_LENGTH:
        raise UsageError(f"{name} reads only {positions(checkpoint.model)} tokens, not {CONTEXT_LENGTH}")
    found = perplexities(
        checkpoint.model, evaluation_batches(examples, strategy, size=batch), autocast=autocast
    )
    return Score(
        name,
        strategy,
        checkpoint.card.scratch,
        corpus,
        granularity,
        found,
        examples.left_out,
        checkpoint.special.size,
        checkpoint.card.mask,
    )
