"""What a run shows: a progress bar, its curves and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rich.progress
from rich.console import Console

from generators.training.curves import plot_curves
from generators.training.log import LOG, Report, read_log, readable
from generators.training.state import Progress

CURVES = "curves.png"
Show = Callable[[Report], None]


@contextmanager
def training_bar(kind: str, *, shown: bool = True) -> Iterator[Show]:
    """A bar on stderr with loss, tokens a second and time left; silent if stderr is not a terminal."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda line: None
        return
    columns = (
        rich.progress.TextColumn(f"Training {kind}"),
        rich.progress.BarColumn(),
        rich.progress.TextColumn("{task.percentage:.0f} %"),
        rich.progress.TextColumn("{task.fields[words]}"),
        rich.progress.TimeElapsedColumn(),
    )
    with rich.progress.Progress(*columns, console=console, transient=True) as bar:
        yield _shown_by(bar, bar.add_task("", total=1.0, words=""))


def _shown_by(bar: rich.progress.Progress, task: rich.progress.TaskID) -> Show:
    perplexity = ""

    def show(line: Report) -> None:
        nonlocal perplexity
        if line.perplexity is not None:
            perplexity = f", perplexity {readable(line.perplexity)}"
        left = f", {line.seconds * (1 / line.fraction - 1) / 60:.1f} min left" if line.fraction else ""
        bar.update(
            task,
            completed=line.fraction,
            words=f"loss {line.loss:.2f}{perplexity}, {line.tokens_per_second:,.0f} tokens/s{left}",
        )

    return show


def plot(folder: Path) -> None:
    """Draw the curves of the run in `folder`, if it has a log."""
    if (folder / LOG).exists():
        plot_curves(read_log(folder), folder / CURVES)


def outcome(kind: str, folder: Path, progress: Progress, left_out: Mapping[str, int]) -> dict[str, Any]:
    """The result of a run, for JSON."""
    return {
        "kind": kind,
        "checkpoint": str(folder),
        "steps": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "masked_perplexity": progress.best,
        "best_step": progress.best_step,
        "left_out": dict(left_out),
    }
