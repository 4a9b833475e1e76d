"""`approve` and `reject`: decide on submitted work. Only a person does, and only by these commands."""

from __future__ import annotations

from collections.abc import Sequence

import click

from humaneval.cli.run import App, acting, confirm_spending, emit, say, spending, to_option


@click.command()
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@to_option
@click.option("--feedback", default="", help="A word to the workers.")
@click.option(
    "--undo-rejection",
    is_flag=True,
    help="Approve also what was rejected; possible for 30 days after the submission.",
)
@spending
@acting
def approve(
    app: App,
    study: str,
    assignments: tuple[str, ...],
    endpoint: str,
    feedback: str,
    undo_rejection: bool,
    live: bool,
    spend: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Approve ASSIGNMENTS of STUDY by their ids. One that is approved already stays so."""
    approve_work(
        app,
        study,
        endpoint,
        list(dict.fromkeys(assignments)),
        feedback,
        live,
        spend,
        undo_rejection=undo_rejection,
        dry_run=dry_run,
        as_json=as_json,
    )


def approve_work(
    app: App,
    study: str,
    endpoint: str,
    assignments: Sequence[str] | None,
    feedback: str,
    live: bool,
    spend: str | None,
    *,
    undo_rejection: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Approve, or say what that would be; `quiet` prints nothing. Returns how many were approved now."""
    from humaneval.crowd.addresses import refuse_elsewhere
    from humaneval.crowd.approve import approve as pay
    from humaneval.crowd.approve import would_approve
    from humaneval.crowd.letter_text import plain_words
    from humaneval.progress import progress

    platform = app.platform(endpoint, study)
    feedback = plain_words("feedback", feedback, needed=False)
    planned = would_approve(app.engine, study, platform, assignments, undo_rejection=undo_rejection)
    count, total = len(planned.assignments), planned.cost.total
    if dry_run:
        refuse_elsewhere(app.engine, study, platform)
        if as_json and not quiet:
            emit(
                {
                    "study": study,
                    "endpoint": endpoint,
                    "would_approve": list(planned.assignments),
                    "cost": str(total),
                }
            )
        elif not quiet:
            say(f"Would approve {count} at {endpoint}: ${total} with fees. Nothing was done.")
        return 0
    # What is collected while somebody types the sum is not part of it.
    if total:
        confirm_spending(platform.endpoint.spends_money, endpoint, total, live=live, spend=spend)
    with progress(f"Approving at {endpoint}", None, unit="assignments") as advance:
        approved = pay(
            app.engine,
            study,
            platform,
            assignments=planned.assignments,
            feedback=feedback,
            undo_rejection=undo_rejection,
            advance=advance,
        )
    if as_json and not quiet:
        emit({"study": study, "endpoint": endpoint, "approved_now": approved})
    elif not quiet:
        say(f"{approved} approved at {endpoint} now.")
    return approved


@click.command()
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@click.option("--reason", required=True, help="The worker reads it; at most 1,024 characters.")
@to_option
@acting
def reject(
    app: App,
    study: str,
    assignments: tuple[str, ...],
    reason: str,
    endpoint: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Reject ASSIGNMENTS of STUDY: their workers are not paid, and their standing with others suffers.

    A missed control passage is no reason: whoever worked is paid, and left out of the scores by the study's
    own rule. For 30 days `approve --undo-rejection` takes it back. Rejected work is left out of scores;
    `score --all` counts it.
    """
    from humaneval.crowd.approve import reject as refuse
    from humaneval.crowd.approve import would_reject
    from humaneval.crowd.letter_text import plain_words

    platform, chosen = app.platform(endpoint, study), list(dict.fromkeys(assignments))
    reason = plain_words("reason", reason)
    if dry_run:
        planned = would_reject(app.engine, study, platform, chosen)
        if as_json:
            emit({"study": study, "endpoint": endpoint, "would_reject": list(planned.assignments)})
        else:
            say(f"Would reject {len(planned.assignments)} at {endpoint}. Nothing was done.")
        return
    rejected = refuse(app.engine, study, platform, assignments=chosen, reason=reason)
    if as_json:
        emit({"study": study, "endpoint": endpoint, "rejected_now": rejected})
    else:
        say(
            f"{rejected} rejected at {endpoint} now. `humaneval approve --undo-rejection` takes it back for"
            " 30 days."
        )
