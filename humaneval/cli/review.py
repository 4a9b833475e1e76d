"""`review`: list collected work, and approve it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import click
from rich.table import Column, Table

from humaneval.cli.approve import approve_and_tell
from humaneval.cli.collect import tell_hits
from humaneval.cli.context import (
    App,
    RunOptions,
    acting,
    console,
    emit,
    say,
    simulated_line,
    spending,
    to_option,
)
from humaneval.cli.numbers import Dollars
from humaneval.crowd.advice import owed_line, stray_lines, waiting_lines
from humaneval.crowd.plan_differences import differing
from humaneval.crowd.review import Reviewed, review_work, undecided
from humaneval.crowd.settle import Settled, settle
from humaneval.crowd.status import study_status
from humaneval.errors import UsageError
from humaneval.study.stored import Study, is_simulated, who_answered
from humaneval.text import command, counted


@click.command()
@click.argument("study")
@to_option
@click.option(
    "--approve",
    "approve_all",
    is_flag=True,
    help="Approve all submitted work, excluded or not: work is paid.",
)
@click.option(
    "--paid",
    is_flag=True,
    help="Enter that you have paid, by hand, all that is approved at your own marketplace.",
)
@click.option("--undo", is_flag=True, help="With --paid: take the last entry back.")
@spending
@acting
def review(
    app: App, options: RunOptions, study: str, endpoint: str, approve_all: bool, paid: bool, undo: bool
) -> None:
    """List collected work of STUDY, and approve it with --approve.

    Shows whom the study's own rule excludes.

    An excluded annotator is paid like any other: exclusion concerns scores, not money. Nothing is rejected
    here: `reject` does that, by id and with a reason.

    A marketplace of your own moves no money. Once you have paid people, --paid enters it, so that `status`
    says what you still owe. It asks for the sum, and --undo takes the last entry back.
    """
    opened = app.study(study)
    if paid:
        if approve_all:
            raise UsageError("--approve and --paid are two steps", "Approve, pay people, then enter it.")
        agreed = _agreed(opened, options, endpoint, undo=undo)
        done = settle(opened, endpoint, agreed=agreed, undo=undo, dry_run=options.dry_run)
        _tell_settled(opened, options, endpoint, done, undo=undo)
        return
    if undo:
        raise UsageError("--undo takes back an entry of --paid", "Give both.")
    work, approved = review_work(opened, endpoint), 0
    if approve_all:
        quietly = options.silenced(options.as_json or not options.dry_run)
        approved = approve_and_tell(app.at(endpoint, opened), quietly)
        work = review_work(opened, endpoint)
    simulated = is_simulated(opened)
    if options.as_json:
        document = _document(study, endpoint, work, simulated=simulated, approved=approved)
        emit({**document, "hits_differ": [each._asdict() for each in differing(opened, endpoint)]})
        return
    if simulated:
        say(simulated_line(who_answered(opened)))
    if work and not approve_all:
        console().print(_table(opened, work))
    _tell_counts(work)
    waiting = undecided(opened, endpoint)
    for line in stray_lines(study, endpoint, waiting.strays):
        say(str(line))
    if approve_all and not options.dry_run:
        say(f"{approved} approved at {endpoint} now.")
        for owed in (owed_line(one, study) for one in study_status(opened) if one.endpoint == endpoint):
            if owed:
                say(str(owed))
    else:
        for line in waiting_lines(study, endpoint, waiting):
            say(str(line))
    tell_hits(differing(opened, endpoint), endpoint, opened.settings.hit.sign)


def _agreed(study: Study, options: RunOptions, endpoint: str, *, undo: bool) -> Decimal | None:
    """The sum that a person enters as paid or takes back, by flag or typed at the prompt: more may be owed
    than they think of."""
    if options.spend is not None or options.dry_run:
        return options.spend
    found = settle(study, endpoint, undo=undo, dry_run=True)
    if not found.payments:
        return None
    sums = f"{study.settings.hit.sign}{found.amount} of {counted(found.payments, 'payment')} at {endpoint}"
    does = f"takes back {_entry(sums, found)}" if undo else f"enters {sums} as paid"
    if not sys.stdin.isatty():
        again = ["--paid", *["--undo"] * undo, "--spend", str(found.amount)]
        raise UsageError(
            f"this {does}, and there is no terminal to ask on",
            f"Give the sum: {command('review', study.name, '--to', endpoint, *again)}",
        )
    return click.prompt(
        f"This {does}. Type the sum to continue",
        default="0",
        show_default=False,
        err=True,  # stdout may hold a JSON document
        type=Dollars(),
    )


def _entry(sums: str, found: Settled) -> str:
    return f"{sums}, entered {found.at:%Y-%m-%d %H:%M} UTC" if found.at else sums


def _tell_settled(study: Study, options: RunOptions, endpoint: str, done: Settled, *, undo: bool) -> None:
    sign = study.settings.hit.sign
    if options.as_json:
        facts = {"study": study.name, "endpoint": endpoint, "dry_run": options.dry_run}
        sums = {"taken_back" if undo else "entered": str(done.amount), "before": str(done.before)}
        emit({**facts, "payments": done.payments, **sums})
        return
    before = f" {sign}{done.before} was entered before." if done.before else ""
    entry = _entry(f"{sign}{done.amount}", done)
    if not done.payments:
        none = "is entered as paid" if undo else f"that is approved at {endpoint} is left to pay"
        say(f"Nothing {none}.{before}")
    elif undo:
        say(f"Would take back {entry}." if options.dry_run else f"Taken back: {entry}. You owe it again.")
    elif options.dry_run:
        say(f"Would enter {sign}{done.amount} as paid.{before} Nothing was done.")
    else:
        say(f"{sign}{done.amount} is entered as paid.{before} Nothing was sent.")


def _document(
    study: str, endpoint: str, work: Sequence[Reviewed], *, simulated: bool, approved: int
) -> dict[str, object]:
    return {
        "study": study,
        "endpoint": endpoint,
        "simulated": simulated,
        "states": dict(Counter(line.state for line in work)),
        "excluded": dict(Counter(line.excluded for line in work if line.excluded)),
        "approved_now": approved,
        "assignments": [
            {
                "assignment": line.external_id,
                "worker": line.worker,
                "exported_as": line.exported_as,
                "state": line.state,
                "answered": line.answered,
                "seconds": line.seconds,
                "excluded": line.excluded,
                "auto_approval_at": line.auto_approval_at,
                "differences": line.differences,
                "practice": line.practice,
            }
            for line in work
        ],
    }


def _table(study: Study, work: Sequence[Reviewed]) -> Table:
    """Each worker with the name in reports below, and all that stood out, as on the page of people."""
    from humaneval.crowd.worker_flags import flagged, stood_out  # loads pandas

    flags = flagged(study, work)
    practised = any(line.practice for line in work)
    table = Table(
        Column("Assignment", no_wrap=True, min_width=max(len(line.external_id) for line in work)),
        Column("Worker", no_wrap=True, min_width=13),
        "State",
        Column("Seconds", justify="right"),
        "What stood out",
        *["Practice"] * practised,
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for line in work:
        gaps = f" ({line.answered} of {line.passages} answered)" if line.answered < line.passages else ""
        table.add_row(
            line.external_id,
            f"{line.worker}\n{line.exported_as}",
            line.state,
            "—" if line.seconds is None else f"{line.seconds:.1f}",
            (stood_out(line.state, line.excluded, flags.get(line.worker, ())) or "—") + gaps,
            *[line.practice or "—"] * practised,
        )
    return table


def _tell_counts(work: Sequence[Reviewed]) -> None:
    states = Counter(line.state for line in work)
    reasons = Counter(line.excluded for line in work if line.excluded)
    say(f"{len(work)} collected: {_listed(states)}." if work else "Nothing is collected yet.")
    if reasons:
        say(f"Excluded by the study's rule: {_listed(reasons)}.")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
