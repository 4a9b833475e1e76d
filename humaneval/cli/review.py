"""`review` and `approve`: look through what came in, and pay for it."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import click

from humaneval.cli.context import (
    SIMULATED,
    App,
    confirm_spending,
    console,
    emit,
    is_simulated,
    json_option,
    say,
    to_option,
    with_app,
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
@click.option("--live", is_flag=True, help="Yes, spend real money.")
@click.option("--spend", metavar="SUM", help="The exact sum in dollars that this may spend.")
@json_option
@with_app
def review(
    app: App, study: str, endpoint: str, approve_all: bool, live: bool, spend: str | None, as_json: bool
) -> None:
    """List collected work with what the study's own rule excludes, and approve it with --approve.

    An excluded annotator is paid like any other: exclusion is about scores, not about money.
    """
    from humaneval.crowd.review import review as look_through

    work = look_through(app.engine, study, endpoint)
    approved = 0
    if approve_all:
        approved = _approve(app, study, endpoint, None, "", live, spend)
        work = look_through(app.engine, study, endpoint)
    states = Counter(line.state for line in work)
    reasons = Counter(line.excluded for line in work if line.excluded)
    if as_json:
        emit(
            {
                "study": study, "endpoint": endpoint, "simulated": is_simulated(app, study), "states": dict(states), "excluded": dict(reasons), "approved_now": approved,
                "assignments": [
                    {
                        "assignment": line.external_id, "worker": line.worker, "state": line.state, "answered": line.answered,
                        "seconds": line.seconds, "excluded": line.excluded, "auto_approval_at": line.auto_approval_at, "differences": line.differences,
                    }
                    for line in work
                ],
            }
        )  # fmt: skip
        return
    if is_simulated(app, study):
        say(SIMULATED)
    from rich.table import Table

    table = Table(
        "Assignment",
        "Worker",
        "State",
        "Answered",
        "Seconds",
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
            f"{line.answered}/{line.passages}",
            f"{line.seconds:.0f}" if line.seconds else "—",
            line.excluded or "—",
        )
    if work and not approve_all:
        console().print(table)
    say(
        f"{len(work)} collected: {', '.join(f'{n} {state}' for state, n in sorted(states.items())) or 'none'}."
    )
    if reasons:
        say(
            f"Excluded by the study's rule: {', '.join(f'{n} {reason}' for reason, n in sorted(reasons.items()))}."
        )
    waiting = [line for line in work if line.state == "submitted"]
    deadlines = [line.auto_approval_at for line in waiting if line.auto_approval_at]
    if approve_all:
        say(f"{approved} approved at {endpoint} now.")
    elif waiting:
        when = (
            f"; {endpoint} approves the first by itself at {min(deadlines):%Y-%m-%d %H:%M} UTC"
            if deadlines
            else ""
        )
        say(
            f"{len(waiting)} wait for approval{when}. Approve them all with: humaneval review {study} --to {endpoint} --approve"
        )


@click.command()
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@to_option
@click.option("--feedback", default="", help="A word to the workers.")
@click.option("--live", is_flag=True, help="Yes, spend real money.")
@click.option("--spend", metavar="SUM", help="The exact sum in dollars that this may spend.")
@json_option
@with_app
def approve(
    app: App,
    study: str,
    assignments: tuple[str, ...],
    endpoint: str,
    feedback: str,
    live: bool,
    spend: str | None,
    as_json: bool,
) -> None:
    """Approve ASSIGNMENTS of STUDY by their ids. One that is approved already stays so."""
    approved = _approve(app, study, endpoint, list(dict.fromkeys(assignments)), feedback, live, spend)
    if as_json:
        emit({"study": study, "endpoint": endpoint, "approved_now": approved})
    else:
        say(f"{approved} approved at {endpoint} now.")


def _approve(
    app: App,
    study: str,
    endpoint: str,
    assignments: list[str] | None,
    feedback: str,
    live: bool,
    spend: str | None,
) -> int:
    from humaneval.crowd.review import approval_cost
    from humaneval.crowd.review import approve as pay
    from humaneval.progress import progress

    platform = app.platform(endpoint, study)
    cost = approval_cost(app.engine, study, platform, assignments)
    if cost.total > Decimal(0):
        confirm_spending(platform.endpoint.spends_money, endpoint, cost.total, live=live, spend=spend)
    with progress(f"Approving at {endpoint}", None, unit="assignments") as advance:
        return pay(app.engine, study, platform, assignments=assignments, feedback=feedback, advance=advance)
