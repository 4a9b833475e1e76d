"""`study audit`: what was planned against what was achieved."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from humaneval.cli.context import App, console, emit, json_option, say, simulated_line, with_app
from humaneval.domain import SENTENCES
from humaneval.scoring.questions.question import DETECT
from humaneval.study.audit import Audit, Range
from humaneval.study.audit import audit as count_balance
from humaneval.study.enlarge import WARNING, Addition
from humaneval.study.file import StudyFile
from humaneval.study.stored import is_simulated, who_answered
from humaneval.text import counted


@click.command()
@click.argument("name")
@json_option
@with_app
def audit(app: App, name: str, as_json: bool) -> None:
    """Count how balanced the study NAME is, as planned and in the answers that count."""
    study = app.study(name)
    found, simulated = count_balance(study), is_simulated(study)
    if as_json:
        emit({**found.to_json(), "simulated": simulated})
        return
    if simulated:
        say(simulated_line(who_answered(study)))
    _tell_rows(found)
    _tell_balance(found)
    _tell_generators(found, of_machine=study.settings.asked.finds)
    _tell_chance(found, study.settings)
    _tell_rest(found)
    tell_additions(found.additions)


def _tell_rows(found: Audit) -> None:
    rows = found.rows
    if not rows.answered:
        say(f"{counted(rows.planned, 'form')} planned, none answered yet.")
    else:
        say(
            f"{counted(rows.planned, 'form')} planned, {rows.answered:,} answered: {rows.analysed:,} "
            f"{'counts' if rows.analysed == 1 else 'count'}, {rows.lost:,} lost."
        )
        say("An answer counts unless `review` excluded it or somebody rejected it.")
    say()


def _tell_balance(found: Audit) -> None:
    # Without answers there is no achieved column: half a table of dashes says nothing.
    answered = any(line.achieved for line in found.balance)
    say("How even it is, by the smallest and the largest count:")
    table = _table("", "cells", "planned", *(["achieved"] if answered else []))
    for line in found.balance:
        achieved = [_span(line.achieved)] if answered else []
        table.add_row(line.what, f"{line.cells:,}", _span(line.planned), *achieved)
    console().print(table)
    say()


def _table(*header: str) -> Table:
    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    table.columns[0].overflow = "fold"  # a name that is cut short could be any other
    return table


def _span(counts: Range | None) -> str:
    if counts is None:
        return "-"
    return (
        f"{counts.smallest:,}"
        if counts.smallest == counts.largest
        else f"{counts.smallest:,} to {counts.largest:,}"
    )


def _tell_generators(found: Audit, *, of_machine: bool) -> None:
    """A table of planned responses and, once there are answers, a table of those that count. `of_machine`
    says whether people look for what a machine wrote."""
    positions = sorted({at for line in found.generators for at in line.positions})
    header = ["all", *map(str, positions)]
    whose = "machine's" if of_machine else "infilled"
    say(f"Responses planned, in all and by the position of the {whose} sentence:")
    planned = _table("", *header)
    for line in found.generators:
        counts = [line.positions[at][0] if at in line.positions else None for at in positions]
        planned.add_row(line.generator, *map(_number, [line.planned, *counts]))
    console().print(planned)
    if not any(line.analysed for line in found.generators):
        say()
        return
    same = all(
        of_plan == counted_ for line in found.generators for of_plan, counted_ in line.positions.values()
    )
    if same:
        say("The responses that count are the same.")
    else:
        say()
        say("Responses that count:")
        achieved = _table("", *header)
        for line in found.generators:
            counts = [line.positions[at][1] if at in line.positions else None for at in positions]
            achieved.add_row(line.generator, *map(_number, [line.analysed, *counts]))
        console().print(achieved)
    say()


def _number(count: int | None) -> str:
    """A count; nothing where a generator has no such position."""
    return "" if count is None else f"{count:,}"


def _tell_chance(found: Audit, settings: StudyFile) -> None:
    if found.chance_nominal is None:
        return
    (scale, *_) = settings.asked.scales(settings.answer_settings, SENTENCES)
    share = (scale.low, scale.high) == (0, 1)
    say(f"Chance alone gives a score of {found.chance_nominal:{'.0%' if share else '.2f'}}.")
    positions = list(found.generators[0].positions)
    if settings.question != DETECT:
        return
    if len(positions) == 1:
        say(
            f"But every machine's sentence is sentence {positions[0]}: an annotator who always marks it"
            " finds all."
        )
    elif found.chance_nominal - (1 - 1 / len(positions)) > 1e-9:
        told = ", ".join(map(str, positions))
        say(
            f"But it is always one of sentences {told}: a guess among these gives"
            f" {1 - 1 / len(positions):.0%}."
        )


def _tell_rest(found: Audit) -> None:
    if found.chance_achieved is not None:
        say(
            f"With the positions and choices of the answers that count, it gives {found.chance_achieved:.1%}."
        )
    twice = found.stories_twice
    if not twice:
        if found.rows.answered:
            say("Nobody met a story twice.")
        return
    workers = len({each.worker for each in twice})
    say(f"{counted(workers, 'worker')} met a story twice, {len(twice):,} in all:")
    for each in twice[:MOST_SHOWN]:
        say(f"  {each.worker} answered {counted(each.passages, 'passage')} of {each.story}")
    if len(twice) > MOST_SHOWN:
        say(f"  and {len(twice) - MOST_SHOWN:,} more: --json lists all.")


def tell_additions(additions: Sequence[Addition]) -> None:
    """Say when the study got more rows and what follows from that, if it did."""
    for each in additions:
        say(each.describe())
    if additions:
        say(WARNING)


MOST_SHOWN = 5
"""Number of lines about stories that a worker met twice."""
