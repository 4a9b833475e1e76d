"""Trains SA on stories: one sentence of each is the blank."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from generators.self_attention.architecture import Architecture
from generators.self_attention.checkpoint import card_of, complete, save
from generators.self_attention.model import SelfAttention
from generators.self_attention.vocabulary import EOA, PAD, Vocabulary
from generators.training.log import Report
from generators.training.run import Evaluation, Run, Step
from generators.training.sa_corpus import Batch, Corpus, held_batches, training_batches
from generators.training.sa_plan import Plan
from generators.training.state import Progress


class Perplexity(NamedTuple):
    """exp of the mean loss, without smoothing, over the words of masked sentences; unknown words count as one
    word. `with_ends` includes the ends of answers."""

    masked: float
    with_ends: float


def new_model(architecture: Architecture, vocabulary: Vocabulary, seed: int) -> SelfAttention:
    """A new model, with weights drawn by the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SelfAttention(architecture, len(vocabulary))


class Answers(NamedTuple):
    """The logits at every place of the answers in a batch, and the true ids."""

    logits: Tensor
    """(places, ids)."""
    target: Tensor
    """(places,) ids."""


def scored(model: SelfAttention, batch: Batch) -> Answers:
    """Score the answers of a batch; padding has no place."""
    template, positions, answer, target = (torch.from_numpy(part).to(model.device) for part in batch)
    states = model(answer, model.remember(template, positions)).states
    real = target != PAD
    return Answers(model.logits(states[real]), target[real])


def perplexity(model: SelfAttention, batches: Sequence[Batch]) -> Perplexity:
    """The perplexity of masked sentences."""
    training = model.training
    model.eval()
    word_loss, words, end_loss, ends = 0.0, 0, 0.0, 0
    with torch.inference_mode():
        for batch in batches:
            logits, target = scored(model, batch)
            loss = torch.nn.functional.cross_entropy(logits, target, reduction="none").double()
            end = target == EOA
            word_loss, words = word_loss + float(loss[~end].sum()), words + int((~end).sum())
            end_loss, ends = end_loss + float(loss[end].sum()), ends + int(end.sum())
    model.train(training)
    return Perplexity(_exp(word_loss / max(words, 1)), _exp((word_loss + end_loss) / max(words + ends, 1)))


def _exp(loss: float) -> float:
    return math.exp(min(loss, 700.0))


def smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The mean cross-entropy, in nats, of (places, ids): 1 - smoothing is on the true id, and the rest is
    spread evenly over all others except PAD.

    With z the logits and V ids, log p = z - lse(z), and the sum over the V - 2 others is sum(z) - z_true -
    z_pad - (V - 2) lse.
    """
    total = torch.logsumexp(logits, -1)
    true = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    others = logits.shape[-1] - 2
    rest = (logits.sum(-1) - true - logits[:, PAD]) / others - total
    return -((1 - smoothing) * (true - total) + smoothing * rest).mean()


def train(
    folder: Path,
    architecture: Architecture,
    plan: Plan,
    vocabulary: Vocabulary,
    corpus: Corpus,
    validation: Corpus,
    *,
    device: str = "cpu",
    report: Callable[[Report], None] = lambda line: None,
) -> Progress:
    """Train until the budget is used, and keep the checkpoint with the lowest validation perplexity in
    `folder`.

    Raises InputError if the folder has another run's state, the disk is full or the loss is no longer a
    number: what was saved before is still whole.
    """
    return SelfAttentionRun(folder, architecture, plan, vocabulary, corpus, validation, device).go(
        report=report
    )


class SelfAttentionRun(Run[Batch]):
    """A run of SA."""

    slower = "Train with a lower --lr-scale."
    tells_steps = True

    def __init__(
        self,
        folder: Path,
        architecture: Architecture,
        plan: Plan,
        vocabulary: Vocabulary,
        corpus: Corpus,
        validation: Corpus,
        device: str,
    ) -> None:
        self.architecture, self.plan, self.vocabulary, self.corpus = architecture, plan, vocabulary, corpus
        self.model = new_model(architecture, vocabulary, plan.seed).to(device).train()
        data = {"stories_sha256": _hash(corpus), "validation_sha256": _hash(validation)}
        self.made = {
            "from": "scratch",
            "plan": asdict(plan),
            "documents": len(corpus),
            "left_out": corpus.left_out,
            **data,
        }
        super().__init__(
            folder,
            self.model,
            torch.optim.Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.997), eps=1e-9, fused=True),
            device=device,
            seed=plan.seed,
            budget=plan.budget,
            vocabulary=len(vocabulary),
            fingerprint={
                "plan": {k: v for k, v in asdict(plan).items() if k not in ("minutes", "steps")},
                "stories or vocabulary": [
                    *data.values(),
                    hashlib.sha256(repr(vocabulary).encode()).hexdigest(),
                ],
                "architecture": asdict(architecture),
            },
            complete=complete,
        )
        self.held = held_batches(validation, plan.seed, plan.batch, plan.evaluation_examples)

    def rate(self) -> float:
        return self.plan.rate(self.progress.step + 1, self.architecture.width)

    def batches(self) -> Iterator[Batch]:
        return training_batches(self.corpus, self.plan.seed, self.plan.batch, self.progress.step)

    def step(self, batch: Batch) -> Step:
        answers = scored(self.model, batch)
        loss = smoothed_loss(answers.logits, answers.target, self.plan.smoothing)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimizer.step()
        return Step(float(loss.detach()), len(answers.target))

    @property
    def held_out(self) -> int:
        return len(self.held)

    def evaluate(self, most: int | None = None) -> Evaluation:
        found = perplexity(self.model, self.held[:most])
        return Evaluation(found.masked, found.with_ends)

    def save(self, found: Evaluation, outcome: dict[str, Any]) -> None:
        card = card_of(self.vocabulary, {**self.made, **outcome})
        save(self.folder, self.model, self.architecture, self.vocabulary, card)


def _hash(corpus: Corpus) -> str:
    sha = hashlib.sha256()
    for part in (corpus.ids, corpus.starts, corpus.first):
        sha.update(part.tobytes())
    return sha.hexdigest()
