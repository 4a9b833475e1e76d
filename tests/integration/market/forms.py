"""QuestionForms and answer keys for the tests, and a scene in which every operation has something to work
on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"


def form(*questions: str) -> str:
    """A QuestionForm of these parts."""
    return f'<QuestionForm xmlns="{SCHEMAS}2017-11-06/QuestionForm.xsd">{"".join(questions)}</QuestionForm>'


def question(
    name: str, answer: str, *, required: bool = False, content: str = "<Text>What is it?</Text>"
) -> str:
    """One question; `answer` is the content of its AnswerSpecification."""
    return (
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier>"
        f"<IsRequired>{'true' if required else 'false'}</IsRequired>"
        f"<QuestionContent>{content}</QuestionContent>"
        f"<AnswerSpecification>{answer}</AnswerSpecification></Question>"
    )


def selection(*names: str, style: str = "radiobutton", least: int = 1, most: int = 1, other: str = "") -> str:
    """A SelectionAnswer of texts; each identifier is its own text."""
    each = "".join(
        f"<Selection><SelectionIdentifier>{name}</SelectionIdentifier><Text>{name}</Text></Selection>"
        for name in names
    )
    return (
        f"<SelectionAnswer><MinSelectionCount>{least}</MinSelectionCount>"
        f"<MaxSelectionCount>{most}</MaxSelectionCount>"
        f"<StyleSuggestion>{style}</StyleSuggestion><Selections>{each}{other}</Selections></SelectionAnswer>"
    )


def text_answer(constraints: str = "", rest: str = "") -> str:
    """A FreeTextAnswer."""
    inside = f"<Constraints>{constraints}</Constraints>" if constraints else ""
    return f"<FreeTextAnswer>{inside}{rest}</FreeTextAnswer>"


def answer_key(*questions: str, mapping: str = "") -> str:
    """An AnswerKey of these questions."""
    inside = f"<QualificationValueMapping>{mapping}</QualificationValueMapping>" if mapping else ""
    return f'<AnswerKey xmlns="{SCHEMAS}2005-10-01/AnswerKey.xsd">{"".join(questions)}{inside}</AnswerKey>'


def key_question(name: str, score: int, *right: str, default: int = 0) -> str:
    """One question of a key: these selections together are worth `score`."""
    chosen = "".join(f"<SelectionIdentifier>{each}</SelectionIdentifier>" for each in right)
    return (
        f"<Question><QuestionIdentifier>{name}</QuestionIdentifier>"
        f"<AnswerOption>{chosen}<AnswerScore>{score}</AnswerScore></AnswerOption>"
        f"<DefaultScore>{default}</DefaultScore></Question>"
    )


TEST = form(question("sky", selection("blue", "green")), question("grass", selection("blue", "green")))
KEY = answer_key(
    key_question("sky", 1, "blue"),
    key_question("grass", 1, "green"),
    mapping="<PercentageMapping><MaximumSummedScore>2</MaximumSummedScore></PercentageMapping>",
)


@dataclass
class Scene:
    """A requester with a HIT that asks for a qualification, two pieces of work, and a request that waits."""

    mturk: Any
    hit: dict[str, Any]
    worker: Any
    assignment: str
    second: str
    kind: str
    request: str
    file_hit: str
    file_assignment: str


def build_scene(mturk: Any, new_hit: Callable[..., dict[str, Any]], person: Callable[..., Any]) -> Scene:
    """Make one, all over HTTP."""
    worker, other = person("Ada"), person("Grace")
    created = mturk.create_qualification_type(
        Name="Reader", Description="Reads with care.", QualificationTypeStatus="Active"
    )
    kind = created["QualificationType"]["QualificationTypeId"]
    mturk.associate_qualification_with_worker(
        QualificationTypeId=kind, WorkerId=worker.id, IntegerValue=80, SendNotification=False
    )
    requirement = {"QualificationTypeId": kind, "Comparator": "GreaterThan", "IntegerValues": [50]}
    hit = new_hit(QualificationRequirements=[requirement])
    assignment = worker.do(hit["HITId"])
    second = other.do(new_hit(Title="Another")["HITId"])
    assert other.post(f"/qualifications/{kind}/ask", csrf=other.csrf()).status == 303
    (waiting,) = mturk.list_qualification_requests()["QualificationRequests"]
    asked = form(question("scan", "<FileUploadAnswer/>"))
    file_hit = new_hit(Question=asked, Title="A file")["HITId"]
    file_assignment = worker.accept(file_hit)
    sent = worker.post_file(
        f"/assignments/{file_assignment}/answer", "q0", "scan é.txt", b"scanned", csrf=worker.csrf()
    )
    assert sent.status == 303, sent.text
    return Scene(
        mturk,
        hit,
        worker,
        assignment,
        second,
        kind,
        waiting["QualificationRequestId"],
        file_hit,
        file_assignment,
    )
