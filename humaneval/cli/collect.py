"""`collect`: bring submitted work home. Any time, any number of times."""

from __future__ import annotations

from dataclasses import asdict

import click

from humaneval.cli.run import App, acting, emit, say, to_option


@click.command()
@click.argument("study")
@to_option
@acting
def collect(app: App, study: str, endpoint: str, dry_run: bool, as_json: bool) -> None:
    """Fetch all submitted work of STUDY, compare it with our server's copy, and store the responses."""
    from humaneval.crowd.collect import collect as fetch
    from humaneval.crowd.collect import would_collect
    from humaneval.progress import progress

    if dry_run:
        waiting = would_collect(app.engine, study, app.platform(endpoint, study))
        if as_json:
            emit({"study": study, "endpoint": endpoint, **waiting._asdict()})
        else:
            say(
                f"{waiting.submissions} submitted at {endpoint}, {waiting.new} of them new. Nothing was"
                " stored."
            )
        return

    with progress(f"Collecting from {endpoint}", None, unit="HITs") as advance:
        found = fetch(app.engine, study, app.platform(endpoint, study), advance)
    if as_json:
        emit({"study": study, "endpoint": endpoint, **asdict(found)})
        return
    say(f"{found.submissions} submitted, {found.new} of them new; {found.responses} responses in all.")
    if not found.submissions:
        _tell_elsewhere(app, study, endpoint)
    if found.rebuilt:
        say(f"{found.rebuilt} never reached our server and were taken from {endpoint}'s answers.")
    if found.not_handed_over:
        say(
            f"{found.not_handed_over} answered on our server but not submitted at {endpoint}: kept, not"
            " scored."
        )
    for work in found.unpaid:
        say(f"  {work.assignment} of {work.worker}")
    if found.unpaid:
        say(
            f"Who lost work through our fault is paid by: humaneval compensate {study} ASSIGNMENT --to"
            f" {endpoint}"
        )
    if found.strays:
        say(
            f"{found.strays} submitted that match no form of this study:"
            f" {', '.join(found.stray_assignments)}. Kept, not scored. Approve or reject each by its id;"
            f" {endpoint} approves and pays what nobody decides about, when the study's auto_approval_days"
            " are over."
        )
    for reason in found.not_listed:
        say(f"Somebody is not on the exclusion list yet; the next `collect` tries again: {reason}")
    for difference in found.differences:
        say(f"Differs: {difference}")


def _tell_elsewhere(app: App, study: str, endpoint: str) -> None:
    """Where else the study is up, if it is: it may be there that people answered."""
    from humaneval.crowd.status import study_status

    for line in study_status(app.engine, study):
        if line.endpoint != endpoint:
            say(f"The study is also up at {line.endpoint}: humaneval collect {study} --to {line.endpoint}")
