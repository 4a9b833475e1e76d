"""Approves and rejects submissions, and asks for their return. States are looked up before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import quote

from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.submission import APPROVED, AWAITING, REJECTED, UNDER_WAY, Session, status_of
from humaneval.errors import PlatformError, UsageError

MOST_TOGETHER = 1000
LAGS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between looks for what Prolific does later, and for a submission that is on its way."""
LEAST_REASON = 100
"""The fewest characters of a reason for a rejection."""
CATEGORIES = (
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
)


def check_rejection(reason: str, category: str) -> None:
    """Raise UsageError if Prolific takes no rejection with this reason and category."""
    if len(reason) < LEAST_REASON:
        raise UsageError(
            f"the reason has {len(reason)} characters; Prolific asks for {LEAST_REASON} or more",
            "Say what was asked, what was done, and how that can be seen.",
        )
    if category not in CATEGORIES:
        raise UsageError(
            f"Prolific needs one category for a rejection, not {category!r}",
            f"Give one with --category: {', '.join(CATEGORIES)}.",
        )


class LookUp(Protocol):
    """Finds one submission by its id."""

    def __call__(self, assignment: str, /) -> Session | None: ...


class Decisions:
    """The decisions of one account. `session` looks one submission up, `sessions` those of a study."""

    def __init__(
        self,
        client: ProlificClient,
        session: LookUp,
        sessions: Callable[[str], list[Session]],
        wait: Callable[[float], None],
    ) -> None:
        self._client, self._session, self._sessions, self._wait = client, session, sessions, wait
        self._approved: set[str] = set()

    def approve_together(self, assignments: Sequence[str]) -> None:
        """Ask for many approvals together, and wait until Prolific shows them. `approve` confirms each."""
        for start in range(0, len(assignments), MOST_TOGETHER):
            some = list(assignments[start : start + MOST_TOGETHER])
            first = self._session(some[0])
            if first is None:
                return
            # Documented as safe to repeat: what is approved stays approved.
            try:
                self._client.set("approve", "POST", "/submissions/bulk-approve/", {"submission_ids": some})
            except PlatformError:
                return  # one of them may be the reason: each is then tried alone
            for seconds in LAGS:
                self._wait(seconds)
                try:
                    done = {each.id for each in self._sessions(first.study) if each.status == APPROVED}
                except PlatformError:
                    continue  # the next look may see it, and each is looked up alone in the end
                self._approved |= done & set(some)
                if done.issuperset(some):
                    break

    def approve(self, assignment: str, feedback: str) -> None:
        """Pay for submitted work. What is approved already is success."""
        if assignment in self._approved:
            return
        said = {"action": "APPROVE", **({"message": feedback} if feedback else {})}
        self._decide("approve", assignment, APPROVED, said)

    def reject(self, assignment: str, reason: str, category: str) -> None:
        """Reject submitted work, with a reason and a category of Prolific's."""
        check_rejection(reason, category)
        said = {"action": "REJECT", "message": reason, "rejection_category": category}
        self._decide("reject", assignment, REJECTED, said)

    def _decide(self, what: str, assignment: str, wanted: str, said: Mapping[str, str]) -> None:
        """Look up the state and act. After a failure, look it up again: the call may have got through."""
        there = self._awaited(assignment)
        if there == wanted:
            return
        try:
            if there != AWAITING:
                raise PlatformError(
                    f"submission {assignment} is {there.lower()}, not awaiting review",
                    "Prolific does not take back what was decided." if there in (APPROVED, REJECTED) else "",
                    nothing_done=True,
                )
            done = self._client.send(what, f"{path_of(assignment)}transition/", said)
            if status_of(done.get("status")) != wanted and self._awaited(assignment, wanted) != wanted:
                raise PlatformError(f"Prolific took the call to {what} {assignment} and does not show it")
        except PlatformError as error:
            try:
                now_there = self._state(assignment)
            except PlatformError:
                raise error from None  # this one says whether anything may have been done
            if now_there != wanted:
                error.never_done = error.nothing_done
                raise

    def _awaited(self, assignment: str, wanted: str = "") -> str:
        """The state of a submission. Just after the hand-over Prolific may still call it active, and just
        after a decision not what was `wanted`."""
        state = ""
        for seconds in LAGS:
            self._wait(seconds)
            state = self._state(assignment)
            if state == wanted if wanted else state not in UNDER_WAY and state != "PROCESSING":
                break
        return state

    def _state(self, assignment: str) -> str:
        there = self._session(assignment)
        return "not there" if there is None else there.status

    def request_return(self, assignment: str, reason: str) -> None:
        """Ask a person to return a submission. Its state stays until they do."""
        there = self._session(assignment)
        if there is not None and there.return_requested is not None:
            return
        reasons = {"request_return_reasons": [reason]}
        done = self._client.send("ask for a return", f"{path_of(assignment)}request-return/", reasons)
        there = None if done.get("return_requested") else self._session(assignment)
        if not done.get("return_requested") and (there is None or there.return_requested is None):
            raise PlatformError(f"Prolific took the request to return {assignment} and does not show it")


def path_of(submission: str) -> str:
    """Where a submission is found."""
    return f"/submissions/{quote(submission, safe='')}/"
