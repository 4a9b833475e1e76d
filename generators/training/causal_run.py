"""The training loop: step by step until the budget is used, best checkpoint kept, killed and resumed at will.

A resumed run sees the batches and the dropout that an uninterrupted one would have: both come from (seed,
step). Started by torchrun, the processes share every batch and end with the weights that one process would
have, but for rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.folder import Card, complete, probe, save
from generators.sampling.flat_forward import Flat, is_plain_gpt2, place, weighted_loss
from generators.training.examples import MaskedCorpus
from generators.training.model_perplexity import Perplexities, perplexities, precision
from generators.training.packing import Batch, capacity, evaluation_batches, training_batches
from generators.training.plan import Architecture, Plan, Progress, Report
from generators.training.processes import Workers
from generators.training.state import STATE_TENSORS, append_log, cut_log, resume, save_state
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor
    from transformers import GPT2LMHeadModel, PreTrainedModel

    from generators.checkpoints.sequences import SpecialIds


SMALL_BATCH = 8192
"""Tokens up to which a GPU waits for the next kernel's launch more than it computes."""
AT_ONCE = 128
"""Examples that a CPU works on at once, if nothing else is said: more would be no faster, and take memory
without end."""


def new_model(architecture: Architecture, special: SpecialIds, seed: int) -> GPT2LMHeadModel:
    """A model from scratch: GPT-2's architecture, weights drawn by the seed."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from generators.checkpoints.sequences import CONTEXT_LENGTH

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=special.total,
        n_positions=CONTEXT_LENGTH,
        n_embd=architecture.width,
        n_layer=architecture.layers,
        n_head=architecture.heads,
        resid_pdrop=architecture.dropout,
        embd_pdrop=architecture.dropout,
        attn_pdrop=architecture.attention_dropout,
        bos_token_id=None,
        eos_token_id=special.end,
        pad_token_id=None,
    )
    return GPT2LMHeadModel(config)


def set_dropout(model: PreTrainedModel, dropout: float | None, attention: float | None) -> None:
    """Another dropout than a pre-trained GPT-2 came with. Raises UsageError for other architectures, which
    keep theirs."""
    if dropout is None and attention is None:
        return
    if not is_plain_gpt2(model):
        raise UsageError(f"the dropout of {type(model).__name__} is its own", "Leave these options out.")
    body: Any = model.transformer
    if dropout is not None:
        for module in (
            body.drop,
            *(part for block in body.h for part in (block.attn.resid_dropout, block.mlp.dropout)),
        ):
            module.p = dropout
        model.config.resid_pdrop = model.config.embd_pdrop = dropout
    if attention is not None:
        for block in body.h:
            block.attn.attn_dropout.p = attention
        model.config.attn_pdrop = attention


def train(
    folder: Path,
    plan: Plan,
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    corpus: MaskedCorpus,
    validation: MaskedCorpus,
    *,
    mask: str = "hierarchical",
    name: str = "stories",
    origin: dict[str, Any] | None = None,
    keep: bool = True,
    better: Callable[[], None] = lambda: None,
    report: Callable[[Report], None] = lambda line: None,
) -> Progress:
    """Train `model` until the budget is used or patience is out, keeping in `folder` the checkpoint with the
    lowest validation perplexity of masked text. Its card says how it was made: `mask` drew the corpus called
    `name`, and `origin` is where the model comes from.

    Where `folder` has the state of the same run, it goes on from there. `keep=False` writes the log alone.
    `better` is called when the model, as it is at that moment, is the best so far; `report` with every line
    of the log. Raises InputError where the state is another run's, where the disk is full and where the loss
    is no number any more: what was saved before is still whole.
    """
    words = {"from": "scratch", **(origin or {})}
    card = Card(
        plan.strategy,
        corpus.special.size,
        probe(tokenizer),
        training={**words, "plan": asdict(plan), **_data(corpus, validation)},
        blanks=list(corpus.special.blanks),
        mask=mask,
        corpus=name,
    )
    run = _Run(folder, plan, model, tokenizer, corpus, validation, card)
    batches = run.batches()
    model.train()
    while run.used < 1 and not plan.impatient(run.progress):
        batch, parts = next(batches)
        loss = run.step(batch, parts)
        if run.progress.step % plan.evaluate_every == 0 or run.used >= 1:
            found = run.evaluate()
            if run.progress.best_step == run.progress.step:
                better()
            line = run.line(found)
            if run.workers.first:
                # In this order a kill between the two loses no line: a resumed run cuts those behind its
                # state.
                append_log(folder, line)
                if keep:
                    run.keep(found)
                report(line)
        elif run.device == "cpu" and run.workers.first:
            report(run.line(None, float(loss)))
    run.workers.wait()
    return run.progress


def _data(corpus: MaskedCorpus, validation: MaskedCorpus) -> dict[str, Any]:
    return {
        "documents": corpus.documents,
        "examples": corpus.examples,
        "left_out": corpus.left_out,
        "corpus_sha256": corpus.hash,
        "validation_examples": validation.examples,
        "validation_sha256": validation.hash,
    }


class _Run:
    """A run: what it trains, and where it stands."""

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        model: PreTrainedModel,
        tokenizer: Tokenizer,
        corpus: MaskedCorpus,
        validation: MaskedCorpus,
        card: Card,
    ) -> None:
        self.folder, self.plan, self.model, self.tokenizer, self.card = folder, plan, model, tokenizer, card
        self.corpus, self.validation = corpus, validation
        self.workers = Workers()
        if plan.batch < self.workers.count:
            raise UsageError(
                f"{self.workers.count} processes cannot share a batch of {plan.batch}",
                "Choose a larger --batch.",
            )
        self.device = str(model.device)
        self.optimizer = make_optimizer(model, plan)
        self.fingerprint = _fingerprint(plan, model, card)
        folder.mkdir(parents=True, exist_ok=True)
        self.progress = resume(folder, model, self.optimizer, self.fingerprint)
        if self.progress.best_step and not complete(folder):
            raise InputError(
                f"{folder} has the state of a run, but not its best checkpoint",
                f"Restore that, or delete {folder / STATE_TENSORS} to train from the start.",
            )
        if self.workers.first:
            cut_log(folder, self.progress.step)
        self.last_step = plan.last_step(corpus.documents)
        self.bf16 = (
            "bf16"
            if plan.precision == "bf16" or (plan.precision == "auto" and "cuda" in self.device)
            else None
        )
        self.at_once = plan.micro_batch or (0 if "cuda" in self.device else AT_ONCE)
        whole = self.workers.count == 1 and not 0 < self.at_once < plan.batch
        self.room = capacity(corpus, plan.strategy, plan.batch) if plan.compile and whole else 0
        self.loss = compiled(self.room) if plan.compile else weighted_loss
        self.began, self.spent_before = time.monotonic(), self.progress.seconds
        self.losses: Any = 0.0
        """The sum since the last line of the log, which `logged` is the step of."""
        self.logged = self.progress.step

    @property
    def used(self) -> float:
        """The part of the budget that is used."""
        steps = self.progress.step / self.last_step if self.last_step else 0.0
        return max(self.progress.seconds / (self.plan.minutes * 60), steps)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        warm = min(1.0, (self.progress.step + 1) / max(self.plan.warm_up, 1))
        return self.plan.learning_rate * warm * (max(1 - self.used, 0.0) if self.plan.decay else 1.0)

    def batches(self) -> Iterator[tuple[Batch, list[Flat]]]:
        """From the next step on: each batch, and this process's share of it on the device, in
        micro-batches."""
        plan = self.plan
        found = training_batches(
            self.corpus,
            plan.strategy,
            seed=plan.seed,
            size=plan.batch,
            start=self.progress.step,
            context_loss=plan.context_loss,
            parts=plan.parts,
        )

        def prepare(batch: Batch) -> tuple[Batch, list[Flat]]:
            parts = self.workers.parts(batch, self.at_once)
            return batch, [place(part, self.device, capacity=self.room) for part in parts]

        return ahead(found, prepare, threaded="cuda" in self.device)

    def step(self, batch: Batch, parts: Sequence[Flat]) -> Any:
        """One step; its loss, on the device."""
        import torch

        rate = self.rate
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        progress, workers = self.progress, self.workers
        _seed(self.plan.seed * 1_000_003 + progress.step * workers.count + workers.number, self.device)
        total: Any = 0.0
        try:
            for part in parts:
                with precision(self.device, self.bf16):
                    loss = self.loss(self.model, part)
                loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
                total = total + loss.detach()
        except torch.OutOfMemoryError:
            raise InputError(
                f"the GPU's memory does not hold a step of {self.at_once or self.plan.batch} examples",
                "Have fewer of them worked on at once, with the same result: --micro-batch.",
            ) from None
        workers.add_gradients(self.model)
        update(self.model, self.optimizer, self.plan)
        self.losses = self.losses + total
        progress.step += 1
        progress.tokens += len(batch.ids)
        self._look_at_the_clock()
        return total

    def evaluate(self) -> Perplexities:
        """Score the validation examples, and count whether that is better than before."""
        batches = evaluation_batches(
            self.validation, self.plan.strategy, size=self.plan.batch, limit=self.plan.evaluation_examples
        )
        found = perplexities(self.model, self.workers.shared(batches), autocast=self.bf16)
        self._look_at_the_clock()
        progress = self.progress
        if not math.isfinite(found.masked):
            raise InputError(
                f"the loss is no number any more at step {progress.step}",
                f"Train with a lower rate than --lr {self.plan.learning_rate:g}."
                + (" The best checkpoint is kept." if progress.best_step else ""),
            )
        if found.masked < progress.best:
            progress.best, progress.best_step, progress.bad_evaluations = found.masked, progress.step, 0
        else:
            progress.bad_evaluations += 1
        return found

    def keep(self, found: Perplexities) -> None:
        """Save the state, and the checkpoint before it if it is the best."""
        progress = self.progress
        if progress.best_step == progress.step:
            outcome = {
                "step": progress.step,
                "tokens": progress.tokens,
                "seconds": round(progress.seconds, 1),
                "masked_perplexity": found.masked,
                "perplexity_with_ends": found.with_ends,
                "context_perplexity": _number(found.context),
            }
            card = replace(self.card, training={**self.card.training, **outcome})
            save(self.folder, self.model, self.tokenizer, card)
        save_state(self.folder, self.model, self.optimizer, progress, self.fingerprint)

    def line(self, found: Perplexities | None, loss: float | None = None) -> Report:
        """The log's line of an evaluation, or what is shown of a step between."""
        progress = self.progress
        if loss is None:
            loss = self.workers.sum(self.losses) / max(progress.step - self.logged, 1)
            self.losses, self.logged = 0.0, progress.step
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
            _number(found.context) if found else None,
        )

    def _look_at_the_clock(self) -> None:
        self.progress.seconds = self.workers.agreed(self.spent_before + time.monotonic() - self.began)


def _fingerprint(plan: Plan, model: PreTrainedModel, card: Card) -> dict[str, Any]:
    """What tells one run from another; how long either may take does not."""
    budget = ("minutes", "steps", "passes", "patience")
    return {
        "plan": {name: value for name, value in asdict(plan).items() if name not in budget},
        "documents or masks": [card.training["corpus_sha256"], card.training["validation_sha256"]],
        "tokenizer": card.probe,
        "model to start from": [card.training.get(name) for name in ("from", "sha256", "new_rows")],
        "architecture": {k: v for k, v in model.config.to_dict().items() if k != "transformers_version"},
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def compiled(room: int) -> Callable[..., Tensor]:
    """The loss of a batch of `room` tokens, compiled; small batches are replayed as one CUDA graph."""
    import torch

    graph = torch.cuda.is_available() and 0 < room <= SMALL_BATCH
    # Every shape is known: one compiled for any shape would be slower, and in torch 2.11 wrong for larger
    # batches.
    return torch.compile(weighted_loss, mode="reduce-overhead" if graph else None, dynamic=False)


def update(model: PreTrainedModel, optimizer: torch.optim.Optimizer, plan: Plan) -> None:
    """Clip the gradients, step, and clear them."""
    import torch

    torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def _seed(seed: int, device: str) -> None:
    import torch

    (torch.cuda.manual_seed if "cuda" in device else torch.manual_seed)(seed)


def make_optimizer(model: PreTrainedModel, plan: Plan) -> torch.optim.Optimizer:
    """AdamW in its fused form; matrices decay, the rest does not."""
    import torch

    decayed = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": plan.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=plan.learning_rate, fused=True)


def ahead(batches: Iterator[Batch], prepare: Callable[[Batch], Any], *, threaded: bool) -> Iterator[Any]:
    """Batches prepared; by a thread of their own where a GPU works meanwhile."""
    if not threaded:
        yield from map(prepare, batches)
        return
    import queue
    import threading

    ready: queue.Queue[Any] = queue.Queue(maxsize=8)

    def work() -> None:
        try:
            for batch in batches:
                ready.put(prepare(batch))
        except BaseException as error:
            ready.put(error)

    threading.Thread(target=work, daemon=True).start()
    while True:
        item = ready.get()
        if isinstance(item, BaseException):
            raise item
        yield item
