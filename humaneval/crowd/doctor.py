"""Finds out, before anything is published, what would fail at a platform: addresses, frames, clock, keys,
money."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit

from humaneval.crowd.hit_terms import told
from humaneval.crowd.mturk.client import CLOSED
from humaneval.crowd.participants import known_participants
from humaneval.crowd.plan_differences import terms_seen, would_note
from humaneval.crowd.platform import CSV, LINK, Endpoint
from humaneval.crowd.publish import leads_elsewhere
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import GONE, UpHit, is_static, refuse_elsewhere, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import to_accept
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.store.engine import reading
from humaneval.study.consent import no_contact
from humaneval.study.contradictions import doubts
from humaneval.study.text_doubts import doubts_of_texts
from humaneval.text import command, commands_in, counted, quoted
from humaneval.timed_replies import opener

MOST_APART = timedelta(minutes=5)
"""How far clocks may differ: signatures of requests carry the time."""
SECONDS = 5


class Finding(NamedTuple):
    """The result of one check. `needed` is False if only some verbs need it. `commands` are to be run if it
    is not ok, beside those that `detail` names."""

    what: str
    ok: bool
    needed: bool
    detail: str
    commands: tuple[str, ...] = ()

    @property
    def steps(self) -> list[str]:
        """What to run to correct it; empty if we know nothing."""
        return [] if self.ok else [*self.commands, *commands_in(self.detail)]


def look(at: StudyAtPlatform, public_url: str) -> Iterator[Finding]:
    """Check everything about publishing the study that can be checked without publishing it."""
    endpoint = at.platform.endpoint
    if endpoint.name == CSV:  # its pages need no server of ours
        yield from _settings(at)
        return
    yield _address(endpoint, public_url)
    yield from _form_server(endpoint, public_url)
    if moved := leads_elsewhere(at, public_url):
        yield Finding("Address of HITs", False, endpoint.name != LINK, moved)
    yield from _settings(at)
    if endpoint.name == LINK:
        return
    keys = _tried("Keys", lambda: f"{at.sign}{at.platform.check_access()} in the account at {endpoint.name}")
    yield keys
    if not keys.ok:
        return
    yield _clock(endpoint)
    yield _tried("Balance", lambda: _affordable(at))
    yield _tried("Qualifications", lambda: _qualifications(at))
    hits = up(at.study, at.endpoint)
    if hits:
        yield _tried("As planned", lambda: _as_planned(at, hits))


def _settings(at: StudyAtPlatform) -> Iterator[Finding]:
    """Settings of the study file that hardly fit together, words that are shown in English because others are
    missing, and whether people are told whom they can ask."""
    with reading(at.engine) as session:
        found = [*doubts(at.settings), *doubts_of_texts(session, at.id, at.settings)]
    yield Finding("Settings", not found, False, "; ".join(found) or "they fit together")
    missing = no_contact(at.settings)
    yield Finding("Contact", not missing, False, missing or at.settings.consent.contact)


def _tried(what: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, True, check())
    except HumanEvalError as error:
        closed = isinstance(error, PlatformError) and error.code == CLOSED
        return Finding(what, False, True, error.message if closed else f"{error.message}. {error.hint}")


def _address(endpoint: Endpoint, public_url: str) -> Finding:
    """Whether workers' browsers can be sent to our address at all."""
    parts = urlsplit(public_url)
    stand_in = endpoint.is_stand_in
    if endpoint.name in ("local", LINK) or stand_in:
        return Finding("Address", True, True, f"{public_url}, for workers who can reach it")
    if parts.scheme != "https":
        return Finding(
            "Address",
            False,
            True,
            f"{public_url} is not https: worker sites show forms from https addresses only",
        )
    if _is_private(parts.hostname or ""):
        return Finding(
            "Address", False, True, f"{public_url} can be reached from this machine or network only"
        )
    return Finding("Address", True, True, public_url)


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".internal", ".localhost"))


def _form_server(endpoint: Endpoint, public_url: str) -> Iterator[Finding]:
    # A proxy may lead /health to another server, and must lead the way of this endpoint's people here.
    asked = f"{public_url}/{'take' if endpoint.name == LINK else endpoint.form_path}/health"
    try:
        with opener().open(asked, timeout=SECONDS) as response:
            reached = response.read(16).strip() == b"ok"
    except HTTPError as error:
        yield Finding("Form server", False, True, f"{asked} says: {said_by(error)}")
        return
    except (HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        trouble = "its certificate is not valid" if isinstance(reason, ssl.SSLError) else str(reason)
        yield Finding(
            "Form server",
            False,
            True,
            f"{asked} does not answer ({trouble})",
            (command("serve"),),
        )
        return
    if not reached:
        yield Finding("Form server", False, True, f"something else answers at {asked}")
        return
    yield Finding("Form server", True, True, f"{public_url} answers")
    if endpoint.worker_sites:
        yield _frames(endpoint, public_url)


def said_by(error: HTTPError) -> str:
    """What a server's error is, in its own words if they are ours."""
    said = ""
    with error, suppress(HTTPException, OSError):
        said = quoted(error.read(200).decode("utf-8", "replace"))
    return said if said.startswith("the database") else f"HTTP {error.code}"


def _frames(endpoint: Endpoint, public_url: str) -> Finding:
    """Whether the worker site may show our pages in a frame, whatever headers a proxy changes."""
    headers = _headers(f"{public_url}/form/doctor")
    if headers is None:
        return Finding("Frames", False, True, f"{public_url}/form/ does not answer")
    policies = headers.get_all("Content-Security-Policy", [])
    if headers.get("X-Frame-Options"):
        return Finding(
            "Frames",
            False,
            True,
            "a proxy adds X-Frame-Options, so no worker site can show the form: remove it",
        )
    for policy in policies:
        words = next(
            (part.split() for part in policy.split(";") if part.split()[:1] == ["frame-ancestors"]), []
        )
        if words and not set(endpoint.worker_sites) <= set(words):
            return Finding(
                "Frames",
                False,
                True,
                f"its policy does not let {', '.join(endpoint.worker_sites)} show it in a frame",
            )
    return Finding("Frames", True, True, f"{', '.join(endpoint.worker_sites)} may show the form")


def _clock(endpoint: Endpoint) -> Finding:
    headers = _headers(endpoint.api_url)
    try:
        apart = abs(datetime.now(UTC) - parsedate_to_datetime((headers and headers.get("Date")) or ""))
    except (ValueError, TypeError, OverflowError):  # a date that is none, or without a zone
        return Finding("Clock", True, False, f"{endpoint.name} does not give its time")
    return Finding(
        "Clock", apart <= MOST_APART, True, f"{apart.total_seconds():.0f} s from {endpoint.name}'s"
    )


def _headers(url: str) -> Message | None:
    try:
        with opener().open(url, timeout=SECONDS) as response:
            return response.headers  # type: ignore[no-any-return]  # urllib does not say what it opens
    except HTTPError as error:
        with error:
            return error.headers
    except (HTTPException, OSError):
        return None


def _affordable(at: StudyAtPlatform) -> str:
    """Raises PlatformError if the balance does not cover the study."""
    plan = plan_hits(at, static=is_static(at.study, at.endpoint), dry_run=True)
    balance = at.platform.balance()
    cost, sign = plan.cost, at.sign
    if balance is not None and balance < plan.cost.total:
        raise PlatformError(
            f"{sign}{balance}, and the study costs {sign}{cost.total}",
            f"{at.platform.endpoint.add_funds}.",
        )
    return f"{sign}{balance}; the HITs to put up cost {sign}{cost.total}, of which {sign}{cost.fees} are fees"


def _as_planned(at: StudyAtPlatform, hits: Sequence[UpHit]) -> str:
    """Raises PlatformError if a HIT that is up differs from the plan, and nobody has accepted it."""
    refuse_elsewhere(at)
    standings = {hit: at.platform.standing(hit.external_id) for hit in hits}
    differ = would_note(at, terms_seen(at, standings))
    if differ:
        raise PlatformError(
            "; ".join(told(differ, at.endpoint, at.sign)),
            f"Correct it at {at.endpoint}, or accept it: "
            + to_accept(at, lost=all(each.what == GONE for each in differ)),
        )
    return f"{counted(len(hits), 'HIT')} at {at.endpoint}"


def _qualifications(at: StudyAtPlatform) -> str:
    """Raises PlatformError if the study requires a qualification that the platform does not have."""
    people = known_participants(at)
    missing = [each.id for each in people.qualified if not at.platform.has_list(each.id)]
    if missing:
        raise PlatformError(
            f"{at.endpoint} has no qualification {', '.join(missing)}",
            "Correct `participants.qualifications` in the study file. Otherwise nobody can take the HITs.",
        )
    return f"{len(people.qualified)} of your own are required, and all exist"
