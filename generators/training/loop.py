"""The training loop: one pass after the other until the budget is used, best checkpoint kept, killed and resumed at will.

A resumed run sees the batches and the dropout that an uninterrupted one would have: both come from (seed, number of
the batch). All of a run's state is one file, `state.safetensors`.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints import Card, save
from generators.formats import SpecialIds, Target
from generators.training.corpus import Corpus, probe
from generators.training.packing import Batch, evaluation_batches, training_batches
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import GPT2LMHeadModel

STATE_TENSORS, LOG = "state.safetensors", "log.jsonl"
ANSWERS = (Target.INFILL, Target.INFILL_SPECIAL, Target.INFILL_REDUNDANT)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train. `minutes` and `steps` bound the run; whichever comes first ends it."""

    kind: str
    layers: int = 4
    width: int = 256
    heads: int = 4
    dropout: float = 0.1
    learning_rate: float = 1e-3
    warm_up: int = 50
    batch: int = 16
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    minutes: float = 10.0
    steps: int = 1_000_000
    evaluate_every: int = 100
    evaluation_documents: int = 256
    patience: int = 0
    """Evaluations without a better one after which training stops; 0: never."""
    context_loss: bool = True
    """ILM: also learn the story around the blanks, as the paper does."""


@dataclass(slots=True)
class Progress:
    """Where a run stands: what the state file keeps."""

    step: int = 0
    next_batch: int = 0
    seconds: float = 0.0
    tokens: int = 0
    best: float = math.inf
    best_step: int = 0
    bad_evaluations: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """One line of the log: what a progress bar and a plot need."""

    step: int
    seconds: float
    loss: float
    tokens_per_second: float
    fraction: float
    """Of the budget that is used."""
    perplexity: float | None = None
    """Of masked text on the validation stories, where this step was evaluated."""


def new_model(plan: Plan, special: SpecialIds) -> GPT2LMHeadModel:
    """A model from scratch: GPT-2's architecture at the plan's size, weights drawn by the plan's seed."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from generators.formats import CONTEXT_LENGTH

    if plan.width % plan.heads:
        raise UsageError(
            f"a width of {plan.width} cannot be shared by {plan.heads} heads", "Choose a multiple."
        )
    torch.manual_seed(plan.seed)
    config = GPT2Config(
        vocab_size=special.total, n_positions=CONTEXT_LENGTH, n_embd=plan.width, n_layer=plan.layers, n_head=plan.heads,
        resid_pdrop=plan.dropout, embd_pdrop=plan.dropout, attn_pdrop=plan.dropout, bos_token_id=None, eos_token_id=special.end,
        pad_token_id=None,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def train(
    folder: Path,
    plan: Plan,
    corpus: Corpus,
    validation: Corpus,
    tokenizer: Tokenizer,
    *,
    device: str = "cpu",
    report: Callable[[Report], None] = lambda line: None,
) -> Progress:
    """Train until the budget is used, keeping the checkpoint with the lowest validation perplexity of masked text in `folder`.

    Where `folder` has the state of the same run, it goes on from there. Raises InputError where the state is another run's.
    """
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    special = SpecialIds(tokenizer.get_vocab_size())
    model = new_model(plan, special)
    torch.nn.Module.to(model, device)
    optimizer = _optimizer(model, plan)
    fingerprint = {
        "plan": {k: v for k, v in asdict(plan).items() if k not in ("minutes", "steps")},
        "corpus": corpus.hash,
        "probe": probe(tokenizer),
    }
    progress = _resume(folder, model, optimizer, fingerprint)
    evaluation = evaluation_batches(
        validation, plan.kind, special, seed=plan.seed, size=plan.batch, limit=plan.evaluation_documents
    )
    card = _card(plan, corpus, validation, special, tokenizer)
    if progress.step == 0:
        (folder / LOG).unlink(missing_ok=True)
    began, spent_before = time.monotonic(), progress.seconds
    for number, batch in training_batches(
        corpus, plan.kind, special, seed=plan.seed, size=plan.batch, start=progress.next_batch
    ):
        if _used(plan, progress) >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = plan.learning_rate * min(1.0, (progress.step + 1) / max(plan.warm_up, 1))
        model.train()
        torch.manual_seed(plan.seed * 1_000_003 + number)
        loss, count = _loss(model, batch, plan, device)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        progress.step, progress.next_batch, progress.tokens = (
            progress.step + 1,
            number + 1,
            progress.tokens + count,
        )
        progress.seconds = spent_before + time.monotonic() - began
        last = _used(plan, progress) >= 1
        perplexity = None
        if progress.step % plan.evaluate_every == 0 or last:
            perplexity = masked_perplexity(model, evaluation, device)
            progress.seconds = spent_before + time.monotonic() - began
            if perplexity < progress.best:
                progress.best, progress.best_step, progress.bad_evaluations = perplexity, progress.step, 0
                save(
                    folder,
                    model,
                    tokenizer,
                    Card(card.kind, card.vocabulary, card.probe, {**card.training, **_outcome(progress)}),
                )
            else:
                progress.bad_evaluations += 1
            _save_state(folder, model, optimizer, progress, fingerprint)
        line = Report(
            progress.step,
            progress.seconds,
            float(loss.detach()),
            progress.tokens / max(progress.seconds, 1e-9),
            min(1.0, _used(plan, progress)),
            perplexity,
        )
        if perplexity is not None:
            with (folder / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(asdict(line)) + "\n")
        report(line)
        if plan.patience and progress.bad_evaluations >= plan.patience:
            break
    return progress


def _used(plan: Plan, progress: Progress) -> float:
    return max(progress.seconds / (plan.minutes * 60), progress.step / plan.steps)


def _optimizer(model: GPT2LMHeadModel, plan: Plan) -> torch.optim.Optimizer:
    import torch

    decayed = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": plan.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=plan.learning_rate)


def _loss(model: GPT2LMHeadModel, batch: Batch, plan: Plan, device: str) -> tuple[torch.Tensor, int]:
    """The loss of a batch and its number of tokens: the mean over answers plus, for ILM, the mean over the context.

    Sums over counts, never a mean of an empty set: an LM batch has no context.
    """
    losses, types = token_losses(model, batch, device)
    answers = sum((types == kind for kind in ANSWERS[1:]), types == ANSWERS[0])
    loss = (losses * answers).sum() / answers.sum().clamp(min=1)
    if plan.context_loss:
        context = types == Target.CONTEXT
        loss = loss + (losses * context).sum() / context.sum().clamp(min=1)
    return loss, int((batch.types != Target.PAD).sum())


def token_losses(model: GPT2LMHeadModel, batch: Batch, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy of every target token and the types of the targets, in one flat vector each.

    Targets are all tokens but padding, blanks and S; only for them are logits computed.
    """
    import torch

    ids = torch.from_numpy(batch.ids).long().to(device)
    types = torch.from_numpy(batch.types).to(device)
    hidden = model.transformer(ids, use_cache=False).last_hidden_state[:, :-1]
    targets, kinds = ids[:, 1:], types[:, 1:]
    wanted = (kinds == Target.CONTEXT) | (kinds >= Target.INFILL)
    logits = model.lm_head(hidden[wanted]).float()
    return torch.nn.functional.cross_entropy(logits, targets[wanted], reduction="none"), kinds[wanted]


def masked_perplexity(model: GPT2LMHeadModel, batches: Iterable[Batch], device: str) -> float:
    """exp of the mean loss over the tokens of masked text alone: what strategies are compared by. Token-weighted, none left out."""
    import torch

    total, count = 0.0, 0
    model.train(False)
    with torch.inference_mode():
        for batch in batches:
            losses, types = token_losses(model, batch, device)
            masked = types == Target.INFILL
            total += float(losses[masked].double().sum())
            count += int(masked.sum())
    if not count:
        raise InputError(
            "no token of the validation stories is masked", "Give more validation stories with --valid."
        )
    return math.exp(total / count)


def _card(plan: Plan, corpus: Corpus, validation: Corpus, special: SpecialIds, tokenizer: Tokenizer) -> Card:
    training = {
        "from": "scratch",
        "plan": asdict(plan),
        "documents": len(corpus.documents),
        "left_out": corpus.left_out,
        "corpus_sha256": corpus.hash,
        "validation_documents": len(validation.documents),
    }
    return Card(plan.kind, special.size, probe(tokenizer), training)


def _outcome(progress: Progress) -> dict[str, Any]:
    return {
        "step": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "masked_perplexity": progress.best,
    }


def _save_state(
    folder: Path,
    model: GPT2LMHeadModel,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    fingerprint: dict[str, Any],
) -> None:
    """Weights and optimizer, then the words about them; a kill in between leaves the state before."""
    from safetensors.torch import save_file

    tensors = {
        f"model.{name}": value.detach().contiguous().cpu()
        for name, value in model.state_dict().items()
        if name != "lm_head.weight"
    }
    for index, moments in optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            tensors[f"optimizer.{index}.{name}"] = value.detach().contiguous().cpu()
    part = folder / (STATE_TENSORS + ".part")
    # The numbers travel in the same file as the tensors: one rename, and never one without the other.
    words = {"progress": json.dumps(asdict(progress)), "fingerprint": json.dumps(fingerprint)}
    save_file(tensors, part, metadata=words)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(folder / STATE_TENSORS)


def _resume(
    folder: Path, model: GPT2LMHeadModel, optimizer: torch.optim.Optimizer, fingerprint: dict[str, Any]
) -> Progress:
    from safetensors import safe_open

    path = folder / STATE_TENSORS
    if not path.exists():
        return Progress()
    with safe_open(str(path), framework="pt") as file:
        words = file.metadata()
        if json.loads(words["fingerprint"]) != json.loads(json.dumps(fingerprint)):
            raise InputError(
                f"{folder} holds the state of another run (other settings, stories or vocabulary)",
                "Name another folder with --out, or delete that one.",
            )
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    weights = {
        name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")
    }
    model.load_state_dict(weights, strict=False)
    model.tie_weights()
    state = optimizer.state_dict()
    moments: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".")
            moments.setdefault(int(index), {})[key] = value
    state["state"] = moments
    optimizer.load_state_dict(state)
    return Progress(**json.loads(words["progress"]))
