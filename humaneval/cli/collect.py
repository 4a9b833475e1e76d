"""`collect`: fetch submitted work. Any time, any number of times."""

from __future__ import annotations

from dataclasses import asdict

import click

from humaneval.cli.run import App, RunOptions, acting, emit, say, to_option
from humaneval.crowd.collect import CollectedWork, collect_work, would_collect
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.progress import progress


@click.command()
@click.argument("study")
@to_option
@acting
def collect(app: App, options: RunOptions, study: str, endpoint: str) -> None:
    """Fetch the submitted work of STUDY and store the responses.

    Compares the platform's answers with our server's copy, and reports the differences.
    """
    at = app.study_at(endpoint, study)
    if options.dry_run:
        waiting = would_collect(at)
        if options.as_json:
            emit({"study": study, "endpoint": endpoint, **waiting._asdict()})
        else:
            say(
                f"{waiting.submissions} submitted at {endpoint}, {waiting.new} of them new. Nothing was"
                " stored."
            )
        return
    with progress(f"Collecting from {endpoint}", None, unit="HITs") as advance:
        found = collect_work(at, advance)
    if options.as_json:
        emit({"study": study, "endpoint": endpoint, **asdict(found)})
    else:
        _tell(at, found)


def _tell(at: StudyAtPlatform, found: CollectedWork) -> None:
    say(f"{found.submissions} submitted, {found.new} of them new; {found.responses} responses in all.")
    if not found.submissions:
        _tell_elsewhere(at)
    if found.rebuilt:
        say(f"{found.rebuilt} never reached our server and were taken from {at.endpoint}'s answers.")
    if found.not_handed_over:
        say(
            f"{found.not_handed_over} answered on our server but not submitted at {at.endpoint}: kept, not"
            " scored."
        )
    for work in found.unpaid:
        say(f"  {work.assignment} of {work.worker}")
    if found.unpaid:
        say(
            f"If work was lost through our fault, pay for it with: humaneval compensate {at.name} ASSIGNMENT"
            f" --to {at.endpoint}"
        )
    if found.strays:
        say(
            f"{found.strays} submitted that match no form of this study:"
            f" {', '.join(found.stray_assignments)}. They are kept, not scored. Approve or reject each by its"
            f" id. {at.endpoint} approves and pays what is still undecided when the study's"
            " auto_approval_days are over."
        )
    for reason in found.not_listed:
        say(f"A worker is not on the exclusion list yet; the next `collect` tries again: {reason}")
    for difference in found.differences:
        say(f"Differs: {difference}")


def _tell_elsewhere(at: StudyAtPlatform) -> None:
    """Say where else the study is up: people may have answered there."""
    for line in study_status(at.study):
        if line.endpoint != at.endpoint:
            say(f"The study is also up at {line.endpoint}: humaneval collect {at.name} --to {line.endpoint}")
