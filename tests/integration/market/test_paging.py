"""Lists that are longer than a page: every row comes once, whatever happens in between."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.market import Mode
from humaneval.market.assignments import accept
from humaneval.market.operations import Market
from humaneval.market.protocol.answer_xml import Field, answer_xml
from humaneval.market.qualifications.standing import ask
from humaneval.market.submissions import Answer, submit
from humaneval.market.workers import sign_up

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]
Lists = dict[str, dict[str, Any]]


def test_C26_every_page_of_250_assignments_comes_and_the_last_one_is_empty(
    mturk: Any, new_hit: NewHit, engine: Engine, clock: Any
) -> None:
    hit = new_hit(MaxAssignments=250)
    done = []
    with Market(engine, Mode.LOCAL, clock).writing() as work:
        for number in range(250):
            done.append(accept(work, sign_up(work, f"Worker {number}", ""), hit["HITId"]).id)
            submit(work, done[-1], Answer(answer_xml([Field("choice", "3")])))
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


def _filled(mturk: Any, engine: Engine, clock: Any, new_hit: NewHit, new_type: Callable[..., str]) -> Lists:
    """Every list of the API with 4 rows or more; the calls by the name of their operation."""
    kinds = [new_type(f"Type {number}") for number in range(4)]
    asked = [{"QualificationTypeId": kinds[0], "Comparator": "DoesNotExist"}]
    hits = [new_hit(MaxAssignments=4, QualificationRequirements=asked)["HITId"] for _ in range(4)]
    known: dict[str, Any] = {"PolicyName": "ScoreMyKnownAnswers/2011-09-01"}
    known["Parameters"] = [{"Key": "AnswerKey", "MapEntries": [{"Key": "choice", "Values": ["3"]}]}]
    policed = new_hit(MaxAssignments=4, AssignmentReviewPolicy=known)["HITId"]
    with Market(engine, Mode.LOCAL, clock).writing() as work:
        for number in range(4):
            worker = sign_up(work, f"Worker {number}", "")
            for hit in (*hits, policed):
                submit(work, accept(work, worker, hit).id, Answer(answer_xml([Field("choice", "3")])))
            ask(work, worker, kinds[1])
    for done in mturk.list_assignments_for_hit(HITId=hits[0])["Assignments"]:
        who = {"WorkerId": done["WorkerId"]}
        mturk.send_bonus(**who, AssignmentId=done["AssignmentId"], BonusAmount="0.05", Reason="Care")
        mturk.create_worker_block(**who, Reason="Copies")
        mturk.associate_qualification_with_worker(**who, QualificationTypeId=kinds[0], IntegerValue=1)
    return {
        "list_hits": {},
        "list_reviewable_hits": {},
        "list_hits_for_qualification_type": {"QualificationTypeId": kinds[0]},
        "list_assignments_for_hit": {"HITId": hits[0], "AssignmentStatuses": ["Submitted", "Approved"]},
        "list_bonus_payments": {"HITId": hits[0]},
        "list_qualification_requests": {"QualificationTypeId": kinds[1]},
        "list_qualification_types": {"MustBeRequestable": True, "Query": "Type"},
        "list_review_policy_results_for_hit": {"HITId": policed},
        "list_worker_blocks": {},
        "list_workers_with_qualification_type": {"QualificationTypeId": kinds[0], "Status": "Granted"},
    }


def _rows(reply: dict[str, Any]) -> list[Any]:
    report = reply.get("AssignmentReviewReport")
    lists = report.values() if report else [each for each in reply.values() if isinstance(each, list)]
    return [row for rows in lists for row in rows]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_X42_every_list_has_a_token_with_its_rows_and_ends_with_an_empty_page(
    mturk: Any, engine: Engine, clock: Any, new_hit: NewHit, new_type: Callable[..., str], size: int
) -> None:
    """Programs went on until an empty page, and read the token of each page that had rows."""
    lists = _filled(mturk, engine, clock, new_hit, new_type)
    model = mturk.meta.service_model
    outputs = {name: model.operation_model(name).output_shape for name in model.operation_names}
    paged = {name for name, output in outputs.items() if "NextToken" in output.members}
    assert {mturk.meta.method_to_api_mapping[name] for name in lists} == paged
    for name, params in lists.items():
        call = getattr(mturk, name)
        reply = call(**params, MaxResults=size)
        by_hand = _rows(reply)
        while "NextToken" in reply:
            reply = call(**params, MaxResults=size, NextToken=reply["NextToken"])
            by_hand += _rows(reply)
        assert (_rows(reply), reply.get("NumResults", 0)) == ([], 0), name
        until_empty: list[Any] = []
        reply = call(**params, MaxResults=size)
        while _rows(reply):
            until_empty += _rows(reply)
            reply = call(**params, MaxResults=size, NextToken=reply["NextToken"])
        assert (until_empty, len(by_hand) >= 4) == (by_hand, True), name
        if not mturk.can_paginate(name):
            continue
        pages = list(mturk.get_paginator(name).paginate(**params, PaginationConfig={"PageSize": size}))
        assert [row for page in pages for row in _rows(page)] == by_hand, name
        assert ["NextToken" in page for page in pages] == [True] * (len(pages) - 1) + [False], name


def test_X43_the_list_of_hits_begins_with_the_newest(mturk: Any, new_hit: NewHit) -> None:
    """Programs take the first for the one that was made last."""
    made = [new_hit()["HITId"] for _ in range(5)]
    first = mturk.list_hits(MaxResults=2)
    later = new_hit()["HITId"]
    second = mturk.list_hits(MaxResults=2, NextToken=first["NextToken"])
    last = mturk.list_hits(MaxResults=2, NextToken=second["NextToken"])
    seen = [hit["HITId"] for page in (first, second, last) for hit in page["HITs"]]
    assert seen == made[::-1], "what came in between neither hides a row nor shows one twice"
    assert mturk.list_hits()["HITs"][0]["HITId"] == later


def test_X42_a_list_without_rows_has_no_token(mturk: Any) -> None:
    assert "NextToken" not in mturk.list_hits()
    assert mturk.list_hits()["NumResults"] == 0


def test_X42_a_token_belongs_to_one_operation_filter_and_hit(
    mturk: Any, engine: Engine, clock: Any, new_hit: NewHit, new_type: Callable[..., str]
) -> None:
    lists = _filled(mturk, engine, clock, new_hit, new_type)
    tokens = {
        name: getattr(mturk, name)(**params, MaxResults=1)["NextToken"] for name, params in lists.items()
    }
    for name, params in lists.items():
        for giver, token in tokens.items():
            if giver != name:
                with pytest.raises(mturk.exceptions.RequestError, match="did not give that NextToken"):
                    getattr(mturk, name)(**params, NextToken=token)
    others: dict[str, list[dict[str, Any]]] = {
        "list_assignments_for_hit": [
            {"HITId": new_hit()["HITId"], "AssignmentStatuses": ["Submitted", "Approved"]},
            {**lists["list_assignments_for_hit"], "AssignmentStatuses": ["Submitted"]},
        ],
        "list_reviewable_hits": [{"Status": "Reviewing"}],
        "list_qualification_types": [
            {"MustBeRequestable": False, "Query": "Type"},
            {"MustBeRequestable": True},
        ],
        "list_workers_with_qualification_type": [
            {**lists["list_workers_with_qualification_type"], "Status": "Revoked"}
        ],
        "list_review_policy_results_for_hit": [
            {**lists["list_review_policy_results_for_hit"], "RetrieveActions": False}
        ],
    }
    for name, changes in others.items():
        for changed in changes:
            with pytest.raises(mturk.exceptions.RequestError, match="did not give that NextToken"):
                getattr(mturk, name)(**changed, NextToken=tokens[name])
    turned = {
        "HITId": lists["list_assignments_for_hit"]["HITId"],
        "AssignmentStatuses": ["Approved", "Submitted"],
    }
    again = mturk.list_assignments_for_hit(
        **turned, NextToken=tokens["list_assignments_for_hit"], MaxResults=100
    )
    assert again["NumResults"] == 3


def test_X42_a_forged_or_stale_token_is_refused(mturk: Any, new_hit: NewHit, clock: Any) -> None:
    for _ in range(3):
        new_hit()
    token = mturk.list_hits(MaxResults=1)["NextToken"]
    text = base64.urlsafe_b64decode(token).decode()
    forged = base64.urlsafe_b64encode(f"1{text}".encode()).decode()
    for wrong in (
        forged,
        token[:-4],
        token + "AAAA",
        token.swapcase(),
        "x",
        "é",
        "MTpudW1iZXI6LTE=",
        "OjE6Mg==",
    ):
        with pytest.raises(mturk.exceptions.RequestError, match="NextToken") as refused:
            mturk.list_hits(NextToken=wrong)
        assert refused.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.InvalidParameterValue"
    clock.pass_time(hours=23)
    assert mturk.list_hits(NextToken=token)["NumResults"] == 2
    clock.pass_time(hours=2)
    with pytest.raises(mturk.exceptions.RequestError, match="too old"):
        mturk.list_hits(NextToken=token)
