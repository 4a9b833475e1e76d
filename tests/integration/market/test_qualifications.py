"""Qualifications from both sides: the requester's types, tests and grants, and what a worker may do with
them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import Engine, select

from humaneval.market.operations import Market
from humaneval.market.tables.database import Mode
from humaneval.market.tables.qualifications import QualificationRequest
from tests.integration.market.asking import ask, hand_in, refusal, score
from tests.integration.market.forms import (
    KEY,
    TEST,
    answer_key,
    form,
    key_question,
    question,
    selection,
    text_answer,
)

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]
NewType = Callable[..., str]


class TestGrants:
    """Qualifications that the requester grants and revokes."""

    def test_a_grant_a_new_score_a_revocation_and_a_grant_again(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        kind, worker = new_type(), person()
        of_it = {"QualificationTypeId": kind, "WorkerId": worker.id}
        with pytest.raises(mturk.exceptions.RequestError, match="does not exist"):
            mturk.get_qualification_score(**of_it)
        mturk.associate_qualification_with_worker(**of_it)
        assert score(mturk, kind, worker) == 1
        mturk.associate_qualification_with_worker(**of_it, IntegerValue=-5)
        assert score(mturk, kind, worker) == -5
        mturk.disassociate_qualification_from_worker(**of_it, Reason="Expired <today>")
        with pytest.raises(mturk.exceptions.RequestError, match="called with a status of: Granted"):
            mturk.get_qualification_score(**of_it)
        assert refusal(mturk.disassociate_qualification_from_worker, **of_it) == "InvalidQualificationState"
        assert "Expired &lt;today&gt;" in worker.get(f"/qualifications/{kind}").text
        listed = mturk.list_workers_with_qualification_type(QualificationTypeId=kind, Status="Revoked")
        assert [each["WorkerId"] for each in listed["Qualifications"]] == [worker.id]
        assert mturk.list_workers_with_qualification_type(QualificationTypeId=kind)["NumResults"] == 0
        mturk.associate_qualification_with_worker(**of_it, IntegerValue=9)
        assert score(mturk, kind, worker) == 9
        assert "Your score is 9" in worker.get(f"/qualifications/{kind}").text

    def test_the_worker_is_told_unless_the_requester_does_not_want_it(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        worker = person()
        for name, told in (("Told", True), ("Quiet", False)):
            mturk.associate_qualification_with_worker(
                QualificationTypeId=new_type(name), WorkerId=worker.id, SendNotification=told
            )
        page = worker.get("/messages").text
        assert "Told" in page
        assert "Quiet" not in page

    def test_the_systems_own_are_listed_and_never_granted(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        new_type()
        listed = mturk.list_qualification_types(MustBeRequestable=False)["QualificationTypes"]
        assert [each["Name"] for each in listed] == [
            "Worker_PercentAssignmentsApproved",
            "Worker_NumberHITsApproved",
            "Worker_Locale",
            "Reader",
        ]
        own = mturk.list_qualification_types(MustBeRequestable=False, MustBeOwnedByCaller=True)
        assert [each["Name"] for each in own["QualificationTypes"]] == ["Reader"]
        system = listed[0]["QualificationTypeId"]
        found = mturk.get_qualification_type(QualificationTypeId=system)["QualificationType"]
        assert found["IsRequestable"] is False
        call = {"QualificationTypeId": system, "WorkerId": person().id}
        assert refusal(mturk.associate_qualification_with_worker, **call) == "NotPermitted"

    def test_C26_every_page_of_a_list_comes(self, mturk: Any, new_type: NewType, person: SignIn) -> None:
        kinds = [new_type(f"Kind {number}") for number in range(12)]
        pages = mturk.get_paginator("list_qualification_types").paginate(
            MustBeRequestable=True, PaginationConfig={"PageSize": 5}
        )
        assert [each["QualificationTypeId"] for page in pages for each in page["QualificationTypes"]] == kinds
        workers = [person(f"Worker {number}") for number in range(5)]
        for worker in workers:
            ask(worker, kinds[0])
        pages = mturk.get_paginator("list_qualification_requests").paginate(PaginationConfig={"PageSize": 2})
        asked = [each["WorkerId"] for page in pages for each in page["QualificationRequests"]]
        assert asked == [worker.id for worker in workers]


class TestRequests:
    """Requests that are granted or rejected, and requested again."""

    def test_a_request_waits_for_the_requester(self, mturk: Any, new_type: NewType, person: SignIn) -> None:
        kind, ada, grace = new_type(), person("Ada"), person("Grace")
        for worker in (ada, grace):
            assert ask(worker, kind).status == 303
        assert ask(ada, kind).status == 409
        first, second = mturk.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
        assert "Answer" not in first
        mturk.accept_qualification_request(
            QualificationRequestId=first["QualificationRequestId"], IntegerValue=3
        )
        mturk.reject_qualification_request(
            QualificationRequestId=second["QualificationRequestId"], Reason="Not now"
        )
        assert score(mturk, kind, ada) == 3
        assert "Not now" in grace.get(f"/qualifications/{kind}").text
        assert mturk.list_qualification_requests()["NumResults"] == 0
        for decide in (mturk.accept_qualification_request, mturk.reject_qualification_request):
            again = refusal(decide, QualificationRequestId=first["QualificationRequestId"])
            assert again == "InvalidQualificationRequestState"

    def test_without_a_retry_delay_it_can_be_asked_for_once(
        self, mturk: Any, new_type: NewType, person: SignIn, clock: Any
    ) -> None:
        once, again = new_type("Once"), new_type("Again", RetryDelayInSeconds=3600)
        worker = person()
        for kind in (once, again):
            ask(worker, kind)
        for request in mturk.list_qualification_requests()["QualificationRequests"]:
            mturk.reject_qualification_request(QualificationRequestId=request["QualificationRequestId"])
        clock.pass_time(minutes=59)
        assert ask(worker, again).status == 409
        assert "2 Nov 2026, 10:00 UTC" in worker.get(f"/qualifications/{again}").text
        clock.pass_time(minutes=1)
        assert ask(worker, again).status == 303
        clock.pass_time(days=300)
        assert ask(worker, once).status == 409
        assert "only once" in worker.get(f"/qualifications/{once}").text

    def test_of_requests_that_were_repeated_only_the_last_are_kept(
        self, engine: Engine, clock: Any, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        kind, other, worker = new_type(RetryDelayInSeconds=0), new_type("Other"), person()
        for wanted in (kind, other, kind, kind, kind):
            assert ask(worker, wanted).status == 303
            waiting = mturk.list_qualification_requests(QualificationTypeId=wanted)["QualificationRequests"]
            for request in waiting:
                mturk.reject_qualification_request(QualificationRequestId=request["QualificationRequestId"])
        with Market(engine, Mode.LOCAL, clock).reading() as work:
            kept = work.session.scalars(select(QualificationRequest)).all()
        assert [(each.number, each.type.id) for each in kept] == [(2, other), (4, kind), (5, kind)]

    def test_an_automatic_grant_is_immediate(self, mturk: Any, new_type: NewType, person: SignIn) -> None:
        kind, worker = new_type(AutoGranted=True, AutoGrantedValue=42), person()
        assert ask(worker, kind).headers["Location"] == f"/qualifications/{kind}"
        assert score(mturk, kind, worker) == 42
        assert mturk.list_qualification_requests()["NumResults"] == 0
        assert ask(worker, kind).status == 409

    def test_an_inactive_type_cannot_be_asked_for_or_required(
        self, mturk: Any, new_type: NewType, new_hit: NewHit, person: SignIn
    ) -> None:
        kind, worker = new_type(QualificationTypeStatus="Inactive"), person()
        assert ask(worker, kind).status == 404
        required = [{"QualificationTypeId": kind, "Comparator": "Exists"}]
        assert refusal(new_hit, QualificationRequirements=required) == "InvalidQualificationTypeState"
        mturk.update_qualification_type(QualificationTypeId=kind, QualificationTypeStatus="Active")
        assert ask(worker, kind).status == 303
        new_hit(QualificationRequirements=required)


class TestTests:
    """A test is taken within its time, and scored if there is a key."""

    def test_a_test_is_scored_by_its_key(self, mturk: Any, new_type: NewType, person: SignIn) -> None:
        kind = new_type(Test=TEST, AnswerKey=KEY, TestDurationInSeconds=600)
        ada, grace = person("Ada"), person("Grace")
        begun = ask(ada, kind)
        assert begun.headers["Location"] == f"/qualifications/{kind}/test"
        page = ada.get(f"/qualifications/{kind}/test").text
        assert re.findall(r'name="(q\d)"', page) == ["q0", "q0", "q1", "q1"]
        assert hand_in(ada, kind, q0="0", q1="1").status == 303
        ask(grace, kind)
        hand_in(grace, kind, q0="0", q1="0")
        assert [score(mturk, kind, worker) for worker in (ada, grace)] == [100, 50]
        assert mturk.list_qualification_requests()["NumResults"] == 0

    def test_without_a_key_the_requester_reads_test_and_answers(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        test = form(question("why", text_answer(), required=True))
        kind, worker = new_type(Test=test, TestDurationInSeconds=600), person()
        ask(worker, kind)
        missing = hand_in(worker, kind, q0=" ")
        assert missing.status == 400
        assert 'role="alert"' in missing.text
        hand_in(worker, kind, q0="Because & <so>")
        (request,) = mturk.list_qualification_requests()["QualificationRequests"]
        assert request["Test"] == test
        answer = ElementTree.fromstring(request["Answer"])
        assert [part.text for part in answer[0]] == ["why", "Because & <so>"]
        mturk.accept_qualification_request(QualificationRequestId=request["QualificationRequestId"])
        assert score(mturk, kind, worker) == 1

    def test_time_runs_out_and_reloading_does_not_begin_anew(
        self, mturk: Any, new_type: NewType, person: SignIn, clock: Any
    ) -> None:
        kind = new_type(Test=TEST, AnswerKey=KEY, TestDurationInSeconds=600)
        worker = person()
        ask(worker, kind)
        clock.pass_time(minutes=9)
        assert ask(worker, kind).status == 303, "the same test goes on"
        assert "1 minute left" in worker.get(f"/qualifications/{kind}/test").text
        clock.pass_time(minutes=1)
        late = hand_in(worker, kind, q0="0", q1="1")
        assert late.status == 409
        assert "ran out" in late.text
        call = {"QualificationTypeId": kind, "WorkerId": worker.id}
        assert refusal(mturk.get_qualification_score, **call) == "QualificationDoesNotExist"

    def test_who_has_begun_gets_the_test_and_key_of_that_moment(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        kind, worker = new_type(Test=TEST, AnswerKey=KEY, TestDurationInSeconds=600), person()
        ask(worker, kind)
        other = form(question("sea", selection("deep", "flat")))
        mturk.update_qualification_type(QualificationTypeId=kind, Test=other, TestDurationInSeconds=60)
        hand_in(worker, kind, q0="0", q1="1")
        assert score(mturk, kind, worker) == 100
        now = mturk.get_qualification_type(QualificationTypeId=kind)["QualificationType"]
        assert (now["Test"], "AnswerKey" in now) == (other, False)

    def test_who_has_begun_may_finish_although_it_is_no_longer_offered(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        kind, worker = new_type(Test=TEST, AnswerKey=KEY, TestDurationInSeconds=600), person()
        plain, late = new_type("Plain"), person("Grace")
        ask(worker, kind)
        ask(worker, plain)
        for each in (kind, plain):
            mturk.update_qualification_type(QualificationTypeId=each, QualificationTypeStatus="Inactive")
        listed = worker.get("/qualifications").text
        assert "Test begun" in listed
        assert "Requested" in listed
        assert "has not decided yet" in worker.get(f"/qualifications/{plain}").text
        assert worker.get(f"/qualifications/{kind}/test").status == 200
        assert hand_in(worker, kind, q0="0", q1="1").status == 303
        assert score(mturk, kind, worker) == 100
        assert ask(late, kind).status == 404

    def test_what_is_written_instead_of_a_selection_never_counts_as_the_right_one(
        self, mturk: Any, new_type: NewType, person: SignIn
    ) -> None:
        test = form(question("sky", selection("blue", "green", other="<OtherSelection/>")))
        kind = new_type(
            Test=test, AnswerKey=answer_key(key_question("sky", 1, "blue")), TestDurationInSeconds=60
        )
        worker = person()
        ask(worker, kind)
        other = [("csrf", worker.csrf()), ("q0", "other"), ("q0-other", "blue")]
        assert worker.post_fields(f"/qualifications/{kind}/test", other).status == 303
        assert score(mturk, kind, worker) == 0

    @pytest.mark.parametrize(
        ("mapping", "value"),
        [
            ("", 5),
            ("<PercentageMapping><MaximumSummedScore>8</MaximumSummedScore></PercentageMapping>", 63),
            ("<ScaleMapping><SummedScoreMultiplier>2.5</SummedScoreMultiplier></ScaleMapping>", 13),
            (
                (
                    "<RangeMapping><SummedScoreRange><InclusiveLowerBound>5</InclusiveLowerBound>"
                    "<InclusiveUpperBound>7</InclusiveUpperBound><QualificationValue>11</QualificationValue>"
                    "</SummedScoreRange><OutOfRangeQualificationValue>-1</OutOfRangeQualificationValue></RangeMapping>"
                ),
                11,
            ),
            (
                (
                    "<RangeMapping><SummedScoreRange><InclusiveLowerBound>6</InclusiveLowerBound>"
                    "<InclusiveUpperBound>7</InclusiveUpperBound><QualificationValue>11</QualificationValue>"
                    "</SummedScoreRange><OutOfRangeQualificationValue>-1</OutOfRangeQualificationValue></RangeMapping>"
                ),
                -1,
            ),
        ],
    )
    def test_every_mapping_gives_its_value(
        self, mturk: Any, new_type: NewType, person: SignIn, mapping: str, value: int
    ) -> None:
        test = form(question("all", selection("a", "b", "c", most=3, style="checkbox")))
        key = answer_key(key_question("all", 5, "a", "c", default=1), mapping=mapping)
        kind, worker = new_type(Test=test, AnswerKey=key, TestDurationInSeconds=60), person()
        ask(worker, kind)
        both = [("csrf", worker.csrf()), ("q0", "2"), ("q0", "0")]
        assert worker.post_fields(f"/qualifications/{kind}/test", both).status == 303
        assert score(mturk, kind, worker) == value


class TestRequirements:
    """Which workers may discover, preview and accept."""

    @pytest.mark.parametrize(
        ("comparator", "values", "met"),
        [
            ("LessThan", [81], True),
            ("LessThanOrEqualTo", [79], False),
            ("GreaterThan", [80], False),
            ("GreaterThanOrEqualTo", [80], True),
            ("EqualTo", [80], True),
            ("NotEqualTo", [80], False),
            ("In", [1, 80], True),
            ("NotIn", [1, 80], False),
            ("Exists", None, True),
            ("DoesNotExist", None, False),
        ],
    )
    def test_every_comparator_decides_over_a_score(
        self,
        mturk: Any,
        new_type: NewType,
        new_hit: NewHit,
        person: SignIn,
        comparator: str,
        values: list[int] | None,
        met: bool,
    ) -> None:
        kind, holder, other = new_type(), person("Ada"), person("Grace")
        mturk.associate_qualification_with_worker(
            QualificationTypeId=kind, WorkerId=holder.id, IntegerValue=80
        )
        requirement = {"QualificationTypeId": kind, "Comparator": comparator}
        if values:
            requirement |= {"IntegerValues": values}
        path = f"/hits/{new_hit(QualificationRequirements=[requirement])['HITId']}/accept"
        assert (holder.post(path, csrf=holder.csrf()).status == 303) is met
        without = other.post(path, csrf=other.csrf()).status == 303
        assert without is (comparator == "DoesNotExist"), "without it only DoesNotExist is met"

    @pytest.mark.parametrize(
        ("guarded", "statuses"),
        [
            ("Accept", (True, 200, 403)),
            ("PreviewAndAccept", (True, 403, 403)),
            ("DiscoverPreviewAndAccept", (False, 403, 403)),
        ],
    )
    def test_what_is_guarded_is_kept_from_those_without_it(
        self,
        new_type: NewType,
        new_hit: NewHit,
        person: SignIn,
        guarded: str,
        statuses: tuple[bool, int, int],
    ) -> None:
        kind, worker = new_type("Careful <reader>"), person()
        requirement = {"QualificationTypeId": kind, "Comparator": "Exists", "ActionsGuarded": guarded}
        hit_id = new_hit(QualificationRequirements=[requirement], Title="Guarded")["HITId"]
        found = "Guarded" in worker.get("/hits").text
        seen = worker.get(f"/hits/{hit_id}")
        taken = worker.post(f"/hits/{hit_id}/accept", csrf=worker.csrf())
        assert (found, seen.status, taken.status) == statuses
        assert "you hold “Careful &lt;reader&gt;”" in taken.text
        if seen.status == 200:
            assert f'href="/qualifications/{kind}"' in seen.text

    def test_hits_are_found_by_what_they_ask_for(
        self, mturk: Any, new_type: NewType, new_hit: NewHit
    ) -> None:
        kinds = [new_type("One"), new_type("Two")]
        both = [{"QualificationTypeId": kind, "Comparator": "Exists"} for kind in kinds]
        first = new_hit(QualificationRequirements=both)["HITId"]
        second = new_hit(QualificationRequirements=both[1:])["HITId"]
        new_hit()

        def found(kind: str) -> list[str]:
            reply = mturk.list_hits_for_qualification_type(QualificationTypeId=kind)
            return [hit["HITId"] for hit in reply["HITs"]]

        assert [found(kind) for kind in kinds] == [[first], [first, second]]
        assert found("000000000000000000L0") == []
