"""`status`: the progress of a study, and what it has cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, simulated_line, with_app
from humaneval.cli.panel_list import tell_panel_list
from humaneval.crowd.advice import Line, next_steps, progress_lines, unpublished
from humaneval.crowd.publish import leads_elsewhere
from humaneval.crowd.published_hits import published_at
from humaneval.crowd.reconcile import Reconciled, reconcile
from humaneval.crowd.status import study_status
from humaneval.crowd.uncollected import ask
from humaneval.errors import PartialError
from humaneval.fees import NO_FEES
from humaneval.store.types import now
from humaneval.study.stored import is_simulated, put_up, who_answered
from humaneval.text import command


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
@click.option(
    "--panel-list",
    "panel_list",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=(
        "Compare a panel's own list of people, a CSV file, with the answers that came by its link. Exit code"
        " 3 if they differ."
    ),
)
@json_option
@with_app
def status(app: App, study: str, with_books: bool, panel_list: Path | None, as_json: bool) -> None:
    """Show how far STUDY is, and what it has cost.

    There is a line for each endpoint: how many forms are submitted and usable, and when the rest will be.

    "About done at" estimates when the rest will be submitted, at the rate since the first submitted form was
    opened. It is shown from three submissions on, while forms are missing and can still come.

    If answers wait to be collected, the marketplace is asked what is submitted there, and whether the HITs
    are as planned.
    """
    opened = app.study(study)
    if panel_list is not None:
        tell_panel_list(app.at("link", opened), panel_list, as_json=as_json)
        return
    up = {name: app.at(name, opened) for name in published_at(opened)}
    there = {name: ask(at) for name, at in up.items()}
    lines, simulated = study_status(opened, there=there), is_simulated(opened)
    books = {line.endpoint: reconcile(app.at(line.endpoint, opened)) for line in lines if with_books}
    said = {line.endpoint: list(progress_lines(line, study, now())) for line in lines}
    for line in lines:
        open_yet = line.hits_up and line.submitted < line.planned
        if open_yet and (moved := leads_elsewhere(up[line.endpoint], app.settings.public_url)):
            again = ", or handed out again" if line.endpoint == "link" else ""
            must = f"S{moved[1:]}, so they must be served there{again}."
            said[line.endpoint].insert(1, Line(must, waits=True))
    told = [each for of_endpoint in said.values() for each in of_endpoint] or [
        unpublished(study, put_up(opened))
    ]
    steps = next_steps(study, lines, told, app.started_by(study))
    if as_json:
        emit(
            {
                "study": study,
                "simulated": simulated,
                "next": steps.first,
                "also": list(steps.others),
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
        say(told[0].fact)
    for line in lines:
        for number, each in enumerate(said[line.endpoint]):
            say(f"{'  ' if number else ''}{each.fact}")
        if line.endpoint in books:
            _say_books(books[line.endpoint], line.endpoint, line.sign)
    _refuse_differing_books(books, study)  # its hint says what to do first
    for step in steps.lines:
        say(step)


def _say_books(books: Reconciled, endpoint: str, sign: str) -> None:
    own = endpoint in NO_FEES
    paid, cost = ("used", "use") if own else ("paid", "cost")
    say(f"  Bonuses: {sign}{books.bonuses} by our books, {sign}{books.bonuses_there} by {endpoint}'s.")
    if books.bonuses_unlisted:
        say(f"  {sign}{books.bonuses_unlisted} more by our books, for HITs that {endpoint} no longer has.")
    if books.balance is not None:
        say(
            f"  Balance at {endpoint}: {sign}{books.balance}; this study {paid} {sign}{books.paid} and may"
            f" still {cost} {sign}{books.held}."
        )
    if books.elsewhere:
        say(f"  {sign}{books.elsewhere} more was paid elsewhere, by hand.")
    if books.others or books.others_held:
        say(
            f"  Other studies of this database {paid} {sign}{books.others} at {endpoint} meanwhile, and may"
            f" still {cost} {sign}{books.others_held}."
        )
    if own and books.balance is not None:
        say("  This balance is play money, with fees as Mechanical Turk took them. Nobody pays it.")
    if books.left:
        moved = f"fell by {sign}{books.left}" if books.left > 0 else f"rose by {sign}{-books.left}"
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
            "Bring ours up to date. A bonus that only the platform has is entered by the same bonus command"
            " again. What then still differs, other people or programs did, or added to the account:"
            f" {collect}",
        )
