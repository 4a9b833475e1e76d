"""The log of a run: one JSON line for each evaluation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, read_whole

LOG = "log.jsonl"


@dataclass(frozen=True, slots=True)
class Report:
    """One line of the log, with all that a progress bar and a plot need."""

    step: int
    seconds: float
    tokens: int
    loss: float
    """The mean of the steps since the last line."""
    learning_rate: float
    tokens_per_second: float
    fraction: float
    """The part of the budget that is used."""
    perplexity: float | None = None
    """Perplexity of masked text (infill_textonly) on the validation examples, if this step was evaluated."""
    with_ends: float | None = None
    """The same, including the ends of answers (infill)."""
    context: float | None = None
    """Perplexity of the text around the blanks."""


def readable(perplexity: float, decimals: int = 1) -> str:
    """A perplexity for people, without the 300 digits that a diverged model may reach."""
    return f"{perplexity:,.{decimals}f}" if perplexity < 1e7 else f"{perplexity:.1e}"


def cut_log(folder: Path, step: int) -> None:
    """Drop the lines about steps after `step`, that of the state: they will be written again."""
    if (folder / LOG).exists():
        kept = [line for line in read_log(folder) if line["step"] <= step]
        (folder / LOG).write_text("".join(f"{json.dumps(line)}\n" for line in kept), encoding="utf-8")


def append_log(folder: Path, line: Report) -> None:
    """Append a line to the log."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps(asdict(line)) + "\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of a run's log, oldest first. Raises InputError if they are no such lines."""
    path = folder / LOG
    try:
        lines = read_whole(path, most=DOCUMENT).splitlines()
        found = [json.loads(line) for line in lines if line.endswith("}")]
        if all(isinstance(line["step"], int) for line in found):
            return found
    except (ValueError, KeyError, RecursionError):
        pass
    raise InputError(f"{path} is not the log of a run", "Delete it: training goes on without it.")
