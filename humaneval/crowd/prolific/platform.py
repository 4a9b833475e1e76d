"""Prolific as a platform. One study of ours is one study there, and a person's go at it is a submission.

The answers are ours alone: Prolific keeps none. Amounts are in the account's currency.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine

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
from humaneval.crowd.prolific.account import Account
from humaneval.crowd.prolific.answered import study_of_worker
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.decisions import LAGS, Decisions
from humaneval.crowd.prolific.draft import body, filters_text, key_of, refuse, study_path, terms_of
from humaneval.crowd.prolific.hooks import Hooks
from humaneval.crowd.prolific.submission import (
    AWAITING,
    REOPENED,
    SETTLED,
    UNDER_WAY,
    Session,
    major,
    status_of,
    whole,
)
from humaneval.crowd.prolific.submitted import Submitted
from humaneval.errors import PlatformError, UsageError

DRAFT, RUNNING, PAUSED = "UNPUBLISHED", "ACTIVE", "PAUSED"
OVER = frozenset((PAUSED, AWAITING, "COMPLETED"))
"""States of a study in which nobody new can begin. An unknown state is none of them."""
BULK = 10
"""From so many on, approvals are asked for together."""


class Prolific:
    """The platform. Without `live`, nothing that spends money leaves for a host that is not this machine."""

    def __init__(
        self,
        endpoint: Endpoint,
        engine: Engine,
        *,
        token: str,
        project: str = "",
        live: bool = False,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint, self._engine, self._wait, self._live = endpoint, engine, wait, live
        self._client = ProlificClient(endpoint.api_url, token, wait)
        self.account, self.hooks = Account(self._client, project), Hooks(self._client)
        self._submitted = Submitted(self._client, engine, endpoint.name, self.account)
        self._decisions = Decisions(self._client, self.session, self.sessions, wait)

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    def check(self, offer: Offer) -> None:
        refuse(offer)

    def terms(self, offer: Offer) -> Terms:
        return terms_of(body(offer, ""))

    def publish(self, offer: Offer, token: str) -> Published:
        """Make the draft, unless an earlier try did, compare it with the plan, and publish it."""
        self._only_live("publish")
        wanted = body(offer, self.account.project)
        there = self._studies().get(offer.key)
        if there is None:
            made = self._client.send("make a study", "/studies/", wanted)
            # Another program may have made one at the same moment: then both go on with the first.
            there = self._studies().get(offer.key, made)
            there = made if there["id"] == made["id"] else there
        elif status_of(there.get("status")) == DRAFT:
            path = study_path(there["id"])
            changed = self._client.set("correct a draft", "PATCH", path, wanted)
            there = changed if isinstance(changed, dict) else self._client.read("look up a study", path)
        if status_of(there.get("status")) == DRAFT:
            self._refuse_other(there, wanted)
            there = self._transition(str(there["id"]), "PUBLISH", DRAFT)
        return _published(there)

    def find(self, keys: Collection[str]) -> Mapping[str, Published]:
        there = self._studies()
        return {
            key: _published(there[key])
            for key in keys
            if key in there and status_of(there[key].get("status")) != DRAFT
        }

    def _studies(self) -> dict[str, dict[str, Any]]:
        """Our studies in the project, by our key. Of several a published one counts, or else the oldest."""
        found: dict[str, dict[str, Any]] = {}
        for each in self._client.pages(
            "list studies", f"/projects/{quote(self.account.project, safe='')}/studies/"
        ):
            if not {"internal_name", "metadata"} & each.keys():  # a list may tell less than a look at one
                each = {**each, **self._client.read("look up a study", study_path(each["id"]))}
            key = key_of(each)
            if key and (key not in found or _rank(each) < _rank(found[key])):
                found[key] = each
        return found

    def _refuse_other(self, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        """Raise PlatformError if the draft is not what was asked for: a field may have changed its name."""
        for name in ("reward", "total_available_places", "maximum_allowed_time", "external_study_url"):
            if name in there and there[name] != wanted[name]:
                raise PlatformError(
                    f"Prolific made the draft {there['id']} with another {name}: {there[name]},"
                    f" not {wanted[name]}",
                    "It was not published. Look at it on Prolific, and delete it there.",
                    nothing_done=True,
                )
        asked = there.get("filters")
        if isinstance(asked, list) and filters_text(asked) != filters_text(wanted["filters"]):
            raise PlatformError(
                f"Prolific made the draft {there['id']} with other filters: {filters_text(asked)}",
                "It was not published. Look at it on Prolific, and delete it there.",
                nothing_done=True,
            )

    def _transition(self, study: str, action: str, before: str) -> dict[str, Any]:
        """Change a study's state, once. If the answer is lost, or says nothing, its state says whether it was
        changed."""
        path, what = f"{study_path(study)}transition/", f"{action.lower()} a study"
        failure: PlatformError | None = None
        there: Mapping[str, Any] = {}
        try:
            there = self._client.send(what, path, {"action": action})
        except PlatformError as error:
            failure = error
        if "status" not in there:
            there = self._client.read("look up a study", study_path(study))
            if status_of(there.get("status")) == before:
                raise failure or PlatformError(f"Prolific took the call to {what} and does not show it")
        return {"id": study, **there}

    def more_places(self, external_id: str, places: int) -> None:
        there = self._client.read("look up a study", study_path(external_id))
        if whole(there["total_available_places"]) >= places:
            return
        self._only_live("give more places")
        wanted = {"total_available_places": places}
        self._client.set("give more places", "PATCH", study_path(external_id), wanted)

    def sessions(self, external_id: str) -> list[Session]:
        """Every submission of a study, in any state, from all pages."""
        return self._submitted.sessions(external_id)

    def session(self, assignment: str, *, tries: int = 3, seconds: float | None = None) -> Session | None:
        """One submission by its id; None if there is none."""
        return self._submitted.session(assignment, tries=tries, seconds=seconds)

    def submissions(self, external_id: str) -> Iterator[Submission]:
        """What is submitted by Prolific's word, with the answers that our server has."""
        return self._submitted.submissions(external_id)

    def given_up(self, external_id: str) -> Collection[str]:
        return self._submitted.given_up(external_id)

    def returned(self, external_id: str) -> Collection[str]:
        return self._submitted.returned(external_id)

    def notes(self, external_id: str) -> Sequence[str]:
        return list(self._submitted.notes(external_id))

    def start_approving(self, assignments: Sequence[str]) -> None:
        if len(assignments) >= BULK:
            self._decisions.approve_together(assignments)

    def approve(self, assignment: str, feedback: str = "", *, override: bool = False) -> datetime | None:
        self._decisions.approve(assignment, feedback)  # what is rejected stays so there
        return None

    def reject(self, assignment: str, reason: str, category: str = "") -> None:
        self._decisions.reject(assignment, reason, category)

    def request_return(self, assignment: str, reason: str) -> None:
        """Ask a person to return a submission. Its state stays until they do."""
        self._decisions.request_return(assignment, reason)

    def prepare_bonus(self, assignment: str, amount: Decimal) -> PreparedBonus | None:
        """Set a payment up. Nothing is paid by that."""
        self._only_live("pay a bonus")
        there = self.session(assignment)
        if there is None:
            raise PlatformError(f"Prolific has no submission {assignment}", nothing_done=True)
        lines = {"study_id": there.study, "csv_bonuses": f"{assignment},{amount:.2f}"}
        made = self._client.send("set up a bonus", "/submissions/bonus-payments/", lines)
        return PreparedBonus(str(made["id"]), major(made["total_amount"]))

    def bonus(self, assignment: str, worker: str, amount: Decimal, reason: str, token: str) -> None:
        """Pay what `prepare_bonus` has set up, whose id is the token. Every call pays: it is made once.

        Prolific pays later. Raises PlatformError if it does not show the payment soon.
        """
        self._only_live("pay a bonus")
        before = self._bonuses_of(assignment).count(amount)
        self._client.send("pay a bonus", f"/bulk-bonus-payments/{quote(token, safe='')}/pay/")
        for seconds in LAGS:
            self._wait(seconds)
            try:
                if self._bonuses_of(assignment).count(amount) > before:
                    return
            except PlatformError:
                continue
        raise PlatformError(
            f"Prolific took the bonus for {assignment} and does not show it yet",
            "Run the same command again: it looks whether the bonus is there, and never pays again.",
        )

    def bonuses(self, assignment: str) -> Iterator[PaidBonus]:
        for amount in self._bonuses_of(assignment):
            yield PaidBonus(amount, None, assignment)

    def bonuses_of(self, external_id: str) -> Iterator[PaidBonus]:
        for each in self.sessions(external_id):
            if each.status not in UNDER_WAY:  # also of those who returned their work after they got one
                yield from self.bonuses(each.id)

    def _bonuses_of(self, assignment: str) -> list[Decimal]:
        there = self.session(assignment)
        return list(there.bonuses or ()) if there is not None else []

    def extend(self, external_id: str, expires_at: datetime) -> None:
        """Start a paused study again. Prolific knows no day on which a study ends."""
        if self._status(external_id) == PAUSED:
            self._transition(external_id, "START", PAUSED)

    def expire(self, external_id: str) -> None:
        """Pause the study: people who are at work can finish."""
        if self._status(external_id) == RUNNING:
            self._transition(external_id, "PAUSE", RUNNING)

    def close(self, external_id: str) -> None:
        """Stop a study that runs or is paused. Others have stopped by themselves."""
        status = self._status(external_id)
        if status in (RUNNING, PAUSED):
            self._transition(external_id, "STOP", status)

    def _status(self, external_id: str) -> str:
        return status_of(self._client.read("look up a study", study_path(external_id)).get("status"))

    def knows(self, external_id: str) -> bool:
        return self._study_if_there(external_id) is not None

    def standing(self, external_id: str) -> Standing | None:
        there = self._study_if_there(external_id)
        if there is None:
            return None
        counts = self._client.read("count submissions", f"{study_path(external_id)}submissions/counts/")
        told = {status_of(name): int(count) for name, count in counts.items() if isinstance(count, int)}
        in_hand = sum(number for name, number in told.items() if name not in SETTLED | {"TOTAL"})
        in_hand = max(in_hand, self._submitted.uncertain(external_id))
        in_hand += sum(each.status == AWAITING for each in self._submitted.away(external_id))
        gone = sum(told.get(name, 0) for name in REOPENED)
        terms = terms_of(there)
        if terms.reward is not None and terms.places:
            self.account.cost(terms.reward, terms.places)  # the books ask while they hold the study
        taken = told.get("TOTAL", 0) - gone
        over = status_of(there.get("status")) in OVER
        return Standing(
            deletable=over and not in_hand,
            free=max(0, (terms.places or 0) - taken),
            in_hand=in_hand,
            expired=over,
            terms=terms,
        )

    def _study_if_there(self, external_id: str) -> Any:
        try:
            return self._client.read("look up a study", study_path(external_id))
        except PlatformError as error:
            if error.code != "404":
                raise
            return None

    def notify(self, worker: str, subject: str, text: str) -> str:
        study = study_of_worker(self._engine, self._endpoint.name, worker)
        letter = {"recipient_id": worker, "study_id": study, "body": f"{subject}\n\n{text}"}
        self._client.send("write to a participant", "/messages/", letter)
        return ""

    def block(self, worker: str, reason: str) -> None:
        """Does nothing: the form server reads blocks from our own record."""

    def unblock(self, worker: str, reason: str) -> None:
        """As `block`."""

    def make_list(self, name: str, description: str) -> str:
        return self.account.group(name, description)

    def put_on_list(self, external_id: str, worker: str) -> None:
        self.account.change_group(external_id, worker, into=True)

    def take_off_list(self, external_id: str, worker: str) -> None:
        self.account.change_group(external_id, worker, into=False)

    def has_list(self, external_id: str) -> bool:
        return self.account.has_group(external_id)

    def check_access(self) -> Decimal | None:
        self._client.read("look up the account", "/users/me/", tries=1)
        return self.account.balance()

    def balance(self) -> Decimal | None:
        return self.account.balance()

    def cost(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Cost:
        return self.account.cost(reward, assignments)

    def bonus_cost(self, amount: Decimal) -> Cost:
        return self.account.bonus_cost(amount)

    def _only_live(self, what: str) -> None:
        """Raise UsageError if this would spend real money without --live."""
        if self._endpoint.spends_money and not self._live:
            raise UsageError(
                f"{self._endpoint.api_url} spends real money, and --live was not given: did not {what}",
                "Give --live and the sum that is shown.",
            )


def _rank(study: Mapping[str, Any]) -> tuple[bool, str, str]:
    is_draft = status_of(study.get("status")) == DRAFT
    return is_draft, str(study.get("date_created") or ""), str(study["id"])


def _published(there: Mapping[str, Any]) -> Published:
    return Published(str(there["id"]), str(there["id"]), terms_of(there))
