"""What the API's documentation promises about time, types, tokens, blocks, messages and events."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from humaneval.cli.main import cli
from tests.integration.market.asking import balances, refusal

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]
KIND = {"Title": "T", "Description": "D", "Reward": "0.10", "AssignmentDurationInSeconds": 60}
PAST = datetime(1970, 1, 1, tzinfo=UTC)


class TestTokens:
    """A UniqueRequestToken counts for 24 hours."""

    def test_C01_after_a_day_the_token_makes_a_second_hit(
        self, mturk: Any, new_hit: NewHit, clock: Any
    ) -> None:
        first = new_hit(UniqueRequestToken="t")["HITId"]
        clock.pass_time(hours=23, minutes=59)
        assert refusal(new_hit, UniqueRequestToken="t") == "HitAlreadyExists"
        clock.pass_time(minutes=1)
        second = new_hit(UniqueRequestToken="t")["HITId"]
        assert second != first
        with pytest.raises(mturk.exceptions.RequestError, match=second):
            new_hit(UniqueRequestToken="t")

    def test_C04_after_a_day_the_token_pays_a_second_bonus(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
    ) -> None:
        worker = person()
        assignment_id = worker.do(new_hit()["HITId"])
        bonus = {"WorkerId": worker.id, "AssignmentId": assignment_id, "BonusAmount": "1", "Reason": "R"}
        mturk.send_bonus(**bonus, UniqueRequestToken="t")
        clock.pass_time(days=1)
        mturk.send_bonus(**bonus, UniqueRequestToken="t")
        assert mturk.list_bonus_payments(AssignmentId=assignment_id)["NumResults"] == 2


class TestTypes:
    """A HIT takes the properties of its HIT type, including the reward."""

    def test_another_type_changes_what_is_held_and_what_is_paid(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        worker, hit = person(), new_hit(MaxAssignments=2)
        mturk.approve_assignment(AssignmentId=worker.do(hit["HITId"]))
        assert balances(mturk) == (Decimal("9998.80"), Decimal("0.60"))
        dearer = mturk.create_hit_type(**{**KIND, "Reward": "2.00"})["HITTypeId"]
        mturk.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=dearer)
        assert balances(mturk) == (Decimal("9997.00"), Decimal("2.40"))
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["Title"] == "T"
        assert "<dd>$0.50</dd>" in worker.get("/my-work").text, "what was earned stays as it was"
        mturk.approve_assignment(AssignmentId=person("Grace").do(hit["HITId"]))
        assert balances(mturk) == (Decimal("9997.00"), Decimal("0.00"))

    def test_a_type_that_cannot_be_paid_for_is_refused_and_the_hit_stays_as_it_was(
        self, mturk: Any, new_hit: NewHit
    ) -> None:
        hit = new_hit()
        dear = mturk.create_hit_type(**{**KIND, "Reward": "9000.00"})["HITTypeId"]
        call = {"HITId": hit["HITId"], "HITTypeId": dear}
        assert refusal(mturk.update_hit_type_of_hit, **call) == "InsufficientFunds"
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITTypeId"] == hit["HITTypeId"]
        mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=PAST)
        mturk.delete_hit(HITId=hit["HITId"])
        assert refusal(mturk.update_hit_type_of_hit, **call) == "InvalidHITState"

    def test_a_type_is_equal_by_value_however_it_is_written(self, mturk: Any) -> None:
        record = {
            "QualificationTypeId": "000000000000000000L0",
            "Comparator": "EqualTo",
            "IntegerValues": [100],
        }
        known = {"QualificationTypeId": "00000000000000000071", "Comparator": "Exists"}
        first = mturk.create_hit_type(**KIND, QualificationRequirements=[record, known])["HITTypeId"]
        same = {
            **KIND,
            "Reward": "00.1",
            "Keywords": "",
            "AutoApprovalDelayInSeconds": 30 * 86400,
            "QualificationRequirements": [known, record],
        }
        assert mturk.create_hit_type(**same)["HITTypeId"] == first
        for name, other in (("Title", "t"), ("AutoApprovalDelayInSeconds", 1), ("Keywords", "k")):
            assert mturk.create_hit_type(**{**same, name: other})["HITTypeId"] != first

    @pytest.mark.parametrize(
        ("sent", "required", "guarded"),
        [
            ({}, False, "Accept"),
            ({"RequiredToPreview": False}, False, "Accept"),
            ({"RequiredToPreview": True}, True, "PreviewAndAccept"),
            ({"ActionsGuarded": "Accept"}, False, "Accept"),
            ({"ActionsGuarded": "PreviewAndAccept"}, True, "PreviewAndAccept"),
            ({"ActionsGuarded": "DiscoverPreviewAndAccept"}, True, "DiscoverPreviewAndAccept"),
            ({"ActionsGuarded": "Accept", "RequiredToPreview": False}, False, "Accept"),
            ({"ActionsGuarded": "PreviewAndAccept", "RequiredToPreview": True}, True, "PreviewAndAccept"),
            (
                {"ActionsGuarded": "DiscoverPreviewAndAccept", "RequiredToPreview": True},
                True,
                "DiscoverPreviewAndAccept",
            ),
        ],
    )
    def test_X43_a_requirement_is_read_back_with_both_names_of_what_it_guards(
        self, mturk: Any, new_hit: NewHit, sent: dict[str, Any], required: bool, guarded: str
    ) -> None:
        where = {"QualificationTypeId": "00000000000000000071", "Comparator": "In"}
        asked = [
            {**where, "LocaleValues": [{"Country": "US"}, {"Country": "CA"}], **sent},
            {
                "QualificationTypeId": "000000000000000000L0",
                "Comparator": "GreaterThan",
                "IntegerValues": [9],
            },
            {"QualificationTypeId": "00000000000000000040", "Comparator": "LessThan", "IntegerValues": [5]},
        ]
        plain = {"RequiredToPreview": False, "ActionsGuarded": "Accept"}
        shown = [
            {**asked[0], "RequiredToPreview": required, "ActionsGuarded": guarded},
            {**asked[1], **plain},
            {**asked[2], **plain},
        ]
        hit = new_hit(QualificationRequirements=asked)
        assert hit["QualificationRequirements"] == shown
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["QualificationRequirements"] == shown
        assert mturk.list_hits()["HITs"][0]["QualificationRequirements"] == shown
        assert new_hit(QualificationRequirements=shown)["HITTypeId"] == hit["HITTypeId"]

    @pytest.mark.parametrize(
        ("guarded", "required"),
        [("Accept", True), ("PreviewAndAccept", False), ("DiscoverPreviewAndAccept", False)],
    )
    def test_X43_two_names_that_contradict_each_other_are_refused(
        self, mturk: Any, new_hit: NewHit, guarded: str, required: bool
    ) -> None:
        known = {"QualificationTypeId": "00000000000000000071", "Comparator": "Exists"}
        both = {**known, "ActionsGuarded": guarded, "RequiredToPreview": required}
        with pytest.raises(mturk.exceptions.RequestError, match="contradicts ActionsGuarded"):
            new_hit(QualificationRequirements=[both])

    @pytest.mark.parametrize(
        ("written", "cents"),
        [("5", "5.00"), ("5.", "5.00"), ("0.1", "0.10"), ("007.25", "7.25"), ("0", "0.00")],
    )
    def test_C17_a_reward_may_be_written_in_every_way_the_model_allows(
        self, new_hit: NewHit, written: str, cents: str
    ) -> None:
        assert new_hit(Reward=written)["Reward"] == cents


class TestAges:
    """A HIT is kept for 120 days after it became Reviewable."""

    def test_a_reviewed_hit_is_disposed_of_after_120_days(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
    ) -> None:
        hit = new_hit(MaxAssignments=1)
        assignment_id = person().do(hit["HITId"])
        mturk.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")
        clock.pass_time(days=119, hours=23)
        assert mturk.list_hits()["NumResults"] == 1
        clock.pass_time(hours=1)
        assert mturk.list_hits()["NumResults"] == 0
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Disposed"
        call = {"AssignmentId": assignment_id, "OverrideRejection": True}
        assert refusal(mturk.approve_assignment, **call) == "InvalidAssignmentState"

    def test_a_hit_that_is_open_again_counts_anew(self, mturk: Any, new_hit: NewHit, clock: Any) -> None:
        hit = new_hit()
        clock.pass_time(days=100)
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"
        mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=clock.now + timedelta(days=30))
        clock.pass_time(days=31)
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"
        clock.pass_time(days=119)
        assert mturk.list_hits()["NumResults"] == 1


class TestBlocks:
    """Blocked workers see no HITs and cannot accept any; they may finish work in hand."""

    def test_a_blocked_worker_sees_and_takes_nothing(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        worker, hit, other = person(), new_hit(), new_hit(Title="Another")
        in_hand = worker.accept(hit["HITId"])
        mturk.create_worker_block(WorkerId=worker.id, Reason="Copies answers")
        assert "Another" not in worker.get("/hits").text
        refused = worker.get(f"/hits/{other['HITId']}")
        assert refused.status == 403
        assert "Copies answers" not in refused.text
        assert worker.post(f"/hits/{other['HITId']}/accept", csrf=worker.csrf()).status == 403
        assert worker.submit(in_hand, choice="1").status == 200
        mturk.delete_worker_block(WorkerId=worker.id, Reason="Sorry")
        worker.accept(other["HITId"])

    def test_blocking_twice_keeps_one_block_with_the_newest_reason(self, mturk: Any, person: SignIn) -> None:
        ids = [person(f"Worker {number}").id for number in range(3)]
        for worker_id in (*ids, ids[0]):
            mturk.create_worker_block(WorkerId=worker_id, Reason=f"R {worker_id}")
        pages = mturk.get_paginator("list_worker_blocks").paginate(MaxResults=2)
        blocks = [block for page in pages for block in page["WorkerBlocks"]]
        assert blocks == [{"WorkerId": each, "Reason": f"R {each}"} for each in ids]
        for _ in range(2):
            mturk.delete_worker_block(WorkerId=ids[0])
        assert mturk.list_worker_blocks()["NumResults"] == 2
        with pytest.raises(mturk.exceptions.RequestError, match=r"WorkerId is invalid\."):
            mturk.delete_worker_block(WorkerId="A1NOBODY")


class TestMessages:
    """Only workers whose work was reviewed can be notified, as on Mechanical Turk; the others are listed."""

    def test_failures_are_named_and_the_others_read_it(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        ada, grace = person("Ada"), person("Grace")
        mturk.approve_assignment(AssignmentId=ada.do(new_hit()["HITId"]))
        failures = mturk.notify_workers(
            Subject="Part <b>two</b>",
            MessageText="It is up.\n{{7*7}}",
            WorkerIds=[ada.id, grace.id, "A1NOBODY", ada.id],
        )["NotifyWorkersFailureStatuses"]
        assert [(each["WorkerId"], each["NotifyWorkersFailureCode"]) for each in failures] == [
            (grace.id, "HardFailure"),
            ("A1NOBODY", "HardFailure"),
        ]
        page = ada.get("/messages").text
        assert page.count("Part &lt;b&gt;two&lt;/b&gt;") == 1
        assert "{{7*7}}" in page
        assert "Messages (1" in page
        assert ada.post("/messages/read", csrf=ada.csrf()).status == 303
        assert "Messages (1" not in ada.get("/messages").text
        assert "You have no messages" in grace.get("/messages").text

    @pytest.mark.parametrize(
        "changes", [{"Subject": "s" * 201}, {"MessageText": "m" * 4097}, {"Subject": " "}, {"WorkerIds": []}]
    )
    def test_what_is_too_long_or_empty_is_refused(self, mturk: Any, changes: dict[str, Any]) -> None:
        call = {"Subject": "S", "MessageText": "M", "WorkerIds": ["A1"], **changes}
        assert refusal(mturk.notify_workers, **call) == "InvalidParameterValue"


class TestEvents:
    """Events are kept in the marketplace's file, as the documents that a queue would have received."""

    SNS = {  # noqa: RUF012 - a constant of the tests
        "Destination": "arn:aws:sns:us-east-1:1:events",
        "Transport": "SNS",
        "Version": "2014-08-15",
    }

    def kept(self, tmp_path: Path) -> list[tuple[str, str]]:
        path = str(tmp_path / "market.db")
        reply = CliRunner().invoke(cli, ["market", "events", "--database", path, "--json"])
        events = [each["document"]["Events"][0] for each in json.loads(reply.output)["events"]]
        return [(event["EventType"], event["HITId"]) for event in events]

    def test_C37_a_hits_whole_life_is_told(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any, tmp_path: Path
    ) -> None:
        hit = new_hit()
        kinds = [
            *("AssignmentAccepted", "AssignmentAbandoned", "AssignmentReturned", "AssignmentSubmitted"),
            *("AssignmentRejected", "AssignmentApproved", "HITCreated", "HITExpired", "HITReviewable"),
            *("HITExtended", "HITDisposed"),
        ]
        mturk.update_notification_settings(
            HITTypeId=hit["HITTypeId"], Notification={**self.SNS, "EventTypes": kinds}
        )
        hit = new_hit(MaxAssignments=2)
        ada, grace = person("Ada"), person("Grace")
        returned = ada.accept(hit["HITId"])
        ada.post(f"/assignments/{returned}/return", csrf=ada.csrf())
        ada.accept(hit["HITId"])
        clock.pass_time(hours=2)
        done = [worker.do(hit["HITId"]) for worker in (ada, grace)]
        mturk.create_additional_assignments_for_hit(HITId=hit["HITId"], NumberOfAdditionalAssignments=1)
        mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=PAST)
        mturk.approve_assignment(AssignmentId=done[0])
        mturk.reject_assignment(AssignmentId=done[1], RequesterFeedback="No")
        mturk.delete_hit(HITId=hit["HITId"])
        assert self.kept(tmp_path) == [
            (kind, hit["HITId"])
            for kind in (
                *("HITCreated", "AssignmentAccepted", "AssignmentReturned", "AssignmentAccepted"),
                *("AssignmentAbandoned", "AssignmentAccepted", "AssignmentSubmitted", "AssignmentAccepted"),
                *("AssignmentSubmitted", "HITReviewable", "HITExtended", "HITExpired", "HITReviewable"),
                *("AssignmentApproved", "AssignmentRejected", "HITDisposed"),
            )
        ]

    def test_what_time_alone_did_is_told_with_the_moment_it_was_done_at(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any, tmp_path: Path
    ) -> None:
        kinds = ["AssignmentAbandoned", "AssignmentApproved", "HITExpired"]
        hit = new_hit(AutoApprovalDelayInSeconds=7200)
        mturk.update_notification_settings(
            HITTypeId=hit["HITTypeId"], Notification={**self.SNS, "EventTypes": kinds}
        )
        person("Ada").accept(hit["HITId"])
        person("Grace").do(hit["HITId"])
        began = clock.now
        clock.pass_time(days=3)
        mturk.get_hit(HITId=hit["HITId"])
        reply = CliRunner().invoke(
            cli, ["market", "events", "--database", str(tmp_path / "market.db"), "--json"]
        )
        told = [each["document"]["Events"][0] for each in json.loads(reply.output)["events"]]
        assert [(each["EventType"], each["EventTimestamp"]) for each in told] == [
            (kind, f"{began + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}")
            for kind, hours in zip(kinds, (1, 2, 24), strict=True)
        ]

    def test_settings_can_be_switched_off_and_on_and_replaced(
        self, mturk: Any, new_hit: NewHit, tmp_path: Path
    ) -> None:
        kind = new_hit()["HITTypeId"]
        update = mturk.update_notification_settings
        assert refusal(update, HITTypeId=kind, Active=True) == "InvalidParameterValue"
        update(HITTypeId=kind, Notification={**self.SNS, "EventTypes": ["HITCreated"]}, Active=False)
        new_hit()
        assert self.kept(tmp_path) == []
        update(HITTypeId=kind, Active=True)
        told = new_hit()
        update(HITTypeId=kind, Notification={**self.SNS, "EventTypes": ["HITDisposed"]})
        new_hit()
        assert self.kept(tmp_path) == [("HITCreated", told["HITId"])]
        mturk.send_test_event_notification(
            Notification={**self.SNS, "EventTypes": ["HITDisposed"]}, TestEventType="Ping"
        )
        assert self.kept(tmp_path)[-1][0] == "Ping"

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"Transport": "SQS"}, "InvalidTransportEndpoint"),
            ({"Transport": "Email", "Destination": "nobody"}, "InvalidTransportEndpoint"),
            ({"Version": "2020-01-01"}, "InvalidParameterValue"),
            ({"EventTypes": []}, "InvalidParameterValue"),
            ({"EventTypes": ["Ping"]}, "InvalidParameterValue"),
        ],
    )
    def test_a_notification_that_makes_no_sense_is_refused(
        self, mturk: Any, new_hit: NewHit, changes: dict[str, Any], code: str
    ) -> None:
        notification = {**self.SNS, "EventTypes": ["HITCreated"], **changes}
        call = {"HITTypeId": new_hit()["HITTypeId"], "Notification": notification}
        assert refusal(mturk.update_notification_settings, **call) == code


class TestFiles:
    """A worker's file has an address that is valid for a minute, and is deleted with its HIT."""

    def test_a_files_address_ends_after_a_minute_and_the_file_with_its_hit(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
    ) -> None:
        from tests.integration.market.forms import form, question

        asked = question(
            "scan", "<FileUploadAnswer><MaxFileSizeInBytes>4</MaxFileSizeInBytes></FileUploadAnswer>"
        )
        hit, worker = new_hit(Question=form(asked), MaxAssignments=1), person()
        assignment_id = worker.accept(hit["HITId"])
        path, csrf = f"/assignments/{assignment_id}/answer", worker.csrf()
        too_large = worker.post_file(path, "q0", "a.txt", b"12345", csrf=csrf)
        assert too_large.status == 400
        assert "it has 5" in too_large.text
        assert worker.post_file(path, "q0", "../x/a.txt", b"<b>1", csrf=csrf).status == 303
        call = {"AssignmentId": assignment_id, "QuestionIdentifier": "scan"}
        address = mturk.get_file_upload_url(**call)["FileUploadURL"]
        path = address.removeprefix(worker.url)
        reply = worker.get(path)
        assert (reply.text, reply.headers["Content-Disposition"]) == ("<b>1", "attachment; filename=a.txt")
        clock.pass_time(seconds=61)
        assert worker.get(path).status == 404
        mturk.approve_assignment(AssignmentId=assignment_id)
        mturk.delete_hit(HITId=hit["HITId"])
        assert refusal(mturk.get_file_upload_url, **call) == "InvalidParameterValue"
