"""Links: our own form server as the platform. There are open links with a number of places, personal links,
and links for panels, which add their own ids.

The answers that our server has stored are the submission: nothing is sent anywhere else. No money is paid
here, but payments made elsewhere can be entered in the books.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Literal

from sqlalchemy import Engine, func, select

from humaneval.crowd.platform import (
    Cost,
    Endpoint,
    Offer,
    PaidBonus,
    PreparedBonus,
    Published,
    Standing,
    Submission,
    Terms,
)
from humaneval.csv_file import has_header, read_csv_file
from humaneval.csv_text import csv_text
from humaneval.errors import InputError, PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow, WorkerIdentityRow
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.text import nfc

ZERO = Decimal("0.00")
LINK_COLUMN = "link"
NO_BONUS = "no bonus can be paid by link"
PAY_THERE = "Pay it where you pay these people, if you do."


class Link:
    """The platform behind links. With `pay` "elsewhere", rewards are entered in the books as paid outside;
    with "none", nothing is."""

    def __init__(
        self,
        endpoint: Endpoint,
        engine: Engine,
        *,
        pay: Literal["none", "elsewhere"] = "none",
        panel_secret: str = "",
    ) -> None:
        self._endpoint = endpoint
        self._engine = engine
        self._pay = pay
        self.panel_secret = panel_secret

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    def check(self, offer: Offer) -> None:
        if offer.page:
            raise UsageError("a link has no static pages", "Leave --static out.")

    def terms(self, offer: Offer) -> Terms:
        """Only where the link leads: nobody but us could change anything."""
        return Terms(question=hashlib.sha256(offer.form_url.encode()).hexdigest()[:12])

    def publish(self, offer: Offer, token: str) -> Published:
        return _published(offer.key)

    def find(self, keys: Collection[str]) -> Mapping[str, Published]:
        return {key: _published(key) for key in keys}

    def submissions(self, external_id: str) -> Iterator[Submission]:
        with reading(self._engine) as session:
            lines = session.execute(
                select(
                    AssignmentRow.external_id,
                    AssignmentRow.state,
                    AssignmentRow.opened_at,
                    WorkerIdentityRow.external_id.label("worker"),
                    AnswerRow.fields,
                    AnswerRow.received_at,
                )
                .join(AnswerRow, AnswerRow.assignment_id == AssignmentRow.id)
                .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
                .join(HitRow, HitRow.id == AssignmentRow.hit_id)
                .where(
                    HitRow.endpoint == self._endpoint.name,
                    HitRow.external_id == external_id,
                    AnswerRow.source == "server",
                )
                .order_by(AnswerRow.id)
            ).all()
            submissions = [
                Submission(
                    external_id=line.external_id,
                    worker=line.worker,
                    state=line.state if line.state in ("approved", "rejected") else "submitted",
                    fields=line.fields,
                    accepted_at=line.opened_at,
                    submitted_at=line.received_at,
                    auto_approval_at=None,
                )
                for line in lines
            ]
        yield from submissions

    def approve(self, assignment: str, feedback: str = "", *, override: bool = False) -> datetime | None:
        """Does nothing: the approval is in our own books."""
        return None

    def start_approving(self, assignments: Sequence[str]) -> None:
        """As `approve`."""

    def reject(self, assignment: str, reason: str, category: str = "") -> None:
        """As `approve`."""

    def prepare_bonus(self, assignment: str, amount: Decimal) -> PreparedBonus | None:
        return None

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> None:
        raise PlatformError(NO_BONUS, PAY_THERE)

    def bonuses(self, assignment: str) -> Iterator[PaidBonus]:
        return iter(())

    def bonuses_of(self, external_id: str) -> Iterator[PaidBonus]:
        return iter(())

    def extend(self, external_id: str, expires_at: datetime) -> None:
        """Does nothing: the form server reads the time from our own record."""

    def expire(self, external_id: str) -> None:
        """As `extend`."""

    def more_places(self, external_id: str, places: int) -> None:
        """As `extend`."""

    def given_up(self, external_id: str) -> Collection[str]:
        return ()

    def returned(self, external_id: str) -> Collection[str]:
        return ()

    def notes(self, external_id: str) -> Sequence[str]:
        return ()

    def knows(self, external_id: str) -> bool:
        return True

    def standing(self, external_id: str) -> Standing | None:
        moment = now()
        hit = (HitRow.endpoint == self._endpoint.name, HitRow.external_id == external_id)
        begun = (AssignmentRow.state == "opened", AssignmentRow.lease_until > moment)
        with reading(self._engine) as session:
            until = session.scalar(select(HitRow.expires_at).where(*hit))
            open_forms = select(func.count()).select_from(AssignmentRow).join(HitRow)
            in_hand = session.scalar(open_forms.where(*hit, *begun)) or 0
        over = until is not None and until <= moment
        return Standing(deletable=over and not in_hand, free=0, in_hand=in_hand, expired=over)

    def close(self, external_id: str) -> None:
        """Does nothing: an expired link takes nobody new."""

    def notify(self, worker: str, subject: str, text: str) -> str:
        raise PlatformError(
            "workers who came by link cannot be written to", "Write to them where you found them."
        )

    def block(self, worker: str, reason: str) -> None:
        """Does nothing: the form server reads blocks from our own record."""

    def unblock(self, worker: str, reason: str) -> None:
        """As `block`."""

    def make_list(self, name: str, description: str) -> str:
        return name

    def put_on_list(self, external_id: str, worker: str) -> None:
        """As `block`."""

    def take_off_list(self, external_id: str, worker: str) -> None:
        """As `block`."""

    def has_list(self, external_id: str) -> bool:
        return True

    def check_access(self) -> Decimal | None:
        return None

    def balance(self) -> Decimal | None:
        return None

    def cost(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Cost:
        return Cost(reward * assignments if self._pay == "elsewhere" else ZERO, ZERO)

    def bonus_cost(self, amount: Decimal) -> Cost:
        # Checked before anything is stored: a bonus that can never be paid must not be recorded as due.
        raise PlatformError(NO_BONUS, PAY_THERE)


def _published(key: str) -> Published:
    """The link's id, which exports show, does not reveal its address."""
    return Published("L" + hashlib.sha256(key.encode()).hexdigest()[:16], key)


@dataclass(frozen=True, slots=True)
class Invitation:
    """One link to make: its audience, and its subject. The same subject gives the same link the next time."""

    audience: Literal["open", "personal", "panel"]
    subject: str
    places: int | None = None
    """How many people it takes. None: as many as before; a new link as many as the study has rows."""


def open_invitation(places: int | None = None) -> Invitation:
    """A link that the first `places` people may use."""
    return Invitation("open", "open link", places)


def panel_invitation(places: int | None = None) -> Invitation:
    """A link to which a panel adds its own ids."""
    return Invitation("panel", "panel link", places)


@dataclass(frozen=True, slots=True)
class People:
    """A list of people as read: its header, and one line for each person."""

    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    notes: tuple[str, ...] = ()
    """What there is to say about how it was read."""

    def invitations(self, key: bytes) -> list[Invitation]:
        """One personal link for each line, in order. The same line gets the same link whenever the list is
        read.

        `key` is the database's own: without it, what is stored of a line reveals nothing.
        """
        return [Invitation("personal", f"person {_fingerprint(key, line)}", 1) for line in self.lines]

    def with_links(self, links: Sequence[str]) -> str:
        """The list as CSV with a last column `link` and the same delimiter, ready for a mail merge."""
        rows = [[*line, link] for line, link in zip(self.lines, links, strict=True)]
        return csv_text([*self.header, LINK_COLUMN], rows, self.delimiter)


def _fingerprint(key: bytes, line: Sequence[str]) -> str:
    return hmac.digest(key, _same(line).encode(), "sha256").hex()


def _same(line: Sequence[str]) -> str:
    """The same text for two lines that name the same person: case does not matter."""
    return json.dumps([cell.casefold() for cell in line])


def read_people(path: Path, first_names_columns: Callable[[Sequence[str]], bool]) -> People:
    """Read a CSV file with one line for each person, for example with names and addresses. A first line of
    column names may be missing.

    `first_names_columns` is asked whether the first row names columns if `has_header` cannot tell. Nothing
    of the list is stored. Raises InputError for an empty list, a line of another length, and a person who is
    listed twice.
    """
    table = read_csv_file(path, what="a list of people")
    rows = [[nfc(cell) for cell in row] for row in table.rows]
    notes = list(table.notes)
    headed = has_header(rows) if rows else True
    if headed is None:
        headed = first_names_columns(rows[0])
    if not headed:
        notes.append(f"{path} has no line of column names: its first line is read as a person")
        rows.insert(0, _made_names(rows))
    if len(rows) < 2:
        raise InputError(
            f"{path} names no people", "Write one line of column names, then one line for each person."
        )
    header, *lines = rows
    if LINK_COLUMN in map(str.lower, header):
        raise InputError(
            f"{path} has a column {LINK_COLUMN!r} already",
            "Give the list without its links: the same people get the same links.",
        )
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if len(line) != len(header):
            raise InputError(
                f"{path}: person {number} has {len(line)} cells, the"
                f" {'header' if headed else 'first person'} {len(header)}",
                "Check commas and quotes.",
            )
        if (first := seen.setdefault(_same(line), number)) != number:
            raise InputError(
                f"{path}: persons {first} and {number} are the same", "Each person gets one link."
            )
    return People(tuple(header), tuple(tuple(line) for line in lines), table.delimiter, tuple(notes))


def _made_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Column names for a list without them: the first column with addresses is `email`."""
    addresses = [place for place, cell in enumerate(rows[0]) if "@" in cell]
    return ["email" if place in addresses[:1] else f"column {place + 1}" for place, _ in enumerate(rows[0])]


def panel_address(
    settings: StudyFile, link: str, *, worker: str | None = None, session: str | None = None
) -> str:
    """The link with the study's parameters for a panel. It has the ids of a worker and a session, or the
    panel's placeholders for them. What the panel adds itself is not in it."""
    panel, ids = settings.panel, worker is not None
    values = {
        settings.link.worker_parameter: panel.worker_placeholder if worker is None else worker,
        settings.link.session_parameter: panel.session_placeholder if session is None else session,
        **{name: f"simulated-{name}" if ids else value for name, value in panel.extra_parameters.items()},
    }
    query = "&".join(f"{name}={value}" for name, value in values.items() if name and value)
    return f"{link}{'&' if '?' in link else '?'}{query}" if query else link
