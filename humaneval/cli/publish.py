"""`publish`: put a study up. After a kill, run it again and it continues; once done, it does nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from humaneval.cli.context import ENDPOINTS, App, RunOptions, acting, confirm_spending, emit, say, spending
from humaneval.cli.numbers import COUNT
from humaneval.cli.output_files import NamedPath
from humaneval.cli.publish_files import publish_files
from humaneval.cli.publish_links import LinkOptions, publish_links
from humaneval.crowd.adopt import adopt
from humaneval.crowd.endpoints import require_public_https
from humaneval.crowd.plan_differences import look
from humaneval.crowd.prolific.advice import account_lines
from humaneval.crowd.publish import PublishResult, publish_hits, refuse_moved
from humaneval.crowd.publish_plan import PublishPlan, plan_hits
from humaneval.crowd.published_hits import refuse_elsewhere, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import refuse_differing
from humaneval.errors import UsageError
from humaneval.fees import NO_FEES
from humaneval.progress import progress
from humaneval.running.addresses import are_served
from humaneval.text import command, counted
from humaneval.web.requester import token_of


@click.command()
@click.argument("study")
@click.option(
    "--to",
    "endpoint",
    type=ENDPOINTS,
    default="local",
    show_default=True,
    help="Platform: a marketplace, Prolific, links or files.",
)
@click.option(
    "--static",
    is_flag=True,
    help="Let the platform show the page itself (HTMLQuestion): one HIT for each form.",
)
@click.option(
    "--top-up",
    is_flag=True,
    help='Hand out the forms of excluded annotators again, if the study says top_up = "ask".',
)
@click.option(
    "--people",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --to link: CSV file with one person on each line. Each of them gets a personal link.",
)
@click.option(
    "--out",
    type=NamedPath(),
    help="With --people: file to write the list with its links to. With --to csv: folder for the files.",
)
@click.option("--panel", is_flag=True, help="With --to link: make a link to which a panel adds its own ids.")
@click.option(
    "--places",
    type=COUNT,
    help=(
        "With --to link: number of people that the link takes."
        " [default: as before; for a new link the number of the study's forms]"
    ),
)
@spending
@acting
def publish(
    app: App,
    options: RunOptions,
    study: str,
    endpoint: str,
    static: bool,
    top_up: bool,
    people: Path | None,
    out: Path | None,
    panel: bool,
    places: int | None,
) -> None:
    """Publish STUDY as HITs, as links to our own forms, or as files for a batch.

    A HIT has at most 9 assignments: from ten on, the platform takes a higher fee.

    With --to csv, two files are written for a site that makes batches from them, as Mechanical Turk's
    requester pages did. They are the layout of the page, and a table with one line for each form.

    With --to prolific, STUDY becomes one study there, with a place for each form. It is made as a draft,
    compared with the plan, and then published. For more forms it gets more places.

    With --to link, people come to our own form server. The link is open to anybody, or personal for each line
    of --people, or for a panel that adds its ids to the address.
    """
    links = LinkOptions(people, out, panel, places)
    _refuse_options(endpoint, links, options, static)
    at = app.study_at(endpoint, study)
    if endpoint == "link":
        publish_links(at, app.settings.public_url, links, options, top_up=top_up)
    elif endpoint == "csv":
        publish_files(at, app.settings.public_url, out, options, top_up=top_up)
    else:
        _publish_hits(app, at, options, static=static, top_up=top_up)


def _refuse_options(endpoint: str, links: LinkOptions, options: RunOptions, static: bool) -> None:
    """Raise UsageError for options that have no meaning at this endpoint."""
    money = options.live or options.spend
    if endpoint == "link" and (static or money):
        raise UsageError("--static, --live and --spend are not for links")
    if endpoint == "csv" and money:
        raise UsageError("--live and --spend are not for files")
    by_link = links.people or links.panel or links.places or (links.out and endpoint != "csv")
    if by_link and endpoint != "link":
        raise UsageError("--people, --out, --panel and --places go with --to link")


def _publish_hits(app: App, at: StudyAtPlatform, options: RunOptions, *, static: bool, top_up: bool) -> None:
    if not static:
        require_public_https(at.platform.endpoint, app.settings)
    # HITs that an interrupted run put up are neither made nor paid for again.
    refuse_elsewhere(at)
    refuse_moved(at, app.settings.public_url)
    found_again = 0 if options.dry_run else adopt(at)
    look(at, up(at.study, at.endpoint))
    # Nothing is stored before somebody has agreed to the sum.
    ask = options.dry_run or options.spend is not None or at.platform.endpoint.spends_money
    plan, top_up = _plan(at, options, static, top_up, dry_run=ask)
    if ask:
        if not options.as_json:
            _tell_plan(at, plan)
        if options.dry_run:
            if options.as_json:
                emit(_plan_document(at, plan))
            return
        if plan.keys:
            confirm_spending(at.platform.endpoint, plan.cost.total, options)
        agreed, plan = plan.cost.total, plan_hits(at, static=static, top_up=top_up)
    if plan.hits and (older := adopt(at)):
        # An older copy of the database was put back. Nobody pays for these again.
        found_again += older
        look(at, up(at.study, at.endpoint))
        plan = plan_hits(at, static=static)
    if not ask and not options.as_json:
        _tell_plan(at, plan)
    if ask and plan.cost.total > agreed:
        raise UsageError(
            f"meanwhile this costs {at.sign}{plan.cost.total}", "Nothing was sent. Run it again."
        )
    with progress(f"Publishing to {at.endpoint}", plan.hits, unit="HITs") as advance:
        result = publish_hits(at, public_url=app.settings.public_url, keys=plan.keys, advance=advance)
    if options.as_json:
        emit(_result_document(at, plan, result, found_again))
        refuse_differing(at, result.differences)
        return
    _tell_result(at, result, found_again)
    refuse_differing(at, result.differences)
    if static:
        say(
            f"Only `{command('collect', at.name, '--to', at.endpoint)}` keeps one person from taking several"
            " of these static HITs: run it often while they are up."
        )
    elif at.endpoint == "local":
        starts = app.started_by(at.name)
        where = app.settings.public_url
        say(
            f"The forms are served at {where} now. `{starts}` shows how far the study is."
            if starts and are_served(app.loaded, token_of(app.engine))
            else f"The forms are served at {where}, and answers collected, while this runs for any study of"
            f" the database: {starts}"
            if starts
            else f"The forms must be served at {where}: {command('serve')}"
        )


def _plan(
    at: StudyAtPlatform, options: RunOptions, static: bool, top_up: bool, *, dry_run: bool
) -> tuple[PublishPlan, bool]:
    """The plan, and whether lost rows are handed out again; at a terminal somebody is asked."""
    plan = plan_hits(at, static=static, top_up=top_up, dry_run=dry_run)
    if not plan.lost_rows or options.dry_run or options.as_json or not sys.stdin.isatty():
        return plan, top_up
    question = (
        f"{counted(plan.lost_rows, 'form', 'was', 'were')} lost to excluded annotators. Hand them out again"
        f" at {at.endpoint}?"
    )
    if not click.confirm(question, err=True):
        return plan, top_up
    return plan_hits(at, static=static, top_up=True, dry_run=dry_run), True


def _tell_plan(at: StudyAtPlatform, plan: PublishPlan) -> None:
    cost, sign = plan.cost, at.sign
    new = f"{counted(plan.hits, 'HIT')} with {counted(plan.assignments - plan.more_places, 'assignment')}"
    say(f"{at.endpoint}: {new} to put up, {plan.already_up:,} up already.")
    if plan.more_places:
        say(f"{counted(plan.more_places, 'place')} more at the HITs that are up.")
    if plan.gone:
        accept = command("collect", at.name, "--to", at.endpoint, "--accept-lost")
        say(
            f"{at.endpoint} no longer has {counted(plan.gone, 'HIT')} of this study. What our server has of"
            f" their work can be taken in: {accept}"
        )
    if plan.lost_rows:
        lost = counted(plan.lost_rows, "form", "was", "were")
        say(f"{lost} lost to excluded annotators; --top-up hands them out again.")
    what = f"{sign}{cost.rewards} rewards + {sign}{cost.fees} fees"
    if at.endpoint in NO_FEES:
        say(f"You owe people {sign}{cost.rewards} if all are approved. Nobody takes fees.")
    else:
        say(f"Cost if all are approved: {what} = {sign}{cost.total}.")
    for line in account_lines(at.platform, plan.hourly, sign):
        say(line)
    if plan.fees_unsplit > cost.fees and at.endpoint not in NO_FEES:
        say(
            f"In HITs of 10 assignments or more the fees would be {sign}{plan.fees_unsplit}, so each HIT"
            " has at most 9."
        )
    say(
        f"Pay: {sign}{plan.hourly} an hour for an annotator who takes the {plan.expected_minutes:g} minutes"
        " that you expect."
    )


def _plan_document(at: StudyAtPlatform, plan: PublishPlan) -> dict[str, object]:
    return {
        "endpoint": at.endpoint,
        "hits": plan.hits,
        "assignments": plan.assignments,
        "already_up": plan.already_up,
        "gone": plan.gone,
        "lost_rows": plan.lost_rows,
        "more_places": plan.more_places,
        "cost": str(plan.cost.total),
        "rewards": str(plan.cost.rewards),
        "fees": str(plan.cost.fees),
        "fees_unsplit": str(plan.fees_unsplit),
        "hourly": str(plan.hourly),
    }


def _result_document(
    at: StudyAtPlatform, plan: PublishPlan, result: PublishResult, found_again: int
) -> dict[str, object]:
    return {
        "endpoint": at.endpoint,
        "made": result.made,
        "adopted": found_again + result.adopted,
        "already_up": result.already_up - found_again,
        "lost_rows": plan.lost_rows,
        "assignments": result.assignments,
        "cost": str(plan.cost.total),
        "preview_urls": list(result.preview_urls),
        "hits_differ": [each._asdict() for each in result.differences],
    }


def _tell_result(at: StudyAtPlatform, result: PublishResult, found_again: int) -> None:
    adopted = f", {found_again} found again that the database did not know" if found_again else ""
    say(f"Published {counted(result.made, 'HIT')} at {at.endpoint}{adopted}.")
    for url in result.preview_urls:
        say(f"For annotators: {url}")
