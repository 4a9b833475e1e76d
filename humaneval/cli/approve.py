"""`approve` and `reject`: decide on submitted work. Only a person decides, and only with these commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from humaneval.cli.context import (
    App,
    RunOptions,
    acting,
    confirm_spending,
    emit,
    priced,
    say,
    spending,
    to_option,
)
from humaneval.crowd.approve import approve_work, reject_work, would_approve, would_reject
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.prolific.decisions import CATEGORIES
from humaneval.crowd.prolific.evidence import evidence_for
from humaneval.crowd.published_hits import refuse_elsewhere
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import UsageError
from humaneval.progress import progress
from humaneval.text import command


@click.command()
@click.argument("study")
@click.argument("assignments", nargs=-1, required=True)
@to_option
@click.option("--feedback", default="", help="Note to the workers.")
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
    price = priced(at.endpoint, at.sign, planned.cost.rewards, total)
    if options.dry_run:
        refuse_elsewhere(at)
        _tell(
            options,
            {
                "study": at.name,
                "endpoint": at.endpoint,
                "would_approve": list(planned.shown),
                "cost": str(total),
            },
            f"Would approve {count} at {at.endpoint}: {price}. Nothing was done.",
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
@click.option("--reason", help="Reason, which the worker reads. At most 1,024 characters.")
@click.option(
    "--category",
    type=click.Choice(CATEGORIES),
    help="With --to prolific: Prolific's category. Its reasons have 100 characters or more.",
)
@to_option
@acting
def reject(
    app: App,
    options: RunOptions,
    study: str,
    assignments: tuple[str, ...],
    reason: str | None,
    category: str | None,
    endpoint: str,
) -> None:
    """Reject ASSIGNMENTS of STUDY, with a reason.

    Their workers are not paid, and their approval rate falls.

    Do not reject work for a missed control passage: pay the worker, and the study's own rule leaves the
    answers out of the scores. For 30 days `approve --undo-rejection` takes a rejection back. Rejected work is
    left out of scores; `score --all` counts it.

    On Prolific a rejection is final. Without --reason, the reason is made there from what the person did, and
    shown before it is sent. The place of rejected work opens again by itself.
    """
    at, chosen = app.study_at(endpoint, study), list(dict.fromkeys(assignments))
    if reason is None:
        reason, category = _made_reason(at, chosen, category, options)
    reason, category = plain_words("reason", reason), category or ""
    if options.dry_run:
        planned = would_reject(at, chosen)
        _tell(
            options,
            {"study": at.name, "endpoint": at.endpoint, "would_reject": list(planned.shown)},
            f"Would reject {len(planned.assignments)} at {at.endpoint}. Nothing was done.",
        )
        return
    rejected = reject_work(at, assignments=chosen, reason=reason, category=category)
    undo = command("approve", at.name, "ASSIGNMENT", "--to", at.endpoint, "--undo-rejection")
    back = "" if endpoint == "prolific" else f" To take one back within 30 days: {undo}"
    _tell(
        options,
        {"study": at.name, "endpoint": at.endpoint, "rejected_now": rejected},
        f"{rejected} rejected at {at.endpoint} now.{back}",
    )


def _made_reason(
    at: StudyAtPlatform, chosen: Sequence[str], category: str | None, options: RunOptions
) -> tuple[str, str]:
    """A reason and a category from what one person did, once somebody at the terminal agrees to it."""
    if at.endpoint != "prolific":
        raise UsageError("a rejection needs a reason", "Give it with --reason.")
    if len(chosen) > 1:
        raise UsageError("a reason is about one person", "Reject them one by one, or give --reason.")
    made = evidence_for(at, chosen[0])
    category = category or made.category
    say(f"{category}: {made.reason}", err=True)
    if options.dry_run:
        return made.reason, category
    again = command("reject", at.name, chosen[0], "--to", at.endpoint, "--reason", "TEXT")
    again += f" --category {category}"
    if not sys.stdin.isatty():
        raise UsageError("nobody has agreed to this reason, and there is no terminal to ask on", again)
    if not click.confirm("The person reads this, and a rejection is final. Send it?", err=True):
        raise UsageError("nothing was rejected", f"With a reason of your own: {again}")
    return made.reason, category
