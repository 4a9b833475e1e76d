"""The marketplace and the form server in threads of this program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine

from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import StoreError
from humaneval.infills.free_text import alone, found_offers
from humaneval.market import MarketServer, Mode, open_market
from humaneval.market.keys import read_pairs
from humaneval.market.panel.invitations import invitation
from humaneval.market.serving import is_local
from humaneval.market.tables.database import known_account
from humaneval.running.listening import HERE
from humaneval.settings import Settings
from humaneval.web.app import create_app, running
from humaneval.web.exclude import Excluder
from humaneval.web.hits_in_hand import Asker
from humaneval.web.infilling import Desk
from humaneval.web.prolific_check import Checker

OpenAt = Callable[[str, str], StudyAtPlatform]
"""Opens a study at an endpoint, both by name, with the requester's keys."""


class Market(NamedTuple):
    """A marketplace that is up."""

    url: str
    """Where browsers reach it."""
    invitation: str
    """The link with which anybody can register; empty if any name will do."""


@contextmanager
def market_up(file: Path, *, port: int = 0, settings: Settings | None = None) -> Iterator[Market]:
    """The marketplace of a file, which is made if there is none. `port` 0 takes any free one.

    If it has a `market_site` elsewhere, a proxy stands before it. Then workers need an invitation, and calls
    must be signed with one of its keys.
    """
    settings = settings or Settings()
    engine = open_market(file)
    try:
        public_url, keys = settings.market_site, settings.market_keys
        local = is_local(HERE, public_url or None)
        with MarketServer(
            engine,
            mode=_mode(engine),
            host=HERE,
            port=port,
            public_url=public_url or None,
            keys=read_pairs(keys) if keys else None,
            invited=not local,
            most_at_address=settings.open_forms_per_address,
            trusted_proxies=settings.trusted_proxies,
        ) as server:
            yield Market(server.url, "" if local else invitation(engine, server.url))
    finally:
        engine.dispose()


def _mode(engine: Engine) -> Mode:
    """The mode that the file was made in."""
    try:
        return Mode(known_account(engine).mode)
    except StoreError:
        return Mode.LOCAL


@contextmanager
def forms_up(
    settings: Settings, engine: Engine, open_at: OpenAt, *, port: int = 0, token: str = ""
) -> Iterator[int]:
    """The form server, with the requester's pages if there is a `token`, the infilling page for the
    checkpoints of the working folder among them. Yields its port.

    At the end it answers what has come, and then tells the platform about everybody who answered.
    """
    excluder = Excluder(open_at)
    app = create_app(
        settings,
        engine,
        excluder.answered,
        Asker(open_at).in_hand,
        requester_token=token,
        requester_desk=Desk([*found_offers(Path()), alone()]) if token else None,
        checker=Checker(open_at),
    )
    try:
        with running(app, settings.host, port) as found:
            yield found
    finally:
        excluder.stop()
