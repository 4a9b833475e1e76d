"""What a qualification type can be, and what is deleted with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from humaneval.market.tables.qualifications import QualificationRequest
from tests.integration.market.asking import ask, refusal
from tests.integration.market.forms import KEY, TEST, answer_key, form, key_question, question

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]
NewType = Callable[..., str]


class TestTypes:
    """What a type can be, and what is deleted with it."""

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"Test": TEST}, "TestDurationInSeconds must"),
            ({"TestDurationInSeconds": 0}, "from 1"),
            ({"AnswerKey": KEY}, "only with a Test"),
            ({"Test": TEST, "TestDurationInSeconds": 60, "AutoGranted": True}, "cannot be granted"),
            ({"Test": TEST, "TestDurationInSeconds": 0}, "from 1"),
            ({"Test": "<x/>", "TestDurationInSeconds": 60}, "must be a QuestionForm"),
            ({"Test": TEST, "TestDurationInSeconds": 60, "AnswerKey": "<x/>"}, "must be an AnswerKey"),
            (
                {
                    "Test": TEST,
                    "TestDurationInSeconds": 60,
                    "AnswerKey": answer_key(key_question("x", 1, "a")),
                },
                "no question 'x'",
            ),
            (
                {
                    "Test": TEST,
                    "TestDurationInSeconds": 60,
                    "AnswerKey": answer_key(key_question("sky", 1, "red")),
                },
                "no selection 'red'",
            ),
            (
                {
                    "Test": TEST,
                    "TestDurationInSeconds": 60,
                    "AnswerKey": answer_key(
                        key_question("sky", 1_000_000, "blue"),
                        mapping="<ScaleMapping><SummedScoreMultiplier>-9999</SummedScoreMultiplier></ScaleMapping>",
                    ),
                },
                "too large for a Qualification",
            ),
            (
                {
                    "Test": TEST,
                    "TestDurationInSeconds": 60,
                    "AnswerKey": answer_key(
                        key_question("sky", 1, "blue").replace(
                            "<DefaultScore>",
                            "<AnswerOption><SelectionIdentifier>blue</SelectionIdentifier><AnswerScore>0</AnswerScore>"
                            "</AnswerOption><DefaultScore>",
                        )
                    ),
                },
                "have the same selections",
            ),
            ({"RetryDelayInSeconds": -1}, "from 0"),
            ({"Description": "d" * 2001}, "2001 characters"),
            (
                {"Test": form(question("f", "<FileUploadAnswer/>")), "TestDurationInSeconds": 60},
                "cannot ask for files",
            ),
            (
                {"Test": TEST.replace("</Text>", "x" * 65_535 + "</Text>", 1), "TestDurationInSeconds": 60},
                "bytes",
            ),
        ],
    )
    def test_a_type_that_makes_no_sense_is_refused(
        self, mturk: Any, new_type: NewType, values: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(mturk.exceptions.RequestError, match=words):
            new_type(**values)
        assert mturk.list_qualification_types(MustBeRequestable=True)["NumResults"] == 0

    def test_X43_a_duration_is_taken_without_a_test(self, mturk: Any, new_type: NewType) -> None:
        kind = new_type(TestDurationInSeconds=3600, AutoGranted=True, AutoGrantedValue=7)
        update = mturk.update_qualification_type
        of_it = {"QualificationTypeId": kind}
        assert "Test" not in update(**of_it, TestDurationInSeconds=60)["QualificationType"]
        timed = update(**of_it, Test=TEST, TestDurationInSeconds=60, AutoGranted=False)["QualificationType"]
        assert timed["TestDurationInSeconds"] == 60
        longer = update(**of_it, TestDurationInSeconds=90)["QualificationType"]
        assert (longer["Test"], longer["TestDurationInSeconds"]) == (TEST, 90)

    def test_an_update_keeps_what_it_does_not_name(self, mturk: Any, new_type: NewType) -> None:
        kind = new_type(Keywords="k", AutoGranted=True, AutoGrantedValue=0)
        update = mturk.update_qualification_type
        now = update(QualificationTypeId=kind, Description="New")["QualificationType"]
        assert (now["Description"], now["Keywords"], now["AutoGrantedValue"]) == ("New", "k", 0)
        assert "RetryDelayInSeconds" not in now
        with_test = {"QualificationTypeId": kind, "Test": TEST, "TestDurationInSeconds": 60}
        assert refusal(update, **with_test) == "InvalidParameterValue"
        now = update(**with_test, AnswerKey=KEY, AutoGranted=False)["QualificationType"]
        assert (now["Test"], now["AnswerKey"], now["AutoGranted"]) == (TEST, KEY, False)
        assert refusal(update, QualificationTypeId=kind, AutoGranted=True) == "InvalidParameterValue"

    def test_deleting_a_type_deletes_its_hit_types_and_requests_and_keeps_what_is_held(
        self, mturk: Any, new_type: NewType, new_hit: NewHit, person: SignIn, external: str
    ) -> None:
        kind, ada, grace = new_type(), person("Ada"), person("Grace")
        mturk.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=ada.id)
        ask(grace, kind)
        required = [{"QualificationTypeId": kind, "Comparator": "Exists"}]
        hit = new_hit(QualificationRequirements=required, MaxAssignments=1)
        read = list[object]()

        def note(request: object, _: object) -> None:
            read.append(request)

        event.listen(QualificationRequest, "load", note)
        mturk.delete_qualification_type(QualificationTypeId=kind)
        event.remove(QualificationRequest, "load", note)
        assert not read, "there may be a hundred thousand, and everybody waits meanwhile"
        assert (
            refusal(mturk.get_qualification_type, QualificationTypeId=kind) == "QualificationTypeDoesNotExist"
        )
        assert mturk.list_qualification_requests()["NumResults"] == 0
        more = {"HITTypeId": hit["HITTypeId"], "LifetimeInSeconds": 60, "Question": external}
        assert refusal(mturk.create_hit_with_hit_type, **more) == "HITTypeDoesNotExist"
        assert refusal(new_hit, QualificationRequirements=required) == "QualificationTypeDoesNotExist"
        assert grace.post(f"/hits/{hit['HITId']}/accept", csrf=grace.csrf()).status == 403
        assignment_id = ada.do(hit["HITId"])
        with pytest.raises(
            mturk.exceptions.RequestError, match="already created a QualificationType with this"
        ):
            new_type()
        mturk.approve_assignment(AssignmentId=assignment_id)
        mturk.delete_hit(HITId=hit["HITId"])
        assert new_type() != kind, "the name is free once no HIT asks for the old one"
