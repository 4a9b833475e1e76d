"""`score`: detection scores of a study, a response table, or published counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from humaneval.cli.responses.file_options import FILE, account
from humaneval.cli.run import App, console, emit, json_option, say, simulated_line, with_app
from humaneval.cli.study.audit import tell_additions
from humaneval.errors import HumanEvalError, InputError, UsageError
from humaneval.foreign import (
    Imported,
    are_ours,
    file_pseudonyms,
    propose,
    pseudonymised,
    read_sheet,
    responses,
)
from humaneval.foreign.responses import the_study
from humaneval.report.terminal.counts import render_counts
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.from_counts import read_counts, score_counts
from humaneval.scoring.scores import ScoreTable
from humaneval.scoring.scores import score as compute
from humaneval.store.engine import reading
from humaneval.store.queries import forms_set_aside
from humaneval.store.tables import StudyRow
from humaneval.study.enlarge import additions_of
from humaneval.study.scores import collected
from humaneval.study.stored import Study, is_simulated, who_answered
from humaneval.text import Answerers, command, counted

Missed = Literal["annotator", "row", "none"]


@click.command()
@click.argument("study", required=False)
@click.option("--responses", "table", type=FILE, help="Response table to score, instead of a study.")
@click.option(
    "--counts",
    type=FILE,
    help="CSV of published counts to score, instead of a study: generator, not_identified, n, role.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Share within which two scores are called equivalent, for --responses or --counts. [default: none]",
)
@click.option("--control", help="Generator that is the control, for --responses.")
@click.option("--human", help="Generator that is human, for --responses.")
@click.option(
    "--missed-control",
    type=click.Choice(["annotator", "row", "none"]),
    help="Exclusion for a missed control, for --responses. [default: annotator]",
)
@click.option(
    "--keep-incomplete",
    is_flag=True,
    help="Count annotators who left out a passage, if the table of --responses says so.",
)
@click.option(
    "--tests", is_flag=True, help="Score only pilots and sandbox answers, which are otherwise left out."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also count forms of a study that were rejected, or by people who had taken part before.",
)
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.999),
    help="Confidence level of the intervals. [default: the study's, or 0.95]",
)
@click.option(
    "--details",
    is_flag=True,
    help="Also show what the report has: other rules and intervals, ranks, effects, mixed model, annotators.",
)
@json_option
@with_app
def score(
    app: App,
    study: str | None,
    table: Path | None,
    counts: Path | None,
    margin: float,
    control: str | None,
    human: str | None,
    missed_control: Missed | None,
    keep_incomplete: bool,
    tests: bool,
    everything: bool,
    level: float | None,
    details: bool,
    as_json: bool,
) -> None:
    """Score STUDY, a response table, or published counts.

    The score is the share of a generator's passages whose annotator did not mark the machine's sentence. A
    response table is what `export` writes: CSV, TSV or JSONL with the columns worker, story, generator,
    position and choice. `responses import` makes one of any other file.
    """
    if sum(source is not None for source in (study, table, counts)) != 1:
        raise UsageError("name a study, or a table with --responses FILE, or counts with --counts FILE")
    if study is None and everything:
        raise UsageError("--all goes with a study", "A table holds only the responses that it should.")
    if counts is not None:
        if details:
            raise UsageError("counts alone have no details", "Give the responses themselves.")
        _score_counts(counts, margin, level or 0.95, as_json)
    elif table is not None:
        rule = Rule(
            control=missed_control or "annotator",
            incomplete=not keep_incomplete,
            tests="only" if tests else "leave out",
        )
        known = {
            "control": control,
            "human": human,
            "level": level or 0.95,
            "declared": Declared(margin=margin),
        }
        _score_table(table, rule, known, details, as_json)
    elif study is not None:
        if control or human or missed_control or keep_incomplete or margin:
            raise UsageError(
                "--control, --human, --missed-control, --keep-incomplete and --margin go with --responses",
                "A study has its own rules.",
            )
        _score_study(app, study, tests, everything, level, details, as_json)


def _score_counts(counts: Path, margin: float, level: float, as_json: bool) -> None:
    read = read_counts(counts)
    for note in read.notes:
        say(f"Note: {note}", err=True)
    table = score_counts(read.counts, Declared(margin=margin), level)
    if as_json:
        emit(table.to_json())
    else:
        render_counts(table, console())


def _score_table(file: Path, rule: Rule, known: dict[str, Any], details: bool, as_json: bool) -> None:
    read = _read(file)
    account(read.sheet)
    scored = analyse(read.frame, rule, **known) if details else compute(read.frame, rule, **known)
    if as_json:
        facts = {"simulated": read.simulated, "forms_set_aside": 0, "design_additions": []}
        emit({**scored.to_json(), **facts, "responses": read.manifest()})
    else:
        _tell(scored, read.answerers)


def _read(file: Path) -> Imported:
    """A response table, checked as `responses import` checks a file; worker ids become the file's pseudonyms.

    Raises InputError for any other file. Errors that an option of `responses import` mends name that verb.
    """
    try:
        sheet = read_sheet(file)
        mapping = propose(sheet, {})
        study = the_study(sheet) or file.stem
        if sheet.format != "table" or mapping.guessed:
            raise InputError(
                f"{file} is not a response table with worker, story, generator, position and choice",
                f"Make one of it: {command('responses', 'import', file, '--out', 'responses.csv')}",
            )
        worker = mapping.columns["worker"]
        if not are_ours(sheet, worker):
            sheet = pseudonymised(sheet, worker, file_pseudonyms(sheet))
        return responses(sheet, mapping, study=study, same_rows=True)
    except HumanEvalError as error:
        if " --" in f" {error.hint}" and "responses import" not in error.hint:
            reader = command("responses", "import", file, "--out", "responses.csv")
            error.hint = f"`{reader}` reads it with this option. {error.hint}"
        raise


def _score_study(
    app: App, study: str, tests: bool, everything: bool, level: float | None, details: bool, as_json: bool
) -> None:
    opened = app.study(study)
    source = collected(opened, tests=tests, everything=everything)
    scored = source.analysis(level) if details else source.table(level)
    facts = study_facts(opened)
    if everything:
        facts["forms_set_aside"] = 0
    if as_json:
        emit({**scored.to_json(), **facts})
        return
    _tell(scored, who_answered(opened) if facts["simulated"] else None)
    if facts["forms_set_aside"]:
        say(
            f"{counted(facts['forms_set_aside'], 'form', 'is', 'are')} left out: rejected, or by people who"
            " had taken part before. --all counts them."
        )
    tell_additions(additions_of(opened))


def _tell(scored: ScoreTable | Analysis, who: Answerers | None) -> None:
    """`who` answered; None if no program did."""
    if who is not None:
        say(simulated_line(who))
    render_table(scored.table if isinstance(scored, Analysis) else scored, console())
    if isinstance(scored, Analysis):
        from humaneval.report.terminal.analysis import render_details  # loads scipy.stats

        render_details(scored, console())


def study_facts(study: Study) -> dict[str, Any]:
    """What the document about a study has beside its scores."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        aside = forms_set_aside(session, row)
    return {
        "simulated": is_simulated(study),
        "forms_set_aside": aside,
        "design_additions": [each.to_json() for each in additions_of(study)],
    }
