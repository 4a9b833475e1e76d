"""The seam to people: what any platform can do, in words that are not one platform's own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place to publish to. `local`, `sandbox` and `production` are three values, not three classes."""

    name: str
    api_url: str
    submit_origin: str
    """Where an annotator's browser hands the answers over."""
    worker_sites: tuple[str, ...]
    """The sites that may show our form in a frame."""
    preview_url: str
    """With `{type}`: where a HIT can be looked at and taken."""
    spends_money: bool
    is_test: bool
    """Whether answers from here are tests, left out of scores unless asked for."""
    return_url: str = ""
    """Where a worker can give back work in hand; `{assignment}` stands for its id. Empty: there is nothing to
    return."""
    closed_since: str = ""
    """The day on which the service closed, in words; empty for one that is meant to be there."""

    @property
    def add_funds(self) -> str:
        """How money is added to the account, to be followed by a comma or a full stop."""
        return "Add funds with `humaneval market fund SUM`" if self.name == "local" else "Add funds"


@dataclass(frozen=True, slots=True)
class Qualified:
    """Something that a platform attests of a worker, by its id there: that it is there, or how much of it."""

    id: str
    at_least: int | None = None
    lacking: bool = False
    """Only who does not have it may take part."""


@dataclass(frozen=True, slots=True)
class Participants:
    """Who may take part, as far as the platform can tell."""

    countries: tuple[str, ...] = ()
    min_approved_percent: int = 0
    min_approved_hits: int = 0
    masters: bool = False
    qualified: tuple[Qualified, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """What is published: a form for `assignments` people, and its terms. Exactly one of `form_url` and `page`
    is set."""

    key: str
    """Ours, unguessable: written into the platform's annotation, so that an orphan can be found again."""
    title: str
    description: str
    keywords: tuple[str, ...]
    reward: Decimal
    assignments: int
    assignment_seconds: int
    lifetime_seconds: int
    auto_approval_seconds: int
    form_url: str = ""
    """The address of the form on our server."""
    page: str = ""
    """A whole static page that the platform shows itself."""
    participants: Participants = field(default_factory=Participants)


@dataclass(frozen=True, slots=True)
class Published:
    """The platform's own ids of what was published; `group` opens its preview."""

    external_id: str
    group: str


@dataclass(frozen=True, slots=True)
class Submission:
    """One worker's submitted work as the platform tells it. `state`: submitted, approved or rejected."""

    external_id: str
    worker: str
    state: str
    fields: Mapping[str, str]
    accepted_at: datetime | None
    submitted_at: datetime | None
    auto_approval_at: datetime | None
    unreadable: str = ""
    """Why its answers could not be read; `fields` then holds them as they came."""


@dataclass(frozen=True, slots=True)
class PaidBonus:
    """A bonus that the platform has paid."""

    amount: Decimal
    reason: str
    assignment: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How one published offer stands at the platform, in assignments."""

    deletable: bool
    """Nobody can take it any more, and nobody works on it."""
    free: int
    in_hand: int
    expired: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """What people are paid, and what the platform takes on top."""

    rewards: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees

    def each(self, assignments: int) -> Cost:
        """The share of one of `assignments`: every one costs the same, in whole cents."""
        return Cost(self.rewards / assignments, self.fees / assignments)


HIT_GONE = "HITDoesNotExist"
"""How the code of an error ends that says that the platform has no such HIT: it was deleted there."""
LIST_GONE = "QualificationTypeDoesNotExist"
"""The same of a list, or another qualification."""


class Platform(Protocol):
    """A way to people. Every call is safe to repeat; PlatformError says what was refused."""

    @property
    def endpoint(self) -> Endpoint: ...

    def check(self, offer: Offer) -> None:
        """Raise before the first call if the platform would refuse the offer for what it is, or for its
        words."""

    def publish(self, offer: Offer, token: str) -> Published:
        """Put the offer up; the same token never puts up a second one."""

    def find(self, keys: Collection[str]) -> Mapping[str, Published]:
        """Those of our offers that are already up, by key: adopts what a crash left unrecorded."""

    def submissions(self, external_id: str) -> Iterator[Submission]:
        """Everything submitted for one published offer, all pages of it."""

    def approve(self, assignment: str, feedback: str = "", *, override: bool = False) -> None:
        """Pay for submitted work; approving approved work is success. `override`: work that was rejected,
        too."""

    def reject(self, assignment: str, reason: str) -> None:
        """Refuse to pay for submitted work; rejecting rejected work is success."""

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> None:
        """Pay on top; the same token never pays twice."""

    def bonuses(self, assignment: str) -> Iterator[PaidBonus]:
        """Every bonus that was paid for an assignment, all pages of them."""

    def bonuses_of(self, external_id: str) -> Iterator[PaidBonus]:
        """Every bonus that was paid for work on one published offer, all pages of them."""

    def extend(self, external_id: str, expires_at: datetime) -> None:
        """Let an offer be found until `expires_at`."""

    def expire(self, external_id: str) -> None:
        """Take an offer off the list; work that was accepted can be finished."""

    def knows(self, external_id: str) -> bool:
        """Whether the platform has, or remembers, an offer of this id."""

    def standing(self, external_id: str) -> Standing | None:
        """How an offer stands; None where the platform has it no more."""

    def close(self, external_id: str) -> None:
        """Delete an offer that is done with; one that is gone already is success."""

    def notify(self, worker: str, subject: str, text: str) -> str:
        """Write to a worker, never twice by itself. Gives the platform's reason where it did not deliver,
        else ""."""

    def block(self, worker: str, reason: str) -> None:
        """Keep a worker from everything of this account."""

    def unblock(self, worker: str, reason: str) -> None:
        """Undo a block; of somebody who is not blocked this is success."""

    def make_list(self, name: str, description: str) -> str:
        """A list of workers that offers can refer to, found again by its exact name; gives the platform's
        id of it."""

    def put_on_list(self, external_id: str, worker: str) -> None:
        """Add a worker to a list; the worker is not told. One who is on it already is success."""

    def take_off_list(self, external_id: str, worker: str) -> None:
        """Take a worker off a list; one who is not on it is success."""

    def has_list(self, external_id: str) -> bool:
        """Whether there is a list, or another qualification, of this id."""

    def check_access(self) -> Decimal | None:
        """The balance, asked for once and without patience: says at once what is wrong with keys or
        address."""

    def balance(self) -> Decimal | None:
        """What can still be spent; None where the platform does not say."""

    def cost(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Cost:
        """What one offer costs if all its assignments are approved."""

    def bonus_cost(self, amount: Decimal) -> Cost:
        """What one bonus costs."""
