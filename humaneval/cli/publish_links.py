"""`publish --to link`: an open link, personal links, or a panel's link."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
from sqlalchemy import select

from humaneval.cli.context import RunOptions, emit, say
from humaneval.cli.output_files import refuse_place, write_whole
from humaneval.crowd.link import (
    Invitation,
    Link,
    People,
    open_invitation,
    panel_address,
    panel_invitation,
    read_people,
)
from humaneval.crowd.panels import require_secret
from humaneval.crowd.publish import PublishResult, moved_links, publish_hits
from humaneval.crowd.publish_plan import PublishPlan, plan_hits
from humaneval.crowd.published_hits import go_on_command, hits_of, links_of
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY
from humaneval.store.meta import stored_secret
from humaneval.store.responses import rows_in
from humaneval.store.tables import HitRow
from humaneval.study.panels import names_a_person, notes_of, placeholders
from humaneval.study.stored import Study
from humaneval.text import command, counted


class LinkOptions(NamedTuple):
    """What `publish --to link` takes beside the other options."""

    people: Path | None
    out: Path | None
    panel: bool
    places: int | None


def publish_links(
    at: StudyAtPlatform, public_url: str, links: LinkOptions, options: RunOptions, *, top_up: bool
) -> None:
    """Make the links of a study that do not exist yet. Print them, or write them beside a list of people."""
    _refuse_together(links)
    keys = _keys(at) if links.out is not None else ()
    if links.out is not None:
        refuse_place(links.out, keys)
    if links.panel and isinstance(at.platform, Link):
        require_secret(at.settings, at.platform.panel_secret)
    _refuse_open_link(at, links)
    listed = _read(links.people) if links.people else None
    invitations = _invitations(at.study, links, listed)
    plan = plan_hits(at, invitations=invitations, top_up=top_up, dry_run=options.dry_run)
    if plan.lost_rows:
        say(
            f"{counted(plan.lost_rows, 'form', 'was', 'were')} lost to excluded annotators; --top-up hands"
            " them out again.",
            err=True,
        )
    if at.settings.participants.exclude_studies and not links.panel:
        say(
            "Note: exclude_studies keeps out people whom a panel names by the same id. Nobody of an open or a"
            " personal link is known in another study.",
            err=True,
        )
    if not links.panel and (at.settings.link.postback_url or names_a_person(at.settings)):
        say(
            "Note: the panel did not send the people of this link. It learns nothing about them, and they get"
            " no code or address of it. For the panel's people: --panel",
            err=True,
        )
    if options.dry_run:
        _tell_plan(plan, options)
        return
    result = publish_hits(at, public_url=public_url)
    if moved := moved_links(at, public_url, invitations):
        say(f"Note: {moved}. Whoever has them may find no form there: hand these out instead.", err=True)
    made = links_of(at.study, at.platform.endpoint, invitations)
    if listed is not None and links.out is not None:
        write_whole(links.out, listed.with_links(made).encode("utf-8-sig"), private=True, links=keys)
    if links.panel:
        made = [panel_address(at.settings, made[0])]
    if options.as_json:
        emit(
            {
                "endpoint": "link",
                "made": result.made,
                "already_up": result.already_up,
                "lost_rows": plan.lost_rows,
                "links": made,
                "out": str(links.out) if links.out else None,
                **({"notes": list(notes_of(at.settings.link))} if links.panel else {}),
            }
        )
        return
    _tell_result(result, links, made)
    if links.panel:
        _tell_panel(at)
    say(f"The forms must be served at {public_url}: {command('serve')}")


def _keys(at: StudyAtPlatform) -> Sequence[str]:
    """What tells the study's own links."""
    of_study = (HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
    with reading(at.engine) as session:
        return session.scalars(select(HitRow.key).where(*of_study)).all()


def _read(file: Path) -> People:
    """The list of people. Asks at a terminal whether its first line names columns, if that cannot be told.
    Raises UsageError if there is no terminal."""

    def ask(first: Sequence[str]) -> bool:
        told = ", ".join(first)[:200]
        if not sys.stdin.isatty():
            raise UsageError(
                f"{file} may lack a line of column names: its first line is {told}",
                "Write one above the people, for example: name",
            )
        return click.confirm(
            f"The first line of {file} is: {told}\nDoes it name the columns? (No: it is a person.)", err=True
        )

    people = read_people(file, ask)
    for note in people.notes:
        say(f"Note: {note}.", err=True)
    return people


def _refuse_together(links: LinkOptions) -> None:
    """Raise UsageError if the options do not go together, or the list cannot be written."""
    people, out = links.people, links.out
    if (people is None) != (out is None):
        raise UsageError("--people and --out go together", "--people people.csv --out links.csv")
    if people and (links.panel or links.places):
        raise UsageError("--people is for one person a line", "Leave --panel and --places out.")
    if (
        people
        and out
        and (people.resolve() == out.resolve() or out.is_dir() or not out.absolute().parent.is_dir())
    ):
        raise UsageError(f"{out} cannot be written", "Name a new file in an existing folder with --out.")


def _refuse_open_link(at: StudyAtPlatform, links: LinkOptions) -> None:
    """Raise UsageError if the study has links for certain people alone, and these options name none: who only
    wants to go on would open it to everybody."""
    if links.people or links.panel or links.places:
        return
    with reading(at.engine) as session:
        there = [hit.audience for hit in hits_of(session, at.study, at.endpoint)]
    if "open" not in there and not {"personal", "panel"}.isdisjoint(there):
        raise UsageError(
            f"study {at.name!r} has links for certain people alone, and this would open it to everybody",
            f"To go on with them: {go_on_command(at.name, at.endpoint, there[-1])}. For an open link as"
            f" well: {command('publish', at.name, '--to', at.endpoint, '--places', 'NUMBER')}",
        )


def _invitations(study: Study, links: LinkOptions, listed: People | None) -> list[Invitation]:
    if listed is None:
        with reading(study.engine) as session:
            rows = rows_in(session, study.id)
        if links.places and links.places > rows:
            places = counted(links.places, "place")
            say(f"{places} for {counted(rows, 'form')}: the last to come find no form left.", err=True)
        return [panel_invitation(links.places) if links.panel else open_invitation(links.places)]
    with reading(study.engine) as session:
        rows = rows_in(session, study.id)
    with writing(study.engine) as session:
        invitations = listed.invitations(stored_secret(session, PSEUDONYM_KEY))
    if len(invitations) > rows:
        people = counted(len(invitations), "person", plural="people")
        say(f"{people} for {counted(rows, 'form')}: the last to come find no form left.", err=True)
    return invitations


def _tell_plan(plan: PublishPlan, options: RunOptions) -> None:
    if options.as_json:
        emit(
            {
                "endpoint": "link",
                "hits": plan.hits,
                "assignments": plan.assignments,
                "already_up": plan.already_up,
                "lost_rows": plan.lost_rows,
            }
        )
    else:
        links, people = counted(plan.hits, "link"), counted(plan.assignments, "person", plural="people")
        say(f"link: {links} for {people} to make, {plan.already_up:,} made already.")


def _tell_panel(at: StudyAtPlatform) -> None:
    """What the panel is to know beside the address, and what nobody has verified of it."""
    link = at.settings.link
    if link.completion_code and not placeholders(link.completion_code):
        say(f"The completion code is the same for everybody and proves nothing: {link.completion_code}")
    for note in notes_of(link):
        say(f"Note: {note}", err=True)


def _tell_result(result: PublishResult, links: LinkOptions, made: Sequence[str]) -> None:
    there = f"{result.already_up:,} {'was' if result.already_up == 1 else 'were'} there already"
    say(f"{counted(result.made, 'link')} made, {there}.")
    if links.out is not None:
        people = counted(len(made), "person", "with a link", "with their links", plural="people")
        say(f"{people}: {links.out}")
    elif links.panel:
        say(f"Give the panel this address: {made[0]}")
    else:
        say(f"Anyone can take part at {made[0]}")
