"""Mechanical Turk, or anything that speaks its protocol, through the real boto3 client.

Two clients: calls that carry a token or only read may be re-sent by botocore after a fault; approvals carry no
token, so their client sends once and a repeat is ours to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from humaneval.crowd.answers import fields_from_xml
from humaneval.crowd.platform import Cost, Endpoint, Offer, PaidBonus, Published, Submission
from humaneval.crowd.questions import external_question, html_question
from humaneval.errors import InputError, PlatformError
from humaneval.fees import bonus_fee, reward_fee

if TYPE_CHECKING:
    from types_boto3_mturk import MTurkClient

T = TypeVar("T")
REGION = "us-east-1"
ANNOTATION = "humaneval:"
"""How the annotation of every HIT of ours begins; nothing else is ever touched."""

MAX_KEYWORDS = 1000
LONG_AGO = datetime(2015, 1, 1, tzinfo=UTC)
"""An expiry that is surely past: the platform refuses moments near now."""

_APPROVAL_PERCENT = "000000000000000000L0"
_APPROVED_HITS = "00000000000000000040"
_LOCALE = "00000000000000000071"


class MTurk:
    """The platform at `endpoint`. `profile` is an AWS profile; `local` needs neither profile nor keys."""

    def __init__(self, endpoint: Endpoint, *, profile: str = "", keys: str = "", session: Any = None) -> None:
        """`keys` are ID:SECRET pairs of the local marketplace; the first one signs."""
        self._endpoint = endpoint
        self._tokened = _client(
            endpoint, profile, keys, session, retries={"mode": "standard", "max_attempts": 8}
        )
        self._once = _client(
            endpoint, profile, keys, session, retries={"mode": "standard", "total_max_attempts": 1}
        )

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    @property
    def client(self) -> MTurkClient:
        """The client whose calls may be re-sent, for reading what this class has no word for."""
        return self._tokened

    def check(self, offer: Offer) -> None:
        self._question(offer)
        keywords = ", ".join(offer.keywords)
        for what, text in (
            ("title", offer.title), ("description", offer.description), ("keywords", keywords),
        ):  # fmt: skip
            _plain(what, text)
        if len(keywords) > MAX_KEYWORDS:
            raise PlatformError(
                f"the keywords have {len(keywords):,} characters; the platform takes {MAX_KEYWORDS:,}",
                "Use fewer or shorter keywords.",
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
            "QualificationRequirements": _requirements(offer),
            "UniqueRequestToken": token,
        }
        try:
            hit = self._call("publish", lambda: self._tokened.create_hit(**request))["HIT"]
        except PlatformError as error:
            if "HitAlreadyExists" not in error.code and "HITAlreadyExists" not in error.code:
                raise
            # An earlier try got through although its answer did not: that HIT is the one.
            for external_id in re.findall(r"\b[A-Z0-9]{20,40}\b", error.message):
                hit = self._call("look up", lambda id=external_id: self._tokened.get_hit(HITId=id))["HIT"]  # type: ignore[misc]
                return Published(hit["HITId"], hit["HITTypeId"])
            adopted = self.find([offer.key])
            if offer.key not in adopted:
                raise
            return adopted[offer.key]
        return Published(hit["HITId"], hit["HITTypeId"])

    def find(self, keys: Collection[str]) -> Mapping[str, Published]:
        wanted = {ANNOTATION + key: key for key in keys}
        pages = self._tokened.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
        found: dict[str, Published] = {}
        for page in self._paged("list HITs", pages):
            for hit in page["HITs"]:
                key = wanted.get(hit.get("RequesterAnnotation", ""))
                if key is not None:
                    found[key] = Published(hit["HITId"], hit["HITTypeId"])
        return found

    def submissions(self, external_id: str) -> Iterator[Submission]:
        pages = self._tokened.get_paginator("list_assignments_for_hit").paginate(
            HITId=external_id, PaginationConfig={"PageSize": 100}
        )
        for page in self._paged("list assignments", pages):
            for work in page["Assignments"]:
                yield _submission(work)

    def approve(self, assignment: str, feedback: str = "") -> None:
        _plain("feedback", feedback)
        status = self._status(assignment)
        if status == "Approved":
            return
        if status != "Submitted":
            raise PlatformError(
                f"assignment {assignment} is {status.lower()}, not submitted",
                "Run `humaneval collect` to see its state.",
            )
        request: dict[str, Any] = {"RequesterFeedback": feedback} if feedback else {}
        try:
            self._call("approve", lambda: self._once.approve_assignment(AssignmentId=assignment, **request))
        except PlatformError:
            if self._status(assignment) != "Approved":
                raise

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> None:
        _plain("reason", reason)
        try:
            self._call(
                "pay a bonus",
                lambda: self._tokened.send_bonus(
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
        pages = self._tokened.get_paginator("list_bonus_payments").paginate(
            AssignmentId=assignment, PaginationConfig={"PageSize": 100}
        )
        for page in self._paged("list bonuses", pages):
            for payment in page["BonusPayments"]:
                yield PaidBonus(Decimal(payment["BonusAmount"]), payment.get("Reason", ""))

    def extend(self, external_id: str, expires_at: datetime) -> None:
        self._update_expiration("extend", external_id, expires_at)

    def expire(self, external_id: str) -> None:
        self._update_expiration("expire", external_id, LONG_AGO)

    def _update_expiration(self, what: str, external_id: str, moment: datetime) -> None:
        try:
            self._call(
                what, lambda: self._tokened.update_expiration_for_hit(HITId=external_id, ExpireAt=moment)
            )
        except PlatformError as error:
            # The client sent it twice and the first got through.
            if "idempotency token" not in error.message:
                raise

    def balance(self) -> Decimal | None:
        return Decimal(
            self._call("read the balance", lambda: self._tokened.get_account_balance())["AvailableBalance"]
        )

    def cost(self, reward: Decimal, assignments: int) -> Cost:
        return Cost(reward * assignments, reward_fee(reward, assignments) * assignments)

    def bonus_cost(self, amount: Decimal) -> Cost:
        return Cost(amount, bonus_fee(amount))

    def _question(self, offer: Offer) -> str:
        return external_question(offer.form_url) if offer.form_url else html_question(offer.page)

    def _status(self, assignment: str) -> str:
        return self._call("look up", lambda: self._tokened.get_assignment(AssignmentId=assignment))[
            "Assignment"
        ]["AssignmentStatus"]

    def _paged(self, what: str, pages: Any) -> Iterator[Any]:
        remaining = iter(pages)
        while (page := self._call(what, lambda: next(remaining, None))) is not None:
            yield page

    def _call(self, what: str, call: Callable[[], T]) -> T:
        from botocore.exceptions import (
            BotoCoreError,
            ClientError,
            EndpointConnectionError,
            NoCredentialsError,
            ParamValidationError,
        )

        where = f"{self._endpoint.name} ({self._endpoint.api_url})"
        try:
            return call()
        except ClientError as error:
            code = str(error.response.get("TurkErrorCode") or error.response["Error"]["Code"])
            message = str(error.response.get("Message") or error.response["Error"]["Message"])
            refused = error.response["ResponseMetadata"]["HTTPStatusCode"] < 500
            raise PlatformError(
                f"{where} would not {what}: {message}",
                _hint(code, self._endpoint),
                code,
                nothing_done=refused,
            ) from error
        except BotoCoreError as error:
            hint = (
                "Is `humaneval market serve` running?"
                if self._endpoint.name == "local"
                else "Check the network and your AWS credentials."
            )
            unsent = isinstance(error, (NoCredentialsError, EndpointConnectionError, ParamValidationError))
            raise PlatformError(
                f"{where} could not {what}: {error}", hint, type(error).__name__, nothing_done=unsent
            ) from error


def _client(endpoint: Endpoint, profile: str, keys: str, session: Any, *, retries: Any) -> MTurkClient:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import ProfileNotFound
    from botocore.session import Session as BotocoreSession

    config = Config(retries=retries, connect_timeout=10, read_timeout=60, user_agent_extra="humaneval")
    if session is None:
        if endpoint.name == "local":
            # Whatever AWS profile or file there is has nothing to do with our own marketplace.
            session = boto3.Session(
                botocore_session=BotocoreSession(
                    session_vars={
                        "profile": (None, None, None, None),
                        "config_file": (None, None, None, None),
                    }
                )
            )
        try:
            session = session or boto3.Session(profile_name=profile or None)
        except ProfileNotFound as error:
            raise PlatformError(
                str(error), "Set AWS_PROFILE to one of the profiles in ~/.aws/config."
            ) from None
    key_id, _, secret = (keys.split() or ["local:local"])[0].partition(":")
    pair = {"aws_access_key_id": key_id, "aws_secret_access_key": secret} if endpoint.name == "local" else {}
    return session.client("mturk", region_name=REGION, endpoint_url=endpoint.api_url, config=config, **pair)  # type: ignore[no-any-return]


def _submission(work: Any) -> Submission:
    """An assignment as the platform lists it. Answers that cannot be read must not stop all the others."""
    unreadable = ""
    try:
        fields = fields_from_xml(work["Answer"])
    except InputError as error:
        fields, unreadable = {"answer": work["Answer"]}, error.message
    return Submission(
        external_id=work["AssignmentId"],
        worker=work["WorkerId"],
        state=work["AssignmentStatus"].lower(),
        fields=fields,
        accepted_at=work.get("AcceptTime"),
        submitted_at=work.get("SubmitTime"),
        auto_approval_at=work.get("AutoApprovalTime"),
        unreadable=unreadable,
    )


def _plain(what: str, text: str) -> None:
    """Refuse what the platform refuses in its own texts; passages are carried another way and may hold anything."""
    strange = "".join(dict.fromkeys(c for c in text if ord(c) > 0xFFFF))
    if strange:
        raise PlatformError(
            f"the {what} has characters that the platform does not take: {strange}",
            f"Leave emoji and other characters beyond U+FFFF out of the {what}.",
        )


def _requirements(offer: Offer) -> list[dict[str, Any]]:
    people = offer.participants
    requirements: list[dict[str, Any]] = []
    if people.countries:
        locales = [{"Country": country} for country in people.countries]
        requirements.append({"QualificationTypeId": _LOCALE, "Comparator": "In", "LocaleValues": locales})
    for type_id, least in (
        (_APPROVAL_PERCENT, people.min_approved_percent),
        (_APPROVED_HITS, people.min_approved_hits),
    ):
        if least:
            requirements.append(
                {
                    "QualificationTypeId": type_id,
                    "Comparator": "GreaterThanOrEqualTo",
                    "IntegerValues": [least],
                }
            )
    for requirement in requirements:
        requirement["ActionsGuarded"] = "DiscoverPreviewAndAccept"
    return requirements


def _hint(code: str, endpoint: Endpoint) -> str:
    if "InsufficientFunds" in code:
        return "Add funds, then run the command again: it goes on where it stopped."
    if code in (
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "AccessDeniedException",
        "InvalidClientTokenId",
    ):
        return f"Check the AWS keys of your profile for {endpoint.name}."
    return f"The platform's code is {code}."
