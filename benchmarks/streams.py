"""One stream of training batches, written to standard output as fixed-size records of numbers.

    python -m benchmarks.streams JOB

JOB is a `Stream` as JSON. A process for each stream keeps the preparation of batches off the process that
drives the GPU.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.checkpoints.sequences import Examples
from generators.sampling.flat_forward import Batch
from generators.training.examples import MaskedCorpus
from generators.training.loss import read_loss
from generators.training.packing import training_batches, weighted

ROOT = Path(__file__).resolve().parent.parent
ROOM = 1 << 20
FILLER = 64
"""The tokens of a dummy example, at most."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What the batches are made of. The losses differ only in their weights, so that they share a stream."""

    corpus: str
    strategy: str
    plain_rows: float
    losses: tuple[str, ...]
    seed: int
    size: int
    capacity: int

    @property
    def bounds(self) -> int:
        """The number of examples of a record, dummies included, and one."""
        return self.size + -(-self.capacity // FILLER) + 1


class Record(NamedTuple):
    """A batch of a fixed shape, (capacity,) and (losses, capacity); dummy examples have weight 0."""

    ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    bounds: NDArray[np.int32]
    weights: NDArray[np.float32]
    tokens: int


def filled(batch: Batch, weights: NDArray[np.float32], capacity: int, examples: int) -> Record:
    """The batch with dummy examples behind it, up to `capacity` tokens and `examples` examples."""
    count, have = len(batch.ids), len(batch.bounds) - 1
    room = examples - have
    ends = np.minimum(count + FILLER * np.arange(1, room + 1), capacity)
    bounds = np.concatenate([batch.bounds, ends]).astype(np.int32)
    ids = np.zeros(capacity, np.int32)
    ids[:count] = batch.ids
    spread = np.zeros((len(weights), capacity), np.float32)
    spread[:, :count] = weights
    positions = np.arange(capacity, dtype=np.int32) - np.repeat(bounds[:-1], np.diff(bounds))
    return Record(ids, positions, bounds, spread, count)


def records(stream: Stream) -> Iterator[Record]:
    """The stream's batches without end; a batch that does not fit is left out, which hardly happens."""
    corpus = MaskedCorpus.open(Path(stream.corpus))
    first, *more = [read_loss(loss) for loss in stream.losses]
    for batch in training_batches(
        corpus,
        stream.strategy,
        seed=stream.seed,
        size=stream.size,
        loss=first,
        plain_rows=stream.plain_rows,
    ):
        if len(batch.ids) > stream.capacity:
            continue
        examples = Examples(batch.ids, batch.types, batch.bounds)
        weights = np.stack([batch.weights, *(weighted(examples, loss).weights for loss in more)])
        yield filled(batch, weights, stream.capacity, stream.bounds - 1)


class Reader:
    """The other end: reads the records that a process writes."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        command = [sys.executable, "-m", "benchmarks.streams", json.dumps(asdict(stream))]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, bufsize=ROOM)
        assert self._process.stdout is not None
        with suppress(AttributeError, OSError):  # a larger pipe lets the process work ahead
            fcntl.fcntl(self._process.stdout.fileno(), fcntl.F_SETPIPE_SZ, ROOM)

    def read(self) -> Record:
        stream = self.stream
        assert self._process.stdout is not None
        sizes = [1, stream.capacity, stream.capacity, stream.bounds, len(stream.losses) * stream.capacity]
        whole = self._process.stdout.read(4 * sum(sizes))
        if len(whole) < 4 * sum(sizes):
            raise RuntimeError(f"the stream ended: {stream}")
        count, ids, positions, bounds, weights = np.split(
            np.frombuffer(whole, np.int32), np.cumsum(sizes)[:-1]
        )
        spread = weights.view(np.float32).reshape(len(stream.losses), -1)
        return Record(ids, positions, bounds, spread, int(count[0]))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def write(stream: Stream, out: IO[bytes]) -> None:
    for record in records(stream):
        parts = np.int32(record.tokens), record.ids, record.positions, record.bounds, record.weights
        out.write(b"".join(part.tobytes() for part in parts))


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    try:
        write(Stream(**{**job, "losses": tuple(job["losses"])}), sys.stdout.buffer)
    except BrokenPipeError:
        sys.exit(0)
