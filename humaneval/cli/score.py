"""`score`: detection scores of a study, a response table, or published counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from humaneval.cli.context import App, console, emit, json_option, say, simulated_line, with_app
from humaneval.cli.numbers import Number
from humaneval.cli.responses.file_options import FILE, account
from humaneval.cli.study.audit import tell_additions
from humaneval.domain import LEVELS
from humaneval.errors import UsageError
from humaneval.interface.database import scores_of_study
from humaneval.interface.scores import Scores, scores_of_table
from humaneval.interface.tables import Table, read_table, table_of_file, table_of_question
from humaneval.report.conclusion import conclusion
from humaneval.report.phrases import deleted
from humaneval.report.terminal.counts import render_counts
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.from_counts import CountTable, read_counts, score_counts
from humaneval.study.enlarge import additions_of
from humaneval.study.stored import who_answered
from humaneval.text import Answerers, counted

F = TypeVar("F", bound=Callable[..., Any])
Missed = Literal["annotator", "row", "none"]

LEVEL = Number(*LEVELS)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A table that is no stored study, and the rule for it, as the options say."""

    responses: Path | None
    counts: Path | None
    margin: float
    control: str | None
    human: str | None
    missed_control: Missed | None
    keep_incomplete: bool
    question: str | None

    def refuse_other(self, study: str | None) -> None:
        """Raise UsageError unless there is one source, with options that go with it."""
        if sum(source is not None for source in (study, self.responses, self.counts)) != 1:
            raise UsageError("name a study, or a table with --responses FILE, or counts with --counts FILE")
        of_responses = (
            self.control or self.human or self.missed_control or self.keep_incomplete or self.question
        )
        if study is not None and (of_responses or self.margin):
            raise UsageError(
                "--control, --human, --missed-control, --keep-incomplete, --question and --margin go with"
                " --responses",
                "A study has its own rules.",
            )

    def table(self) -> Table:
        """The response table; what was left out of it is said on stderr."""
        assert self.responses is not None
        if (table := table_of_question(self.responses, self.question)) is not None:
            return table
        read = read_table(self.responses)
        account(read.sheet)
        return table_of_file(read)

    def scores(self, table: Table, *, tests: bool, level: float | None) -> Scores:
        """The scores of a response table, which are computed when they are asked for."""
        rule = Rule(
            control=self.missed_control or "annotator",
            incomplete=not self.keep_incomplete,
            tests="only" if tests else "leave out",
        )
        scores = scores_of_table(
            table,
            rule,
            control=self.control,
            human=self.human,
            margin=self.margin,
            level=level or 0.95,
            question=self.question,
        )
        for note in scores.notes:
            say(f"Note: {note}.", err=True)
        return scores

    def count_table(self, level: float | None) -> CountTable:
        """The scores of counts; what there is to say about their file is said on stderr."""
        assert self.counts is not None
        read = read_counts(self.counts)
        for note in read.notes:
            say(f"Note: {note}", err=True)
        return score_counts(read.counts, Declared(margin=self.margin), level or 0.95)


OPTIONS = (
    click.option("--responses", type=FILE, help="Response table to take, instead of a study."),
    click.option(
        "--counts",
        type=FILE,
        help="CSV of published counts to take, instead of a study: generator, not_identified, n, role.",
    ),
    click.option(
        "--margin",
        type=Number(0, 1, max_open=True),
        default=0.0,
        help=(
            "Share within which two scores are called equivalent, for --responses or --counts."
            " [default: none]"
        ),
    ),
    click.option("--control", help="Generator that is the control, for --responses."),
    click.option("--human", help="Generator that is human, for --responses."),
    click.option(
        "--missed-control",
        type=click.Choice(["annotator", "row", "none"]),
        help="Exclusion for a missed control, for --responses. [default: annotator]",
    ),
    click.option(
        "--keep-incomplete",
        is_flag=True,
        help="Count annotators who left out a passage, if the table of --responses says so.",
    ),
    click.option(
        "--question",
        help="Question that the table of --responses answers. [default: its column question, or detect]",
    ),
)


def from_elsewhere(function: F) -> F:
    """Give a verb about a study the options for tables from elsewhere, as one Elsewhere: `elsewhere`."""
    names = Elsewhere.__dataclass_fields__

    @wraps(function)
    def call(*args: Any, **values: Any) -> Any:
        told = {name: values.pop(name) for name in names}
        return function(*args, elsewhere=Elsewhere(**told), **values)

    decorated: Any = call
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    with_options: F = decorated
    return with_options


@click.command()
@click.argument("study", required=False)
@from_elsewhere
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
    type=LEVEL,
    help="Confidence level of the intervals. [default: the study's, or 0.95]",
)
@click.option(
    "--details",
    is_flag=True,
    help="Also show how all was computed, and what the report has: other rules and intervals, ranks, effects,"
    " mixed model, annotators.",
)
@json_option
@with_app
def score(
    app: App,
    study: str | None,
    elsewhere: Elsewhere,
    tests: bool,
    everything: bool,
    level: float | None,
    details: bool,
    as_json: bool,
) -> None:
    """Score STUDY, a response table, or published counts.

    The score is the share of a generator's passages whose annotator did not mark the machine's sentence. Of
    the other questions it is a share preferred, a mean rating on each scale, or mean points. A response table
    is what `export` writes: CSV, TSV or JSONL with the columns worker, story, generator,
    position and choice. `responses import` makes one of any other file.
    """
    elsewhere.refuse_other(study)
    if study is None and everything:
        raise UsageError("--all goes with a study", "A table holds only the responses that it should.")
    if elsewhere.counts is not None:
        if details:
            raise UsageError("counts alone have no details", "Give the responses themselves.")
        _tell_counts(elsewhere.count_table(level), as_json)
    elif study is None:
        table = elsewhere.table()
        _tell(elsewhere.scores(table, tests=tests, level=level), table.answerers, details, as_json)
    else:
        _score_study(app, study, tests, everything, level, details, as_json)


def _tell_counts(table: CountTable, as_json: bool) -> None:
    if as_json:
        emit(table.to_json())
    else:
        render_counts(table, console())


def _score_study(
    app: App, study: str, tests: bool, everything: bool, level: float | None, details: bool, as_json: bool
) -> None:
    opened = app.study(study)
    scores = scores_of_study(opened, level=level, tests=tests, everything=everything)
    facts = scores.facts
    _tell(scores, who_answered(opened) if facts["simulated"] else None, details, as_json)
    if as_json:
        return
    if facts["forms_set_aside"]:
        say(
            f"{counted(facts['forms_set_aside'], 'form', 'is', 'are')} left out: rejected, or by people who"
            " had taken part before. --all counts them."
        )
    if facts["forms_deleted"]:
        say(deleted(facts["forms_deleted"], facts["responses_deleted"]))
    tell_additions(additions_of(opened))


def _tell(scores: Scores, who: Answerers | None, details: bool, as_json: bool) -> None:
    """`who` answered; None if no program did."""
    if as_json:
        emit(scores.json(details=details))
        return
    analysis = scores.analysis if details else None
    table = scores.table
    if who is not None:
        say(simulated_line(who))
    if scores.early:
        say(f"Early: {scores.early}")
    for sentence in conclusion(table):
        say(sentence)
    say("")
    render_table(table, console(), methods=details)
    if not details:
        say("How this was computed: --details, or the report.")
    if analysis is not None:
        from humaneval.report.terminal.analysis import render_details  # loads scipy.stats

        render_details(analysis, console())
