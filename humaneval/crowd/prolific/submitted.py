"""What people did at a Prolific study: places in hand, submissions, returns, and what was paid."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Engine

from humaneval.crowd.platform import HIT_GONE, Part, Submission
from humaneval.crowd.prolific.account import Account
from humaneval.crowd.prolific.answered import answers_at, away_codes, unconfirmed_at
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.decisions import path_of
from humaneval.crowd.prolific.draft import study_path
from humaneval.crowd.prolific.submission import (
    AWAITING,
    IN_PART,
    KNOWN,
    REOPENED,
    RETURNED,
    SCREENED,
    SETTLED,
    UNDER_WAY,
    Session,
    major,
    session_of,
)
from humaneval.errors import PlatformError
from humaneval.store.types import now

APPROVED_AFTER = timedelta(days=21)
"""Prolific then approves what nobody has decided about."""
SHOWN_AFTER = timedelta(minutes=1)
"""A submission that began so long ago is in the list, if there is one."""
NO_ANSWERS = "submitted at Prolific, but our server has no answers"


class Submitted:
    """The submissions of one account's studies. What was listed last is kept."""

    def __init__(self, client: ProlificClient, engine: Engine, endpoint: str, account: Account) -> None:
        self._client, self._engine, self._endpoint, self._account = client, engine, endpoint, account
        self._listed: dict[str, list[Session]] = {}
        self._listed_at: dict[str, datetime] = {}
        self._unknown: dict[str, list[str]] = {}

    def sessions(self, external_id: str) -> list[Session]:
        """Every submission of a study, in any state, from all pages."""
        asked_at = now()
        try:
            listed = [
                session_of(each)
                for each in self._client.pages(
                    "list submissions", "/submissions/", {"study": external_id, "ordering": "started_at"}
                )
            ]
        except PlatformError as error:
            if error.code == "404":
                error.code = HIT_GONE
            raise
        self._listed[external_id] = [each for each in listed if each.study in ("", external_id)]
        self._listed_at[external_id] = asked_at
        return self._listed[external_id]

    def session(self, assignment: str, *, tries: int = 3, seconds: float | None = None) -> Session | None:
        """One submission by its id; None if there is none."""
        try:
            told = self._client.read(
                "look up a submission", path_of(assignment), tries=tries, seconds=seconds
            )
        except PlatformError as error:
            if error.code != "404":
                raise
            return None
        return session_of(told)

    def submissions(self, external_id: str) -> Iterator[Submission]:
        """What is submitted by Prolific's word, with the answers that our server has.

        Submissions of people who left without doing anything are left out, unless these are paid.
        """
        sessions = self.sessions(external_id)
        answers = answers_at(self._engine, self._endpoint, external_id)
        away = {each.id for each in self.away(external_id)}
        parts = self._parts(external_id, sessions)
        for each in sessions:
            if each.state is None or (each.id in away and each.state != "approved"):
                continue
            fields = answers.get((each.id, each.participant))
            yield Submission(
                external_id=each.id,
                worker=each.participant,
                state=each.state,
                fields=fields or {},
                accepted_at=each.started_at,
                submitted_at=each.completed_at,
                auto_approval_at=each.completed_at and each.completed_at + APPROVED_AFTER,
                part=parts.get(each.id),
                unreadable="" if fields else NO_ANSWERS,
            )

    def uncertain(self, external_id: str) -> int:
        """How many of the submissions that were just listed have a state that says nothing."""
        told = SETTLED | UNDER_WAY
        return sum(each.status not in told for each in self._listed.get(external_id, ()))

    def away(self, external_id: str) -> list[Session]:
        """The submissions just listed whose people left without doing anything."""
        codes = away_codes(self._engine, self._endpoint, external_id)
        left = [each for each in self._listed.get(external_id, ()) if each.code in codes and each.code]
        answers = answers_at(self._engine, self._endpoint, external_id) if left else {}
        return [each for each in left if (each.id, each.participant) not in answers]

    def _parts(self, external_id: str, sessions: Sequence[Session]) -> dict[str, Part]:
        """What was paid for work that is approved in part, if Prolific tells it: only one list has it."""
        some = [each.id for each in sessions if each.status == IN_PART]
        if not some:
            return {}
        listed = self._client.by_offset("list rewards", f"{study_path(external_id)}submissions/")
        told = {str(each.get("id")): major(each["reward"]) for each in listed if each.get("reward")}
        for amount in told.values():
            self._account.cost(amount, 1)  # the books ask while they hold the study
        self._unknown[external_id] = [each for each in some if each not in told]
        return {each: Part(told.get(each)) for each in some}

    def given_up(self, external_id: str) -> Collection[str]:
        """The submissions whose places are open again, and those that somebody has made up: they got a form
        because Prolific did not answer, and it does not know them."""
        listed = self._just_listed(external_id)
        before = self._listed_at[external_id] - SHOWN_AFTER
        unsure = unconfirmed_at(self._engine, self._endpoint, external_id, before)
        known = {each.id for each in listed}
        reopened = [each.id for each in listed if each.status in REOPENED]
        return [*reopened, *(each for each in unsure if each not in known)]

    def returned(self, external_id: str) -> Collection[str]:
        """The submissions that people have given back themselves."""
        return [each.id for each in self._just_listed(external_id) if each.status == RETURNED]

    def _just_listed(self, external_id: str) -> list[Session]:
        there = self._listed.get(external_id)
        return self.sessions(external_id) if there is None else there

    def notes(self, external_id: str) -> Iterator[str]:
        """What a person must look at among the submissions that were just listed, one line each."""
        for unknown in self._unknown.get(external_id, ()):
            yield f"{unknown} was approved in part, and Prolific does not tell its pay: the books lack it."
        away = {each.id for each in self.away(external_id)}
        for each in self._listed.get(external_id, ()):
            if each.status == AWAITING and each.id in away:
                yield f"{each.id} did nothing, and was asked to return: it is paid in 21 days otherwise."
            elif each.status == AWAITING and each.return_requested is not None:
                yield f"{each.id} was asked to return and is still submitted: approve or reject it."
            elif each.status == SCREENED:
                yield f"{each.id} was screened out at Prolific: if that was paid, the books lack it."
            elif each.status not in KNOWN:
                yield f"{each.id} has the state {each.status or 'unknown'}, which is taken for none."
