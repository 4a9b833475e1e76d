"""Tells a panel which people are done, by calling its address for each: stored with the answers, sent once.

A reply that was lost may mean that the person is credited. The call is made again only if the panel credits
nobody twice, or if a person decides it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from html import unescape
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request
from xml.etree import ElementTree
from xml.parsers import expat

from sqlalchemy import ColumnElement, Connection, delete, insert, select, true
from sqlalchemy.orm import Session

from humaneval.crowd.link import Link
from humaneval.crowd.outbox import (
    Intent,
    has_rested,
    hold_study,
    intent_of,
    not_under_way,
    perform,
    token_for,
)
from humaneval.crowd.panels import Ended, ending_of, person_of, postback_address, require_secret
from humaneval.crowd.participants import GIVE_UP_AFTER
from humaneval.crowd.stored_claim import Work
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, SettingsError
from humaneval.patterns import Patterns
from humaneval.store.engine import connected, reading, writing
from humaneval.store.tables import OutboxRow
from humaneval.store.types import table
from humaneval.study.file import StudyFile
from humaneval.study.panels import PLACEHOLDER
from humaneval.text import without_refused
from humaneval.timed_replies import NoRedirect, opener

POSTBACK = "postback"
"""The outbox operation that tells a panel about one person."""
SECONDS = 20
MOST_BYTES = 64 * 1024
LONGEST_REASON = 300


class Told(NamedTuple):
    """How many people the panel was told about, why others failed, and how many it may have been told
    about."""

    told: int = 0
    failed: tuple[str, ...] = ()
    unsure: int = 0


def postback_subject(assignment: int) -> str:
    """The form that a call is about, by our id of it."""
    return f"assignment {assignment}"


def intend_postback(connection: Connection, work: Work, fields: Mapping[str, str]) -> None:
    """Intend to tell the panel about a person whose answers are stored in this transaction."""
    hit, study = work.hit, work.hit.settings
    if hit.audience != "panel" or not study.link.postback_url:
        return
    if ending_of(connection, study, work.row_id, fields) is not Ended.COMPLETE:
        return
    subject = postback_subject(work.id)
    connection.execute(
        insert(table(OutboxRow)),
        {
            "study_id": hit.study_id,
            "endpoint": hit.endpoint,
            "operation": POSTBACK,
            "subject": subject,
            "token": token_for(hit.endpoint, POSTBACK, subject, hit.key),
            "request": {},
        },
    )


def perform_postbacks(at: StudyAtPlatform, *, rested: bool = False, again: bool = False) -> Told:
    """Tell the panel about everybody it does not know of yet. What fails stays intended.

    With `rested`, not about those that failed a short while ago. With `again`, also about people whom it may
    know of already.
    """
    if not isinstance(at.platform, Link):
        return Told()
    _forget_people_without_ids(at)
    with reading(at.engine) as session:
        rows = list(_waiting(session, at, not_under_way() & (has_rested() if rested else true())))
    repeats = again or at.settings.panel.postback_repeats
    unsure = [row for row in rows if row.state == "pending" and row.attempts]
    due = [intent_of(row) for row in rows if repeats or row not in unsure]
    left = 0 if repeats else len(unsure)
    try:
        require_secret(at.settings, at.platform.panel_secret if due else "none is needed")
    except SettingsError as error:
        return Told(0, (error.message,), left)
    failed: list[str] = []
    told, in_the_dark = 0, 0
    for intent in due:
        if in_the_dark == GIVE_UP_AFTER:
            break
        with reading(at.engine) as session:
            if not any(_waiting(session, at, not_under_way() & (OutboxRow.id == intent.id))):
                continue  # another program tells of them
        try:
            perform(
                at.engine,
                intent,
                partial(_tell, at, intent, at.platform.panel_secret),
                _said,
                alone=not repeats,
            )
        except PlatformError as error:
            failed.append(error.message)
            in_the_dark = 0 if error.nothing_done else in_the_dark + 1
        else:
            told, in_the_dark = told + 1, 0
    return Told(told, tuple(dict.fromkeys(failed)), left)


def _waiting(session: Session, at: StudyAtPlatform, which: ColumnElement[bool]) -> Iterator[OutboxRow]:
    yield from session.scalars(
        select(OutboxRow)
        .where(
            OutboxRow.study_id == at.id,
            OutboxRow.endpoint == at.endpoint,
            OutboxRow.operation == POSTBACK,
            OutboxRow.state != "confirmed",
            which,
        )
        .order_by(OutboxRow.id)
    )


def _forget_people_without_ids(at: StudyAtPlatform) -> None:
    """Delete what waits about people whose ids were purged: no panel can be told of them any more."""
    with reading(at.engine) as session:
        waiting = {row.id: int(row.subject.split()[1]) for row in _waiting(session, at, true())}
    with connected(at.engine) as connection:
        gone = [row for row, work in waiting.items() if not person_of(connection, work).worker]
    if gone:
        with writing(at.engine) as session:
            hold_study(session, at.id)
            session.execute(delete(OutboxRow).where(OutboxRow.id.in_(gone), OutboxRow.state != "confirmed"))


def _said(_: Session, answer: str) -> Mapping[str, str]:
    return {"said": answer}


def _tell(at: StudyAtPlatform, intent: Intent, secret: str) -> str:
    """Call the address for one person. Returns what the panel says. Raises PlatformError unless it says
    yes."""
    with connected(at.engine) as connection:
        person = person_of(connection, int(intent.subject.split()[1]))
    if not person.worker:
        raise PlatformError("the id of a person was deleted before the panel was told", nothing_done=True)
    address = postback_address(at.settings, person, secret)
    sent = [person.parameters.get(name, "") for name in PLACEHOLDER.findall(at.settings.link.postback_url)]
    hidden = [each for each in (address, secret, person.worker, person.session, *sent) if each]
    reply = _called(address)
    return read_reply(at.settings, reply.status, reply.text, hidden)


class _Reply(NamedTuple):
    status: int
    text: str


def _called(address: str) -> _Reply:
    # The address holds a token and a person's id.
    panel = opener(NoRedirect())
    try:
        try:
            answer = panel.open(Request(address, headers={"User-Agent": "humaneval"}), timeout=SECONDS)
        except HTTPError as error:
            answer = error
        with answer:
            said = answer.read(MOST_BYTES).decode("utf-8", "replace")
            return _Reply(answer.status, without_refused(said))
    except URLError as error:
        # Names that are not found, refused connections and certificates: nothing was sent.
        lost = (TimeoutError, ConnectionResetError, BrokenPipeError)
        never = isinstance(error.reason, OSError) and not isinstance(error.reason, lost)
        why = getattr(error.reason, "strerror", None) or type(error.reason).__name__
        raise PlatformError(f"the panel cannot be reached: {why}", nothing_done=never) from None
    except UnicodeError:
        raise PlatformError("the panel's address has a host that cannot be", nothing_done=True) from None
    except (OSError, HTTPException) as error:
        raise PlatformError(f"the panel's reply was lost: {type(error).__name__}") from None


def read_reply(study: StudyFile, status: int, text: str, hidden: list[str]) -> str:
    """What a reply says if the person is credited, now or before. Otherwise raises PlatformError, with
    `nothing_done` only if the panel itself says that nothing was done. Nothing of `hidden` is in it.
    """
    said = _Said.of(text)
    shown = said.shown
    for each in sorted(hidden, key=len, reverse=True):
        shown = _however_written(each).sub("…", shown)
    shown = shown[:LONGEST_REASON]  # an id that is cut first would be found no more
    already = study.panel.postback_already
    if already and 200 <= status < 500 and Patterns().found(already, 0, said.shown[:LONGEST_REASON]):
        return f"before: {shown}"
    if 300 <= status < 500:
        why = "sends the call elsewhere" if status < 400 else "refuses the call"
        raise PlatformError(f"the panel {why} (HTTP {status}): {shown}", nothing_done=True)
    if status >= 500:
        raise PlatformError(f"the panel failed (HTTP {status})")
    element, _, wanted = study.panel.postback_granted.partition("=")
    if not element or wanted in said.values(element):
        return shown or f"HTTP {status}"
    if not said.is_xml:
        raise PlatformError(f"the panel's reply cannot be read, and HTTP {status} alone is no yes: {shown}")
    raise PlatformError(f"the panel does not credit this person: {shown}", nothing_done=True)


def _however_written(text: str) -> re.Pattern[str]:
    """Finds `text` as it is, and as addresses and JSON write it: panels repeat what they were sent.

    >>> _however_written("a@b/ö").sub("…", r"a@b/ö A%40b%2F%C3%B6 a%2540b/%25c3%25b6 a@b\\/\\u00f6")
    '… … … …'
    """

    def ways(one: str) -> str:
        if one.isascii() and one.isalnum():
            return one
        # An address within an address has its % as %25.
        in_address = "".join(f"%(?:25)*{byte:02x}" for byte in one.encode())
        return rf"(?:\\?{re.escape(one)}|\\u{ord(one):04x}|{in_address})"

    return re.compile("".join(map(ways, text)), re.IGNORECASE)


class _Said(NamedTuple):
    """A reply as it was read: its XML, if it is that, and the words in it."""

    is_xml: bool
    elements: tuple[tuple[str, str], ...]
    shown: str

    def values(self, name: str) -> list[str]:
        return [text for tag, text in self.elements if tag == name]

    @classmethod
    def of(cls, text: str) -> _Said:
        root = _parsed(text)
        if root is None:
            return cls(False, (), " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split()))
        elements = tuple((each.tag.rpartition("}")[2], (each.text or "").strip()) for each in root.iter())
        words = [f"{tag}: {words}" for tag, words in elements if words]
        return cls(True, elements, "; ".join(words))


def _parsed(text: str) -> ElementTree.Element | None:
    """The XML in `text`; None if it is none, or defines entities, which could be of any size."""

    def refuse(*_: object) -> None:
        raise ValueError

    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = refuse
    try:
        guard.Parse(text.encode(), True)
        return ElementTree.fromstring(text.encode())
    except (expat.ExpatError, ElementTree.ParseError, ValueError, UnicodeEncodeError):
        return None
