"""`responses`: everything about files of other people's judgments; one module a command."""

from __future__ import annotations

import click

from humaneval.cli.groups import LazyGroup, Target

TARGETS = {
    "import": Target(f"{__name__}.import_file:import_"),
    "summarise": Target(f"{__name__}.summarise:summarise"),
}


@click.group(cls=LazyGroup, targets=TARGETS)
def responses() -> None:
    """Import other people's judgments as responses, or summarise them."""
