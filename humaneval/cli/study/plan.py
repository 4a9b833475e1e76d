"""`study plan`: what a study can find out and what it costs, before anybody is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.numbers import ANNOTATORS, SHARE, Number, Whole
from humaneval.cli.study.plan_text import tell_plan
from humaneval.crowd.published_hits import Fees, fees_of
from humaneval.errors import UsageError
from humaneval.interface.plans import plan_document as plan_document
from humaneval.planning.cues import CueScore
from humaneval.planning.forecast import outlook
from humaneval.planning.plan import Plan
from humaneval.planning.power import sd_of_icc
from humaneval.planning.simulation import Power, simulate
from humaneval.study.contradictions import doubts
from humaneval.study.file import read_study_file
from humaneval.study.plan import cues_of, draft, plan_of, plan_of_study
from humaneval.study.presets import preset_over


@click.command()
@click.argument("name", required=False)
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Study file to plan, instead of a stored study.",
)
@click.option("--preset", help="Design by name: acl2020.")
@click.option(
    "--annotators", type=ANNOTATORS, help="Number of annotators, counted in forms as in the study file."
)
@click.option("--score", type=SHARE, help="Lower of the two scores to compare, instead of the study's guess.")
@click.option("--effect", type=SHARE, help="Smallest difference that matters, instead of the study's.")
@click.option("--power", type=SHARE, help="Wanted probability of finding that difference.")
@click.option(
    "--width",
    type=Number(0, 0.5, min_open=True, max_open=True),
    help="Wanted half-width of a score's interval: 0.05 is ± 5 points.",
)
@click.option(
    "--icc",
    type=Number(0, 1, max_open=True),
    help="Correlation of one annotator's answers, instead of the study's worker_sd.",
)
@click.option(
    "--spammers", type=Number(0, 1, max_open=True), help="Share of annotators who click without reading."
)
@click.option(
    "--honest",
    type=SHARE,
    help="Share of Control passages that a careful annotator notices. [default: all]",
)
@click.option(
    "--simulate",
    "studies",
    type=Whole(min=100),
    metavar="STUDIES",
    help="Number of studies to draw from the mixed model and test as the report does.",
)
@json_option
@with_app
def plan(
    app: App,
    name: str | None,
    file: Path | None,
    preset: str | None,
    annotators: int | None,
    score: float | None,
    effect: float | None,
    power: float | None,
    width: float | None,
    icc: float | None,
    spammers: float | None,
    honest: float | None,
    studies: int | None,
    as_json: bool,
) -> None:
    """Compute what the study NAME, or a study file, can find out, and what it costs.

    Shows power, widths of intervals, the effect of spammers, what cues alone would score, and the cost.
    """
    if name is not None and (file is not None or preset is not None):
        raise UsageError(
            "name a study, or give a file or preset, not both", "A stored study keeps its own file."
        )
    if replaced := preset_over(file, preset):
        say(replaced, err=True)
    cues: Sequence[CueScore] = ()
    fees = Fees.NOBODY
    if name is None:
        settings = read_study_file(file, preset=preset).settings
        for doubt in doubts(settings):
            say(f"Please check: {doubt}.", err=True)
        planned, sign = plan_of(settings), settings.hit.sign
    else:
        study = app.study(name)
        planned, cues, sign = plan_of_study(study), cues_of(study), study.settings.hit.sign
        fees = fees_of(study)
    given: dict[str, Any] = {
        "annotators": annotators,
        "expected_score": score,
        "smallest_effect": effect,
        "power": power,
        "width": width,
        "spammers": spammers,
        "honest": honest,
    }
    planned = replace(planned, **{key: value for key, value in given.items() if value is not None})
    if icc is not None:
        planned = replace(planned, worker_sd=sd_of_icc(icc, planned.expected_score))
    seen, drawn = outlook(planned), _drawn(planned, studies)
    if as_json:
        document = plan_document(planned, seen, cues, drawn)
        if fees is Fees.PROLIFIC or sign != "$":  # those at Mechanical Turk's rates are of no use then
            document["outlook"] |= {"fees": None, "cost": None}
        emit({"study": name, **document})
    else:
        tell_plan(planned, seen, cues, drawn, sign=sign, fees=fees.on_top(name or "", seen.fees, sign))


def _drawn(planned: Plan, studies: int | None) -> Power | None:
    """The power in so many studies as are drawn; None if none are asked for."""
    if studies is None:
        return None
    drafted = draft(planned)
    return simulate(planned, drafted.rows, studies, drafted.pair)
