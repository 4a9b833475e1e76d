"""`score`: detection scores of a study, or of a table of responses from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from humaneval.cli.context import SIMULATED, App, console, emit, is_simulated, json_option, say, with_app
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    from humaneval.additions import Addition
    from humaneval.scoring import Rule, ScoreTable


@click.command()
@click.argument("study", required=False)
@click.option(
    "--responses",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A response table (CSV, TSV, JSONL) instead of a study.",
)
@click.option("--control", help="With --responses: the generator that is the control.")
@click.option("--human", help="With --responses: the generator that is human.")
@click.option(
    "--missed-control",
    type=click.Choice(["annotator", "row", "none"]),
    help="With --responses: what a missed control excludes. [default: annotator]",
)
@click.option(
    "--tests", is_flag=True, help="Score pilots and sandbox answers alone, instead of leaving them out."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Count also forms that were rejected, or by people who had taken part before.",
)
@click.option(
    "--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="Of the intervals."
)
@json_option
@with_app
def score(
    app: App,
    study: str | None,
    responses: Path | None,
    control: str | None,
    human: str | None,
    missed_control: Literal["annotator", "row", "none"] | None,
    tests: bool,
    everything: bool,
    level: float,
    as_json: bool,
) -> None:
    """Score STUDY, or a table of responses. The score is the share of passages whose machine sentence went unnoticed."""
    if (study is None) == (responses is None):
        raise UsageError("name a study, or a table with --responses FILE")
    if study is not None:
        if control or human or missed_control:
            raise UsageError(
                "--control, --human and --missed-control go with --responses", "A study knows its own."
            )
        table = study_table(app, study, tests=tests, level=level, everything=everything)
    else:
        from humaneval.responses_table import read_responses
        from humaneval.scoring import Rule
        from humaneval.scoring import score as compute

        assert responses is not None
        table = compute(
            read_responses(responses),
            Rule(control=missed_control or "annotator", tests="only" if tests else "leave out"),
            control=control,
            human=human,
            level=level,
        )
    simulated = study is not None and is_simulated(app, study)
    additions = () if study is None else _additions(app, study)
    aside = 0 if study is None or everything else _set_aside(app, study)
    if as_json:
        added = [each.to_json() for each in additions]
        emit({**table.to_json(), "simulated": simulated, "forms_set_aside": aside, "design_additions": added})
        return
    if simulated:
        say(SIMULATED)
    from humaneval.report.terminal import render_table

    render_table(table, console())
    if aside:
        say(
            f"{aside} forms are left out: rejected, or by people who had taken part before. --all counts them."
        )
    if additions:
        from humaneval.cli.study_audit import tell_additions

        tell_additions(additions)


def _additions(app: App, study: str) -> tuple[Addition, ...]:
    from humaneval.additions import additions_of

    return additions_of(app.engine, study)


def _set_aside(app: App, study: str) -> int:
    from humaneval.store.engine import reading
    from humaneval.store.queries import forms_set_aside
    from humaneval.studies import get_study

    with reading(app.engine) as session:
        return forms_set_aside(session, get_study(session, study))


def study_table(
    app: App, study: str, *, tests: bool = False, level: float = 0.95, everything: bool = False
) -> ScoreTable:
    """The scores of a study under its own frozen rule. A study that is a pilot, or all in a sandbox, is scored as such."""
    import pandas as pd

    from humaneval.scoring import score as compute
    from humaneval.store.engine import reading
    from humaneval.store.queries import response_lines
    from humaneval.studies import get_study

    with reading(app.engine) as session:
        row = get_study(session, study)
        lines = response_lines(session, row, everything=everything)
        rule = study_rule(row.settings, tests)
    if not lines:
        raise InputError(
            f"study {study!r} has no responses yet", f"`humaneval collect {study}` fetches submitted work."
        )
    return compute(pd.DataFrame(lines), rule, level=level)


def study_rule(settings: dict[str, dict[str, object]], tests: bool) -> Rule:
    """The exclusion rule that the study file fixed."""
    from humaneval.scoring import Rule
    from humaneval.study_file import StudyFile

    exclusions = StudyFile.model_validate(settings).exclusions
    return Rule(
        control=exclusions.missed_control,
        incomplete=exclusions.incomplete,
        tests="only" if tests else "leave out",
    )
