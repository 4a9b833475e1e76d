"""The training loop: step by step until the budget is used, best checkpoint kept, killed and resumed at will.

A resumed run sees the batches and the dropout that an uninterrupted one would have: both come from (seed, step). Started by
torchrun, the processes share every batch and end with the weights that one process would have, but for rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints import Card, probe, save
from generators.training.examples import MaskedCorpus
from generators.training.forward import place, weighted_loss
from generators.training.packing import Batch, capacity, evaluation_batches, share, training_batches
from generators.training.perplexity import Perplexities, perplexities, precision
from generators.training.plan import Architecture, Plan, Progress, Report
from generators.training.state import LOG, append_log, resume, save_state

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from torch import Tensor
    from transformers import GPT2LMHeadModel, PreTrainedModel

    from generators.formats import SpecialIds


SMALL_BATCH = 8192
"""Tokens up to which a GPU waits for the next kernel's launch more than it computes."""


def new_model(architecture: Architecture, special: SpecialIds, seed: int) -> GPT2LMHeadModel:
    """A model from scratch: GPT-2's architecture, weights drawn by the seed."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from generators.formats import CONTEXT_LENGTH

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=special.total, n_positions=CONTEXT_LENGTH,
        n_embd=architecture.width, n_layer=architecture.layers, n_head=architecture.heads,
        resid_pdrop=architecture.dropout, embd_pdrop=architecture.dropout, attn_pdrop=architecture.attention_dropout,
        bos_token_id=None, eos_token_id=special.end, pad_token_id=None,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


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
    """Train `model` until the budget is used or patience is out, keeping in `folder` the checkpoint with the lowest
    validation perplexity of masked text. The card of the checkpoint says how it was made: `mask` drew the corpus called
    `name`, and `origin` is where the model comes from.

    Where `folder` has the state of the same run, it goes on from there. `keep=False` writes the log alone. `better` is
    called when the model, as it is at that moment, is the best so far; `report` with every line of the log. Raises InputError where the state is another run's, and where the disk is full: what was saved before is still whole.
    """
    workers = _Workers()
    device = str(model.device)
    optimizer = make_optimizer(model, plan)
    fingerprint = {
        "plan": {
            k: v for k, v in asdict(plan).items() if k not in ("minutes", "steps", "passes", "patience")
        },
        "corpus": corpus.hash,
        "validation": validation.hash,
        "tokenizer": probe(tokenizer),
        "origin": origin or {},
        "architecture": {k: v for k, v in model.config.to_dict().items() if k != "transformers_version"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    progress = resume(folder, model, optimizer, fingerprint)
    if progress.step == 0 and workers.first:
        (folder / LOG).unlink(missing_ok=True)
    card = Card(
        plan.strategy,
        corpus.special.size,
        probe(tokenizer),
        training={
            "from": "scratch",
            **(origin or {}),
            "plan": asdict(plan),
            "documents": corpus.documents,
            "examples": corpus.examples,
            "left_out": corpus.left_out,
            "corpus_sha256": corpus.hash,
            "validation_examples": validation.examples,
        },
        blanks=list(corpus.special.blanks),
        mask=mask,
        corpus=name,
    )
    last_step = plan.last_step(corpus.documents)
    bf16 = "bf16" if plan.precision == "bf16" or (plan.precision == "auto" and "cuda" in device) else None
    room = capacity(corpus, plan.strategy, plan.batch) if plan.compile and workers.count == 1 else 0
    step_loss = compiled(room) if plan.compile else weighted_loss
    batches = ahead(
        training_batches(
            corpus,
            plan.strategy,
            seed=plan.seed,
            size=plan.batch,
            start=progress.step,
            context_loss=plan.context_loss,
            parts=plan.parts,
        ),
        lambda batch: (batch, [place(part, device, capacity=room) for part in workers.parts(batch, plan)]),
        threaded="cuda" in device,
    )
    began, spent_before = time.monotonic(), progress.seconds
    used = _used(plan, progress, last_step)
    since, loss_sum = progress.step, 0.0
    model.train()
    while used < 1 and not progress.finished:
        batch, parts = next(batches)
        for group in optimizer.param_groups:
            group["lr"] = _rate(plan, progress.step, used)
        _seed(plan.seed * 1_000_003 + progress.step * workers.count + workers.number, device)
        total: Any = 0.0
        for part in parts:
            with precision(device, bf16):
                loss = step_loss(model, part)
            loss.backward()  # type: ignore[no-untyped-call]
            total = total + loss.detach()
        workers.add_gradients(model)
        update(model, optimizer, plan)
        loss_sum = loss_sum + total
        progress.step += 1
        progress.tokens += len(batch.ids)
        progress.seconds = workers.agreed(spent_before + time.monotonic() - began)
        used = _used(plan, progress, last_step)
        evaluated = progress.step % plan.evaluate_every == 0 or used >= 1
        if evaluated:
            found = perplexities(
                model, workers.shared(evaluation_batches(
                    validation, plan.strategy, size=plan.batch, limit=plan.evaluation_examples)), autocast=bf16,
            )  # fmt: skip
            progress.seconds = workers.agreed(spent_before + time.monotonic() - began)
            best_so_far = found.masked < progress.best
            if best_so_far:
                progress.best, progress.best_step, progress.bad_evaluations = found.masked, progress.step, 0
            else:
                progress.bad_evaluations += 1
            progress.finished = bool(plan.patience) and progress.bad_evaluations >= plan.patience
            if best_so_far:
                better()
            line = _line(plan, progress, workers.sum(loss_sum) / (progress.step - since), used, found)
            since, loss_sum = progress.step, 0.0
            if workers.first:
                # Before the state: a resumed run drops lines that are ahead of it, but could not make one that is missing.
                append_log(folder, line)
            if keep and workers.first:
                if best_so_far:
                    outcome = _outcome(progress, found)
                    save(folder, model, tokenizer, replace(card, training={**card.training, **outcome}))
                save_state(folder, model, optimizer, progress, fingerprint)
            if workers.first:
                report(line)
        elif device == "cpu" and workers.first:
            report(_line(plan, progress, float(total), used, None))
    workers.wait()
    return progress


def compiled(room: int) -> Callable[..., Tensor]:
    """The loss of a batch of `room` tokens, compiled; small batches are replayed as one CUDA graph."""
    import torch

    graph = torch.cuda.is_available() and 0 < room <= SMALL_BATCH
    # Every shape is known: one compiled for any shape would be slower, and in torch 2.11 wrong for larger batches.
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


def _used(plan: Plan, progress: Progress, last_step: int | None) -> float:
    return max(progress.seconds / (plan.minutes * 60), progress.step / last_step if last_step else 0.0)


def _rate(plan: Plan, step: int, used: float) -> float:
    return (
        plan.learning_rate
        * min(1.0, (step + 1) / max(plan.warm_up, 1))
        * (max(1 - used, 0.0) if plan.decay else 1.0)
    )


def _line(plan: Plan, progress: Progress, loss: float, used: float, found: Perplexities | None) -> Report:
    return Report(
        progress.step,
        round(progress.seconds, 3),
        progress.tokens,
        loss,
        _rate(plan, progress.step - 1, used),
        progress.tokens / max(progress.seconds, 1e-9),
        min(1.0, used),
        found.masked if found else None,
        found.with_ends if found else None,
        None if found is None or math.isnan(found.context) else found.context,
    )


def _outcome(progress: Progress, found: Perplexities) -> dict[str, Any]:
    return {
        "step": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "masked_perplexity": found.masked,
        "perplexity_with_ends": found.with_ends,
        "context_perplexity": None if math.isnan(found.context) else found.context,
    }


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


class _Workers:
    """The processes of one run: one, or those that torchrun started."""

    def __init__(self) -> None:
        from torch import distributed

        self._torch = distributed
        self._on = distributed.is_available() and distributed.is_initialized()
        self.number = distributed.get_rank() if self._on else 0
        self.count = distributed.get_world_size() if self._on else 1

    @property
    def first(self) -> bool:
        return self.number == 0

    def parts(self, batch: Batch, plan: Plan) -> list[Batch]:
        """What this process works on, in micro-batches."""
        mine = share(batch, self.number, self.count)
        examples = len(mine.bounds) - 1
        pieces = -(-examples // plan.micro_batch) if plan.micro_batch else 1
        return [share(mine, number, pieces) for number in range(pieces)]

    def shared(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Every so-maniest batch."""
        return (batch for number, batch in enumerate(batches) if number % self.count == self.number)

    def add_gradients(self, model: PreTrainedModel) -> None:
        """Sum the gradients of all processes; the weights of the losses are already those of the whole batch."""
        if self._on:
            for parameter in model.parameters():
                if parameter.grad is not None:
                    self._torch.all_reduce(parameter.grad)

    def sum(self, value: Any) -> float:
        """The sum over the processes."""
        if not self._on:
            return float(value)
        import torch

        total = torch.as_tensor(float(value), dtype=torch.float64, device=self._device())
        self._torch.all_reduce(total)
        return float(total)

    def agreed(self, seconds: float) -> float:
        """The first process's clock."""
        if not self._on:
            return seconds
        import torch

        clock = torch.tensor(seconds, dtype=torch.float64, device=self._device())
        self._torch.broadcast(clock, 0)
        return float(clock)

    def wait(self) -> None:
        """Until all are here."""
        if self._on:
            self._torch.barrier()

    def _device(self) -> str:
        return "cuda" if self._torch.get_backend() == "nccl" else "cpu"
