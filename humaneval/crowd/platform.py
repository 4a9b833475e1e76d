"""What any platform can do, in words that are not one platform's own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from humaneval.fees import sign_of
from humaneval.text import command


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place to publish to. `local`, `sandbox` and `production` are three values, not three classes."""

    name: str
    api_url: str
    submit_origin: str
    """The address to which an annotator's browser submits the answers."""
    worker_sites: tuple[str, ...]
    """The sites that may show our form in a frame."""
    preview_url: str
    """The address where a HIT can be previewed and accepted; it contains `{type}`."""
    spends_money: bool
    is_test: bool
    """Whether answers from here are tests, left out of scores unless asked for."""
    return_url: str = ""
    """The address where a worker can return an assignment; `{assignment}` stands for its id. Empty: there is
    nothing to return."""
    closed_since: str = ""
    """The day on which the service closed, in words; empty if it is in service."""
    form_path: str = "form"
    """The first part of the path of a form on our server, which says how its page speaks to the platform."""
    one_offer: bool = False
    """Whether one offer takes everybody. One that is up then gets more places, and opens the places of
    rejected work again by itself. Elsewhere a larger HIT costs a higher fee."""
    runs_out: bool = True
    """Whether an offer ends by itself when its time is over."""
    currency: str = "USD"
    """Of every amount there."""
    plain_bonuses: bool = False
    """Bonuses carry no reason and no token: a call that is made twice pays twice."""
    starts: str = ""
    """The command that starts it on this machine again, if `up` did before."""

    @property
    def sign(self) -> str:
        """What stands before an amount there."""
        return sign_of(self.currency)

    @property
    def is_stand_in(self) -> bool:
        """Whether it stands in for a service that takes real money."""
        return self.name == "prolific" and not self.spends_money

    @property
    def add_funds(self) -> str:
        """How to add money to the account, without a full stop."""
        return f"Add funds with `{command('market', 'fund', 'SUM')}`" if self.name == "local" else "Add funds"


@dataclass(frozen=True, slots=True)
class Qualified:
    """A qualification that a worker must have, by its id at the platform, perhaps with a lowest value."""

    id: str
    at_least: int | None = None
    lacking: bool = False
    """Only workers without it may take part."""


@dataclass(frozen=True, slots=True)
class Participants:
    """The people who may take part, as far as the platform can tell."""

    countries: tuple[str, ...] = ()
    min_approved_percent: int = 0
    min_approved_hits: int = 0
    masters: bool = False
    qualified: tuple[Qualified, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """What is published: a form for `assignments` workers, and its terms. Either `form_url` or `page` is
    set."""

    key: str
    """Our own unguessable key, in the platform's annotation, so that an orphan can be found again."""
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
    """A complete static page that the platform shows itself."""
    participants: Participants = field(default_factory=Participants)
    expected_minutes: float = 0
    forms_each: int = 1
    """How many forms one person may fill in."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Completion codes by outcome, for a platform whose people bring one back."""
    devices: tuple[str, ...] = ()
    filters: tuple[Mapping[str, Any], ...] = ()
    """The people who may take part, in the platform's own words."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The figures of an offer, as planned or as a platform tells them. None: not told."""

    reward: Decimal | None = None
    places: int | None = None
    assignment_seconds: int | None = None
    auto_approval_seconds: int | None = None
    made_at: datetime | None = None
    expires_at: datetime | None = None
    question: str | None = None
    """A hash of what is shown, or of the address that is shown."""
    requirements: str | None = None
    """The people who may take part, in a form in which order makes no difference."""
    title: str | None = None
    description: str | None = None
    keywords: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """The platform's own ids of a published offer; `group` opens its preview. `terms`: as it told them."""

    external_id: str
    group: str
    terms: Terms = Terms()


@dataclass(frozen=True, slots=True)
class Part:
    """A sum other than the reward that was paid for approved work. `amount` is None if it is not known."""

    amount: Decimal | None


@dataclass(frozen=True, slots=True)
class Submission:
    """One worker's submitted work as the platform gives it. `state`: submitted, approved or rejected."""

    external_id: str
    worker: str
    state: str
    fields: Mapping[str, str]
    accepted_at: datetime | None
    submitted_at: datetime | None
    auto_approval_at: datetime | None
    approved_at: datetime | None = None
    part: Part | None = None
    unreadable: str = ""
    """Why its answers could not be read. Then `fields` holds them as they came."""


@dataclass(frozen=True, slots=True)
class PaidBonus:
    """A bonus that the platform has paid."""

    amount: Decimal
    reason: str | None
    """None if the platform keeps none."""
    assignment: str


@dataclass(frozen=True, slots=True)
class PreparedBonus:
    """A payment that is set up at the platform and not made. `total` is with fees and taxes."""

    id: str
    total: Decimal


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one published offer at the platform, in assignments."""

    deletable: bool
    """Nobody can accept it any longer, and nobody works on it."""
    free: int
    in_hand: int
    expired: bool
    terms: Terms = Terms()


@dataclass(frozen=True, slots=True)
class Cost:
    """What workers are paid, and the platform's fees on top."""

    rewards: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees

    def each(self, assignments: int) -> Cost:
        """The cost of each of so many assignments: all cost the same, in whole cents."""
        return Cost(self.rewards / assignments, self.fees / assignments)


LINK, CSV = "link", "csv"
"""The endpoints of people who come by link, and of batches that are made from files."""
PROLIFIC = "prolific"
"""The endpoint that tells which places are open again: there, nothing need be guessed."""
UNASKED = frozenset((LINK, CSV))
"""Endpoints without a service to call: what our database has is all that there is."""
HIT_GONE = "HITDoesNotExist"
"""The end of the error code for a HIT that the platform does not have, because it was deleted there."""
LIST_GONE = "QualificationTypeDoesNotExist"
"""The same for a list, or another qualification."""


class Platform(Protocol):
    """A platform. Every call is safe to repeat. PlatformError says what was refused."""

    @property
    def endpoint(self) -> Endpoint: ...

    def check(self, offer: Offer) -> None:
        """Raise an error, before the first call, if the platform would refuse the offer or its words."""

    def terms(self, offer: Offer) -> Terms:
        """The figures that the platform must show once the offer is up. Makes no call."""

    def publish(self, offer: Offer, token: str) -> Published:
        """Put the offer up. The same token never puts up a second one."""

    def find(self, keys: Collection[str]) -> Mapping[str, Published]:
        """Those of our offers that are already up, by key. It finds offers that a crash left unrecorded."""

    def submissions(self, external_id: str) -> Iterator[Submission]:
        """Everything submitted for one published offer, from all pages."""

    def approve(self, assignment: str, feedback: str = "", *, override: bool = False) -> datetime | None:
        """Pay for submitted work. `override` approves rejected work, too. Work that is approved already is
        success: then this returns when it was approved."""

    def start_approving(self, assignments: Sequence[str]) -> None:
        """Ask for many approvals together, if the platform can. `approve` is then called for each, and
        confirms it."""

    def reject(self, assignment: str, reason: str, category: str = "") -> None:
        """Reject submitted work, which is then not paid. Rejecting rejected work is success. Some platforms
        need a category of theirs."""

    def prepare_bonus(self, assignment: str, amount: Decimal) -> PreparedBonus | None:
        """Set a bonus up without paying it, if the platform pays in two steps. Its id is then the token."""

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> None:
        """Pay a bonus. The same token never pays twice."""

    def bonuses(self, assignment: str) -> Iterator[PaidBonus]:
        """Every bonus paid for an assignment, from all pages."""

    def bonuses_of(self, external_id: str) -> Iterator[PaidBonus]:
        """Every bonus paid for work on one published offer, from all pages."""

    def extend(self, external_id: str, expires_at: datetime) -> None:
        """Let an offer be found until `expires_at`."""

    def expire(self, external_id: str) -> None:
        """Take an offer off the list. Accepted work can still be finished."""

    def more_places(self, external_id: str, places: int) -> None:
        """Let an offer take `places` people in all. It never takes fewer than before."""

    def given_up(self, external_id: str) -> Collection[str]:
        """The assignments of an offer whose places are open again: returned, out of time or rejected there.
        Only of a platform that tells."""

    def returned(self, external_id: str) -> Collection[str]:
        """Those of them that people have given back themselves. Only of a platform that tells."""

    def notes(self, external_id: str) -> Sequence[str]:
        """What a person must look at among the submissions that were just listed, one line each."""

    def knows(self, external_id: str) -> bool:
        """Whether the platform has, or remembers, an offer with this id."""

    def standing(self, external_id: str) -> Standing | None:
        """The state of an offer; None if the platform no longer has it."""

    def close(self, external_id: str) -> None:
        """Delete a finished offer. If it is already gone, this is success."""

    def notify(self, worker: str, subject: str, text: str) -> str:
        """Write to a worker, never twice automatically. Returns the platform's reason if it did not deliver,
        otherwise ""."""

    def block(self, worker: str, reason: str) -> None:
        """Keep a worker from all work of this account."""

    def unblock(self, worker: str, reason: str) -> None:
        """Undo a block. If the worker is not blocked, this is success."""

    def make_list(self, name: str, description: str) -> str:
        """A list of workers that offers can refer to, found again by its exact name. Returns the platform's
        id of it."""

    def put_on_list(self, external_id: str, worker: str) -> None:
        """Add a worker to a list, without telling the worker. If they are on it, this is success."""

    def take_off_list(self, external_id: str, worker: str) -> None:
        """Take a worker off a list. If they are not on it, this is success."""

    def has_list(self, external_id: str) -> bool:
        """Whether there is a list, or another qualification, with this id."""

    def check_access(self) -> Decimal | None:
        """The balance, asked for once and without retries: errors in keys or address show at once."""

    def balance(self) -> Decimal | None:
        """What can still be spent; None if the platform does not say."""

    def cost(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Cost:
        """What one offer costs if all its assignments are approved."""

    def bonus_cost(self, amount: Decimal) -> Cost:
        """What one bonus costs."""
