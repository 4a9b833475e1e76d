"""Trains causal language models: ilm, lm, lm-rev and lm-all.

Started by torchrun, the processes share every batch and end with the weights that one process would have, but
for rounding.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from generators.checkpoints.card import Card, probe
from generators.checkpoints.checkpoint import save
from generators.checkpoints.folder import complete
from generators.sampling.flat_forward import Batch, Flat, place, weighted_loss
from generators.training.causal_model import make_optimizer
from generators.training.examples import MaskedCorpus
from generators.training.log import Report
from generators.training.loss import read_loss
from generators.training.model_perplexity import perplexities, precision
from generators.training.packing import capacity, evaluation_batches, training_batches
from generators.training.plan import Plan
from generators.training.processes import Processes
from generators.training.run import Evaluation, Run, Step
from generators.training.state import Progress
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor
    from transformers import PreTrainedModel

SMALL_BATCH = 8192
"""Up to this many tokens, a GPU spends more time on launching kernels than on computing."""
AT_ONCE = 128
"""Examples that a CPU processes at once by default: more would not be faster, and would take more memory."""


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
    """Train `model` until the budget is used or patience is out, and keep the checkpoint with the lowest
    validation perplexity of masked text in `folder`. Its card says how it was made: `mask` drew the corpus
    called `name`, and `origin` is where the model comes from.

    If `folder` has the state of the same run, training continues from there. `keep`, `better` and `report`
    are those of `Run.go`. Raises InputError if the state is another run's, the disk is full or the loss is no
    longer a number: what was saved before is still whole.
    """
    run = new_run(folder, plan, model, tokenizer, corpus, validation, mask=mask, name=name, origin=origin)
    return run.go(keep=keep, better=better, report=report)


def new_run(
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
) -> Run[Prepared]:
    """The run that `train` does; one that continues, if `folder` has its state."""
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
    model.train()
    return _CausalRun(folder, plan, model, tokenizer, corpus, validation, card)


def _data(corpus: MaskedCorpus, validation: MaskedCorpus) -> dict[str, Any]:
    return {
        "documents": corpus.documents,
        "examples": corpus.examples,
        "left_out": corpus.left_out,
        "corpus_sha256": corpus.hash,
        "validation_examples": validation.examples,
        "validation_sha256": validation.hash,
    }


class Prepared(NamedTuple):
    """A batch: how many tokens it has, and this process's share of it on the device, in micro-batches."""

    tokens: int
    parts: list[Flat]


class _CausalRun(Run[Prepared]):
    """A run of one of the four strategies."""

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
        self.plan, self.model, self.tokenizer, self.card = plan, model, tokenizer, card
        self.corpus, self.validation = corpus, validation
        count = Processes().count
        if plan.batch < count:
            raise UsageError(
                f"{count} processes cannot share a batch of {plan.batch}", "Choose a larger --batch."
            )
        device = str(model.device)
        super().__init__(
            folder,
            model,
            make_optimizer(model, plan),
            device=device,
            seed=plan.seed,
            budget=plan.budget(corpus.documents),
            vocabulary=model.config.vocab_size,
            fingerprint=_fingerprint(plan, model, card),
            complete=complete,
        )
        on_gpu = "cuda" in device
        self.slower = f"Train with a lower rate than --lr {plan.learning_rate:g}."
        self.tells_steps = device == "cpu"
        self.bf16 = "bf16" if plan.precision == "bf16" or (plan.precision == "auto" and on_gpu) else None
        self.at_once = plan.micro_batch or (0 if on_gpu else AT_ONCE)
        whole = count == 1 and not 0 < self.at_once < plan.batch
        mixed = plan.plain_rows > 0
        room = capacity(corpus, plan.strategy, plan.batch, plain_rows=mixed)
        self.room = room if plan.compile and whole else 0
        self.loss = compiled(self.room) if plan.compile else weighted_loss

    def rate(self) -> float:
        warm = min(1.0, (self.progress.step + 1) / max(self.plan.warm_up, 1))
        return self.plan.learning_rate * warm * (max(1 - self.used, 0.0) if self.plan.decay else 1.0)

    def batches(self) -> Iterator[Prepared]:
        plan = self.plan
        found = training_batches(
            self.corpus,
            plan.strategy,
            seed=plan.seed,
            size=plan.batch,
            start=self.progress.step,
            loss=read_loss(plan.loss),
            plain_rows=plan.plain_rows,
            parts=plan.parts,
        )

        def prepare(batch: Batch) -> Prepared:
            parts = self.processes.parts(batch, self.at_once)
            placed = [place(part, self.device, capacity=self.room) for part in parts]
            return Prepared(len(batch.ids), placed)

        return ahead(found, prepare, threaded="cuda" in self.device)

    def step(self, batch: Prepared) -> Step:
        import torch

        total: Any = 0.0
        try:
            for part in batch.parts:
                with precision(self.device, self.bf16):
                    loss = self.loss(self.model, part)
                loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
                total = total + loss.detach()
        except torch.OutOfMemoryError:
            raise InputError(
                f"the GPU's memory does not hold a step of {self.at_once or self.plan.batch} examples",
                "Process fewer of them at once, with the same result: --micro-batch.",
            ) from None
        self.processes.add_gradients(self.model)
        update(self.model, self.optimizer, self.plan)
        return Step(total, batch.tokens)

    @property
    def usual_tokens(self) -> float:
        plan = self.plan
        masked, plain = (self.corpus.lengths(name).mean() for name in (plan.strategy, "lm"))
        return float(plan.batch * (masked + plan.plain_rows * (plain - masked)))

    @property
    def held_out(self) -> int:
        return -(-min(self.plan.evaluation_examples, self.validation.examples) // self.plan.batch)

    def evaluate(self, most: int | None = None) -> Evaluation:
        size, limit = self.plan.batch, self.plan.evaluation_examples
        limit = limit if most is None else min(limit, most * size)
        batches = evaluation_batches(self.validation, self.plan.strategy, size=size, limit=limit)
        found = perplexities(self.model, self.processes.shared(batches), autocast=self.bf16)
        context = found.context if math.isfinite(found.context) else None
        return Evaluation(found.masked, found.with_ends, context)

    def save(self, found: Evaluation, outcome: dict[str, Any]) -> None:
        training = {**self.card.training, **outcome, "context_perplexity": found.context}
        save(self.folder, self.model, self.tokenizer, replace(self.card, training=training))


def _fingerprint(plan: Plan, model: PreTrainedModel, card: Card) -> dict[str, Any]:
    """What identifies a run; its budget does not."""
    budget = ("minutes", "steps", "passes", "patience")
    return {
        "plan": {name: value for name, value in asdict(plan).items() if name not in budget},
        "documents or masks": [card.training["corpus_sha256"], card.training["validation_sha256"]],
        "tokenizer": card.probe,
        "model to start from": [card.training.get(name) for name in ("from", "sha256", "new_rows")],
        "architecture": {k: v for k, v in model.config.to_dict().items() if k != "transformers_version"},
    }


def compiled(room: int) -> Callable[..., Tensor]:
    """The compiled loss of a batch of `room` tokens; small batches are replayed as one CUDA graph."""
    import torch

    graph = torch.cuda.is_available() and 0 < room <= SMALL_BATCH
    # Every shape is known. Code for any shape would be slower, and in torch 2.11 wrong for larger batches.
    return torch.compile(weighted_loss, mode="reduce-overhead" if graph else None, dynamic=False)


def update(model: PreTrainedModel, optimizer: torch.optim.Optimizer, plan: Plan) -> None:
    """Clip the gradients, step, and clear them."""
    import torch

    torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def ahead(batches: Iterator[Batch], prepare: Callable[[Batch], Any], *, threaded: bool) -> Iterator[Any]:
    """Prepare batches; in a separate thread if a GPU works in the meantime."""
    if not threaded:
        yield from map(prepare, batches)
        return
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
