"""A training run, whatever it trains: its budget, evaluations, best checkpoint, state and log.

A run can be killed at any point and started again. It then sees the batches and the dropout that an
uninterrupted run would have seen: both come from (seed, step). What is trained, and how a step is done, is a
subclass.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from generators.training.log import Report, append_log, cut_log
from generators.training.processes import Processes
from generators.training.state import STATE_TENSORS, Progress, resume, save_state
from humaneval.errors import InputError

if TYPE_CHECKING:
    import torch

B = TypeVar("B")

WORSE = 1.5
"""A model that has learned nothing has a perplexity near the size of its vocabulary. From this multiple on,
training has made it worse."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a run, and how often it is evaluated and saved."""

    minutes: float
    last_step: int | None
    """The step at which the run ends, whatever the clock says."""
    evaluate_every: int
    patience: int = 0
    """Evaluations without a better one after which training stops; 0: never."""

    def used(self, progress: Progress) -> float:
        """The part of the budget that is used."""
        steps = progress.step / self.last_step if self.last_step else 0.0
        return max(progress.seconds / (self.minutes * 60), steps)

    def impatient(self, progress: Progress) -> bool:
        """Whether too many evaluations in a row were no better."""
        return 0 < self.patience <= progress.bad_evaluations


class Step(NamedTuple):
    """What a step did."""

    loss: Any
    """A number, or a tensor with one."""
    tokens: int


class Evaluation(NamedTuple):
    """Perplexities on the validation examples."""

    masked: float
    """Of masked text: what the best checkpoint is chosen by."""
    with_ends: float
    context: float | None = None
    """Of the text around the blanks, if the format trains on it."""


class Speed(NamedTuple):
    """What a run takes on this machine, in seconds."""

    start: float
    """What the first step takes more than the others."""
    step: float
    evaluation: float
    """An evaluation, and saving after it."""
    tokens: float
    """Tokens of a step."""


class Run(ABC, Generic[B]):
    """A run over batches of the type B: what it trains, and its progress."""

    slower: str
    """What to do if the loss is no longer a number."""
    tells_steps: bool
    """Whether each step is reported, not only each evaluation: on a GPU that would make it wait."""
    clock: Callable[[], float] = staticmethod(time.monotonic)
    """What tells the seconds."""

    def __init__(
        self,
        folder: Path,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        device: str,
        seed: int,
        budget: Budget,
        vocabulary: int,
        fingerprint: dict[str, Any],
        complete: Callable[[Path], bool],
    ) -> None:
        """Resume the run in `folder`, if there is one. `vocabulary` is the number of tokens of the model.

        `fingerprint` tells one run from another; `complete` says whether a folder has a whole checkpoint.
        Raises InputError if the state is another run's or damaged, or has lost its checkpoint.
        """
        self.folder, self.device, self.seed, self.budget = folder, device, seed, budget
        self._vocabulary = vocabulary
        self._trained, self.optimizer, self._fingerprint = model, optimizer, fingerprint
        self.processes = Processes()
        folder.mkdir(parents=True, exist_ok=True)
        self.progress = resume(folder, model, optimizer, fingerprint)
        if self.progress.best_step and not complete(folder):
            raise InputError(
                f"{folder} has the state of a run, but not its best checkpoint",
                f"Restore the checkpoint, or delete {folder / STATE_TENSORS} to train from the start.",
            )
        if self.processes.first:
            cut_log(folder, self.progress.step)
        self._began, self._spent_before = self.clock(), self.progress.seconds
        self._losses: Any = 0.0
        """The sum since the last line of the log, which was written at the step `_logged`."""
        self._logged = self.progress.step

    @abstractmethod
    def batches(self) -> Iterator[B]:
        """Batches without end, from the next step on."""

    @abstractmethod
    def rate(self) -> float:
        """The learning rate of the next step."""

    @abstractmethod
    def step(self, batch: B) -> Step:
        """Train on one batch; the random numbers are seeded."""

    @property
    @abstractmethod
    def held_out(self) -> int:
        """The number of batches of an evaluation."""

    @abstractmethod
    def evaluate(self, most: int | None = None) -> Evaluation:
        """Score the model as it is on the validation examples, or on `most` batches of them."""

    @abstractmethod
    def save(self, found: Evaluation, outcome: dict[str, Any]) -> None:
        """Save the model as the best checkpoint; its card says `outcome`."""

    @property
    def used(self) -> float:
        """The part of the budget that is used."""
        return self.budget.used(self.progress)

    def go(
        self,
        *,
        keep: bool = True,
        better: Callable[[], None] = lambda: None,
        report: Callable[[Report], None] = lambda line: None,
    ) -> Progress:
        """Train until the budget is used or patience is out.

        `keep=False` writes the log alone. `better` is called when the model is the best so far. `report` gets
        every line of the log, and with `tells_steps` also the steps between them.
        """
        progress, first = self.progress, self.processes.first
        batches = self.batches()
        while self.used < 1 and not self.budget.impatient(progress):
            loss = self._step(next(batches))
            if progress.step % self.budget.evaluate_every == 0 or self.used >= 1:
                found = self.evaluate()
                self._look_at_the_clock()
                line = self._evaluated(found)
                if progress.best_step == progress.step:
                    better()
                if first:
                    # In this order, a kill between the two loses no line: a resumed run cuts the lines after
                    # its state.
                    append_log(self.folder, line)
                    if keep:
                        self._keep(found)
                    report(line)
            elif self.tells_steps and first:
                report(self._line(float(loss)))
        self.processes.wait()
        return progress

    @property
    def usual_tokens(self) -> float | None:
        """The mean number of tokens of a step, if it is known beforehand."""
        return None

    def measure(self, seconds: float) -> Speed:
        """Train for about so many seconds, evaluate and save. What the folder holds stays as it is, but the
        run cannot continue afterwards."""
        batches, progress = self.batches(), self.progress
        begun, before = progress.tokens, self._now()
        self._step(next(batches))
        warm, step, tokens = self._now(), progress.step, progress.tokens
        while progress.step == step or progress.seconds - warm < seconds:
            self._step(next(batches))
        trained, steps = self._now(), progress.step - step
        each, measured = (trained - warm) / steps, (progress.tokens - tokens) / steps
        # An evaluation goes forwards only: about a third of a step.
        fitting = max(int(seconds / 2 / (each / 3)), self.processes.count)
        most = min(fitting, self.held_out)
        found = self.evaluate(most)
        evaluated = self._now()
        with TemporaryDirectory(dir=self.folder) as room:
            self.folder = Path(room)
            if self.processes.first:
                self.save(found, {})
                save_state(self.folder, self._trained, self.optimizer, progress, self._fingerprint)
            self.processes.wait()
        # Of a large model few steps fit, and their examples may be short or long.
        a_token, usual = each / measured, self.usual_tokens or measured
        return Speed(
            start=max(0.0, warm - before - (tokens - begun) * a_token),
            step=usual * a_token,
            evaluation=(evaluated - trained) * self.held_out / most + self._now() - evaluated,
            tokens=usual,
        )

    def _now(self) -> float:
        """The seconds of the run, once the device has done its steps."""
        float(self._losses)
        self._look_at_the_clock()
        return self.progress.seconds

    def _step(self, batch: B) -> Any:
        """One step; its loss."""
        progress, processes = self.progress, self.processes
        rate = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        _seed(self.seed * 1_000_003 + progress.step * processes.count + processes.number, self.device)
        done = self.step(batch)
        self._losses = self._losses + done.loss
        progress.step += 1
        progress.tokens += done.tokens
        self._look_at_the_clock()
        return done.loss

    def _evaluated(self, found: Evaluation) -> Report:
        """Count whether an evaluation is the best so far; returns its line of the log."""
        progress = self.progress
        loss = self.processes.sum(self._losses) / max(progress.step - self._logged, 1)
        since, self._losses, self._logged = self._logged, 0.0, progress.step
        refuse_worse_than_chance(
            found.masked if math.isfinite(loss) else loss,
            self._vocabulary,
            f"between step {since + 1} and step {progress.step}",
            self.slower + (" The best checkpoint is kept." if progress.best_step else ""),
        )
        if found.masked < progress.best:
            progress.best, progress.best_step, progress.bad_evaluations = found.masked, progress.step, 0
        else:
            progress.bad_evaluations += 1
        return self._line(loss, found)

    def _keep(self, found: Evaluation) -> None:
        """Save the state, and before it the checkpoint if it is the best."""
        progress = self.progress
        if progress.best_step == progress.step:
            outcome = {
                "step": progress.step,
                "tokens": progress.tokens,
                "seconds": round(progress.seconds, 1),
                "masked_perplexity": found.masked,
                "perplexity_with_ends": found.with_ends,
            }
            self.save(found, outcome)
        save_state(self.folder, self._trained, self.optimizer, progress, self._fingerprint)

    def _line(self, loss: float, found: Evaluation | None = None) -> Report:
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
            found.context if found else None,
        )

    def _look_at_the_clock(self) -> None:
        self.progress.seconds = self.processes.agreed(self._spent_before + self.clock() - self._began)


def refuse_worse_than_chance(perplexity: float, vocabulary: int, when: str, hint: str) -> None:
    """Raise InputError if training has made a model worse than one that has learned nothing."""
    if not math.isfinite(perplexity):
        raise InputError(f"the loss stopped being a number {when}", hint)
    if perplexity > WORSE * vocabulary:
        raise InputError(
            f"the model became worse than chance {when}: its perplexity is {perplexity:.3g}, and choosing any"
            f" of its {vocabulary:,} tokens at random gives {vocabulary:,}",
            hint,
        )


def _seed(seed: int, device: str) -> None:
    import torch

    if "cuda" in device:
        torch.cuda.manual_seed(seed)
    elif device == "cpu":  # `torch.manual_seed` formats a trace for every kind of device that is not there
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
