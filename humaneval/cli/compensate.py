"""`compensate`: pay a worker who lost work through our fault."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal

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
from humaneval.cli.numbers import Dollars
from humaneval.crowd.compensate import Compensated, compensate_worker
from humaneval.crowd.paid_elsewhere import PaidElsewhere, pay_elsewhere
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.fees import NO_FEES


@click.command()
@click.argument("study")
@click.argument("assignment")
@click.option("--amount", type=Dollars(), required=True, metavar="DOLLARS", help="Payment, for example 0.80.")
@click.option("--reason", required=True, help="Reason, which the worker reads.")
@click.option(
    "--worker", default="", help="Worker to pay, if the platform gave ASSIGNMENT to several people."
)
@click.option(
    "--elsewhere",
    is_flag=True,
    help="Pay nothing: enter in the books that you paid this worker by hand, outside of the platform.",
)
@to_option
@spending
@acting
def compensate(
    app: App,
    options: RunOptions,
    study: str,
    assignment: str,
    amount: Decimal,
    reason: str,
    worker: str,
    elsewhere: bool,
    endpoint: str,
) -> None:
    """Pay a worker whose work was lost before it was submitted.

    Publishes a HIT for the worker of ASSIGNMENT alone. Prolific pays a bonus instead.

    If something was submitted, `bonus` is the simpler way. The worker takes the HIT, presses one button, and
    is paid at once; `collect` enters it in the books. Write to the worker with `notify` if the platform
    allows it.

    A platform that lost its work, or its workers, cannot pay them. Pay them by hand where you can reach them,
    and enter it with --elsewhere. Then nobody pays them again. The same command with another amount corrects
    the entry.
    """
    at = app.study_at(endpoint, study)
    if elsewhere:
        entered = pay_elsewhere(
            at,
            assignment=assignment,
            amount=amount,
            reason=reason,
            worker=worker,
            dry_run=options.dry_run,
        )
        _tell_entered(at, options, assignment, entered)
        return
    by_bonus = at.platform.endpoint.plain_bonuses
    total = (at.platform.bonus_cost(amount) if by_bonus else at.platform.cost(amount, 1)).total
    if not options.dry_run:
        confirm_spending(at.platform.endpoint, total, options)
    done = compensate_worker(
        at,
        assignment=assignment,
        amount=amount,
        reason=reason,
        worker=worker,
        dry_run=options.dry_run,
    )
    if options.dry_run and options.as_json:
        emit({**_facts(at, assignment), "would_cost": str(total if done.made_now else 0)})
    elif options.dry_run:
        _tell_planned(at, amount, total, done)
    else:
        _tell(at, options, assignment, done)


def _facts(at: StudyAtPlatform, assignment: str) -> dict[str, object]:
    return {"study": at.name, "endpoint": at.endpoint, "assignment": assignment}


def _tell_planned(at: StudyAtPlatform, amount: Decimal, total: Decimal, done: Compensated) -> None:
    if done.made_now:
        what = "pay a bonus" if at.platform.endpoint.plain_bonuses else "put up a HIT"
        say(
            f"Would {what} of {at.sign}{amount} at {at.endpoint} for {done.worker}:"
            f" {priced(at.endpoint, at.sign, amount, total)}. Nothing was done."
        )
    else:
        taken = "has taken it" if at.endpoint in NO_FEES else "was paid"
        say(f"{done.worker} {taken if done.paid else 'has the HIT already'}. Nothing was done.")


def _tell(at: StudyAtPlatform, options: RunOptions, assignment: str, done: Compensated) -> None:
    if options.as_json:
        emit(
            {
                **_facts(at, assignment),
                "worker": done.worker,
                "cost": str(done.cost.total),
                "preview_url": done.preview_url,
                "made_now": done.made_now,
                "paid": done.paid,
            }
        )
        return
    if not done.preview_url:
        where = f"at {at.endpoint} now" if done.made_now else "before; nothing was paid now"
        say(f"{done.worker} was paid {at.sign}{done.cost.rewards} {where}.")
        return
    can = "can now take" if done.made_now else "has been able to take"
    say(f"{done.worker} {can} {at.sign}{done.cost.rewards} at {done.preview_url}")
    if done.paid:
        own = at.endpoint in NO_FEES
        say("It is taken and approved: you pay it yourself." if own else "It is paid.")


def _tell_entered(at: StudyAtPlatform, options: RunOptions, assignment: str, entered: PaidElsewhere) -> None:
    if options.as_json:
        emit({**_facts(at, assignment), "dry_run": options.dry_run, **asdict(entered)})
    elif entered.by_platform:
        say(
            f"{entered.worker} was paid {at.sign}{entered.amount} at {at.endpoint} before;"
            " nothing was entered."
        )
    elif options.dry_run:
        say(f"Would enter {at.sign}{entered.amount} for {entered.worker}, paid elsewhere. Nothing was done.")
    elif entered.before is None:
        say(
            f"{at.sign}{entered.amount} for {entered.worker} is in the books as paid elsewhere."
            " Nothing was sent."
        )
    else:
        corrected = "" if entered.before == entered.amount else f", and is now {at.sign}{entered.amount}"
        say(
            f"{at.sign}{entered.before} for {entered.worker} was in the books as paid elsewhere"
            f" before{corrected}."
        )
