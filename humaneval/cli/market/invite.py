"""`humaneval market invite`: links by which workers sign in or register."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.market.options import database_option, existing_market
from humaneval.market.panel.invitations import (
    invitation,
    personal_links,
    read_names,
    revoke_invitation,
    revoke_links,
)
from humaneval.market.tables.database import known_account
from humaneval.text import command


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="File with one name on each line.",
)
@click.option(
    "--public-url",
    help="Address at which workers reach the marketplace. [default: `market_site`, else where it was last"
    " served]",
)
@click.option(
    "--revoke",
    is_flag=True,
    help="Make the links of these people invalid instead, and sign out everyone who used one; without names,"
    " the link with which anybody can register.",
)
@database_option
@json_option
@with_app
def invite(
    app: App,
    names: tuple[str, ...],
    file: Path | None,
    public_url: str | None,
    revoke: bool,
    database: str,
    as_json: bool,
) -> None:
    """Print links with which workers sign in or register.

    Prints a personal link for each of NAMES; without names, one link with which anybody can register.

    Anyone who has a personal link can work under that name: send each link to one person only. A name keeps
    its link until the link is revoked, and then gets a new one. The person's work and earnings stay theirs.
    """
    with existing_market(database) as engine:
        people, notes = read_names(names, file)
        for note in notes:
            say(f"Note: {note}.", err=True)
        if revoke:
            if people:
                _say_revoked(revoke_links(engine, people), as_json=as_json)
            else:
                revoke_invitation(engine)
                _say_invitation_revoked(database, as_json=as_json)
            return
        settings = app.settings
        where = public_url or settings.market_site or known_account(engine).public_url or settings.market_url
        links = personal_links(engine, people, where) if people else {"": invitation(engine, where)}
    if as_json:
        emit({"links": links} if people else {"invitation": links[""]})
        return
    for name, link in links.items():
        say(f"{name}\t{link}" if name else link)


def _say_invitation_revoked(database: str, *, as_json: bool) -> None:
    if as_json:
        emit({"revoked": [], "invitation_revoked": True})
        return
    say("The link with which anybody could register is no longer valid.")
    say("Links of people stay. To revoke one, name the person.")
    say(f"For another link to register: {command('market', 'invite', '--database', database)}")


def _say_revoked(names: list[str], *, as_json: bool) -> None:
    if as_json:
        emit({"revoked": names})
        return
    for name in names:
        say(f"{name}: the link is no longer valid.")
