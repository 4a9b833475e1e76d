"""What is planned is what is there: figures that changed at the platform stop money until a person accepts
them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, select, text, update

from humaneval.crowd.approve import approve_work, would_approve
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.collect import Accepted, CollectedWork, collect_work
from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.hit_terms import unaccepted
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.mturk.terms import question_hash, requirements_text
from humaneval.crowd.plan_differences import differing
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import NotAsPlannedError, PartialError, PlatformError
from humaneval.report.from_study import study_report
from humaneval.report.methods import methods_paragraph
from humaneval.store.engine import reading, writing
from humaneval.store.tables import DifferenceRow, HitRow, PaymentRow
from humaneval.study.scores import collected

ACCEPTED = Accepted(differences=True)
REWARD = r"reward: planned \$0.80, local has \$5.00"


@pytest.fixture
def at(sqlite_engine: Engine, platform: MTurk) -> Callable[[], StudyAtPlatform]:
    return lambda: open_study_at(sqlite_engine, "study", platform)


def only_hit(platform: MTurk) -> Any:
    (hit,) = platform.client.list_hits()["HITs"]
    return hit


def retype(platform: MTurk, **changed: Any) -> None:
    """Give the HIT another type behind our back, with a plain client."""
    hit = only_hit(platform)
    names = ("Title", "Description", "Keywords", "Reward", "AssignmentDurationInSeconds")
    more = ("AutoApprovalDelayInSeconds", "QualificationRequirements")
    made = platform.client.create_hit_type(**{name: hit[name] for name in (*names, *more)} | changed)
    platform.client.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=made["HITTypeId"])


def more_places(platform: MTurk) -> None:
    platform.client.create_additional_assignments_for_hit(
        HITId=only_hit(platform)["HITId"], NumberOfAdditionalAssignments=2
    )


def other_end(platform: MTurk) -> None:
    later = datetime.now(UTC) + timedelta(days=90)
    platform.client.update_expiration_for_hit(HITId=only_hit(platform)["HITId"], ExpireAt=later)


def rewards(engine: Engine) -> list[Decimal]:
    with reading(engine) as session:
        return list(session.scalars(select(PaymentRow.amount).where(PaymentRow.kind == "reward")))


FOREIGN = [{"QualificationTypeId": "00000000000000000040", "Comparator": "LessThan", "IntegerValues": [5]}]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda platform: retype(platform, Reward="5.00"), r"reward: planned \$0.80, local has \$5.00"),
        (more_places, "places: planned 4, local has 6"),
        (
            lambda platform: retype(platform, AssignmentDurationInSeconds=90),
            "time for an assignment: planned 45 minutes, local has 1.5 minutes",
        ),
        (
            lambda platform: retype(platform, AutoApprovalDelayInSeconds=0),
            "approval delay: planned 72 hours, local has 0 hours",
        ),
        (other_end, "lifetime: planned until .* UTC, local has until .* UTC"),
        (
            lambda platform: retype(platform, QualificationRequirements=FOREIGN),
            "requirements: planned .*, local has approved HITs LessThan 5",
        ),
        (lambda platform: retype(platform, Title="Free money"), "title: planned .*, local has Free money"),
    ],
)
def test_X40_a_figure_that_was_changed_at_the_platform_stops_money_and_names_both_values(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    at: Callable,
    change: Callable[[MTurk], None],
    line: str,
) -> None:
    work = answer(put_up(sqlite_engine, design={"annotators": 4}))
    assert collect_work(at()).hits_differ == ()
    change(platform)
    with pytest.raises(PlatformError, match=line):
        approve_work(at())  # it looks before it pays, although `collect` saw nothing
    with pytest.raises(PlatformError, match=line):
        pay_bonus(at(), assignment=work, amount=Decimal("0.50"), reason="Thanks.", purpose="bonus")
    with pytest.raises(NotAsPlannedError, match=line) as stopped:
        collect_work(at())
    assert stopped.value.exit_code == 3
    assert isinstance(stopped.value.found, CollectedWork)
    assert stopped.value.found.responses == 4
    with pytest.raises(PlatformError, match=line):
        extend_all(at(), 3)
    with reading(sqlite_engine) as session:
        assert session.scalars(select(PaymentRow)).all() == []
    assert platform.client.get_assignment(AssignmentId=work)["Assignment"]["AssignmentStatus"] == "Submitted"
    expire_all(at())  # to take it down is always possible


def test_X40_what_a_person_accepts_is_kept_with_its_time_and_booked_as_the_platform_pays_it(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, at: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    first = answer(up)
    collect_work(at())
    approve_work(at(), assignments=[first])
    answer(up, "Ben")
    retype(platform, Reward="5.00")
    found = collect_work(at(), accepted=ACCEPTED)
    ((difference),) = found.hits_differ
    assert (difference.what, difference.planned, difference.there) == ("reward", "$0.80", "$5.00")
    assert difference.accepted_at is not None
    assert would_approve(at()).cost.total == Decimal("6.00")
    assert approve_work(at()) == 1
    assert rewards(sqlite_engine) == [Decimal("0.80"), Decimal("5.00")]
    assert reconcile(at()).unexplained == 0
    collect_work(at())  # it stays accepted


def approved_there(platform: MTurk, work: str) -> None:
    platform.client.approve_assignment(AssignmentId=work)


@pytest.mark.parametrize("collected", [False, True])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_X40_work_approved_around_a_change_of_the_reward_is_booked_as_it_was_paid(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    at: Callable,
    before: int,
    collected: bool,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    works = [answer(up, name) for name in ("Ada", "Ben")]
    if collected:
        collect_work(at())
    for work in works[:before]:
        approved_there(platform, work)
    retype(platform, Reward="5.00")
    for work in works[before:]:
        approved_there(platform, work)
    collect_work(at(), accepted=ACCEPTED)
    assert sorted(rewards(sqlite_engine)) == [Decimal("0.80")] * before + [Decimal("5.00")] * (2 - before)
    assert reconcile(at()).agree
    collect_work(at())
    assert len(rewards(sqlite_engine)) == 2


def test_X40_approving_what_was_approved_before_the_change_books_the_reward_of_that_time(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, at: Callable
) -> None:
    work = answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(at())
    approved_there(platform, work)
    retype(platform, Reward="5.00")
    with pytest.raises(PlatformError, match="reward: planned"):
        approve_work(at())
    with writing(sqlite_engine) as session:
        session.execute(update(DifferenceRow).values(accepted_at=DifferenceRow.found_at))
    assert approve_work(at()) == 1
    assert rewards(sqlite_engine) == [Decimal("0.80")]
    assert reconcile(at()).agree


def test_X40_after_several_changes_each_approval_has_the_reward_of_its_time(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, at: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    expected = []
    for name, reward in (("Ada", "5.00"), ("Ben", "2.00"), ("Cleo", "0.80")):
        work = person(name).accept(f"{platform.endpoint.api_url}/hits/{only_hit(platform)['HITId']}").do()
        retype(platform, Reward=reward)
        collect_work(at(), accepted=ACCEPTED)
        approved_there(platform, work)
        expected.append(Decimal(reward))
    collect_work(at(), accepted=ACCEPTED)
    assert rewards(sqlite_engine) == expected
    assert reconcile(at()).agree


def test_X40_another_difference_later_stops_money_again(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, at: Callable
) -> None:
    answer(put_up(sqlite_engine, design={"annotators": 4}))
    retype(platform, Reward="5.00")
    collect_work(at(), accepted=ACCEPTED)
    retype(platform, Reward="6.00")
    with pytest.raises(PlatformError, match=r"planned \$0.80, local has \$6.00"):
        approve_work(at())
    retype(platform, Reward="0.80")
    assert approve_work(at()) == 1
    assert rewards(sqlite_engine) == [Decimal("0.80")]
    retype(platform, Reward="5.00")  # the same as before, but it was corrected in between
    with pytest.raises(NotAsPlannedError, match=REWARD):
        collect_work(at())
    with reading(sqlite_engine) as session:
        kept = session.scalars(select(DifferenceRow).order_by(DifferenceRow.id)).all()
        assert [(row.there, bool(row.accepted_at), bool(row.over_at)) for row in kept] == [
            ("$5.00", True, True),
            ("$6.00", False, True),
            ("$5.00", False, False),
        ]


def test_X40_a_question_that_was_changed_in_the_marketplaces_own_database_is_noticed(
    sqlite_engine: Engine, put_up: Callable, market_engine: Engine, at: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    with market_engine.begin() as connection:
        connection.execute(text("UPDATE hits SET question = replace(question, '/form/f', '/form/g')"))
    with pytest.raises(NotAsPlannedError, match=r"question: planned one with the hash .*, local has one"):
        collect_work(at())


def test_X40_a_reply_that_is_not_what_was_asked_for_ends_publishing(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, at: Callable, listed: Callable
) -> None:
    study_factory(sqlite_engine, design={"annotators": 100})
    plan_hits(at())

    platform.client.meta.events.register(
        "provide-client-params.mturk.CreateHIT", lambda params, **_: {**params, "Reward": "8.00"}
    )
    done = publish_hits(at(), public_url="https://study.example.org")
    assert len(listed()) == done.made == 10  # of 12: one batch
    assert {(each.what, each.there) for each in done.differences} == {("reward", "$8.00")}
    with pytest.raises(PlatformError, match=r"planned \$0.80, local has \$8.00"):
        publish_hits(at(), public_url="https://study.example.org")
    assert len(listed()) == 10


def test_X40_verbs_show_it_and_end_with_3_until_it_is_accepted(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    work = answer(put_up(sqlite_engine, design={"annotators": 4}))
    retype(platform, Reward="5.00")
    line = "reward: planned $0.80, local has $5.00"
    status = verb("status", "study")
    assert line in status.out
    assert "humaneval collect study --to local --accept-differences" in status.out
    assert verb("status", "study", "--json").document["endpoints"][0]["hits_differ"][0]["there"] == "$5.00"
    assert line in verb("doctor", "study").out
    collected = verb("collect", "study")
    assert (collected.code, line in collected.out, line in collected.err) == (3, True, True)
    as_json = verb("collect", "study", "--json")
    assert (as_json.code, as_json.document["hits_differ"][0]["planned"]) == (3, "$0.80")
    assert line in verb("review", "study").out
    for refused in (("approve", "study", work), ("review", "study", "--approve")):
        done = verb(*refused)
        assert (done.code, line in done.err) == (1, True)
    assert verb("collect", "study", "--accept-differences").code == 0
    assert f"Not as planned, and accepted: {line}" in verb("status", "study").out
    assert verb("approve", "study", work).code == 0
    assert "you owe people $5.00, and nobody takes fees" in verb("status", "study").out


def test_X40_older_databases_without_figures_compare_with_the_study_file(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, at: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    with sqlite_engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET request = '{}' WHERE operation = 'publish'"))
    collect_work(at())
    retype(platform, Reward="5.00")
    with pytest.raises(PartialError, match=REWARD):
        collect_work(at())


def test_X40_a_hit_found_again_after_a_kill_is_compared_too(
    sqlite_engine: Engine, orphan: Callable, platform: MTurk, at: Callable
) -> None:
    orphan(sqlite_engine)
    retype(platform, Reward="5.00")
    with pytest.raises(PartialError, match=REWARD):
        collect_work(at())
    assert unaccepted(differing(at().study, "local"))


def test_X40_the_same_question_and_requirements_in_other_words_do_not_differ() -> None:
    assert question_hash("<a><b>x &amp; y</b></a>") == question_hash("<a>\n <b>x &#38; y</b>\n</a>")
    asked = {"QualificationTypeId": "3X", "Comparator": "Exists"}
    told = {**asked, "RequiredToPreview": True, "ActionsGuarded": "DiscoverPreviewAndAccept"}
    assert requirements_text([asked]) == requirements_text([told])
    assert requirements_text([asked]) != requirements_text([{**told, "ActionsGuarded": "Accept"}])


def test_X40_static_hits_are_as_planned(
    sqlite_engine: Engine, put_up: Callable, at: Callable, listed: Callable
) -> None:
    put_up(sqlite_engine, static=True, design={"annotators": 4})
    assert collect_work(at()).hits_differ == ()
    with reading(sqlite_engine) as session:
        assert len(session.scalars(select(HitRow)).all()) == len(listed()) == 4


def test_X40_a_compensation_with_another_reward_is_taken_down_at_once(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, at: Callable, listed: Callable
) -> None:
    work = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    work.open()
    with sqlite_engine.begin() as connection:
        connection.execute(text("UPDATE assignments SET lease_until = NULL"))

    def dearer(params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "Reward": "8.00"}

    def compensate() -> None:
        compensate_worker(at(), assignment=work.id, amount=Decimal("0.80"), reason="Our server was away.")

    platform.client.meta.events.register("provide-client-params.mturk.CreateHIT", dearer)
    with pytest.raises(PlatformError, match=r"reward: planned \$0.80, local has \$8.00"):
        compensate()
    assert {hit["HITStatus"] for hit in listed() if hit["Reward"] == "8.00"} == {"Reviewable"}
    with pytest.raises(PlatformError, match="not as planned"):
        compensate()  # it is not put up again as it is
    assert {hit["HITStatus"] for hit in listed() if hit["Reward"] == "8.00"} == {"Reviewable"}


def test_X40_reports_say_what_was_really_paid(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, at: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4}, exclusions={"missed_control": "none"})
    for name in ("Ada", "Ben"):
        answer(up, name)
    collect_work(at())
    retype(platform, Reward="5.00")
    collect_work(at(), accepted=ACCEPTED)
    assert approve_work(at()) == 2
    data = study_report(at().study, collected(at().study).table())
    assert data.money is not None
    assert data.money.rewards == Decimal("10.00")
    said = "The reward was $0.80 per form, and $5.00 where the platform paid otherwise than planned"
    assert said in methods_paragraph(data)
