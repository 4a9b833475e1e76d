"""`study plan`: what a study can find out, what cues alone would score, and what it costs, before anybody is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from humaneval.cli.context import App, console, emit, json_option, say, with_app
from humaneval.errors import UsageError

if TYPE_CHECKING:
    from humaneval.artefacts import CueScore
    from humaneval.planning.outlook import Outlook, Plan

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("name", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A study file, of a study that is not made yet.",
)
@click.option("--preset", help="A design by name: acl2020.")
@click.option("--annotators", type=click.IntRange(min=1), help="Instead of the study's.")
@click.option("--score", type=SHARE, help="The lower of two scores, instead of the study's guess.")
@click.option("--effect", type=SHARE, help="The difference that would matter, instead of the study's.")
@click.option("--power", type=SHARE, help="The odds wanted of finding it.")
@click.option("--spammers", type=click.FloatRange(0, 1, max_open=True), help="The share who do not read.")
@click.option(
    "--simulate",
    "studies",
    type=click.IntRange(min=100),
    metavar="STUDIES",
    help="Also draw so many studies from the mixed model and test each as the report will.",
)
@json_option
@with_app
def plan(
    app: App, name: str | None, file: Path | None, preset: str | None, annotators: int | None, score: float | None,
    effect: float | None, power: float | None, spammers: float | None, studies: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Say what the study NAME, or a study file, can find out: power, widths, spammers, cues, cost."""
    from humaneval.planning.outlook import outlook
    from humaneval.planning.simulation import simulate
    from humaneval.prospects import cues_of, plan_of, stories_of
    from humaneval.studies import row_count, settings_of_study
    from humaneval.study_file import read_study_file

    if name is not None and (file is not None or preset is not None):
        raise UsageError("give a study's NAME, or a file, not both", "A study has its file inside.")
    cues: Sequence[CueScore] = ()
    if name is None:
        planned = plan_of(read_study_file(file, preset=preset)[0])
    else:
        planned = plan_of(
            settings_of_study(app.engine, name),
            stories=stories_of(app.engine, name),
            rows=row_count(app.engine, name),
        )
        cues = cues_of(app.engine, name)
    given: dict[str, Any] = {
        "annotators": annotators, "expected_score": score, "smallest_effect": effect, "power": power, "spammers": spammers,
    }  # fmt: skip
    planned = replace(planned, **{key: value for key, value in given.items() if value is not None})
    seen = outlook(planned)
    drawn = None if studies is None else simulate(planned, studies)
    if as_json:
        emit({"study": name, "plan": _plain(planned), "outlook": seen.to_json(), "simulated": drawn and asdict(drawn), "cues": [{**cue._asdict(), "score": cue.score} for cue in cues]})  # fmt: skip
        return
    _tell(planned, seen)
    if drawn is not None:
        say(
            f"By simulation: found in {drawn.power:.0%} (± {2 * drawn.error:.0%}) of {drawn.studies:,} simulated studies, "
            "one comparison alone."
        )
    if cues:
        _tell_cues(cues)


def _plain(planned: Plan) -> dict[str, Any]:
    return {**asdict(planned), "reward": str(planned.reward)}


def points(share: float) -> str:
    """A difference of shares as percentage points."""
    return f"{share * 100:.1f} points"


def power_warning(planned: Plan, seen: Outlook) -> str:
    """A sentence where the smallest effect of interest would more likely be missed than wanted; else nothing."""
    if seen.power >= planned.power:
        return ""
    needed = f" {seen.annotators_needed:,} annotators would give {planned.power:.0%}." if seen.annotators_needed else ""  # fmt: skip
    return (
        f"Too small for what you want to find: a difference of {points(planned.smallest_effect)} "
        f"would be found in {seen.power:.0%} of such studies.{needed}"
    )


def _tell(planned: Plan, seen: Outlook) -> None:
    from rich.table import Table

    rows = planned.annotators * planned.rows_per_annotator
    say(
        f"{planned.annotators:,} annotators, {rows:,} rows: about {seen.responses:.0f} responses to each generator "
        f"once those who miss a Control passage are left out."
    )
    low, high = planned.expected_score, planned.expected_score + planned.smallest_effect
    say()
    table = Table(
        f"A score of {low:.0%} against one of {high:.0%}",
        "one comparison",
        f"all {planned.comparisons} (Holm)",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("found in so many of such studies", f"{seen.power:.0%}", f"{seen.power_in_family:.0%}")
    table.add_row(
        f"annotators for {planned.power:.0%}",
        *(f"{n:,}" if n else "none" for n in (seen.annotators_needed, seen.annotators_needed_in_family)),
    )
    table.add_row(
        f"smallest difference found in {planned.power:.0%}",
        *(points(d) if d else "none" for d in (seen.detectable, seen.detectable_in_family)),
    )
    console().print(table)
    if planned.passages_per_row >= planned.generators:
        say("Each annotator judges every generator, and comparisons are made within annotators.")
    elif planned.within_rows:
        say(f"About {planned.pairs:.0f} rows show both of two generators: comparisons are made within these.")
    else:
        say("No row shows two generators: comparisons are made between annotators.")
    say()
    say(
        f"A score's interval: about ± {points(seen.half_width)}; ± 5 points take {seen.annotators_for_width:,} annotators."
    )
    if planned.spammers:
        few = (
            "; no number of them would bring it to 1%"
            if seen.controls_needed is None
            else f"; {seen.controls_needed} of them bring it to 1% or less"
            if seen.gate.left > 0.01
            else ""
        )
        say(
            f"If {planned.spammers:.0%} only click, {seen.gate.left:.1%} of those who pass {seen.gate.controls} "
            f"Control passage{'' if seen.gate.controls == 1 else 's'} still do{few}."
        )
    say(
        f"Cost: ${seen.cost} (${seen.rewards} rewards, ${seen.fees} fees at Mechanical Turk's rates); "
        f"{seen.hours:.1f} hours of people's time."
    )
    if warning := power_warning(planned, seen):
        say()
        say(warning)


def _tell_cues(cues: Sequence[CueScore]) -> None:
    from rich.table import Table

    names = list(dict.fromkeys(cue.cue for cue in cues))
    table = Table("Always the", *names, box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for generator in dict.fromkeys(cue.generator for cue in cues):
        mine = {cue.cue: cue.score for cue in cues if cue.generator == generator}
        table.add_row(generator, *(f"{mine[name]:.0%}" for name in names))
    say()
    say("What annotators would score who understand nothing and mark by a cue; by chance it is 80%:")
    console().print(table)
    worst = min(cues, key=lambda cue: cue.score)
    if worst.score < TELLING:
        say(
            f'Marking "{worst.cue}" alone finds {1 - worst.score:.0%} of the sentences of {worst.generator}: '
            "its human score would measure that. `generate --length-matched` and `--processing` help."
        )


TELLING = 0.6
"""A cue that leaves a generator less than this is said: it finds twice as many of its sentences as chance does."""
