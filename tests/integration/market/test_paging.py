"""Lists that are longer than a page: every row comes once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.market import Mode
from humaneval.market.assignments import accept
from humaneval.market.operations import Market
from humaneval.market.protocol.answer_xml import Field
from humaneval.market.submissions import submit
from humaneval.market.workers import sign_up

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]


def test_C26_every_page_of_250_assignments_comes_and_the_last_one_is_empty(
    mturk: Any, new_hit: NewHit, engine: Engine, clock: Any
) -> None:
    hit = new_hit(MaxAssignments=250)
    done = []
    with Market(engine, Mode.LOCAL, clock).writing() as work:
        for number in range(250):
            done.append(accept(work, sign_up(work, f"Worker {number}", ""), hit["HITId"]).id)
            submit(work, done[-1], [Field("choice", "3")])
    pages = list(
        mturk.get_paginator("list_assignments_for_hit").paginate(
            HITId=hit["HITId"], PaginationConfig={"PageSize": 50}
        )
    )
    assert [page["NumResults"] for page in pages] == [50, 50, 50, 50, 50, 0]
    assert "NextToken" not in pages[-1]
    assert [item["AssignmentId"] for page in pages for item in page["Assignments"]] == done
    assert mturk.list_assignments_for_hit(HITId=hit["HITId"])["NumResults"] == 10


def test_C26_approving_between_pages_skips_nobody(mturk: Any, new_hit: NewHit, person: SignIn) -> None:
    hit = new_hit(MaxAssignments=5)
    done = [person(f"Worker {number}").do(hit["HITId"]) for number in range(5)]
    seen, token = [], {}
    while True:
        page = mturk.list_assignments_for_hit(
            HITId=hit["HITId"], AssignmentStatuses=["Submitted"], MaxResults=2, **token
        )
        for item in page["Assignments"]:
            seen.append(item["AssignmentId"])
            mturk.approve_assignment(AssignmentId=item["AssignmentId"])
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert seen == done


def test_a_next_token_of_another_list_is_refused(mturk: Any, new_hit: NewHit) -> None:
    hit = new_hit()
    token = mturk.list_hits(MaxResults=1)["NextToken"]
    for wrong in (token, "x", "MTpudW1iZXI6LTE="):
        with pytest.raises(mturk.exceptions.RequestError, match="NextToken"):
            mturk.list_assignments_for_hit(HITId=hit["HITId"], NextToken=wrong)
    with pytest.raises(mturk.exceptions.RequestError, match="NextToken"):
        mturk.list_worker_blocks(NextToken=token)
