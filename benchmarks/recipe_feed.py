"""What a stack of models reads: its batches in training, and the held-out stories that score it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.recipe_cells import Cell
from benchmarks.stacked import Rows, Stack, rows_of
from benchmarks.streams import FILLER, Reader, Record, Stream, filled
from generators.checkpoints.sequences import Target
from generators.sampling.flat_forward import wanted
from generators.training.examples import MaskedCorpus
from generators.training.packing import evaluation_batches

if TYPE_CHECKING:
    from benchmarks.recipes import Trial


class Feed:
    """The rows of every step, prepared by a process for each stream, and put on the device by a thread."""

    def __init__(self, trial: Trial, cells: Sequence[Cell], *, ragged: bool) -> None:
        self._device, self._ragged = trial.options.device, ragged
        keys = [
            (cell.recipe.masks, cell.recipe.strategy, cell.recipe.plain_rows, cell.seed) for cell in cells
        ]
        streams = {
            key: Stream(
                str(trial.folder(key[0])),
                key[1],
                key[2],
                tuple(dict.fromkeys(c.recipe.loss for c, k in zip(cells, keys, strict=True) if k == key)),
                key[3],
                trial.size,
                trial.capacity,
            )
            for key in dict.fromkeys(keys)
        }
        self._readers = [Reader(stream) for stream in streams.values()]
        numbers = {key: number for number, key in enumerate(streams)}
        first = dict(zip(streams, np.cumsum([0, *(len(s.losses) for s in streams.values())]), strict=False))
        self._stream = np.array([numbers[key] for key in keys])
        self._weights = np.array(
            [
                first[key] + streams[key].losses.index(cell.recipe.loss)
                for cell, key in zip(cells, keys, strict=True)
            ]
        )
        self._ready: queue.Queue[Any] = queue.Queue(maxsize=4)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        while not self._ready.empty():
            self._ready.get()
        self._thread.join()
        for reader in self._readers:
            reader.close()

    def next(self) -> tuple[Rows, np.ndarray]:
        item = self._ready.get()
        if isinstance(item, BaseException):
            raise item
        rows, counts = item
        return rows, counts

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                records = [reader.read() for reader in self._readers]
                weights = np.concatenate([record.weights for record in records])
                counts = np.array([record.tokens for record in records])[self._stream]
                rows = stacked(
                    records, weights, self._stream, self._weights, ragged=self._ragged, device=self._device
                )
                while not self._over.is_set():
                    try:
                        self._ready.put((rows, counts), timeout=0.5)
                        break
                    except queue.Full:
                        continue
        except BaseException as error:
            self._ready.put(error)


def stacked(
    records: Sequence[Record],
    weights: np.ndarray,
    stream: np.ndarray,
    weight: np.ndarray,
    *,
    ragged: bool,
    device: str,
) -> Rows:
    """The rows of all models: model m reads the record stream[m] with the weights weight[m]."""

    def moved(array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(device, non_blocking=True) if "cuda" in device else tensor

    chosen = moved(stream)
    ids = moved(np.stack([record.ids for record in records])).index_select(0, chosen).long()
    positions = moved(np.stack([record.positions for record in records])).index_select(0, chosen).long()
    spread = moved(weights).index_select(0, moved(weight))
    bounds = np.stack([records[number].bounds for number in stream])
    return rows_of(ids, positions, bounds, spread, ragged=ragged, device=device)


def score(trial: Trial, stack: Stack, cells: Sequence[Cell], split: str) -> list[float]:
    """Each model's perplexity of masked text in fp32, in its own format."""
    formats = list(dict.fromkeys(cell.recipe.strategy for cell in cells))
    chosen = np.array([formats.index(cell.recipe.strategy) for cell in cells])
    sums, counts = np.zeros(len(cells)), np.zeros(len(cells))
    for records in _held_out(trial.held_out[split], formats, trial.size):
        weights = np.concatenate([record.weights for record in records])
        rows = stacked(records, weights, chosen, chosen, ragged=False, device=trial.options.device)
        with torch.inference_mode():
            losses = trial.net.losses(stack.weights, rows, torch.float32)
            sums += (losses.double() * rows.weights[:, 1:]).sum(1).cpu().numpy()
        counts += rows.weights.double().sum(1).cpu().numpy()
    with np.errstate(over="ignore"):
        return [float(value) for value in np.exp(sums / counts)]


def _held_out(corpus: MaskedCorpus, formats: Sequence[str], size: int) -> Iterator[list[Record]]:
    for batches in zip(*(evaluation_batches(corpus, one, size=size) for one in formats), strict=True):
        most = max(len(batch.ids) for batch in batches) + FILLER
        examples = max(len(batch.bounds) for batch in batches) + -(-most // FILLER)
        yield [
            filled(batch, wanted(batch, Target.INFILL)[None].astype(np.float32), most, examples)
            for batch in batches
        ]
