"""`study audit`: what was planned against what was achieved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from humaneval.cli.context import SIMULATED, App, console, emit, is_simulated, json_option, say, with_app

if TYPE_CHECKING:
    from humaneval.additions import Addition
    from humaneval.audit import Audit, Range


@click.command()
@click.argument("name")
@json_option
@with_app
def audit(app: App, name: str, as_json: bool) -> None:
    """Count how balanced the design of the study NAME is: as planned, and in the answers that count."""
    from humaneval.audit import audit as count

    found = count(app.engine, name)
    simulated = is_simulated(app, name)
    if as_json:
        emit({**found.to_json(), "simulated": simulated})
        return
    if simulated:
        say(SIMULATED)
    _tell_rows(found)
    _tell_balance(found)
    _tell_generators(found)
    _tell_rest(found)
    tell_additions(found.additions)


def _tell_rows(found: Audit) -> None:
    rows = found.rows
    say(f"{rows.planned} rows planned, {rows.answered} answered, {rows.analysed} count, {rows.lost} lost.")
    if rows.answered:
        say("Answers count unless `review` excluded or somebody rejected them.")
    say()


def _tell_balance(found: Audit) -> None:
    from rich.table import Table

    table = Table("Smallest and largest count of", "Cells", "Planned", "Achieved", box=None, pad_edge=False, header_style="bold")  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"
    for line in found.balance:
        table.add_row(line.what, str(line.cells), _span(line.planned), _span(line.achieved))
    console().print(table)
    say()


def _span(counts: Range | None) -> str:
    if counts is None:
        return "-"
    return (
        f"{counts.smallest}"
        if counts.smallest == counts.largest
        else f"{counts.smallest} to {counts.largest}"
    )


def _tell_generators(found: Audit) -> None:
    from rich.table import Table

    positions = list(found.generators[0].positions)
    at = [f"at {position}" for position in positions]
    table = Table("Responses: counted of planned", "all", *at, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for line in found.generators:
        cells = [(line.planned, line.analysed), *line.positions.values()]
        table.add_row(line.generator, *(f"{analysed}/{planned}" for planned, analysed in cells))
    console().print(table)
    say()


def _tell_rest(found: Audit) -> None:
    say(f"Chance alone gives a score of {found.chance_nominal:.0%}.")
    if found.chance_achieved is not None:
        say(f"With the positions and picks of the answers that count it gives {found.chance_achieved:.1%}.")
    twice = found.stories_twice
    if not twice:
        say("Nobody met a story twice.")
        return
    workers = len({each.worker for each in twice})
    say(f"{workers} worker{'s' * (workers != 1)} met a story twice, {len(twice)} in all:")
    for each in twice[:MOST_SHOWN]:
        say(f"  {each.worker} answered {each.passages} passages of {each.story}")
    if len(twice) > MOST_SHOWN:
        say(f"  and {len(twice) - MOST_SHOWN} more: --json has all of them.")


def tell_additions(additions: Sequence[Addition]) -> None:
    """Say when the study got more rows, and what that does; nothing where it did not."""
    from humaneval.additions import WARNING

    for each in additions:
        say(each.describe())
    if additions:
        say(WARNING)


MOST_SHOWN = 5
"""Lines about stories met twice."""
