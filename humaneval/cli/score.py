"""`score`: detection scores of a study, or of a table of responses from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from humaneval.cli.response_options import (
    account,
    foreign_responses,
    mapping_options,
    reading_options,
    source,
)
from humaneval.cli.run import SIMULATED, App, console, emit, is_simulated, json_option, say, with_app
from humaneval.errors import UsageError

if TYPE_CHECKING:
    from humaneval.foreign import Imported
    from humaneval.scoring.analysis.analyse import Analysis
    from humaneval.scoring.scores import ScoreTable
    from humaneval.study.enlarge import Addition


@click.command()
@click.argument("study", required=False)
@click.option(
    "--responses",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A table of responses instead of a study: ours, or what another platform exports.",
)
@click.option(
    "--counts",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Instead of a study: a CSV of counts as papers print them (generator, not_identified, n, role).",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help=(
        "With --responses or --counts: scores surely within ± this share are called equivalent; 0: none are."
    ),
)
@click.option("--control", help="With --responses: the generator that is the control.")
@click.option("--human", help="With --responses: the generator that is human.")
@click.option(
    "--missed-control",
    type=click.Choice(["annotator", "row", "none"]),
    help="With --responses: what a missed control excludes. [default: annotator]",
)
@click.option(
    "--keep-incomplete",
    is_flag=True,
    help="With --responses: count also annotators who left a passage unanswered, where the file says so.",
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
    "--level",
    type=click.FloatRange(0.5, 0.999),
    help="Of the intervals. [default: the study's, or 0.95]",
)
@click.option(
    "--details",
    is_flag=True,
    help=(
        "Everything that the report tells, too: other rules and intervals, ranks, effects, the mixed model,"
        " annotators."
    ),
)
@mapping_options
@reading_options
@json_option
@with_app
def score(
    app: App,
    study: str | None,
    responses: Path | None,
    counts: Path | None,
    margin: float,
    control: str | None,
    human: str | None,
    missed_control: Literal["annotator", "row", "none"] | None,
    keep_incomplete: bool,
    tests: bool,
    everything: bool,
    level: float | None,
    details: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Score STUDY, or a table of responses. The score is the share of passages whose machine sentence went
    unnoticed.

    The flags about columns and files go with --responses; `humaneval responses import --help` says more of
    them.
    """
    if sum(source is not None for source in (study, responses, counts)) != 1:
        raise UsageError("name a study, or a table with --responses FILE, or counts with --counts FILE")
    if counts is not None:
        if details:
            raise UsageError("counts alone have no details", "Give the responses themselves.")
        _score_counts(counts, margin, level or 0.95, as_json)
        return
    read: Imported | None = None
    analysis: Analysis | None = None
    if study is not None:
        if control or human or missed_control or keep_incomplete or margin or _given(flags):
            raise UsageError(
                "--control, --human, --missed-control, --keep-incomplete, --margin and what is about files"
                " and columns go with --responses",
                "A study knows its own.",
            )
        if details:
            from humaneval.study.scores import collected

            analysis = collected(app.study(study), tests=tests, everything=everything).analysis(level)
        table = (
            analysis.table
            if analysis
            else study_table(app, study, tests=tests, level=level, everything=everything)
        )
    else:
        from humaneval.scoring.analysis.analyse import analyse
        from humaneval.scoring.comparisons import Declared
        from humaneval.scoring.exclusions import Rule
        from humaneval.scoring.scores import score as compute

        assert responses is not None
        read = _table(responses, flags, everything)
        rule = Rule(
            control=missed_control or "annotator",
            incomplete=not keep_incomplete,
            tests="only" if tests else "leave out",
        )
        known: dict[str, Any] = {
            "control": control,
            "human": human,
            "level": level or 0.95,
            "declared": Declared(margin=margin),
        }
        analysis = analyse(read.frame, rule, **known) if details else None
        table = analysis.table if analysis else compute(read.frame, rule, **known)
    simulated = read.simulated if read else is_simulated(app, study or "")
    additions = () if study is None else _additions(app, study)
    aside = 0 if study is None or everything else _set_aside(app, study)
    if as_json:
        extra: dict[str, Any] = {"responses": read.manifest()} if read else {}
        extra["design_additions"] = [each.to_json() for each in additions]
        document = (analysis or table).to_json()
        emit({**document, "simulated": simulated, "forms_set_aside": aside, **extra})
        return
    if simulated:
        say(SIMULATED)
    from humaneval.report.terminal.scores import render_table

    render_table(table, console())
    if analysis:
        from humaneval.report.terminal.analysis import render_details

        render_details(analysis, console())
    if aside:
        say(
            f"{aside} forms are left out: rejected, or by people who had taken part before. --all counts"
            " them."
        )
    if additions:
        from humaneval.cli.study_audit import tell_additions

        tell_additions(additions)


def _score_counts(counts: Path, margin: float, level: float, as_json: bool) -> None:
    from humaneval.report.terminal.counts import render_counts
    from humaneval.scoring.comparisons import Declared
    from humaneval.scoring.from_counts import read_counts, score_counts

    table = score_counts(read_counts(counts), Declared(margin=margin), level)
    if as_json:
        emit(table.to_json())
    else:
        render_counts(table, console())


def _additions(app: App, study: str) -> tuple[Addition, ...]:
    from humaneval.study.enlarge import additions_of

    return additions_of(app.study(study))


def _given(flags: dict[str, Any]) -> bool:
    """Whether any flag about a file is set."""
    return any(value not in (None, False, (), "refuse") for value in flags.values())


def _table(file: Path, flags: dict[str, Any], everything: bool) -> Imported:
    """The responses in a file, with an account of how it was read, which is said."""
    names = ("format_", "encoding", "worksheet", "time_zone", "skip_bad", "again", "items", "prolific")
    of = source(file, everything=everything, **{name: flags.pop(name) for name in names})
    made = foreign_responses(of, study=None, **flags)
    account(made.sheet)
    return made


def study_facts(app: App, study: str) -> dict[str, Any]:
    """What the document about a study has beside its scores."""
    return {
        "simulated": is_simulated(app, study),
        "forms_set_aside": _set_aside(app, study),
        "design_additions": [each.to_json() for each in _additions(app, study)],
    }


def _set_aside(app: App, study: str) -> int:
    from humaneval.store.engine import reading
    from humaneval.store.queries import forms_set_aside
    from humaneval.study.stored import get_study

    with reading(app.engine) as session:
        return forms_set_aside(session, get_study(session, study))


def study_table(
    app: App, study: str, *, tests: bool = False, level: float | None = None, everything: bool = False
) -> ScoreTable:
    """The scores of a study under its own frozen rule. A study that is a pilot, or all in a sandbox, is
    scored as such."""
    from humaneval.study.scores import collected

    return collected(app.study(study), tests=tests, everything=everything).table(level)
