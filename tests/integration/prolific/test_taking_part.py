"""Each place of a study at Prolific gets one row, and the way back begins when the answers are stored."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from urllib.parse import urlsplit

import pytest
from lxml.html import document_fromstring
from sqlalchemy import Engine, event, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.ask_return import ask_returns
from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.prolific.answered import codes_of
from humaneval.crowd.prolific.completion_codes import COMPLETED, FAILED_CHECK, NO_CONSENT, SCREENED_OUT
from humaneval.crowd.prolific.evidence import evidence_for
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.prolific.submitted import NO_ANSWERS
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.review import review_work
from humaneval.crowd.workers import exclude_workers
from humaneval.errors import PlatformError
from humaneval.simulated import Skills, crowd_for, take_part
from humaneval.store.engine import reading
from humaneval.store.responses import TOOK_PART_ELSEWHERE
from humaneval.store.tables import AnswerRow, AssignmentRow, ConsentTextRow, WorkerIdentityRow, WorkerRow
from humaneval.study.stored import open_study, study_key
from tests.integration.prolific.people import Person, World


def codes(world: World) -> dict[str, str]:
    return codes_of(world.engine, "prolific", world.hit().id)


def stored(world: World) -> int:
    with reading(world.engine) as session:
        return session.scalar(select(func.count()).select_from(AssignmentRow)) or 0


def test_a_study_is_published_answered_and_collected(anywhere: World) -> None:
    published = anywhere.publish()
    assert (published.made, published.assignments) == (1, 4)
    there = anywhere.study_there()
    assert (there["status"], there["total_available_places"], there["reward"]) == ("ACTIVE", 4, 80)
    people = anywhere.answered_by("Ann", "Ben", "Cleo", "Dan")
    assert len(set(anywhere.rows())) == 4
    found = anywhere.collect()
    assert (found.submissions, found.new, found.differences) == (4, 4, ())
    assert anywhere.states() == {"submitted": 4}
    assert {anywhere.status_of(each.submission) for each in people} == {"AWAITING REVIEW"}
    assert anywhere.collect().new == 0


def test_P05_a_returned_place_frees_its_row_once(anywhere: World) -> None:
    anywhere.publish()
    ann = anywhere.person("Ann")
    ann.take()
    (row,) = anywhere.rows()
    ann.give_back()
    anywhere.collect()
    assert anywhere.rows() == []
    ben = anywhere.person("Ben")
    ben.take()
    assert anywhere.rows() == [row]
    anywhere.collect()  # Ann's return is seen again
    assert anywhere.rows() == [row]


def test_P05_a_place_that_timed_out_frees_its_row_and_late_answers_are_kept(anywhere: World) -> None:
    anywhere.publish()
    ann = anywhere.person("Ann")
    ann.take()
    anywhere.clock.move(minutes=46)
    anywhere.collect()
    assert anywhere.rows() == []
    ben = anywhere.person("Ben")
    ben.take()
    assert ann.answer()  # after her time, while Ben has her row
    found = anywhere.collect()
    assert (found.submissions, found.not_handed_over) == (0, 1)
    assert [each.assignment for each in found.unpaid] == [ann.submission]
    assert len(anywhere.rows()) == 1


def test_P05_whoever_takes_a_reopened_place_gets_a_row_before_anything_is_collected(world: World) -> None:
    world.publish()
    people = [world.person(name) for name in ("Ann", "Ben", "Cleo", "Dan")]
    for each in people:
        each.take()
    assert len(set(world.rows())) == 4
    people[1].give_back()
    people[2].give_back()
    for name in ("Eve", "Fay"):
        assert world.person(name).take().form(field="form") is not None
    assert len(set(world.rows())) == 4


def test_P25_nobody_is_led_back_before_the_answers_are_stored(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()

    def handler(session: Session) -> None:
        if session.scalar(select(func.count()).select_from(AnswerRow)):
            raise RuntimeError("the server dies")

    event.listen(Session, "before_commit", handler)
    try:
        assert ann.answer() == ""
    except Exception:
        assert ann.back == ""
    finally:
        event.remove(Session, "before_commit", handler)
    assert ann.answer().startswith(world.server.url)
    with reading(world.engine) as session:
        assert session.scalar(select(func.count()).select_from(AnswerRow)) == 1


def test_the_consent_that_is_stored_is_the_one_that_was_read(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    page = ann.take()
    ann.answer()
    with reading(world.engine) as session:
        (text,) = session.scalars(select(ConsentTextRow)).all()
        assert text.channel == "panel"
    shown = " ".join(document_fromstring(page.html).text_content().split())
    assert [line for line in text.text.splitlines() if line not in shown] == []


def test_P28_P33_P35_the_way_back_has_the_platforms_own_names_and_follows_at_once(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    back = ann.answer()
    ann.back = ""
    ann.open(ann.form_url)  # reloaded
    assert ann.back == back == f"{world.server.url}/submissions/complete?cc={codes(world)[COMPLETED]}"


@pytest.mark.parametrize(("right", "outcome"), [(True, COMPLETED), (False, FAILED_CHECK)])
def test_P13_P27_the_code_says_the_outcome_by_our_own_data(world: World, right: bool, outcome: str) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann", right=right)
    assert ann.code == codes(world)[outcome]
    there = world.platform().session(ann.submission)
    assert there is not None
    assert there.code == ann.code


def decline(world: World, person: Person) -> str:
    """Press the button; where our server then leads."""
    form = person.take().form(action="decline")
    assert form is not None
    person.form_url = f"{world.forms}/{form.action.lstrip('./')}"
    return person.send({})


def people_known(world: World) -> int:
    with reading(world.engine) as session:
        tables = (WorkerRow, WorkerIdentityRow, AssignmentRow)
        return sum(session.scalar(select(func.count()).select_from(each)) or 0 for each in tables)


def test_P13_whoever_declines_is_asked_to_return_and_nothing_of_them_is_kept(anywhere: World) -> None:
    anywhere.publish()
    ann = anywhere.person("Ann")
    for _ in range(2):  # again, as with a second click
        assert decline(anywhere, ann).endswith(f"cc={codes(anywhere)[NO_CONSENT]}")
    assert (anywhere.rows(), people_known(anywhere)) == ([], 0)
    token = ann.form_url.removesuffix("/decline")
    ann.finish()
    found = anywhere.collect()
    assert (found.submissions, people_known(anywhere)) == (0, 0)
    assert found.notes == (
        f"{ann.submission} did nothing, and was asked to return: it is paid in 21 days otherwise.",
    )
    books = reconcile(anywhere.at())
    assert (books.differences, books.left) == ((), 0)
    ben = anywhere.person("Ben")
    ben.take()
    assert ann.open(token).status == 404  # the address of a claim that was deleted is nobody else's
    ann.give_back()
    assert (anywhere.collect().notes, len(anywhere.rows())) == ((), 1)


def test_whoever_declined_and_was_paid_all_the_same_is_in_the_books(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    decline(world, ann)
    ann.finish()
    world.clock.move(days=22)
    assert world.collect().responses == 0
    books = reconcile(world.at())
    assert (books.differences, books.left, books.paid > 0) == ((), 0, True)


def test_P13_whoever_may_not_take_part_goes_back_with_a_code_of_its_own(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.reserve()
    ann.start()
    exclude_workers(world.at(), [ann.id])
    page = ann.open()
    assert f"{world.server.url}/submissions/complete?cc={codes(world)[SCREENED_OUT]}" in page.html
    assert stored(world) == 0
    ann.finish(codes(world)[SCREENED_OUT])
    assert (world.collect().submissions, stored(world)) == (0, 0)


def test_P30_of_people_for_whom_there_is_no_row_nothing_is_kept(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, design={"annotators": 2})
    world.publish()
    world.answered_by("Ann", "Ben")
    before = people_known(world)
    world.platform()._client.set(
        "change", "PATCH", f"/studies/{world.hit().external_id}/", {"total_available_places": 3}
    )
    page = world.person("Cleo").take()
    assert (page.form(field="form"), people_known(world)) == (None, before)


def test_P11_P29_P36_ids_are_kept_here_and_leave_the_address(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    assert urlsplit(ann.form_url).query == ""
    assert ann.submission not in ann.form_url
    with reading(world.engine) as session:
        assert session.scalars(select(AssignmentRow.external_id)).all() == [ann.submission]
    assert ann.open(ann.form_url).form(field="form") is not None
    again = ann.open()  # by Prolific's own address
    assert again.form(field="form") is not None
    assert stored(world) == 1


@pytest.mark.parametrize("which", ["person", "session", "study"])
def test_P30_P18_ids_that_prolific_does_not_know_get_no_row(world: World, which: str) -> None:
    world.publish()
    ann, ben = world.person("Ann"), world.person("Ben")
    for each in (ann, ben):
        each.reserve()
        each.start()
    parameter = {"person": "PROLIFIC_PID", "session": "SESSION_ID"}.get(which)
    if parameter:
        forged = ann.address.replace(ann.id, ben.id) if which == "person" else ""
        forged = forged or ann.address.replace(ann.submission, "f" * 24)
        page = ann.open(forged)
        assert page.status == 403
    else:
        page = ann.open(f"{world.forms}/form/{world.hit().key}?assignmentId=A1&workerId=W1&hitId=H1")
        assert page.status == 404  # the way of a marketplace, which asks nobody
    assert stored(world) == 0


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?PROLIFIC_PID=&SESSION_ID=",
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&SESSION_ID={{%SESSION_ID%}}",
        "?PROLIFIC_PID=5f&SESSION_ID=undefined",
    ],
)
def test_P10_an_address_without_ids_claims_nothing_and_says_so(world: World, query: str) -> None:
    world.publish()
    page = world.person("Ann").open(f"{world.forms}/prolific/{world.hit().key}{query}")
    assert (page.status, page.form(field="form")) == (400, None)
    assert "PROLIFIC_PID" in page.html
    assert stored(world) == 0


def test_whoever_has_returned_gets_no_form_again(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.give_back()
    world.collect()
    page = ann.open()
    assert (page.status, page.form(field="form")) == (410, None)


@pytest.mark.parametrize("code", ["", "WRONGCODE1"])
def test_P31_P39_our_own_answers_count_whatever_code_was_brought(world: World, code: str) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.answer()
    assert ann.finish(code) < 400
    found = world.collect()
    assert (found.submissions, found.differences) == (1, ())
    assert found.responses == 4


def test_P27_P32_the_code_that_everybody_shares_proves_nothing_without_our_answers(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.finish(codes(world)[COMPLETED])  # a code that leaked
    found = world.collect()
    assert found.responses == 0
    assert found.differences == (f"assignment {ann.submission}: {NO_ANSWERS}",)


def test_two_forms_for_each_person_are_two_submissions(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, design={"rows_per_annotator": 2})
    world.publish()
    ann = world.person("Ann")
    for _ in range(2):
        ann.take()
        ann.answer()
        ann.finish()
    assert not ann.reserve()
    assert len(set(world.rows())) == 2
    assert world.collect().new == 2


def test_P02_more_people_than_a_page_are_all_collected(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, design={"annotators": 101})
    world.publish()
    for number in range(101):
        assert world.person(f"person {number}").reserve()
    assert len(world.platform().sessions(world.hit().external_id or "")) == 101


def test_P13_whoever_returns_the_work_after_answering_leaves_no_answers(anywhere: World) -> None:
    anywhere.publish()
    ann, ben, cem = (anywhere.person(name) for name in ("Ann", "Ben", "Cem"))
    for person in (ann, ben, cem):
        person.take()
        person.answer()
    ann.give_back()  # before it was handed over
    ben.finish()
    found = anywhere.collect()
    assert (found.new, found.notes[0].split()[0]) == (1, ann.submission)
    ask_returns(anywhere.at(), [ben.submission], "Please return it.", dry_run=False)
    ben.give_back()  # after it was collected
    anywhere.clock.move(hours=2)  # Cem's time runs out: that is no return
    found = anywhere.collect()
    assert (found.responses, len(found.notes)) == (0, 1)
    assert found.notes[0].startswith(f"{ben.submission} was returned by the person, and the")
    assert kept_answers(anywhere) == [cem.submission]
    assert anywhere.states() == {"superseded": 2, "answered": 1}
    assert anywhere.collect().notes == ()
    paid = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
    assert compensate_worker(anywhere.at(), **paid).paid


def test_C40_one_person_in_two_studies_at_once_has_a_form_of_each_and_counts_once_if_the_second_excludes(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    first = world_of(sqlite_engine, "first")
    other = world_of(sqlite_engine, "other")
    second = world_of(sqlite_engine, "second", participants={"exclude_studies": ["first"]})
    for world in (first, other, second):
        world.publish()
    here, beside, later = (world.person("Ann") for world in (first, other, second))
    for person in (here, beside, later):
        assert person.take().form(field="form") is not None
    for person in (here, beside, later):
        person.answer()
        person.finish()
    waiting = second.person("Ben")
    assert waiting.reserve()  # before he takes part in the first one
    ben = first.person("Ben")
    ben.take()
    ben.answer()
    ben.finish()
    waiting.start()
    told = waiting.open()
    assert told.form(field="form") is None
    assert codes(second)[SCREENED_OUT] in told.html
    new = [world.collect().new for world in (first, other, second)]
    assert new == [2, 1, 1]
    with reading(sqlite_engine) as session:
        why = dict(session.execute(select(AssignmentRow.external_id, AssignmentRow.excluded)).all())
    assert why[later.submission] == TOOK_PART_ELSEWHERE
    assert (why[here.submission], why[beside.submission], why[ben.submission]) == ("", "", "")


def kept_answers(world: World) -> list[str]:
    """Whose answers are here, by the submission."""
    with reading(world.engine) as session:
        kept = select(AssignmentRow.external_id).join(AnswerRow, AnswerRow.assignment_id == AssignmentRow.id)
        return list(session.scalars(kept.order_by(AnswerRow.id)))


def test_people_rate_at_prolific_and_an_answer_to_the_control_decides_the_code(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    scales = {"fluency": ["not fluent", "fluent"], "fit": ["does not fit", "fits well"]}
    world = world_of(sqlite_engine, question="rate", answers={"scales": scales, "mark": True})
    world.publish()
    study, key = open_study(sqlite_engine, world.name), study_key(open_study(sqlite_engine, world.name))
    careful = crowd_for(study, 3, Skills(by_generator={"control": 1.0}), seed=1)
    there = world.hit().external_id or ""
    assert take_part(careful, world.server.url, there, key, at_once=1) == (3, 0)
    hasty = world.person("Hasty")
    hasty.take()
    form = hasty.opened().form(field="form")
    assert form is not None
    hasty.send({**form.values, **form.boxes, **{name: each[-1].value for name, each in form.choices.items()}})
    assert hasty.code == codes(world)[FAILED_CHECK]
    hasty.finish()
    found = world.collect()
    assert (found.new, found.responses, found.differences) == (4, 4 * study.settings.row_size, ())
    made = evidence_for(world.at(), hasty.submission)
    assert (made.category, "and the answer was fluency 5 of 5, fit 5 of 5" in made.reason) == (
        "FAILED_CHECK",
        True,
    )
    assert [each.excluded for each in review_work(study, "prolific")].count("") == 3


def test_what_prolific_has_not_confirmed_changes_nothing_for_anybody_and_gives_way(
    anywhere: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    anywhere.publish()
    vic, forger = anywhere.person("Vic"), anywhere.person("Forger")
    assert vic.reserve()
    vic.start()
    address = vic.address.partition("?")[0]

    def silent(*_: object, **__: object) -> None:
        raise PlatformError("Prolific does not answer")

    with monkeypatch.context() as now_silent:
        now_silent.setattr(Prolific, "session", silent)
        for number in range(4):
            forger.submission = f"{number:x}".rjust(24, "b")
            worker = vic.id if number == 0 else f"{number:x}".rjust(24, "a")
            page = forger.open(f"{address}?PROLIFIC_PID={worker}&SESSION_ID={forger.submission}&STUDY_ID=x")
            assert page.form(field="form") is not None
            if number == 0:
                assert "complete?cc=" in forger.answer()
    assert anywhere.rows() == sorted(anywhere.rows())[:4]
    with reading(anywhere.engine) as session:
        assert not any(session.scalars(select(AssignmentRow.confirmed)))
    assert vic.open().form(field="form") is not None  # in whose name a form was sent
    assert "complete?cc=" in vic.answer()
    for name in ("Ann", "Ben", "Cem"):
        assert anywhere.person(name).take().form(field="form") is not None, name
    with reading(anywhere.engine) as session:
        held = session.scalars(select(AssignmentRow.confirmed).where(AssignmentRow.holds_row)).all()
    assert held == [True] * 4
