"""A marketplace without its pages: what requesters and workers do there, as fast as it goes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from humaneval.market import Mode, open_account, open_market
from humaneval.market.assignments import accept
from humaneval.market.operations import Market
from humaneval.market.protocol.answer_xml import Field, answer_xml
from humaneval.market.submissions import Answer, submit
from humaneval.market.workers import find_worker, sign_up
from tests.integration.market.conftest import HIT

Fields = list[tuple[str, str]]


class Done(NamedTuple):
    """An assignment that was submitted, and what was sent."""

    id: str
    fields: Fields


class Shop:
    """A marketplace and its only requester."""

    def __init__(self, path: Path, now: datetime = datetime(2026, 11, 2, tzinfo=UTC)) -> None:
        self.path, self.engine = path, open_market(path)
        open_account(self.engine, Mode.LOCAL)
        self.market = Market(self.engine, Mode.LOCAL, lambda: now)

    def sign_up(self, people: int) -> list[str]:
        with self.market.writing() as work:
            return [sign_up(work, f"worker {number}", "").id for number in range(people)]

    def new_hit(self, **values: Any) -> str:
        made: str = self.market.perform("CreateHIT", {**HIT, **values})["HIT"]["HITId"]
        return made

    def accept(self, hit: str, worker: str) -> str:
        with self.market.writing() as work:
            return accept(work, find_worker(work, worker), hit).id

    def submit(self, assignment: str, fields: Fields) -> Done:
        answer = Answer(answer_xml(Field(*field) for field in fields))
        with self.market.writing() as work:
            submit(work, assignment, answer)
        return Done(assignment, fields)

    def states(self, hit: str) -> dict[str, str]:
        call = {"HITId": hit, "MaxResults": 100}
        listed = self.market.perform("ListAssignmentsForHIT", call)["Assignments"]
        return {each["AssignmentId"]: each["AssignmentStatus"] for each in listed}

    def pages(self, hit: str, size: int = 100) -> list[dict[str, Any]]:
        call, found = {"HITId": hit, "MaxResults": size}, []
        while True:
            found.append(self.market.perform("ListReviewPolicyResultsForHIT", call))
            if "NextToken" not in found[-1]:
                return found
            call["NextToken"] = found[-1]["NextToken"]

    def results(self, hit: str, size: int = 100) -> list[dict[str, str]]:
        reports = [page["HITReviewReport"] for page in self.pages(hit, size)]
        return [line for report in reports for line in report["ReviewResults"]]

    def actions(self, hit: str) -> list[tuple[str, str, str]]:
        """What was done, to what, and how it ended."""
        done = [line for page in self.pages(hit) for line in page["HITReviewReport"]["ReviewActions"]]
        return [(line["ActionName"], line["TargetId"], line["Result"]) for line in done]

    def column(self, query: str, *values: object) -> list[Any]:
        """The first column of what the file has."""
        with closing(sqlite3.connect(self.path)) as file:
            return [row[0] for row in file.execute(query, values)]
