"""`collect`: fetch submitted work. Any time, any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from humaneval.cli.context import App, RunOptions, acting, emit, say, to_option
from humaneval.cli.output_files import OUT_FILE, write_whole
from humaneval.crowd.advice import difference_lines
from humaneval.crowd.collect import (
    Accepted,
    CollectedWork,
    collect_work,
)
from humaneval.crowd.hit_terms import Difference
from humaneval.crowd.mturk_csv_results import from_file, review_text
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.uncollected import would_collect
from humaneval.errors import NotAsPlannedError, UsageError
from humaneval.progress import progress
from humaneval.study.stored import fetch_command
from humaneval.text import PAYING, command, counted


@click.command()
@click.argument("study")
@click.option(
    "--accept-differences",
    is_flag=True,
    help="Accept HITs that are not as planned at the marketplace.",
)
@click.option(
    "--accept-lost",
    is_flag=True,
    help="Accept that the marketplace lost HITs, and take in what our server has of their work.",
)
@click.option(
    "--from",
    "results",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --to csv: results of the batch, as the site wrote them.",
)
@click.option(
    "--out",
    "review",
    type=OUT_FILE,
    help="With --from: file to write for the site: the results, with an X in Approve for work that waits.",
)
@click.option(
    "--again",
    is_flag=True,
    help="With a panel's postback: call it again for people whose reply was lost.",
)
@to_option
@acting
def collect(
    app: App,
    options: RunOptions,
    study: str,
    accept_differences: bool,
    accept_lost: bool,
    again: bool,
    results: Path | None,
    review: Path | None,
    endpoint: str,
) -> None:
    """Fetch the submitted work of STUDY and store the responses.

    Compares the platform's answers with our server's copy, and reports the differences.

    Compares each HIT with the plan, too: reward, places, times, requirements, words and question. While one
    differs, nothing is approved or paid at it (exit code 3). Correct it at the marketplace, or accept it.
    The books then use what the marketplace pays.
    """
    at, waiting = app.study_at(endpoint, study), frozenset[int]()
    if review is not None and results is None:
        raise UsageError("--out goes with --from", "It writes the results of a batch with decisions.")
    if results is not None:
        if endpoint != "csv":
            raise UsageError("--from goes with --to csv", "Elsewhere the platform itself is asked.")
        at, notes, waiting = from_file(at, results)
        for note in notes:
            say(f"Note: {note}.", err=True)
    elif endpoint == "csv":
        raise UsageError("the results of a batch are in a file", f"Name it: {fetch_command(study, 'csv')}")
    if options.dry_run:
        _tell_waiting(at, options)
        return
    try:
        with progress(f"Collecting from {endpoint}", None, unit="HITs") as advance:
            found = collect_work(at, advance, Accepted(accept_differences, accept_lost, again))
    except NotAsPlannedError as error:
        if isinstance(error.found, CollectedWork):
            _say(at, error.found, options)
        raise
    if review is not None and results is not None:
        write_whole(review, review_text(results, waiting).encode(), private=True)
        if not options.as_json:
            ready = counted(len(waiting), "form")
            say(f"Written: {review}, with an X for {ready}. Look at it before you upload it.")
    _say(at, found, options)


def _tell_waiting(at: StudyAtPlatform, options: RunOptions) -> None:
    waiting = would_collect(at)
    if options.as_json:
        emit({"study": at.name, "endpoint": at.endpoint, **waiting._asdict()})
    else:
        say(
            f"{waiting.submissions} submitted at {at.endpoint}, {waiting.new} of them new. Nothing was"
            " stored."
        )


def _say(at: StudyAtPlatform, found: CollectedWork, options: RunOptions) -> None:
    if options.as_json:
        emit(
            {
                "study": at.name,
                "endpoint": at.endpoint,
                **asdict(found),
                "hits_differ": [each._asdict() for each in found.hits_differ],
            }
        )
    else:
        _tell(at, found)


def _tell(at: StudyAtPlatform, found: CollectedWork) -> None:
    responses = counted(found.responses, "response")
    say(f"{found.submissions} submitted, {found.new} of them new; {responses} in all.")
    if not found.submissions:
        _tell_elsewhere(at)
    if found.rebuilt:
        say(f"{found.rebuilt} never reached our server and were taken from {at.endpoint}'s answers.")
    if found.not_handed_over:
        say(
            f"{found.not_handed_over} answered on our server but not submitted at {at.endpoint}: kept, not"
            " scored."
        )
    if found.taken_in:
        say(
            f"{found.taken_in} taken in from our server, because {at.endpoint} no longer has them. They are"
            " marked so in exports and reports, and were not paid."
        )
    for work in found.unpaid:
        say(f"  {work.assignment} of {work.worker}")
    if found.unpaid:
        say(
            "If work was lost through our fault, pay for it with:"
            f" {command('compensate', at.name, 'ASSIGNMENT', '--to', at.endpoint, *PAYING)}"
        )
    if found.strays:
        decide = (
            "Decide on each at the site."
            if at.endpoint == "csv"
            else f"Approve or reject each by its id. {at.endpoint} approves and pays what is still undecided"
            " when the study's auto_approval_days are over."
        )
        say(
            f"{found.strays} submitted that match no form of this study:"
            f" {', '.join(found.stray_assignments)}. They are kept, not scored. {decide}"
        )
    for reason in found.not_listed:
        say(f"A worker is not on the exclusion list yet; the next collection tries again: {reason}")
    _tell_panel(at, found)
    for difference in found.differences:
        say(f"Differs: {difference}")
    for note in found.notes:
        say(f"Look at: {note}")
    tell_hits(found.hits_differ, at.endpoint, at.sign)


def _tell_panel(at: StudyAtPlatform, found: CollectedWork) -> None:
    """Say whom the panel credits, and why not others."""
    if found.told:
        say(f"The panel credits {counted(found.told, 'more person', plural='more people')}.")
    for reason in found.not_told:
        say(f"Somebody is not credited yet; the next collection tries again: {reason}")
    if found.unsure_told:
        people = counted(found.unsure_told, "person", plural="people")
        again = command("collect", at.name, "--to", at.endpoint, "--again")
        say(f"Whether the panel credits {people} is not known: its reply was lost. To call it again: {again}")


def tell_hits(differences: Sequence[Difference], endpoint: str, sign: str = "$") -> None:
    """Say how HITs differ from the plan, and which of it somebody has accepted."""
    for line in difference_lines(differences, endpoint, sign):
        say(str(line))


def _tell_elsewhere(at: StudyAtPlatform) -> None:
    """Say where else people have answered, as far as our own server knows."""
    for line in study_status(at.study):
        if line.endpoint != at.endpoint and (line.answered or line.not_collected):
            fetch = command("collect", at.name, "--to", line.endpoint)
            say(f"People have answered at {line.endpoint}: {fetch}")
