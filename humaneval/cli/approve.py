"""`approve` and `reject`: decide on submitted work. Only a person decides, and only with these commands."""

from __future__ import annotations

from collections.abc import Sequence

import click

from humaneval.cli.run import App, RunOptions, acting, confirm_spending, emit, say, spending, to_option
from humaneval.crowd.addresses import refuse_elsewhere
from humaneval.crowd.approve import approve_work, reject_work, would_approve, would_reject
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.progress import progress
from humaneval.text import command


@click.command()
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@to_option
@click.option("--feedback", default="", help="A note to the workers.")
@click.option(
    "--undo-rejection",
    is_flag=True,
    help="Also approve rejected work. Possible for 30 days after the submission.",
)
@spending
@acting
def approve(
    app: App,
    options: RunOptions,
    study: str,
    assignments: tuple[str, ...],
    endpoint: str,
    feedback: str,
    undo_rejection: bool,
) -> None:
    """Approve ASSIGNMENTS of STUDY by their ids. An assignment that is already approved stays approved."""
    chosen = list(dict.fromkeys(assignments))
    approve_and_tell(app.study_at(endpoint, study), options, chosen, feedback, undo_rejection=undo_rejection)


def approve_and_tell(
    at: StudyAtPlatform,
    options: RunOptions,
    assignments: Sequence[str] | None = None,
    feedback: str = "",
    *,
    undo_rejection: bool = False,
) -> int:
    """Approve the assignments named, or all, once the sum is confirmed. Returns how many were approved."""
    feedback = plain_words("feedback", feedback, needed=False)
    planned = would_approve(at, assignments, undo_rejection=undo_rejection)
    count, total = len(planned.assignments), planned.cost.total
    if options.dry_run:
        refuse_elsewhere(at)
        _tell(
            options,
            {
                "study": at.name,
                "endpoint": at.endpoint,
                "would_approve": list(planned.assignments),
                "cost": str(total),
            },
            f"Would approve {count} at {at.endpoint}: ${total} with fees. Nothing was done.",
        )
        return 0
    # Work that is collected while somebody types the sum is not part of it.
    if total:
        confirm_spending(at.platform.endpoint, total, options)
    with progress(f"Approving at {at.endpoint}", None, unit="assignments") as advance:
        approved = approve_work(
            at,
            assignments=planned.assignments,
            feedback=feedback,
            undo_rejection=undo_rejection,
            advance=advance,
        )
    _tell(
        options,
        {"study": at.name, "endpoint": at.endpoint, "approved_now": approved},
        f"{approved} approved at {at.endpoint} now.",
    )
    return approved


def _tell(options: RunOptions, document: dict[str, object], sentence: str) -> None:
    if options.quiet:
        return
    if options.as_json:
        emit(document)
    else:
        say(sentence)


@click.command()
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@click.option("--reason", required=True, help="The reason, which the worker reads. At most 1,024 characters.")
@to_option
@acting
def reject(
    app: App, options: RunOptions, study: str, assignments: tuple[str, ...], reason: str, endpoint: str
) -> None:
    """Reject ASSIGNMENTS of STUDY, with a reason.

    Their workers are not paid, and their approval rate falls.

    Do not reject work for a missed control passage: pay the worker, and the study's own rule leaves the
    answers out of the scores. For 30 days `approve --undo-rejection` takes a rejection back. Rejected work is
    left out of scores; `score --all` counts it.
    """
    at, chosen = app.study_at(endpoint, study), list(dict.fromkeys(assignments))
    reason = plain_words("reason", reason)
    if options.dry_run:
        planned = would_reject(at, chosen)
        _tell(
            options,
            {"study": at.name, "endpoint": at.endpoint, "would_reject": list(planned.assignments)},
            f"Would reject {len(planned.assignments)} at {at.endpoint}. Nothing was done.",
        )
        return
    rejected = reject_work(at, assignments=chosen, reason=reason)
    _tell(
        options,
        {"study": at.name, "endpoint": at.endpoint, "rejected_now": rejected},
        f"{rejected} rejected at {at.endpoint} now. To take one back within 30 days:"
        f" {command('approve', at.name, 'ASSIGNMENT', '--to', at.endpoint, '--undo-rejection')}",
    )
