"""Rejecting: by a person, by name, with a reason, once; and taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.approve import approve_work, reject_work, would_reject
from humaneval.crowd.collect import collect_work
from humaneval.crowd.costs import spent
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.market import SENT_AGAIN, Trouble
from humaneval.store.engine import reading, writing
from humaneval.store.responses import forms_set_aside, response_lines
from humaneval.store.tables import AssignmentRow, OutboxRow
from humaneval.study.stored import get_study, open_study

REASON = "Every answer is the first sentence, after one second."


@pytest.fixture
def work(put_up: Callable, answer: Callable, platform: MTurk) -> Callable[..., list[str]]:
    """A study of 4 rows with some collected work; gives the assignments' ids."""

    def make(engine: Engine, people: int = 2, **sections: Any) -> list[str]:
        up = put_up(engine, design={"annotators": 4}, **sections)
        ids = [answer(up, f"worker {number}") for number in range(people)]
        collect_work(open_study_at(engine, "study", platform))
        return ids

    return make


def states(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return list(session.scalars(select(AssignmentRow.state).order_by(AssignmentRow.id)))


def there(platform: MTurk, assignment: str) -> tuple[str, str]:
    found = platform.client.get_assignment(AssignmentId=assignment)["Assignment"]
    return found["AssignmentStatus"], found.get("RequesterFeedback", "")


def outbox(engine: Engine, operation: str) -> list[tuple[str, int]]:
    with reading(engine) as session:
        rows = session.scalars(
            select(OutboxRow).where(OutboxRow.operation == operation).order_by(OutboxRow.id)
        )
        return [(row.state, row.attempts) for row in rows]


def test_C08_only_what_is_named_is_rejected_once_and_its_worker_reads_why(
    engine: Engine, work: Callable, platform: MTurk, troubles: Any
) -> None:
    first, second = work(engine)
    before = platform.balance()
    assert would_reject(open_study_at(engine, "study", platform), [first]).assignments == (first,)
    assert there(platform, first) == ("Submitted", "")
    assert reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON) == 1
    assert there(platform, first) == ("Rejected", REASON)
    assert there(platform, second)[0] == "Submitted"
    assert states(engine) == ["rejected", "submitted"]
    assert reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON) == 0
    assert troubles.seen.count("RejectAssignment") == 1
    assert outbox(engine, "reject") == [("confirmed", 1)]
    assert platform.balance() > before  # what was on hold for it is free again
    assert spent(open_study(engine, "study")).total == 0


def test_C08_X06_rejected_work_is_left_out_of_scores_and_exports_and_said_so(
    sqlite_engine: Engine, work: Callable, platform: MTurk, verb: Callable
) -> None:
    first, _ = work(sqlite_engine, exclusions={"missed_control": "none"})
    reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason=REASON)
    with reading(sqlite_engine) as session:
        study = get_study(session, "study")
        assert {line["assignment"] for line in response_lines(session, study, everything=True)} >= {first}
        assert first not in {line["assignment"] for line in response_lines(session, study)}
        assert forms_set_aside(session, study) == 1
    scored, counted = verb("score", "study", "--json"), verb("score", "study", "--all", "--json")
    assert (scored.document["forms_set_aside"], counted.document["forms_set_aside"]) == (1, 0)
    assert counted.document["annotators"]["collected"] == 1 + scored.document["annotators"]["collected"]
    assert "1 form is left out: rejected" in verb("score", "study").out
    exported = [
        verb("export", "study", "--out", "e.csv", *flags, "--json").document for flags in ([], ["--all"])
    ]
    assert [one["forms_set_aside"] for one in exported] == [1, 0]
    assert "1 form left out: rejected" in verb("export", "study", "--out", "e.csv").out
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.rejected, status.submitted) == (1, 2)


def test_a_rejection_is_taken_back_and_paid_once(engine: Engine, work: Callable, platform: MTurk) -> None:
    first, _ = work(engine)
    reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON)
    with pytest.raises(PlatformError, match="rejected work cannot be approved this way"):
        approve_work(open_study_at(engine, "study", platform), assignments=[first])
    for expected in (1, 0):
        assert (
            approve_work(open_study_at(engine, "study", platform), assignments=[first], undo_rejection=True)
            == expected
        )
    assert there(platform, first)[0] == "Approved"
    assert (
        spent(open_study(engine, "study")).rewards
        == spent(open_study(engine, "study")).total - spent(open_study(engine, "study")).fees
    )
    assert str(spent(open_study(engine, "study")).rewards) == "0.80"
    with pytest.raises(PlatformError, match="approved work cannot be rejected"):
        reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON)
    with reading(engine) as session:
        assert forms_set_aside(session, get_study(session, "study")) == 0


def test_a_rejection_of_more_than_thirty_days_ago_stays(
    sqlite_engine: Engine, work: Callable, platform: MTurk
) -> None:
    first, _ = work(sqlite_engine)
    reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason=REASON)
    with writing(sqlite_engine) as session:
        row = session.scalars(select(AssignmentRow).where(AssignmentRow.external_id == first)).one()
        assert row.submitted_at is not None
        row.submitted_at -= timedelta(days=31)
    with pytest.raises(PlatformError, match="for 30 days after the submission") as refused:
        approve_work(
            open_study_at(sqlite_engine, "study", platform), assignments=[first], undo_rejection=True
        )
    assert "humaneval bonus" in refused.value.hint
    assert there(platform, first)[0] == "Rejected"


@pytest.mark.parametrize("reason", ["", "   ", "x" * 1025, "no 🎉"])
def test_a_rejection_without_a_reason_that_can_be_read_is_not_sent(
    sqlite_engine: Engine, work: Callable, platform: MTurk, troubles: Any, reason: str
) -> None:
    first, _ = work(sqlite_engine)
    with pytest.raises((UsageError, PartialError)):
        reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason=reason)
    assert "RejectAssignment" not in troubles.seen
    assert states(sqlite_engine) == ["submitted", "submitted"]
    assert (
        reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason="x" * 1024)
        == 1
    )


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("trouble", [*SENT_AGAIN, Trouble.ODD_STATUS])
def test_C10_nothing_is_called_rejected_here_that_is_not_rejected_there(
    engine: Engine, work: Callable, platform: MTurk, troubles: Any, trouble: Trouble
) -> None:
    first, _ = work(engine)
    troubles.coming["RejectAssignment"] = [trouble]
    if trouble in (Trouble.REPLY_LOST, Trouble.DROPPED):
        assert reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON) == 1
    else:
        with pytest.raises(PartialError, match="0 rejected, 1 not"):
            reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON)
        assert troubles.seen.count("RejectAssignment") == 1  # no call without a token is sent again by itself
        assert states(engine) == ["submitted", "submitted"]
        assert reject_work(open_study_at(engine, "study", platform), assignments=[first], reason=REASON) == 1
    assert there(platform, first)[0] == "Rejected"
    assert outbox(engine, "reject")[0][0] == "confirmed"


@pytest.mark.parametrize("trouble", [Trouble.UNAVAILABLE, Trouble.REPLY_LOST])
def test_a_rejection_of_which_nobody_knows_is_settled_by_what_is_decided_then(
    sqlite_engine: Engine, work: Callable, platform: MTurk, troubles: Any, trouble: Trouble
) -> None:
    first, _ = work(sqlite_engine)
    troubles.coming["RejectAssignment"] = [trouble]
    if trouble is Trouble.REPLY_LOST:  # and the look at its state, which would clear it up, fails as well
        troubles.coming["GetAssignment"] = [None, Trouble.ODD_STATUS]
    with pytest.raises(PartialError):
        reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason=REASON)
    assert [state for state, *_ in outbox(sqlite_engine, "reject")] == ["pending"]
    collect_work(open_study_at(sqlite_engine, "study", platform))
    if trouble is Trouble.UNAVAILABLE:
        assert approve_work(open_study_at(sqlite_engine, "study", platform), assignments=[first]) == 1
    decided = {Trouble.UNAVAILABLE: ("Approved", "refused"), Trouble.REPLY_LOST: ("Rejected", "confirmed")}
    assert (there(platform, first)[0], outbox(sqlite_engine, "reject")[0][0]) == decided[trouble]


@pytest.mark.parametrize("then", ["reject", "collect"])
@pytest.mark.parametrize("when", ["before-send", "response-received", "unconfirmed"])
def test_C10_a_kill_around_a_rejection_ends_in_one_rejection(
    sqlite_engine: Engine,
    work: Callable,
    platform: MTurk,
    die: Callable,
    die_unconfirmed: Callable,
    when: str,
    then: str,
) -> None:
    first, _ = work(sqlite_engine)
    dying = (
        die_unconfirmed("reject")
        if when == "unconfirmed"
        else die(when, "RejectAssignment", client=platform.once)
    )
    with dying:
        reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason=REASON)
    assert outbox(sqlite_engine, "reject") == [("pending", 1)]
    if then == "collect":
        collect_work(open_study_at(sqlite_engine, "study", platform))
    if then == "reject" or when == "before-send":
        assert (
            reject_work(open_study_at(sqlite_engine, "study", platform), assignments=[first], reason=REASON)
            == 1
        )
    assert states(sqlite_engine) == ["rejected", "submitted"]
    assert outbox(sqlite_engine, "reject")[0][0] == "confirmed"


def test_C19_work_of_one_environment_is_not_touched_through_another(
    sqlite_engine: Engine, work: Callable, troubles: Any, verb: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = work(sqlite_engine)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody's")
    troubles.seen.clear()
    for command in (
        ("approve", "study", first),
        ("reject", "study", first, "--reason", REASON),
        ("bonus", "study", first, "--amount", "1", "--reason", "-"),
    ):
        refused = verb(*command, "--to", "sandbox")
        assert refused.code == 2
        assert f"assignment {first} is at local, not at sandbox" in refused.err
    assert troubles.seen == []
