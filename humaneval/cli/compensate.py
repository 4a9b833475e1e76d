"""`compensate`: pay a worker who lost work through our fault."""

from __future__ import annotations

import click

from humaneval.cli.run import App, RunOptions, acting, confirm_spending, emit, say, spending, to_option
from humaneval.crowd.compensate import compensate_worker
from humaneval.fees import money


@click.command()
@click.argument("study")
@click.argument("assignment")
@click.option("--amount", required=True, metavar="DOLLARS", help="The payment, for example 0.80.")
@click.option("--reason", required=True, help="The reason, which the worker reads.")
@click.option(
    "--worker", default="", help="The worker to pay, if the platform gave ASSIGNMENT to several people."
)
@to_option
@spending
@acting
def compensate(
    app: App,
    options: RunOptions,
    study: str,
    assignment: str,
    amount: str,
    reason: str,
    worker: str,
    endpoint: str,
) -> None:
    """Pay a worker whose work was lost before it was submitted.

    Publishes a HIT for the worker of ASSIGNMENT alone.

    If something was submitted, `bonus` is the simpler way. The worker takes the HIT, presses one button, and
    is paid at once; `collect` enters it in the ledger. Write to the worker with `notify` if the platform
    allows it.
    """
    at, dollars = app.study_at(endpoint, study), money(amount)
    total = at.platform.cost(dollars, 1).total
    if not options.dry_run:
        confirm_spending(at.platform.endpoint, total, options)
    done = compensate_worker(
        at,
        assignment=assignment,
        amount=dollars,
        reason=reason,
        worker=worker,
        dry_run=options.dry_run,
    )
    facts = {"study": at.name, "endpoint": at.endpoint, "assignment": assignment}
    if options.dry_run:
        if options.as_json:
            emit({**facts, "would_cost": str(total if done.made_now else 0)})
        elif done.made_now:
            say(
                f"Would put up a HIT of ${dollars} at {endpoint} for {done.worker}: ${total} with fees."
                " Nothing was done."
            )
        else:
            say(f"{done.worker} {'was paid' if done.paid else 'has the HIT already'}. Nothing was done.")
        return
    if options.as_json:
        emit(
            {
                **facts,
                "worker": done.worker,
                "cost": str(done.cost.total),
                "preview_url": done.preview_url,
                "made_now": done.made_now,
                "paid": done.paid,
            }
        )
        return
    say(
        f"{done.worker} {'can now take' if done.made_now else 'has been able to take'} ${dollars} at"
        f" {done.preview_url}"
    )
    if done.paid:
        say("It is paid.")
