"""The processes of a run that torchrun starts: how they share batches, and what they exchange."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from generators.sampling.flat_forward import Batch
from generators.training.packing import share

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Processes:
    """The processes of a run: one, or those that torchrun started."""

    def __init__(self) -> None:
        from torch import distributed

        self._torch = distributed
        self._on = distributed.is_available() and distributed.is_initialized()
        self.number = distributed.get_rank() if self._on else 0
        self.count = distributed.get_world_size() if self._on else 1

    @property
    def first(self) -> bool:
        return self.number == 0

    def parts(self, batch: Batch, most: int = 0) -> list[Batch]:
        """This process's share of a batch, in micro-batches of at most `most` examples."""
        mine = share(batch, self.number, self.count)
        examples = len(mine.bounds) - 1
        pieces = -(-examples // most) if most else 1
        return [share(mine, number, pieces) for number in range(pieces)]

    def shared(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """This process's share of the batches."""
        return (batch for number, batch in enumerate(batches) if number % self.count == self.number)

    def add_gradients(self, model: PreTrainedModel) -> None:
        """Sum the gradients of all processes; the weights of the losses are those of the whole batch."""
        if self._on:
            for parameter in model.parameters():
                if parameter.grad is not None:
                    self._torch.all_reduce(parameter.grad)

    def sum(self, value: Any) -> float:
        """The sum of a value over the processes."""
        if not self._on:
            return float(value)
        import torch

        total = torch.as_tensor(float(value), dtype=torch.float64, device=self._device())
        self._torch.all_reduce(total)
        return float(total)

    def agreed(self, seconds: float) -> float:
        """The seconds on the clock of the first process."""
        if not self._on:
            return seconds
        import torch

        clock = torch.tensor(seconds, dtype=torch.float64, device=self._device())
        self._torch.broadcast(clock, 0)
        return float(clock)

    def wait(self) -> None:
        """Wait for all processes."""
        if self._on:
            self._torch.barrier()

    def _device(self) -> str:
        return "cuda" if self._torch.get_backend() == "nccl" else "cpu"
