"""`notify` and `compensate`: write to workers, and pay those who lost work through our fault."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from humaneval.cli.run import App, acting, confirm_spending, emit, say, spending, to_option
from humaneval.errors import InputError, PartialError, UsageError


@click.command()
@click.argument("study")
@click.argument("workers", nargs=-1)
@click.option("--subject", required=True, help="At most 200 characters.")
@click.option("--text", help="The letter; at most 4,096 characters.")
@click.option(
    "--file", "path", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Or its file."
)
@click.option("--again", is_flag=True, help="Also to those of whom nobody knows whether they have it.")
@to_option
@acting
def notify(
    app: App,
    study: str,
    workers: tuple[str, ...],
    subject: str,
    text: str | None,
    path: Path | None,
    again: bool,
    endpoint: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write to WORKERS of STUDY (pseudonyms or platform ids), or to all whose work was approved or rejected.

    The same letter goes to the same person once, however often this runs.
    """
    from humaneval.crowd.notify import notify as write

    if (text is None) == (path is None):
        raise UsageError("give the letter with --text or with --file")
    try:
        letter = path.read_text(encoding="utf-8") if path else text or ""
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8", "Save the letter as UTF-8.") from None
    done = write(
        app.engine,
        study,
        app.platform(endpoint, study),
        subject=subject,
        text=letter,
        workers=workers,
        again=again,
        dry_run=dry_run,
    )
    if as_json:
        emit({"study": study, "endpoint": endpoint, "dry_run": dry_run, **asdict(done)})
    else:
        say(
            f"Would write to {done.sent} at {endpoint}; {done.before} had it before. Nothing was sent."
            if dry_run
            else f"Written to {done.sent} at {endpoint}; {done.before} had it before."
        )
        if not (workers or done.sent or done.before or done.unsure or done.undelivered):
            say(f"Nobody's work is approved or rejected yet; name the workers: humaneval worker list {study}")
        for worker, reason in done.undelivered.items():
            say(f"Not delivered to {worker}: {reason}")
        if done.unsure:
            say(f"Nobody knows whether {', '.join(done.unsure)} have it; --again writes to them once more.")
    if done.undelivered or done.unsure:
        raise PartialError(
            f"{len(done.undelivered) + len(done.unsure)} may not have the letter", "See the lines above."
        )


@click.command()
@click.argument("study")
@click.argument("assignment")
@click.option("--amount", required=True, metavar="DOLLARS", help="For example 0.80.")
@click.option("--reason", required=True, help="The worker reads it.")
@click.option(
    "--worker", default="", help="Whose work it was, where the platform gave ASSIGNMENT to several people."
)
@to_option
@spending
@acting
def compensate(
    app: App,
    study: str,
    assignment: str,
    amount: str,
    reason: str,
    worker: str,
    endpoint: str,
    live: bool,
    spend: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Pay the worker of ASSIGNMENT, which was lost before it could be submitted, by a HIT for this person alone.

    Where something was submitted, `bonus` is the simpler way. The worker takes the HIT, presses one button,
    and is paid at once; `collect` enters it in the ledger. Write to them with `notify` where the platform
    allows it.
    """
    from humaneval.crowd.compensate import compensate as pay
    from humaneval.fees import money

    platform, dollars = app.platform(endpoint, study), money(amount)
    total = platform.cost(dollars, 1).total
    if dry_run:
        found = pay(
            app.engine,
            study,
            platform,
            assignment=assignment,
            amount=dollars,
            reason=reason,
            worker=worker,
            dry_run=True,
        )
        if as_json:
            emit(
                {
                    "study": study,
                    "endpoint": endpoint,
                    "assignment": assignment,
                    "would_cost": str(total if found.made_now else 0),
                }
            )
        elif found.made_now:
            say(
                f"Would put up a HIT of ${dollars} at {endpoint} for {found.worker}: ${total} with fees."
                " Nothing was done."
            )
        else:
            say(f"{found.worker} {'was paid' if found.paid else 'has the HIT already'}. Nothing was done.")
        return
    confirm_spending(platform.endpoint.spends_money, endpoint, total, live=live, spend=spend)
    done = pay(
        app.engine, study, platform, assignment=assignment, amount=dollars, reason=reason, worker=worker
    )
    if as_json:
        emit(
            {
                "study": study,
                "endpoint": endpoint,
                "assignment": assignment,
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
