"""Invitations: a personal link for each person on a list, or one link with which anybody can register."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, update

from humaneval.csv_file import csv_rows, has_header, is_column_word
from humaneval.encodings import decode
from humaneval.errors import InputError, UsageError
from humaneval.limits import read_rows
from humaneval.market.protocol.addresses import check_site
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.security import LINK_PATH, Seals
from humaneval.market.tables.account import Account
from humaneval.market.tables.database import Mode, known_account, transaction
from humaneval.market.workers import Person, checked_name, find_named, pass_for, sign_up
from humaneval.market.workers import revoke_links as revoke
from humaneval.store.engine import in_turns, store_errors
from humaneval.store.types import now, table
from humaneval.text import command, listed

TOGETHER = 100
"""How many people are registered, or their links revoked, between two commits."""


class Names(NamedTuple):
    """Names of people, and what there is to say about the file that they came from."""

    people: list[str]
    notes: tuple[str, ...] = ()


def read_names(given: Sequence[str], file: Path | None) -> Names:
    """The names in `given`, then those in `file`, which has one on each line and may have empty lines.

    A heading such as `name` above them is no person. Raises UsageError for a name that is empty: with no name
    at all, everybody would be invited. Raises InputError for a file that is not text, or has several columns.
    """
    listed, notes = _listed(file) if file is not None else ([], [])
    people = [*given, *filter(None, listed)]
    if not all(name.strip() for name in people):
        raise UsageError("a name is empty or has only spaces", "No link was printed or revoked.")
    if file is not None and not any(listed):
        raise UsageError(f"{file} has no names", "Write one name on each line.")
    return Names(people, tuple(notes))


def _listed(file: Path) -> tuple[list[str], list[str]]:
    decoded = decode(read_rows(file), str(file), what="a list of names")
    lines = decoded.text.splitlines()
    notes = [f"{file}: {decoded.note}"] if decoded.guessed else []
    rows = csv_rows(decoded.text, str(file)).rows if '"' not in decoded.text else []
    widths = {len(row) for row in rows}
    if len(widths) == 1 and len(rows[0]) > 1 and has_header(rows) is not None:
        raise InputError(
            f"{file} has {len(rows[0])} columns", "Give a file with names only, one on each line."
        )
    first = next((place for place, line in enumerate(lines) if line.strip()), None)
    if first is not None and is_column_word(lines[first]):
        notes.append(f"{file}: its first line, {lines[first].strip()}, is read as a heading, not as a person")
        del lines[first]
    return lines, notes


def personal_links(engine: Engine, names: Iterable[str], public_url: str) -> dict[str, str]:
    """A personal link for each name. New names are registered, `TOGETHER` of them between two commits.

    Raises UsageError for a name that is not valid, or that somebody registered: they have that link already.
    Then nobody is registered. Raises SettingsError if `public_url` is not a whole site.
    """
    check_site(public_url)
    mode, seals = _account(engine)
    with store_errors(engine):
        try:
            people = [checked_name(name) for name in names]
        except NotPossibleError as error:
            raise UsageError(error.message, "Nobody was invited.") from None
        with transaction(engine, mode, now, writes=False) as work:
            _refuse_registered(engine, filter(None, (find_named(work, name) for name in people)))
        workers: list[Person] = []
        for some in in_turns(people, TOGETHER):
            with transaction(engine, mode, now, writes=True) as work:
                added = [sign_up(work, name, "") for name in some]
                _refuse_registered(engine, added)  # meanwhile
            workers += added
    site = f"{public_url.rstrip('/')}{LINK_PATH}"
    return {worker.name: f"{site}{seals.link_token(pass_for(worker))}" for worker in workers}


def _refuse_registered(engine: Engine, people: Iterable[Person]) -> None:
    if taken := [worker.name for worker in people if worker.registered]:
        again = command("market", "invite", "--revoke", *taken, "--database", engine.url.database)
        raise UsageError(
            f"somebody has registered as {listed(taken)}, and has the link that you would give away",
            "Nobody was invited. Choose another name. Or sign out whoever registered, and invite again:"
            f" {again}",
        )


def revoke_links(engine: Engine, names: Iterable[str]) -> list[str]:
    """Make the links of these people invalid, and sign out everyone who used one. Returns the names.

    Their work and qualifications stay, and so does work in hand. Raises UsageError if there is no such
    person; then nothing is revoked. After a kill, running it again revokes what is left.
    """
    mode = _account(engine).mode
    with store_errors(engine):
        found: dict[str, Person] = {}
        with transaction(engine, mode, now, writes=False) as work:
            for name in names:
                worker = find_named(work, name)
                if worker is None:
                    raise UsageError(f"there is nobody named {name!r}", "No link was revoked.")
                found[worker.name] = worker
        for some in in_turns(found.values(), TOGETHER):
            with transaction(engine, mode, now, writes=True) as work:
                for worker in some:
                    revoke(work, worker)
    return list(found)


def invitation(engine: Engine, public_url: str) -> str:
    """The link with which anybody can register under a free name. Raises SettingsError as above."""
    check_site(public_url)
    account = known_account(engine)
    token = Seals(account.signing_key).invitation(account.invitations_revoked)
    return f"{public_url.rstrip('/')}/signin?invitation={token}"


def revoke_invitation(engine: Engine) -> None:
    """Make the link invalid with which anybody can register. People who have registered keep their own."""
    mode = _account(engine).mode
    with store_errors(engine), transaction(engine, mode, now, writes=True) as work:
        account = table(Account)
        more = {"invitations_revoked": account.c.invitations_revoked + 1}
        work.connection.execute(update(account).values(more))


class _Account(NamedTuple):
    mode: Mode
    seals: Seals


def _account(engine: Engine) -> _Account:
    account = known_account(engine)
    return _Account(Mode(account.mode), Seals(account.signing_key))
