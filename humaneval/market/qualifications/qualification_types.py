"""The requester's qualification types: make, read, change, delete, find."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select, update

from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.paging import page_of
from humaneval.market.protocol.refusals import RefusedError, invalid
from humaneval.market.protocol.values import YEAR, Params, Reply, seconds, text
from humaneval.market.qualifications.requirements import SYSTEM, find_type
from humaneval.market.questions.answer_key import read_answer_key
from humaneval.market.questions.question import read_test
from humaneval.market.tables.database import Mode, Transaction
from humaneval.market.tables.hits import Hit, HitType, Requires
from humaneval.market.tables.qualifications import QualificationRequest, QualificationType

LONGEST_NAME, LONGEST_KEYWORDS, LONGEST_DESCRIPTION = 200, 1000, 2000
LONGEST_QUERY = 1000
DEFAULT_VALUE = 1


def create_qualification_type(work: Transaction, params: Params) -> Reply:
    """CreateQualificationType. A name is taken while its type, or a HIT that requires the type, exists."""
    name = text(params, "Name", LONGEST_NAME, empty=False)
    _refuse_taken_name(work, name)
    kind = QualificationType(
        id=new_entity_id(),
        name=name,
        keywords=text(params, "Keywords", LONGEST_KEYWORDS),
        description=text(params, "Description", LONGEST_DESCRIPTION, empty=False),
        active=params["QualificationTypeStatus"] == "Active",
        retry_seconds=(
            seconds(params, "RetryDelayInSeconds", 0, YEAR) if "RetryDelayInSeconds" in params else None
        ),
        deleted=False,
        made_at=work.now,
    )
    _set_test(kind, params)
    _set_automatic(kind, params)
    work.session.add(kind)
    work.session.flush()
    return {"QualificationType": _description(kind)}


def read_asked(params: Params, mode: Mode) -> None:
    """Read the test and the answer key of a type. Raises RefusedError."""
    if "Test" in params:
        form = read_test(params["Test"])
        if "AnswerKey" in params:
            read_answer_key(params["AnswerKey"], form)


def get_qualification_type(work: Transaction, params: Params) -> Reply:
    """GetQualificationType, also for the system's own."""
    wanted = params["QualificationTypeId"]
    if wanted in SYSTEM:
        return {"QualificationType": _system_description(wanted)}
    return {"QualificationType": _description(find_type(work, wanted))}


def update_qualification_type(work: Transaction, params: Params) -> Reply:
    """UpdateQualificationType. Values that are left out stay, but a new test needs a new key, or has none."""
    kind = find_type(work, params["QualificationTypeId"])
    if "Description" in params:
        kind.description = text(params, "Description", LONGEST_DESCRIPTION, empty=False)
    if "QualificationTypeStatus" in params:
        kind.active = params["QualificationTypeStatus"] == "Active"
    if "RetryDelayInSeconds" in params:
        kind.retry_seconds = seconds(params, "RetryDelayInSeconds", 0, YEAR)
    _set_test(kind, params)
    if "AutoGranted" in params or "AutoGrantedValue" in params:
        _set_automatic(kind, params)
    work.session.flush()
    return {"QualificationType": _description(kind)}


def delete_qualification_type(work: Transaction, params: Params) -> Reply:
    """DeleteQualificationType, with the HIT types that require it. Waiting requests are rejected.

    Workers who hold it keep it, since existing HITs may require it.
    """
    kind = find_type(work, params["QualificationTypeId"])
    kind.deleted = True
    types = select(Requires.hit_type_number).where(Requires.qualification_id == kind.id)
    work.session.execute(update(HitType).where(HitType.number.in_(types)).values(deleted=True))
    work.session.execute(
        update(QualificationRequest)
        .where(
            QualificationRequest.type_number == kind.number,
            QualificationRequest.state.in_(("testing", "submitted")),
        )
        .values(
            state="rejected",
            submitted_at=func.coalesce(QualificationRequest.submitted_at, work.now),
            reason="This requirement is no longer granted.",
        )
    )
    return {}


def list_qualification_types(work: Transaction, params: Params) -> Reply:
    """ListQualificationTypes: every word of Query must be in the name, the keywords or the description."""
    words = text(params, "Query", LONGEST_QUERY).casefold().split()

    def fits(*texts: str) -> bool:
        searched = " ".join(texts).casefold()
        return all(word in searched for word in words)

    found: dict[int, Any] = {}
    if not params["MustBeRequestable"] and not params.get("MustBeOwnedByCaller", False):
        for place, kind in enumerate(map(_system_description, SYSTEM), 1):
            if fits(kind["Name"], kind["Description"]):
                found[place] = kind
    # Without the tests, which may be long, and are read only for the page.
    columns = (QualificationType.name, QualificationType.keywords, QualificationType.description)
    query = select(QualificationType.number, *columns).where(QualificationType.deleted.is_(False))
    if params["MustBeRequestable"]:
        query = query.where(QualificationType.active)
    for number, *texts in work.session.execute(query.order_by(QualificationType.number)):
        if fits(*texts):
            found[number + len(SYSTEM)] = number
    rows, envelope = page_of(found, params)
    wanted = QualificationType.number.in_([each for each in rows if isinstance(each, int)])
    read = {each.number: each for each in work.session.scalars(select(QualificationType).where(wanted))}
    shown = [_description(read[each]) if isinstance(each, int) else each for each in rows]
    return {"QualificationTypes": shown, **envelope}


def _refuse_taken_name(work: Transaction, name: str) -> None:
    asking = (
        select(Hit.number)
        .join(Requires, Requires.hit_type_number == Hit.hit_type_number)
        .where(Requires.qualification_id == QualificationType.id, Hit.disposed.is_(False))
    )
    taken = select(QualificationType.number).where(
        QualificationType.name == name, QualificationType.deleted.is_(False) | asking.exists()
    )
    if work.session.scalar(taken) is not None:
        raise RefusedError(
            "QualificationTypeAlreadyExists",
            "You have already created a QualificationType with this name. A QualificationType's name must be"
            " unique among all of the QualificationTypes created by the same user.",
        )


def _set_test(kind: QualificationType, params: Params) -> None:
    name = "TestDurationInSeconds"
    allowed = seconds(params, name, 1, YEAR) if name in params else None
    if kind.test is not None and allowed is not None:
        kind.test_seconds = allowed
    # Without any Test, a duration is taken and means nothing.
    if "Test" not in params:
        if "AnswerKey" in params:
            raise invalid("AnswerKey can be given only with a Test.")
        return
    if allowed is None:
        raise invalid("TestDurationInSeconds must be given with a Test.")
    if kind.auto_value is not None and "AutoGranted" not in params:
        raise invalid("A qualification that is granted automatically can have no Test.")
    kind.auto_value = None
    kind.test, kind.answer_key, kind.test_seconds = params["Test"], params.get("AnswerKey"), allowed


def _set_automatic(kind: QualificationType, params: Params) -> None:
    granted = params.get("AutoGranted", kind.auto_value is not None)
    if granted and kind.test is not None:
        raise invalid("A qualification with a Test cannot be granted automatically.")
    kind.auto_value = (
        params.get("AutoGrantedValue", DEFAULT_VALUE if kind.auto_value is None else kind.auto_value)
        if granted
        else None
    )


def _description(kind: QualificationType) -> dict[str, Any]:
    values = {
        "QualificationTypeId": kind.id,
        "CreationTime": kind.made_at,
        "Name": kind.name,
        "Description": kind.description,
        "Keywords": kind.keywords or None,
        "QualificationTypeStatus": "Active" if kind.active else "Inactive",
        "Test": kind.test,
        "TestDurationInSeconds": kind.test_seconds,
        "AnswerKey": kind.answer_key,
        "RetryDelayInSeconds": kind.retry_seconds,
        "IsRequestable": True,
        "AutoGranted": kind.auto_value is not None,
        "AutoGrantedValue": kind.auto_value,
    }
    return {name: value for name, value in values.items() if value is not None}


def _system_description(kind: str) -> dict[str, Any]:
    return {
        "QualificationTypeId": kind,
        "Name": SYSTEM[kind],
        "Description": "Computed by the system from a worker's record or country.",
        "QualificationTypeStatus": "Active",
        "IsRequestable": False,
        "AutoGranted": False,
    }
