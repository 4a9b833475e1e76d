"""`publish`: put a study up. Run again after a kill it goes on; run again when done it does nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from humaneval.cli.publish_links import publish_links
from humaneval.cli.run import App, acting, confirm_spending, emit, say, spending, to_option
from humaneval.errors import UsageError


@click.command()
@click.argument("study")
@to_option
@click.option(
    "--static", is_flag=True, help="Let the platform show the page itself (HTMLQuestion): one HIT a row."
)
@click.option(
    "--top-up",
    is_flag=True,
    help='Hand the rows of excluded annotators out again, where the study says top_up = "ask".',
)
@click.option(
    "--people",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --to link: a CSV with one line a person; each gets a link of their own.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --people: where to write the list with its links.",
)
@click.option("--panel", is_flag=True, help="With --to link: a link to which a panel adds its own ids.")
@click.option(
    "--places",
    type=click.IntRange(min=1),
    help=(
        "With --to link: for how many. [default: as many as it has; a new link as many as the study has rows]"
    ),
)
@spending
@acting
def publish(
    app: App,
    study: str,
    endpoint: str,
    static: bool,
    top_up: bool,
    people: Path | None,
    out: Path | None,
    panel: bool,
    places: int | None,
    live: bool,
    spend: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Publish STUDY as HITs of at most 9 assignments each, below the platform's higher fee; or as links.

    By link (--to link) people come to our own form server: an open link for anybody, a personal one for each
    line of --people, or one for a panel that adds its ids to the address.
    """
    if endpoint == "link":
        if static or live or spend:
            raise UsageError("--static, --live and --spend are not for links")
        publish_links(app, study, people, out, panel, places, top_up=top_up, dry_run=dry_run, as_json=as_json)
        return
    if people or out or panel or places:
        raise UsageError("--people, --out, --panel and --places go with --to link")
    from humaneval.crowd import publish as publishing
    from humaneval.crowd.endpoints import require_public_https
    from humaneval.progress import progress

    platform = app.platform(endpoint, study)
    if not static:
        require_public_https(platform.endpoint, app.settings)
    # What an interrupted run has put up is neither to be made nor to be paid for again.
    found_again = 0 if dry_run else publishing.adopt(app.engine, study, platform)
    plan = publishing.plan(app.engine, study, platform, static=static, top_up=top_up, dry_run=dry_run)
    if plan.lost_rows and not (dry_run or as_json) and sys.stdin.isatty():
        question = (
            f"{plan.lost_rows} rows were lost to excluded annotators. Hand them out again at {endpoint}?"
        )
        if click.confirm(question, err=True):
            plan = publishing.plan(app.engine, study, platform, static=static, top_up=True)
    cost = plan.cost
    if not as_json:
        say(
            f"{endpoint}: {plan.hits} HITs with {plan.assignments} assignments to put up, {plan.already_up}"
            " up already."
        )
        if plan.lost_rows:
            say(f"{plan.lost_rows} rows were lost to excluded annotators; --top-up hands them out again.")
        say(f"Cost if all are approved: ${cost.rewards} rewards + ${cost.fees} fees = ${cost.total}.")
        if plan.fees_unsplit > cost.fees:
            say(
                f"In HITs of 10 assignments or more the fees would be ${plan.fees_unsplit}: so it is split,"
                " at most 9 to a HIT."
            )
        say(
            f"Pay: ${plan.hourly} an hour for who takes the {plan.expected_minutes:g} minutes that you"
            " expect."
        )
    if dry_run:
        if as_json:
            emit(
                {
                    "endpoint": endpoint,
                    "hits": plan.hits,
                    "assignments": plan.assignments,
                    "already_up": plan.already_up,
                    "lost_rows": plan.lost_rows,
                    "cost": str(cost.total),
                    "rewards": str(cost.rewards),
                    "fees": str(cost.fees),
                    "fees_unsplit": str(plan.fees_unsplit),
                    "hourly": str(plan.hourly),
                }
            )
        return
    if plan.hits:
        confirm_spending(platform.endpoint.spends_money, endpoint, cost.total, live=live, spend=spend)
    with progress(f"Publishing to {endpoint}", plan.hits, unit="HITs") as advance:
        result = publishing.publish(
            app.engine, study, platform, public_url=app.settings.public_url, keys=plan.keys, advance=advance
        )
    if as_json:
        emit(
            {
                "endpoint": endpoint,
                "made": result.made,
                "adopted": found_again + result.adopted,
                "already_up": result.already_up - found_again,
                "lost_rows": plan.lost_rows,
                "assignments": result.assignments,
                "cost": str(cost.total),
                "preview_urls": list(result.preview_urls),
            }
        )
        return
    adopted = f", {found_again} found again after an interrupted run" if found_again else ""
    say(f"Published {result.made} HITs at {endpoint}{adopted}.")
    for url in result.preview_urls:
        say(f"Workers find it at {url}")
    if static:
        say(
            "Only `collect` keeps one person from taking several of these static HITs: run it often while"
            " they are up."
        )
    if not static and endpoint == "local":
        say(f"The forms must be served at {app.settings.public_url}: humaneval serve")
