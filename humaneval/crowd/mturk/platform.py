"""Mechanical Turk, or any service that speaks its protocol, through the real boto3 client."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from humaneval.crowd.form_page import external_question, html_question
from humaneval.crowd.letter_text import MAX_DESCRIPTION, MAX_KEYWORDS, MAX_TITLE, plain_words
from humaneval.crowd.mturk.client import TurkClient
from humaneval.crowd.mturk.requirements import requirements
from humaneval.crowd.mturk.submission import submission_of
from humaneval.crowd.mturk.terms import question_hash, requirements_text, terms_of
from humaneval.crowd.platform import (
    HIT_GONE,
    LIST_GONE,
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
from humaneval.errors import PlatformError
from humaneval.fees import bonus_fee, reward_fee

if TYPE_CHECKING:
    from types_boto3_mturk import MTurkClient

ANNOTATION = "humaneval:"
"""The beginning of the annotation of every HIT that we make; other HITs are never touched."""

LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)
"""An expiry that is certainly past: the platform refuses times near now."""
LAGS = (0.0, 0.2, 1.0, 3.0)
"""Seconds between looks for a list that exists: the platform's search lags behind."""


class MTurk:
    """The platform at `endpoint`. `profile` is an AWS profile; `local` needs neither profile nor keys."""

    def __init__(self, endpoint: Endpoint, *, profile: str = "", keys: str = "", session: Any = None) -> None:
        """`keys` are ID:SECRET pairs of the local marketplace; the first one signs."""
        self._endpoint = endpoint
        self._turk = TurkClient(endpoint, profile, keys, session)
        self._call, self._once = self._turk.call, self._turk.once
        self._known: set[str] = set()

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    @property
    def client(self) -> MTurkClient:
        """The client whose calls may be sent again, for reading what this class does not offer."""
        return self._turk.tokened

    @property
    def once(self) -> MTurkClient:
        """The client that sends each call once, whatever happens."""
        return self._once

    def check(self, offer: Offer) -> None:
        self._question(offer)
        keywords = ", ".join(offer.keywords)
        plain_words("title", offer.title, MAX_TITLE)
        plain_words("description", offer.description, MAX_DESCRIPTION)
        plain_words("keywords", keywords, MAX_KEYWORDS, needed=False)
        self._requirements(offer)

    def terms(self, offer: Offer) -> Terms:
        return Terms(
            reward=offer.reward,
            places=offer.assignments,
            assignment_seconds=offer.assignment_seconds,
            auto_approval_seconds=offer.auto_approval_seconds,
            question=question_hash(self._question(offer)),
            requirements=requirements_text(self._requirements(offer)),
            title=offer.title,
            description=offer.description,
            keywords=", ".join(offer.keywords),
        )

    def publish(self, offer: Offer, token: str) -> Published:
        request: dict[str, Any] = {
            "Title": offer.title,
            "Description": offer.description,
            "Keywords": ", ".join(offer.keywords),
            "Reward": str(offer.reward),
            "MaxAssignments": offer.assignments,
            "AssignmentDurationInSeconds": offer.assignment_seconds,
            "LifetimeInSeconds": offer.lifetime_seconds,
            "AutoApprovalDelayInSeconds": offer.auto_approval_seconds,
            "Question": self._question(offer),
            "RequesterAnnotation": ANNOTATION + offer.key,
            "QualificationRequirements": self._requirements(offer),
            "UniqueRequestToken": token,
        }
        try:
            hit = self._call("publish", lambda: self.client.create_hit(**request))["HIT"]
        except PlatformError as error:
            if "HitAlreadyExists" not in error.code and "HITAlreadyExists" not in error.code:
                raise
            # An earlier try got through although its answer was lost: use that HIT.
            for external_id in re.findall(r"\b[A-Z0-9]{20,40}\b", error.message):
                return _published(self._hit(external_id))
            adopted = self.find([offer.key])
            if offer.key not in adopted:
                raise
            return adopted[offer.key]
        return _published(hit)

    def find(self, keys: Collection[str]) -> Mapping[str, Published]:
        wanted = {ANNOTATION + key: key for key in keys}
        found: dict[str, Published] = {}
        for page in self._turk.pages("list HITs", "list_hits"):
            for hit in page["HITs"]:
                key = wanted.get(hit.get("RequesterAnnotation", ""))
                if key is not None:
                    found[key] = _published(hit)
        return found

    def submissions(self, external_id: str) -> Iterator[Submission]:
        pages = self._turk.pages("list assignments", "list_assignments_for_hit", HITId=external_id)
        for page in pages:
            for work in page["Assignments"]:
                yield submission_of(work)

    def approve(self, assignment: str, feedback: str = "", *, override: bool = False) -> datetime | None:
        request: dict[str, Any] = {"RequesterFeedback": feedback} if feedback else {}
        if override:
            request["OverrideRejection"] = True
        before: datetime | None = self._decide(
            "approve",
            assignment,
            "Approved",
            ("Submitted", "Rejected") if override else ("Submitted",),
            lambda: self._once.approve_assignment(AssignmentId=assignment, **request),
        ).get("ApprovalTime")
        return before

    def start_approving(self, assignments: Sequence[str]) -> None:
        """Does nothing: each approval is a call of its own."""

    def reject(self, assignment: str, reason: str, category: str = "") -> None:
        self._decide(
            "reject",
            assignment,
            "Rejected",
            ("Submitted",),
            lambda: self._once.reject_assignment(AssignmentId=assignment, RequesterFeedback=reason),
        )

    def _decide(
        self, what: str, assignment: str, wanted: str, before: Collection[str], call: Callable[[], Any]
    ) -> Any:
        """Look up the state and act. After a refusal, look it up again: an earlier call may have got through
        although its answer was lost. Returns the assignment if it was in this state before, else nothing."""
        there = self._assignment(assignment)
        status = there["AssignmentStatus"]
        if status == wanted:
            return there
        try:
            if status not in before:
                raise PlatformError(
                    f"assignment {assignment} is {status.lower()}, not {' or '.join(before).lower()}",
                    nothing_done=True,
                )
            self._call(what, call)
        except PlatformError as error:
            try:
                status = self._assignment(assignment)["AssignmentStatus"]
            except PlatformError:
                raise error from None  # this one says whether anything may have been done
            if status != wanted:
                error.never_done = error.nothing_done
                raise
        return {}

    def prepare_bonus(self, assignment: str, amount: Decimal) -> PreparedBonus | None:
        return None  # one call, with a token

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> None:
        try:
            self._call(
                "pay a bonus",
                lambda: self.client.send_bonus(
                    AssignmentId=assignment,
                    WorkerId=worker,
                    BonusAmount=str(amount),
                    Reason=reason,
                    UniqueRequestToken=token,
                ),
            )
        except PlatformError as error:
            # The token was used: an earlier try paid. Anything else is a refusal.
            if not re.search(
                "Duplicate|AlreadyExists|InvalidTokenReuse|IdempotencyTokenAlreadyUsed", error.code
            ):
                raise

    def bonuses(self, assignment: str) -> Iterator[PaidBonus]:
        return self._bonuses(AssignmentId=assignment)

    def bonuses_of(self, external_id: str) -> Iterator[PaidBonus]:
        return self._bonuses(HITId=external_id)

    def _bonuses(self, **which: str) -> Iterator[PaidBonus]:
        for page in self._turk.pages("list bonuses", "list_bonus_payments", **which):
            for payment in page["BonusPayments"]:
                yield PaidBonus(
                    Decimal(payment["BonusAmount"]), payment.get("Reason", ""), payment["AssignmentId"]
                )

    def extend(self, external_id: str, expires_at: datetime) -> None:
        self._update_expiration("extend", external_id, expires_at)

    def expire(self, external_id: str) -> None:
        self._update_expiration("expire", external_id, LONG_AGO)

    def _update_expiration(self, what: str, external_id: str, moment: datetime) -> None:
        try:
            self._call(
                what, lambda: self.client.update_expiration_for_hit(HITId=external_id, ExpireAt=moment)
            )
        except PlatformError as error:
            # The client sent it twice, and the first one got through.
            if "idempotency token" not in error.message:
                raise

    def more_places(self, external_id: str, places: int) -> None:
        """Does nothing: more people get a HIT of their own, because from ten places on the fee doubles."""

    def given_up(self, external_id: str) -> Collection[str]:
        return ()  # it does not tell

    def returned(self, external_id: str) -> Collection[str]:
        return ()  # as `given_up`

    def notes(self, external_id: str) -> Sequence[str]:
        return ()

    def knows(self, external_id: str) -> bool:
        # Every verb asks, some twice. A HIT that was there once shows that this is the right platform.
        if external_id not in self._known and self._hit_if_there(external_id) is not None:
            self._known.add(external_id)
        return external_id in self._known

    def standing(self, external_id: str) -> Standing | None:
        hit = self._hit_if_there(external_id)
        if hit is None or hit["HITStatus"] == "Disposed":
            return None
        return Standing(
            deletable=hit["HITStatus"] in ("Reviewable", "Reviewing"),
            free=hit["NumberOfAssignmentsAvailable"],
            in_hand=hit["NumberOfAssignmentsPending"],
            expired=hit["Expiration"] <= datetime.now(UTC),
            terms=terms_of(hit),
        )

    def close(self, external_id: str) -> None:
        try:
            self._call("delete", lambda: self._once.delete_hit(HITId=external_id))
        except PlatformError:
            if self.standing(external_id) is not None:
                raise

    def notify(self, worker: str, subject: str, text: str) -> str:
        reply = self._call(
            "write to a worker",
            lambda: self._once.notify_workers(Subject=subject, MessageText=text, WorkerIds=[worker]),
        )
        failures = reply.get("NotifyWorkersFailureStatuses", [])
        return failures[0].get("NotifyWorkersFailureMessage", "not delivered") if failures else ""

    def block(self, worker: str, reason: str) -> None:
        self._call("block", lambda: self._once.create_worker_block(WorkerId=worker, Reason=reason))

    def unblock(self, worker: str, reason: str) -> None:
        self._call("unblock", lambda: self._once.delete_worker_block(WorkerId=worker, Reason=reason))

    def make_list(self, name: str, description: str) -> str:
        if found := self._list_named(name):
            return found
        try:
            made = self._call(
                "make a qualification",
                lambda: self._once.create_qualification_type(
                    Name=name, Description=description, QualificationTypeStatus="Active"
                ),
            )
        except PlatformError:
            for seconds in LAGS:
                time.sleep(seconds)
                if found := self._list_named(name):
                    return found
            raise
        return made["QualificationType"]["QualificationTypeId"]

    def _list_named(self, name: str) -> str:
        """The id of our qualification with exactly this name. The platform's search also finds others, in any
        order."""
        pages = self._turk.pages(
            "list qualifications",
            "list_qualification_types",
            Query=name,
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        for page in pages:
            for found in page["QualificationTypes"]:
                if found["Name"] == name:
                    return str(found["QualificationTypeId"])
        return ""

    def put_on_list(self, external_id: str, worker: str) -> None:
        self._call(
            "give a qualification",
            lambda: self._once.associate_qualification_with_worker(
                QualificationTypeId=external_id, WorkerId=worker, IntegerValue=1, SendNotification=False
            ),
        )

    def take_off_list(self, external_id: str, worker: str) -> None:
        try:
            self._call(
                "revoke a qualification",
                lambda: self._once.disassociate_qualification_from_worker(
                    QualificationTypeId=external_id, WorkerId=worker
                ),
            )
        except PlatformError as error:
            # Never put on it, or taken off by an earlier try whose answer was lost.
            never = "DoesNotExist" in error.code + error.message.replace(" ", "")
            if not error.nothing_done or not (never or error.code.endswith("InvalidQualificationState")):
                raise

    def has_list(self, external_id: str) -> bool:
        try:
            self._call(
                "look up a qualification",
                lambda: self.client.get_qualification_type(QualificationTypeId=external_id),
            )
        except PlatformError as error:
            if not error.code.endswith(LIST_GONE):
                raise
            return False
        return True

    def check_access(self) -> Decimal | None:
        reply = self._call("read the balance", lambda: self._once.get_account_balance())
        return Decimal(reply["AvailableBalance"])

    def balance(self) -> Decimal | None:
        return Decimal(
            self._call("read the balance", lambda: self.client.get_account_balance())["AvailableBalance"]
        )

    def cost(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Cost:
        return Cost(reward * assignments, reward_fee(reward, assignments, masters=masters) * assignments)

    def bonus_cost(self, amount: Decimal) -> Cost:
        return Cost(amount, bonus_fee(amount))

    def _question(self, offer: Offer) -> str:
        return external_question(offer.form_url) if offer.form_url else html_question(offer.page)

    def _requirements(self, offer: Offer) -> list[dict[str, Any]]:
        return requirements(offer.participants, sandbox=self._endpoint.name == "sandbox")

    def _hit(self, external_id: str) -> Any:
        return self._call("look up a HIT", lambda: self.client.get_hit(HITId=external_id))["HIT"]

    def _hit_if_there(self, external_id: str) -> Any:
        try:
            return self._hit(external_id)
        except PlatformError as error:
            if error.code.endswith(HIT_GONE):
                return None
            raise

    def _assignment(self, assignment: str) -> Any:
        return self._call(
            "look up an assignment", lambda: self.client.get_assignment(AssignmentId=assignment)
        )["Assignment"]


def _published(hit: Any) -> Published:
    return Published(hit["HITId"], hit["HITTypeId"], terms_of(hit))
