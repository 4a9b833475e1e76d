"""The state of a run, in one file beside its checkpoint. It stays usable after a kill at any point."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.weights import first_line, save_tensors
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    import torch

STATE_TENSORS, LOCK = "state.safetensors", "lock"


@dataclass(slots=True)
class Progress:
    """The progress of a run, as the state file keeps it."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    best: float = math.inf
    best_step: int = 0
    bad_evaluations: int = 0
    """Evaluations since the best one."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes from training into `folder`; a kill releases it. Raises UsageError if another one
    does."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / LOCK, timeout=0):
            yield
    except Timeout:
        raise UsageError(
            f"another process is training into {folder}", "Wait for it, or name another folder with --out."
        ) from None


def save_state(
    folder: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    fingerprint: dict[str, Any],
) -> None:
    """Save weights, optimizer and progress; after a kill or on a full disk, the earlier state remains."""
    tensors = {f"model.{name}": value.detach() for name, value in model.named_parameters()}
    for index, moments in optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            tensors[f"optimizer.{index}.{name}"] = value.detach()
    part = folder / (STATE_TENSORS + ".part")
    # The numbers are in the same file as the tensors, so that one rename saves both.
    words = {"progress": json.dumps(asdict(progress)), "fingerprint": json.dumps(fingerprint)}
    try:
        save_tensors({name: value.contiguous().cpu() for name, value in tensors.items()}, part, words)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(folder / STATE_TENSORS)
    except Exception as error:  # safetensors has errors of its own
        part.unlink(missing_ok=True)
        before = (folder / STATE_TENSORS).exists()
        raise InputError(
            f"{folder / STATE_TENSORS} cannot be written: {first_line(error)}",
            "Free some space and run the same command"
            f" again{': it continues from the earlier state' if before else ''}.",
        ) from None


def resume(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, fingerprint: dict[str, Any]
) -> Progress:
    """Load weights and optimizer of the run in `folder`; returns its progress, a new one if there is no run.

    Raises InputError if the state is damaged or another run's.
    """
    from safetensors import SafetensorError, safe_open

    path = folder / STATE_TENSORS
    if not path.exists():
        return Progress()
    try:
        with safe_open(str(path), framework="pt") as file:
            words = file.metadata()
            before, progress = json.loads(words["fingerprint"]), Progress(**json.loads(words["progress"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}", "Delete it to train from the start.") from None
    now = json.loads(json.dumps(fingerprint))
    if before != now:
        raise InputError(
            f"{folder} holds the state of another run (other {', '.join(_differences(before, now))})",
            "Name another folder with --out, or delete this one.",
        )
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
    state = optimizer.state_dict()
    moments: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".")
            moments.setdefault(int(index), {})[key] = value
    state["state"] = moments
    optimizer.load_state_dict(state)
    return progress


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """The differences of two fingerprints; for the plan, its settings and their values."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    found = []
    for name in names:
        old, new = before.get(name), now.get(name)
        if name == "plan" and isinstance(old, dict) and isinstance(new, dict):
            found += [
                f"{key.replace('_', ' ')}: {old.get(key)}, now {new.get(key)}"
                for key in sorted(old.keys() | new.keys())
                if old.get(key) != new.get(key)
            ]
        else:
            found.append(name)
    return found
