"""A progress bar on stderr with rate and time left; nothing if stderr is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

Advance = Callable[[int], None]
SETTLED_SECONDS = 2.0
"""Before that, a rate would mostly say how the first items came."""


class _Rate(ProgressColumn):
    """How much is done a second, in `unit`, once that can be told."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        rate = task.completed / elapsed if elapsed > SETTLED_SECONDS else 0.0
        return Text(f"{rate:,.{0 if rate >= 10 else 1}f} {self.unit} a second" if rate else "", style="dim")


@contextmanager
def progress(label: str, total: int | None, *, unit: str = "") -> Iterator[Advance]:
    """Yield a function that adds to the amount done. Draws nothing if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(unit),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar_id = bar.add_task(label, total=total)
        yield lambda amount: bar.update(bar_id, advance=amount)
