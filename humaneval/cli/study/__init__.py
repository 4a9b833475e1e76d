"""`study`: one module a command. They are imported only when the command is called."""

from __future__ import annotations

import click

from humaneval.cli.groups import LazyGroup, Target

COMMANDS = ("plan", "create", "preview", "show", "audit", "enlarge", "delete")
TARGETS = {name: Target(f"{__name__}.{name}:{name}") for name in COMMANDS}


@click.group(cls=LazyGroup, targets=TARGETS)
def study() -> None:
    """Plan, create, preview, show, audit, enlarge and delete studies."""
