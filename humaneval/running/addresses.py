"""Which ports and addresses `up` takes: those that it had before, because annotators and HITs know them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Engine, func, select

from humaneval.crowd.form_page import external_question
from humaneval.crowd.hit_terms import QUESTION, TERMS, figures
from humaneval.crowd.mturk.terms import question_hash
from humaneval.crowd.platform import Terms
from humaneval.crowd.published_hits import PUBLISH
from humaneval.crowd.signatures import with_secret
from humaneval.errors import PrerequisiteError, UsageError
from humaneval.market.protocol.addresses import is_loopback
from humaneval.running.listening import HERE, Listening, find, is_market_of
from humaneval.settings import DEFAULT, EVERYWHERE, KEPT, Loaded, Settings, reached_at
from humaneval.store.addresses import keep_addresses, kept_addresses
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, OutboxRow
from humaneval.store.types import now
from humaneval.text import command
from humaneval.web_server import listen

MARKET_FILE = "market_file"
"""Under this name the path of the marketplace's file is kept beside the settings."""
STEP, MOST_STEPS = 10, 50
"""How far apart ports are tried, so that each marketplace has the next one for pages of HTMLQuestions."""


class Wish(NamedTuple):
    """What the person wants to be otherwise than it was, or than settings say."""

    port: int | None = None
    market_port: int | None = None
    public_url: str | None = None


class Places(NamedTuple):
    """Where everything is, or will be."""

    settings: Settings
    """The settings with these addresses, for everything that runs here."""
    market_file: Path | None
    """The file of the marketplace to be started; None if one runs already."""
    joins: bool = False
    """Whether another program serves this database's forms already, and only the study is put up beside."""
    astray: Sequence[str] = ()
    """Other studies whose HITs lead annotators to forms at another address."""

    @property
    def market_port(self) -> int:
        return urlsplit(self.settings.market_url).port or 80


def choose(loaded: Loaded, wish: Wish, engine: Engine, study: str, token: str, file: Path) -> Places:
    """Find free ports, or the servers that run there, and keep the addresses in the database.

    `file` is the marketplace's, if none was kept. Raises PrerequisiteError if another program has a port that
    annotators know, or if the forms are served already and should be elsewhere; UsageError if HITs lead to
    another address.
    """
    if wish == Wish() and are_served(loaded, token):
        return Places(loaded.settings, None, joins=True)
    kept = kept_addresses(loaded.settings.database)
    port = _forms_port(loaded, wish, engine, study, token)
    settings = loaded.settings.model_copy(update={"port": port, **_public(loaded, wish, port)})
    astray = _astray(engine, settings.public_url, wish, study)
    before = Path(kept.get(MARKET_FILE, ""))
    ours, known = before if before.is_file() else file.absolute(), _is_known(engine, "local")
    met = known and ours != before  # HITs are up at a marketplace that was not started here

    def is_ours(port: int) -> bool:
        return met or is_market_of(ours, port)

    market = _market_port(loaded, wish, study, token, is_ours, known)
    if wish.market_port is not None or market.port:
        settings = settings.model_copy(update={"market_url": f"http://{HERE}:{market.port}"})
    if market.runs:
        started = None
    else:
        started = ours
        settings = settings.model_copy(update=_keys(settings))
        listen(HERE, market.port, "the marketplace").close()
    listen(settings.host, port, "the form server").close()
    had = keep_addresses(engine, _to_keep(settings, kept, started))
    if find(settings.host, int(had.get("port", port)), token) is Listening.OURS:  # another `up` has begun
        keep_addresses(engine, had)
        raise _are_served(had.get("public_url", ""), study)
    return Places(settings, started, astray=astray)


def _are_served(where: str, study: str) -> PrerequisiteError:
    return PrerequisiteError(
        f"the forms of this database are served already, at {where}",
        "To put a study up there, beside what is up, leave out --port, --market-port and --public-url:"
        f" {command('up', study)}",
    )


def refuse_overtaken(settings: Settings, study: str) -> None:
    """Raise PrerequisiteError if another `up`, which began when nothing listened here, has kept another port.
    One of the two has then seen the other, because each keeps its port before it looks."""
    kept = kept_addresses(settings.database)
    if kept.get("port", str(settings.port)) != str(settings.port):
        raise _are_served(kept.get("public_url", ""), study)


def are_served(loaded: Loaded, token: str) -> bool:
    """Whether a program serves the forms of this database where settings say."""
    return find(loaded.settings.host, loaded.settings.port, token) is Listening.OURS


def _to_keep(settings: Settings, kept: Mapping[str, str], started: Path | None) -> dict[str, str]:
    names = ("port", "public_url", "market_url", "market_site", "market_keys", "trusted_proxies")
    file = str(started) if started else kept.get(MARKET_FILE, "")
    return {**{name: str(getattr(settings, name)) for name in names}, MARKET_FILE: file}


def _forms_port(loaded: Loaded, wish: Wish, engine: Engine, study: str, token: str) -> int:
    port, host = wish.port or loaded.settings.port, loaded.settings.host
    found = find(host, port, token)
    before = found if port == loaded.settings.port else find(host, loaded.settings.port, token)
    if Listening.OURS in (found, before):
        raise _are_served(loaded.settings.public_url, study)
    if found is Listening.NOTHING:
        return port
    if wish.port or loaded.origin("port") not in (DEFAULT, KEPT) or _is_known(engine):
        raise PrerequisiteError(
            f"{found} listens at port {port}, where the forms should be",
            "End that program, because the HITs lead annotators there, and run this again. A study of another"
            " folder can be put up with --port NUMBER."
            if _is_known(engine)
            else f"Choose another port: {command('up', study, '--port', 'NUMBER')}",
        )
    return _next_free(host, port, token)


def _next_free(host: str, port: int, token: str) -> int:
    tried = range(port + STEP, min(port + STEP * MOST_STEPS, 65536), STEP)
    for each in tried:
        if find(host, each, token) is Listening.NOTHING:
            return each
    raise PrerequisiteError(f"no port of {host} is free from {port} on", "Choose one with --port.")


def _public(loaded: Loaded, wish: Wish, port: int) -> dict[str, object]:
    """The address of the forms for browsers, and what follows from it."""
    settings = loaded.settings
    # The marketplace's host, so that its pages and the forms in their frames are one site: in a frame of
    # another site, browsers may keep no answers over a reload.
    hosts = [HERE, "localhost"]
    if settings.host not in (*hosts, *EVERYWHERE):
        hosts.insert(0, settings.host)
    here = [reached_at(host, port) for host in hosts]
    before = settings.public_url.removesuffix(f":{settings.port}")
    if wish.public_url:
        address = wish.public_url.rstrip("/")
    elif loaded.origin("public_url") == DEFAULT:
        address = here[0]
    else:
        moved = f"{before}:{port}"
        address = moved if moved in here else settings.public_url
    proxied = address not in here
    found: dict[str, object] = {"public_url": address}
    if loaded.origin("trusted_proxies") in (DEFAULT, KEPT):
        found["trusted_proxies"] = int(proxied)
    if wish.public_url and loaded.origin("market_site") in (DEFAULT, KEPT):
        found["market_site"] = address if proxied else ""
    return found


class _Market(NamedTuple):
    port: int
    """0 if it is not on this machine."""
    runs: bool


def _market_port(
    loaded: Loaded, wish: Wish, study: str, token: str, is_ours: Callable[[int], bool], is_known: bool
) -> _Market:
    """The port of the marketplace that runs already and that a setting names or `is_ours`, or a free one."""
    parts = urlsplit(loaded.settings.market_url)
    if wish.market_port is None and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return _Market(0, runs=True)
    port, origin = wish.market_port or parts.port or 80, loaded.origin("market_url")
    is_named = wish.market_port is None and origin not in (DEFAULT, KEPT)
    found = find(HERE, port, token)
    if found is Listening.MARKET and not (is_named or is_ours(port)):
        found = Listening.OTHER_MARKET
    if found in (Listening.NOTHING, Listening.MARKET):
        return _Market(port, runs=found is Listening.MARKET)
    if wish.market_port or is_named or (origin == KEPT and is_known):
        raise PrerequisiteError(
            f"{found} listens at port {port}, where the marketplace should be",
            f"End that program, or choose another port: {command('up', study, '--market-port', 'NUMBER')}",
        )
    return _Market(_next_free(HERE, port, token), runs=False)


def _keys(settings: Settings) -> dict[str, object]:
    """A key for a marketplace on the web. Without one, anybody could spend its money."""
    site = urlsplit(settings.market_site or settings.market_url).hostname or ""
    if is_loopback(site) or settings.market_keys:
        return {}
    return {"market_keys": f"HE{secrets.token_hex(9).upper()}:{secrets.token_urlsafe(30)}"}


def _up_now() -> tuple[ColumnElement[bool], ...]:
    return (HitRow.external_id.is_not(None), HitRow.closed_at.is_(None), HitRow.expires_at > now())


def _is_known(engine: Engine, *endpoints: str) -> bool:
    """Whether HITs or links are up, at these endpoints or at any: somebody may have the address."""
    where = (HitRow.endpoint.in_(endpoints),) if endpoints else ()
    with reading(engine) as session:
        return session.scalar(select(HitRow.id).where(*_up_now(), *where).limit(1)) is not None


def _astray(engine: Engine, public_url: str, wish: Wish, study: str) -> Sequence[str]:
    """The other studies whose HITs lead to forms at another address. One HIT of each study will do.

    Raises UsageError if those of `study` do, or if none leads here: then the address is a wrong one. If only
    some do, whichever address is served is right for a part, and nothing would come up any more.
    """
    here, elsewhere = list[str](), list[str]()
    with reading(engine) as session:
        newest = select(func.max(HitRow.id)).where(
            *_up_now(), HitRow.endpoint == "local", HitRow.row_id.is_(None)
        )
        for hit in session.scalars(select(HitRow).where(HitRow.id.in_(newest.group_by(HitRow.study_id)))):
            wrote = session.scalars(
                select(OutboxRow).where(
                    OutboxRow.endpoint == "local",
                    OutboxRow.operation == PUBLISH,
                    OutboxRow.subject == f"hit {hit.id}",
                )
            ).one_or_none()
            planned = wrote.request.get(TERMS, {}).get(QUESTION) if wrote else None
            address = with_secret(f"{public_url}/form/{hit.key}", hit.secret)
            leads = figures(Terms(question=question_hash(external_question(address))))[QUESTION]
            if planned is not None:
                (here if planned == leads else elsewhere).append(hit.study.name)
    if study in elsewhere or (elsewhere and not here):
        name = study if study in elsewhere else elsewhere[0]
        raise UsageError(
            f"the HITs of study {name!r} lead annotators to forms at another address than {public_url}",
            "Leave out --port and --public-url: the addresses of before are kept."
            if wish.port or wish.public_url
            else "Set `public_url` to the address that they were published with."
            + (
                f" If it is lost, `{command('expire', name, '--to', 'local')}` takes them down while"
                f" `{command('up', here[0])}` runs."
                if here
                else ""
            ),
        )
    return elsewhere
