"""`status`: the progress of a study, and what it has cost."""

from __future__ import annotations

from collections.abc import Mapping

import click

from humaneval.cli.collect import tell_hits
from humaneval.cli.run import App, emit, json_option, say, simulated_line, with_app
from humaneval.crowd.addresses import GONE, published_at
from humaneval.crowd.figures import unaccepted
from humaneval.crowd.reconcile import Reconciled, reconcile
from humaneval.crowd.status import EndpointStatus, study_status
from humaneval.crowd.waiting import ask
from humaneval.errors import PartialError
from humaneval.store.types import now
from humaneval.study.stored import is_simulated, who_answered
from humaneval.text import command, counted


@click.command()
@click.argument("study")
@click.option(
    "--reconcile",
    "with_books",
    is_flag=True,
    help=(
        "Ask each marketplace for its books, and compare bonuses, approvals and the balance. Exit code 3 if"
        " something is not explained."
    ),
)
@json_option
@with_app
def status(app: App, study: str, with_books: bool, as_json: bool) -> None:
    """Show how far STUDY is, and what it has cost.

    There is a line for each endpoint: how many forms are submitted and usable, and when the rest will be.

    "About done at" estimates when the rest will be submitted, at the rate since the first submitted form was
    opened. It is shown from three submissions on, while forms are missing and can still come.

    If answers wait to be collected, the marketplace is asked what is submitted there, and whether the HITs
    are as planned.
    """
    opened = app.study(study)
    there = {name: ask(app.at(name, opened)) for name in published_at(opened)}
    lines, simulated = study_status(opened, there=there), is_simulated(opened)
    books = {line.endpoint: reconcile(app.at(line.endpoint, opened)) for line in lines if with_books}
    if as_json:
        emit(
            {
                "study": study,
                "simulated": simulated,
                "endpoints": [
                    {**line._asdict(), "hits_differ": [each._asdict() for each in line.hits_differ]}
                    for line in lines
                ],
                **({"books": {name: each._asdict() for name, each in books.items()}} if with_books else {}),
            }
        )
        _refuse_differing_books(books, study)
        return
    if simulated:
        say(simulated_line(who_answered(opened)))
    if not lines:
        say(f"{study} is not published. Next: {command('publish', study, '--to', 'local')}")
    for line in lines:
        _say_progress(line, study)
        if line.endpoint in books:
            _say_books(books[line.endpoint], line.endpoint)
    _refuse_differing_books(books, study)


def _say_progress(line: EndpointStatus, study: str) -> None:
    go_on = command("publish", study, "--to", line.endpoint)
    things = "links" if line.endpoint == "link" else "HITs"
    if line.hits_unsent == line.hits:
        say(
            f"{line.endpoint}: not published. {counted(line.hits, things[:-1])} with"
            f" {counted(line.planned, 'form')} planned; none was sent: {go_on}"
        )
    else:
        _say_work(line, study, things, go_on)
    if line.refused:
        say(f"  {counted(line.refused, 'write')} refused by {line.endpoint} or never sent; nothing was done.")
    if line.unconfirmed:
        say(
            f"  {counted(line.unconfirmed, 'write')} to {line.endpoint} not confirmed; run the interrupted"
            " command again (letters with --again)."
        )


def _say_work(line: EndpointStatus, study: str, things: str, go_on: str) -> None:
    done_at = f"{line.about_done_at:%Y-%m-%d %H:%M} UTC" if line.about_done_at else "—"
    say(
        f"{line.endpoint}: {line.submitted} of {line.planned} submitted, {line.usable} usable; about done at"
        f" {done_at}; spent ${line.spent}."
    )
    over = f", {line.hits_over} taken down or deleted" if line.hits_over else ""
    over += f", {line.hits_gone} gone at {line.endpoint}" if line.hits_gone else ""
    say(
        f"  {line.approved} approved, {line.opened} open now; {line.hits_up} of"
        f" {counted(line.hits, things[:-1])} up{over}; ${line.rewards} paid + ${line.fees} fees."
    )
    if line.paid_elsewhere:
        say(f"  ${line.paid_elsewhere} of it was paid elsewhere, by hand.")
    if line.hits_unsent:
        say(f"  {line.hits_unsent} of them were not sent yet: {go_on}")
    if line.median_minutes is not None and line.hourly is not None:
        say(
            f"  Median time {line.median_minutes:g} minutes: ${line.hourly} an hour, expected"
            f" ${line.hourly_expected}."
        )
    if line.crowded_out:
        say(
            f"  {counted(line.crowded_out, 'row')} without answers and without a place, because late answers"
            " took the place. Give more places:"
            f" {command('publish', study, '--to', 'link', '--places', 'NUMBER')}"
        )
    if line.rejected:
        say(f"  {line.rejected} rejected: not paid, and left out of scores.")
    if line.strays:
        say(
            f"  {line.strays} submitted that match no form of this study."
            f" `{command('review', study, '--to', line.endpoint)}` lists them."
        )
    if line.compensations_due:
        say(f"  {counted(line.compensations_due, 'compensation')} not taken yet, as of the last collection.")
    if line.next_auto_approval:
        left = max(0.0, (line.next_auto_approval - now()).total_seconds() / 3600)
        say(
            f"  {line.endpoint} approves the first waiting one automatically in {left:.0f} hours:"
            f" {command('review', study, '--to', line.endpoint)}"
        )
    _say_waiting(line, study)


def _say_waiting(line: EndpointStatus, study: str) -> None:
    """Say what waits for `collect`, and what stops money."""
    collect = command("collect", study, "--to", line.endpoint)
    if line.not_collected:
        submitted = "" if line.endpoint == "link" else " submitted,"
        say(f"  {line.not_collected}{submitted} not collected yet: {collect}")
    if line.lost:
        say(
            f"  {line.lost} answered on our server, at HITs that {line.endpoint} does not have. To take them"
            f" in: {collect} --accept-lost"
        )
    elif line.answered and line.endpoint != "link":
        say(f"  {line.answered} answered on our server and not yet submitted.")
    if line.silent:
        say(f"  What is submitted at {line.endpoint} is not known: {line.silent}")
    figures = [each for each in line.hits_differ if each.what != GONE]
    tell_hits(figures, line.endpoint, "  ")
    if unaccepted(figures):
        say(
            f"  We approve and pay nothing before it is corrected at {line.endpoint}, or accepted: {collect}"
            " --accept-differences"
        )


def _say_books(books: Reconciled, endpoint: str) -> None:
    say(f"  Bonuses: ${books.bonuses} by our books, ${books.bonuses_there} by {endpoint}'s.")
    if books.bonuses_unlisted:
        say(f"  ${books.bonuses_unlisted} more by our books, for HITs that {endpoint} no longer knows.")
    if books.balance is not None:
        say(
            f"  Balance at {endpoint}: ${books.balance}; this study paid ${books.paid} and may still cost"
            f" ${books.held}."
        )
    if books.elsewhere:
        say(f"  ${books.elsewhere} more was paid elsewhere, by hand.")
    if books.others or books.others_held:
        say(
            f"  Other studies of this database paid ${books.others} at {endpoint} meanwhile, and may still"
            f" cost ${books.others_held}."
        )
    if books.left:
        moved = f"fell by ${books.left}" if books.left > 0 else f"rose by ${-books.left}"
        say(f"  Since its first HIT the balance {moved} that no study of this database explains.")
    if books.balance is not None and books.unexplained is None:
        say(
            "  The balance is not compared. That of a sandbox never moves, and a marketplace that lost the"
            " HITs forgot their cost."
        )
    if books.agree:
        say(f"  Our books and {endpoint}'s agree.")
    for difference in books.differences:
        say(f"  Differs: {difference}")


def _refuse_differing_books(books: Mapping[str, Reconciled], study: str) -> None:
    """Raise PartialError, after everything is said, if something in the books is not explained."""
    differ = [endpoint for endpoint, each in books.items() if not each.agree]
    if differ:
        collect = command("collect", study, "--to", differ[0])
        raise PartialError(
            f"our books differ from those of {' and '.join(differ)}",
            "Bring ours up to date. What then still differs, other people or programs did, or added to the"
            f" account: {collect}",
        )
