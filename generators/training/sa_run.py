"""Trains SA on stories: one sentence of each is the blank. Killed at any point, the same run goes on from its
last evaluation."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from generators.self_attention.checkpoint import card_of, complete, save
from generators.self_attention.model import SelfAttention, smoothed_loss
from generators.self_attention.template import Batch, Corpus, held_batches, training_batches
from generators.self_attention.vocabulary import EOA, PAD, Vocabulary
from generators.training.plan import Progress, Report
from generators.training.sa_plan import Architecture, Plan
from generators.training.state import STATE_TENSORS, append_log, cut_log, resume, save_state
from humaneval.errors import InputError


class Perplexity(NamedTuple):
    """exp of the mean loss, not smoothed, over words of masked sentences; words that are not known count as
    one word. `with_ends`: with the ends of answers."""

    masked: float
    with_ends: float


def new_model(architecture: Architecture, vocabulary: Vocabulary, seed: int) -> SelfAttention:
    """Weights drawn by the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SelfAttention(architecture, len(vocabulary))


def scored(model: SelfAttention, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits (places, ids) and the true ids (places) of every answer in a batch; padding has no place."""
    template, positions, answer, target = (torch.from_numpy(part).to(model.device) for part in batch)
    states, _ = model(answer, model.remember(template, positions))
    real = target != PAD
    return model.logits(states[real]), target[real]


def perplexity(model: SelfAttention, batches: Sequence[Batch]) -> Perplexity:
    """How well a model predicts masked sentences."""
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
    """Train until the budget is used, keeping in `folder` the checkpoint with the lowest validation perplexity.

    InputError where the folder has another run's state, where the disk is full, and where the loss is no
    number any more: what was saved before is still whole.
    """
    run = _Run(folder, architecture, plan, vocabulary, corpus, validation, device)
    for batch in training_batches(corpus, plan.seed, plan.batch, run.progress.step):
        if run.used >= 1:
            break
        loss = run.step(batch)
        if run.progress.step % plan.evaluate_every == 0 or run.used >= 1:
            line = run.evaluate()
            append_log(folder, line)
            run.keep(line)
            report(line)
        else:
            report(run.line(loss))
    return run.progress


class _Run:
    """A run: what it trains, and where it stands."""

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
        self.folder, self.architecture, self.plan, self.vocabulary = folder, architecture, plan, vocabulary
        self.model = new_model(architecture, vocabulary, plan.seed).to(device).train()
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.997), eps=1e-9, fused=True
        )
        data = {"stories_sha256": _hash(corpus), "validation_sha256": _hash(validation)}
        self.fingerprint = {
            "plan": {name: value for name, value in asdict(plan).items() if name not in ("minutes", "steps")},
            "stories or vocabulary": [*data.values(), hashlib.sha256(repr(vocabulary).encode()).hexdigest()],
            "architecture": asdict(architecture),
        }
        self.made = {
            "from": "scratch",
            "plan": asdict(plan),
            "documents": len(corpus),
            "left_out": corpus.left_out,
        }
        self.made |= data
        folder.mkdir(parents=True, exist_ok=True)
        self.progress = resume(folder, self._any_model, self.optimizer, self.fingerprint)
        if self.progress.best_step and not complete(folder):
            raise InputError(
                f"{folder} has the state of a run, but not its best checkpoint",
                f"Restore that, or delete {folder / STATE_TENSORS} to train from the start.",
            )
        cut_log(folder, self.progress.step)
        self.held = held_batches(validation, plan.seed, plan.batch, plan.evaluation_examples)
        self.began, self.spent_before = time.monotonic(), self.progress.seconds
        self.losses: list[float] = []
        """Since the last line of the log."""

    @property
    def _any_model(self) -> Any:
        """The state is kept as that of any model with named parameters."""
        return self.model

    @property
    def used(self) -> float:
        """The part of the budget that is used."""
        by_steps = self.progress.step / self.plan.steps if self.plan.steps else 0.0
        return max(self.progress.seconds / (self.plan.minutes * 60), by_steps)

    def step(self, batch: Batch) -> float:
        """One step; its loss."""
        plan, progress = self.plan, self.progress
        for group in self.optimizer.param_groups:
            group["lr"] = plan.rate(progress.step + 1, self.architecture.width)
        torch.manual_seed(plan.seed * 1_000_003 + progress.step)
        logits, target = scored(self.model, batch)
        loss = smoothed_loss(logits, target, plan.smoothing)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), plan.clip)
        self.optimizer.step()
        self.losses.append(float(loss.detach()))
        progress.step += 1
        progress.tokens += len(target)
        progress.seconds = self.spent_before + time.monotonic() - self.began
        return self.losses[-1]

    def evaluate(self) -> Report:
        """The log's line of an evaluation, and whether it was better than before."""
        found, progress = perplexity(self.model, self.held), self.progress
        progress.seconds = self.spent_before + time.monotonic() - self.began
        loss, self.losses = sum(self.losses) / len(self.losses), []
        if not math.isfinite(loss) or not math.isfinite(found.masked):
            raise InputError(
                f"the loss is no number any more at step {progress.step}", "Train with a lower --lr-scale."
            )
        if found.masked < progress.best:
            progress.best, progress.best_step, progress.bad_evaluations = found.masked, progress.step, 0
        else:
            progress.bad_evaluations += 1
        return self.line(loss, found)

    def keep(self, line: Report) -> None:
        """Save the state, and the checkpoint before it if it is the best."""
        progress = self.progress
        if progress.best_step == progress.step:
            outcome = {
                "step": progress.step,
                "tokens": progress.tokens,
                "seconds": round(progress.seconds, 1),
                "masked_perplexity": line.perplexity,
                "perplexity_with_ends": line.with_ends,
            }
            card = card_of(self.vocabulary, {**self.made, **outcome})
            save(self.folder, self.model, self.architecture, self.vocabulary, card)
        save_state(self.folder, self._any_model, self.optimizer, progress, self.fingerprint)

    def line(self, loss: float, found: Perplexity | None = None) -> Report:
        progress = self.progress
        return Report(
            progress.step,
            round(progress.seconds, 3),
            progress.tokens,
            loss,
            self.optimizer.param_groups[0]["lr"],
            progress.tokens / max(progress.seconds, 1e-9),
            min(1.0, self.used),
            found.masked if found else None,
            found.with_ends if found else None,
        )


def _hash(corpus: Corpus) -> str:
    sha = hashlib.sha256()
    for part in (corpus.ids, corpus.starts, corpus.first):
        sha.update(part.tobytes())
    return sha.hexdigest()
