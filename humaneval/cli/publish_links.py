"""`publish --to link`: an open link, personal links, or a panel's."""

from __future__ import annotations

from pathlib import Path

from humaneval.cli.output_files import write_whole
from humaneval.cli.run import App, emit, say
from humaneval.errors import UsageError


def publish_links(
    app: App,
    study: str,
    people: Path | None,
    out: Path | None,
    panel: bool,
    places: int | None,
    *,
    top_up: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make the links of STUDY that are not there yet and print them, or write them beside a list of
    people."""
    from humaneval.crowd import publish as publishing
    from humaneval.crowd.addresses import links_of
    from humaneval.crowd.link import open_invitation, panel_invitation, read_people
    from humaneval.crowd.pseudonyms import stored_secret
    from humaneval.store.engine import writing
    from humaneval.study.stored import row_count

    if (people is None) != (out is None):
        raise UsageError("--people and --out go together", "--people people.csv --out links.csv")
    if people and (panel or places):
        raise UsageError("--people is for one person a line", "Leave --panel and --places out.")
    if people and out and (people.resolve() == out.resolve() or not out.absolute().parent.is_dir()):
        raise UsageError(f"{out} cannot be written", "--out names a new file in a folder that is there.")
    rows = row_count(app.engine, study)
    listed = read_people(people) if people else None
    if listed is not None:
        with writing(app.engine) as session:
            invitations = listed.invitations(stored_secret(session, "pseudonym key"))
        if len(invitations) > rows:
            say(f"{len(invitations)} people for {rows} forms: who comes last finds them all taken.", err=True)
    else:
        invitations = [(panel_invitation if panel else open_invitation)(places)]
    platform = app.platform("link", study)
    plan = publishing.plan(
        app.engine, study, platform, invitations=invitations, top_up=top_up, dry_run=dry_run
    )
    if plan.lost_rows:
        say(
            f"{plan.lost_rows} rows were lost to excluded annotators; --top-up hands them out again.",
            err=True,
        )
    if dry_run:
        summary = {
            "endpoint": "link",
            "hits": plan.hits,
            "assignments": plan.assignments,
            "already_up": plan.already_up,
            "lost_rows": plan.lost_rows,
        }
        (
            emit(summary)
            if as_json
            else say(
                f"link: {plan.hits} links for {plan.assignments} people to make, {plan.already_up} made"
                " already."
            )
        )
        return
    result = publishing.publish(app.engine, study, platform, public_url=app.settings.public_url)
    links = links_of(app.engine, study, platform.endpoint, invitations)
    if listed is not None and out is not None:
        write_whole(out, listed.with_links(links).encode("utf-8-sig"))
    if as_json:
        emit(
            {
                "endpoint": "link",
                "made": result.made,
                "already_up": result.already_up,
                "lost_rows": plan.lost_rows,
                "links": [panel_address(app, study, links[0])] if panel else links,
                "out": str(out) if out else None,
            }
        )
        return
    say(f"{result.made} links made, {result.already_up} were there already.")
    if listed is not None:
        say(f"{len(links)} people with their links: {out}")
    elif panel:
        say(f"Give the panel this address, with its own placeholders: {panel_address(app, study, links[0])}")
    else:
        say(f"Anyone can take part at {links[0]}")
    say(f"The forms must be served at {app.settings.public_url}: humaneval serve")


def panel_address(
    app: App, study: str, link: str, ids: tuple[str, str] = ("{{%PROLIFIC_PID%}}", "{{%SESSION_ID%}}")
) -> str:
    """The link with the study's parameters; the values are Prolific's placeholders unless others are
    given."""
    from humaneval.study.stored import settings_of_study

    settings = settings_of_study(app.engine, study).link
    names = [name for name in (settings.worker_parameter, settings.session_parameter) if name]
    return link + "?" + "&".join(f"{name}={value}" for name, value in zip(names, ids, strict=False))
