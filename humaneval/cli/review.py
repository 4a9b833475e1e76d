"""`review`: look through what came in."""

from __future__ import annotations

from collections import Counter

import click

from humaneval.cli.run import (
    SIMULATED,
    App,
    acting,
    console,
    emit,
    is_simulated,
    say,
    spending,
    to_option,
)


@click.command()
@click.argument("study")
@to_option
@click.option(
    "--approve",
    "approve_all",
    is_flag=True,
    help="Approve everything that is submitted, excluded or not: work is paid.",
)
@spending
@acting
def review(
    app: App,
    study: str,
    endpoint: str,
    approve_all: bool,
    live: bool,
    spend: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """List collected work with what the study's own rule excludes, and approve it with --approve.

    An excluded annotator is paid like any other: exclusion is about scores, not about money. Nothing is ever
    rejected here: `reject` does that, by id and with a reason.
    """
    from humaneval.cli.approve import approve_work
    from humaneval.crowd.review import review as look_through

    work = look_through(app.engine, study, endpoint)
    approved = 0
    if approve_all:
        approved = approve_work(
            app,
            study,
            endpoint,
            None,
            "",
            live,
            spend,
            dry_run=dry_run,
            as_json=as_json,
            quiet=as_json or not dry_run,
        )
        work = look_through(app.engine, study, endpoint)
    states = Counter(line.state for line in work)
    reasons = Counter(line.excluded for line in work if line.excluded)
    if as_json:
        emit(
            {
                "study": study,
                "endpoint": endpoint,
                "simulated": is_simulated(app, study),
                "states": dict(states),
                "excluded": dict(reasons),
                "approved_now": approved,
                "assignments": [
                    {
                        "assignment": line.external_id,
                        "worker": line.worker,
                        "state": line.state,
                        "answered": line.answered,
                        "seconds": line.seconds,
                        "excluded": line.excluded,
                        "auto_approval_at": line.auto_approval_at,
                        "differences": line.differences,
                    }
                    for line in work
                ],
            }
        )
        return
    if is_simulated(app, study):
        say(SIMULATED)
    from rich.table import Column, Table

    table = Table(
        Column(
            "Assignment", no_wrap=True, min_width=max((len(line.external_id) for line in work), default=0)
        ),
        Column("Worker", no_wrap=True, min_width=13),
        "State",
        Column("Seconds", justify="right"),
        "Excluded",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for line in work:
        table.add_row(
            line.external_id,
            line.worker,
            line.state,
            f"{line.seconds:.0f}" if line.seconds else "—",
            (line.excluded or "—")
            + (f" ({line.answered} of {line.passages} answered)" if line.answered < line.passages else ""),
        )
    if work and not approve_all:
        console().print(table)
    say(
        f"{len(work)} collected:"
        f" {', '.join(f'{n} {state}' for state, n in sorted(states.items())) or 'none'}."
    )
    if reasons:
        say(
            "Excluded by the study's rule:"
            f" {', '.join(f'{n} {reason}' for reason, n in sorted(reasons.items()))}."
        )
    undecided = [line for line in work if line.state == "submitted"]
    waiting = [line for line in undecided if line.passages]
    if strays := len(undecided) - len(waiting):
        say(
            f"{strays} of them match no form of this study. Approve or reject each by its id: humaneval"
            f" approve {study} ID --to {endpoint}"
        )
    deadlines = [line.auto_approval_at for line in waiting if line.auto_approval_at]
    if approve_all and not dry_run:
        say(f"{approved} approved at {endpoint} now.")
    elif waiting:
        when = (
            f"; {endpoint} approves the first by itself at {min(deadlines):%Y-%m-%d %H:%M} UTC"
            if deadlines
            else ""
        )
        say(
            f"{len(waiting)} wait for approval{when}. Approve them all with: humaneval review {study} --to"
            f" {endpoint} --approve"
        )
