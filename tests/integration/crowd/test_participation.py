"""One person, one row: across HITs, across studies, whatever they try; and who may take part at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.outbox import RESTS
from humaneval.crowd.participants import perform_exclusions
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import up
from humaneval.crowd.review import review_work
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.crowd.workers import block_workers, exclude_workers, list_workers
from humaneval.errors import PlatformError, UsageError
from humaneval.market import SENT_AGAIN, MarketServer, Trouble
from humaneval.store.engine import reading, writing
from humaneval.store.responses import response_lines
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow
from humaneval.study.stored import get_study, open_study
from humaneval.web.app import create_app, running
from humaneval.web.exclude import Excluder
from tests.fixtures import nobodys_session
from tests.pace import PATIENCE

GRANT = "AssociateQualificationWithWorker"
"""The call that puts somebody on a list."""

TWO_HITS = {"annotators": 12}
"""Nine forms in the first HIT, three in the second."""


@pytest.fixture
def hits(market: MarketServer) -> Callable[[Engine], list[str]]:
    """The addresses at which each HIT of the study can be taken."""

    def addresses(engine: Engine, name: str = "study") -> list[str]:
        return [f"{market.url}/hits/{hit.external_id}" for hit in up(open_study(engine, name), "local")]

    return addresses


def held(engine: Engine) -> int:
    with reading(engine) as session:
        return len(session.scalars(select(AssignmentRow.id).where(AssignmentRow.holds_row)).all())


def turns(engine: Engine, *operations: str) -> list[tuple[str, str]]:
    with reading(engine) as session:
        rows = session.scalars(
            select(OutboxRow).where(OutboxRow.operation.in_(operations)).order_by(OutboxRow.id)
        )
        return [(row.operation, row.state) for row in rows]


def test_C40_of_two_hits_taken_within_a_second_one_gives_a_row_and_the_other_a_way_to_return_it(
    engine: Engine, put_up: Callable, person: Callable, hits: Callable
) -> None:
    put_up(engine, design=TWO_HITS)
    ada, (first, second) = person("Ada"), hits(engine)
    one, other = ada.accept(first), ada.accept(second)
    together = Barrier(2)

    def open_it(work: Any) -> Any:
        together.wait()
        return work.open()

    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(open_it, (one, other)))
    forms = [page.form(field="form") is not None for page in pages]
    assert sorted(forms) == [False, True]
    assert held(engine) == 1
    told = pages[forms.index(False)]
    assert told.status == 200
    assert "You have another task of this study" in told.html
    mine = (one, other)[forms.index(True)].id
    assert f'/assignments/{mine}" target="_top">Continue my form' in told.html
    refused = (one, other)[forms.index(False)]
    assert (
        f'href="{ada.home.url.rpartition("/")[0]}/assignments/{refused.id}#return" target="_top"' in told.html
    )
    assert ada.browser.get(refused.page.url).form(action="/return") is not None  # where the button leads
    refused.give_back()
    (one, other)[forms.index(True)].do()
    assert held(engine) == 1


def test_C40_C41_who_says_that_the_other_hit_is_returned_takes_the_form_along(
    engine: Engine, put_up: Callable, person: Callable, hits: Callable, platform: MTurk
) -> None:
    put_up(engine, design=TWO_HITS)
    ada, (first, second) = person("Ada"), hits(engine)
    returned = ada.accept(first)
    shown = returned.open().form(field="form")
    returned.give_back()
    work = ada.accept(second)
    page = work.open()
    moving = page.form(action="/here")
    assert moving is not None
    for _ in range(2):
        moved = ada.browser.submit(page, moving, {})
        form = moved.form(field="form")
        assert form is not None
        assert form.values["form"] == shown.values["form"]  # the same row
    assert held(engine) == 1
    work.do()
    assert collect_work(open_study_at(engine, "study", platform)).responses == 4
    forged = {**moving.values, "token": moving.values["token"] + "x"}
    moving.values = forged
    assert ada.browser.submit(page, moving, {}).status == 400


def test_C40_who_has_answered_does_not_even_see_the_other_hits(
    sqlite_engine: Engine, put_up: Callable, person: Callable, hits: Callable, platform: MTurk, troubles: Any
) -> None:
    up_there = put_up(sqlite_engine, design=TWO_HITS)
    ada, (_, second) = person("Ada"), hits(sqlite_engine)
    ada.accept(up_there.preview).do()
    assert turns(sqlite_engine, "exclude") == [
        ("exclude", "pending")
    ]  # the form server wrote it down, and no more
    assert ada.browser.get(second).status == 200
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).not_listed == ()
    assert turns(sqlite_engine, "list", "exclude") == [("list", "confirmed"), ("exclude", "confirmed")]
    assert ada.browser.get(second).status == 403
    assert person("Ben").browser.get(second).status == 200
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert troubles.seen.count("CreateQualificationType") == 1
    assert troubles.seen.count("AssociateQualificationWithWorker") == 1


def test_C40_the_form_server_sees_to_the_list_at_once_and_never_during_a_get(
    sqlite_engine: Engine,
    study_factory: Callable,
    person: Callable,
    hits: Callable,
    platform: MTurk,
    troubles: Any,
    form_server: Callable,
) -> None:
    settings = form_server(sqlite_engine).settings
    study_factory(sqlite_engine, design=TWO_HITS)
    excluder = Excluder(lambda endpoint, study: open_study_at(sqlite_engine, study, platform))
    with running(create_app(settings, sqlite_engine, excluder.answered)) as port:
        plan_hits(open_study_at(sqlite_engine, "study", platform))
        publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=f"http://localhost:{port}")
        ada, (first, second) = person("Ada"), hits(sqlite_engine)
        work = ada.accept(first)
        troubles.seen.clear()
        work.open()
        work.open()
        assert troubles.seen == []
        work.post()  # answers are safe; nothing is handed over yet
        excluder.stop()
    assert troubles.seen == ["AssociateQualificationWithWorker"]
    assert ada.browser.get(second).status == 403


def test_refused_exclusions_rest_before_the_form_server_tries_them_again_and_a_verb_tries_each_once(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design=TWO_HITS)
    troubles.coming[GRANT] = [Trouble.THROTTLED] * 100
    for name in ("Ada", "Ben", "Grace"):
        answer(up, name)
    at = open_study_at(sqlite_engine, "study", platform)
    for _ in range(3):
        perform_exclusions(at, rested=True)
    assert troubles.seen.count(GRANT) == 3
    answer(up, "Alan")
    assert len(perform_exclusions(at, rested=True).failed) == 1
    assert troubles.seen.count(GRANT) == 4
    assert len(collect_work(at).not_listed) == 4
    assert troubles.seen.count(GRANT) == 8
    with writing(sqlite_engine) as session:
        for row in session.scalars(select(OutboxRow).where(OutboxRow.operation == "exclude")):
            assert row.attempted_at is not None
            row.attempted_at -= RESTS[0 if row.attempts == 1 else 1]
    troubles.coming.clear()
    assert perform_exclusions(at, rested=True) == (4, ())


def test_no_more_exclusions_are_tried_of_a_platform_that_does_not_answer(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design=TWO_HITS)
    for name in ("Ada", "Ben", "Grace", "Alan"):
        answer(up, name)
    troubles.coming[GRANT] = [Trouble.ODD_STATUS] * 4
    done = perform_exclusions(open_study_at(sqlite_engine, "study", platform))
    assert (done.done, len(done.failed), troubles.seen.count(GRANT)) == (0, 3, 3)


def test_no_study_waits_for_the_exclusions_of_another_and_many_answers_make_one_pass(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk
) -> None:
    answer(put_up(sqlite_engine, design=TWO_HITS))
    asked, begun, waiting = [], Event(), Event()

    def open_at(endpoint: str, study: str) -> StudyAtPlatform:
        asked.append(study)
        if study == "elsewhere":
            begun.set()
            waiting.wait(PATIENCE)
            raise UsageError("no such study")
        return open_study_at(sqlite_engine, study, platform)

    excluder = Excluder(open_at)
    excluder.answered("local", "elsewhere")
    assert begun.wait(PATIENCE)
    for _ in range(200):
        excluder.answered("local", "elsewhere")
    excluder.answered("local", "study")
    until = time.monotonic() + PATIENCE
    while turns(sqlite_engine, "exclude") != [("exclude", "confirmed")]:
        assert time.monotonic() < until
        time.sleep(0.02)
    waiting.set()
    excluder.stop()
    assert sorted(asked) == ["elsewhere", "elsewhere", "study"]


@pytest.mark.parametrize("trouble", [*SENT_AGAIN, Trouble.ODD_STATUS])
def test_C55_C56_a_grant_that_fails_is_made_by_the_next_collect_and_loses_no_answers(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    troubles: Any,
    trouble: Trouble,
) -> None:
    answer(put_up(sqlite_engine, design=TWO_HITS))
    troubles.coming["AssociateQualificationWithWorker"] = [trouble]
    first = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (first.new, len(first.not_listed)) == (1, 1)
    assert troubles.seen.count("AssociateQualificationWithWorker") == 1
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).not_listed == ()
    assert turns(sqlite_engine, "exclude") == [("exclude", "confirmed")]


@pytest.mark.parametrize("when", ["before-send", "response-received", "unconfirmed"])
def test_C56_a_kill_while_collect_sees_to_the_list_loses_nothing(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    die: Callable,
    die_unconfirmed: Callable,
    when: str,
) -> None:
    answer(put_up(sqlite_engine, design=TWO_HITS))
    operation = "AssociateQualificationWithWorker"
    with die_unconfirmed("exclude") if when == "unconfirmed" else die(when, operation, client=platform.once):
        collect_work(open_study_at(sqlite_engine, "study", platform))
    assert turns(sqlite_engine, "exclude") == [("exclude", "pending")]
    again = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (again.new, again.responses, again.not_listed) == (0, 4, ())
    assert turns(sqlite_engine, "exclude") == [("exclude", "confirmed")]


@pytest.mark.parametrize("trouble", [*SENT_AGAIN, Trouble.ODD_STATUS])
def test_C55_a_list_is_made_once_and_found_by_its_exact_name(
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    troubles: Any,
    person: Callable,
    trouble: Trouble,
) -> None:
    study_factory(sqlite_engine, design=TWO_HITS)
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    troubles.coming["CreateQualificationType"] = [trouble]

    def publish_it() -> Any:
        return publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")

    if trouble not in (Trouble.REPLY_LOST, Trouble.DROPPED):
        with pytest.raises(PlatformError):
            publish_it()
        assert up(open_study(sqlite_engine, "study"), "local") == []
    assert publish_it().made == 2
    assert len(qualifications(platform)) == 1
    with writing(sqlite_engine) as session:  # as if a kill had come before the confirmation
        row = session.scalars(select(OutboxRow).where(OutboxRow.operation == "list")).one()
        row.state, row.answer = "pending", None
    name = qualifications(platform)[0]["Name"]
    platform.client.create_qualification_type(
        Name=f"{name} and more", Description="Another's", QualificationTypeStatus="Active"
    )
    perform_exclusions(open_study_at(sqlite_engine, "study", platform))
    exclude_workers(open_study_at(sqlite_engine, "study", platform), [person("Ada").id])
    with reading(sqlite_engine) as session:
        row = session.scalars(select(OutboxRow).where(OutboxRow.operation == "list")).one()
        assert row.answer is not None
        assert row.answer["id"] in {
            q["QualificationTypeId"] for q in qualifications(platform) if q["Name"] == name
        }


def qualifications(platform: MTurk) -> list[dict[str, Any]]:
    pages = platform.client.get_paginator("list_qualification_types").paginate(
        MustBeRequestable=False, MustBeOwnedByCaller=True
    )
    return [found for page in pages for found in page["QualificationTypes"]]


def test_C56_only_who_was_shown_a_form_and_answered_it_is_on_the_list(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up_there = put_up(sqlite_engine, design=TWO_HITS)
    person("Ada").browser.get(up_there.preview)
    accepted = person("Ben").accept(up_there.preview)
    accepted.open()
    accepted.give_back()
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert turns(sqlite_engine, "exclude") == []


def test_C40_participants_of_an_excluded_study_do_not_get_in(
    engine: Engine, put_up: Callable, person: Callable, answer: Callable, platform: MTurk
) -> None:
    earlier = put_up(engine, "earlier", design={"annotators": 4})  # one HIT: it had no list of its own
    answer(earlier, "Ada")
    collect_work(open_study_at(engine, "earlier", platform))
    later = put_up(
        engine, "later", design={"annotators": 4, "seed": 1}, participants={"exclude_studies": ["earlier"]}
    )
    assert person("Ada").browser.get(later.preview).status == 404  # their group shows them nothing
    ben = person("Ben").accept(later.preview)
    assert ben.open().form(field="form") is not None
    cleo = person("Cleo")
    work = cleo.accept(later.preview)  # takes the new one first …
    answer(earlier, "Cleo")  # … and then the old one
    told = work.open()
    assert "This study is not open to you" in told.html
    assert "Return this task" in told.html


def test_C40_a_study_that_excludes_an_unknown_one_is_not_published(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, troubles: Any
) -> None:
    study_factory(sqlite_engine, "pilott")
    study_factory(sqlite_engine, participants={"exclude_studies": ["pilott"]})
    with writing(sqlite_engine) as session:  # as in a database that was put together by hand
        get_study(session, "pilott").name = "pilot"
    with pytest.raises(UsageError, match="a study that does not exist: pilott"):
        plan_hits(open_study_at(sqlite_engine, "study", platform))
    assert troubles.seen == []


def test_C40_what_got_through_all_the_same_is_found_when_it_is_collected(
    sqlite_engine: Engine, put_up: Callable, person: Callable, hits: Callable, platform: MTurk
) -> None:
    """Past our server: on static pages, or while it was away, nothing but the list keeps a person from
    two HITs."""
    put_up(sqlite_engine, design=TWO_HITS)
    with reading(sqlite_engine) as session:
        rows = [row.shown_hash for row in get_study(session, "study").rows]
    ada = person("Ada")
    in_hand = [ada.accept(address) for address in hits(sqlite_engine)]
    for work, form in zip(in_hand, rows, strict=False):
        answers = {f"choice-{place}": "2" for place in (1, 2, 3, 4)}
        work.submit_directly({"form": form, "consent": "1", **answers})
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).submissions == 2
    assert [
        line.excluded == "took part before"
        for line in review_work(open_study(sqlite_engine, "study"), "local")
    ] == [
        False,
        True,
    ]
    with reading(sqlite_engine) as session:
        study = get_study(session, "study")
        assert {line["assignment"] for line in response_lines(session, study)} == {in_hand[0].id}
        assert len(response_lines(session, study, everything=True)) == 8


def test_C41_a_readmitted_person_may_do_as_many_again_and_meets_no_story_twice(
    engine: Engine, put_up: Callable, person: Callable, hits: Callable, platform: MTurk
) -> None:
    put_up(engine, design=TWO_HITS)
    ada, (first, second) = person("Ada"), hits(engine)
    ada.accept(first).do()
    collect_work(open_study_at(engine, "study", platform))
    (line,) = list_workers(open_study(engine, "study"), "local")
    assert (line.forms, line.allowed, line.on_list) == (1, 1, True)
    assert exclude_workers(open_study_at(engine, "study", platform), [line.worker], on=False) == (1, 0)
    assert exclude_workers(open_study_at(engine, "study", platform), [line.worker], on=False) == (0, 1)
    (line,) = list_workers(open_study(engine, "study"), "local")
    assert (line.forms, line.allowed, line.on_list) == (1, 2, False)
    collect_work(open_study_at(engine, "study", platform))
    assert not list_workers(open_study(engine, "study"), "local")[
        0
    ].on_list  # nothing puts her back before she takes part
    ada.accept(second).do()
    collect_work(open_study_at(engine, "study", platform))
    assert [line.excluded for line in review_work(open_study(engine, "study"), "local")].count(
        "took part before"
    ) == 0
    (line,) = list_workers(open_study(engine, "study"), "local")
    assert (line.forms, line.allowed, line.on_list) == (2, 2, True)
    with reading(engine) as session:
        stories = [line["story"] for line in response_lines(session, get_study(session, "study"))]
    assert len(set(stories)) == len(stories) == 8


def test_C41_an_exclusion_that_is_taken_back_leaves_everything_as_it_was(
    sqlite_engine: Engine, put_up: Callable, person: Callable, hits: Callable, platform: MTurk
) -> None:
    put_up(sqlite_engine, design=TWO_HITS)
    ada, (first, second) = person("Ada"), hits(sqlite_engine)
    for _ in range(3):
        assert exclude_workers(open_study_at(sqlite_engine, "study", platform), [ada.id]) == (1, 0)
        assert exclude_workers(open_study_at(sqlite_engine, "study", platform), [ada.id], on=False) == (1, 0)
    ada.accept(first).do()
    assert "You have already taken part" in ada.accept(second).open().html
    collect_work(open_study_at(sqlite_engine, "study", platform))
    (line,) = list_workers(open_study(sqlite_engine, "study"), "local")
    assert (line.forms, line.allowed, line.on_list) == (1, 1, True)
    for _ in range(2):
        exclude_workers(open_study_at(sqlite_engine, "study", platform), [ada.id], on=False)
        exclude_workers(open_study_at(sqlite_engine, "study", platform), [ada.id])
    exclude_workers(open_study_at(sqlite_engine, "study", platform), [ada.id], on=False)
    (line,) = list_workers(open_study(sqlite_engine, "study"), "local")
    assert (line.forms, line.allowed, line.on_list) == (1, 2, False)


def test_C40_people_who_were_never_seen_here_can_be_kept_out_by_their_id(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk, troubles: Any
) -> None:
    up_there = put_up(engine, design={"annotators": 4})
    ada = person("Ada")
    work = ada.accept(up_there.preview)
    assert exclude_workers(open_study_at(engine, "study", platform), [ada.id], dry_run=True) == (1, 0)
    assert turns(engine, "exclude") == []
    assert exclude_workers(open_study_at(engine, "study", platform), [ada.id]) == (1, 0)
    assert exclude_workers(open_study_at(engine, "study", platform), [ada.id]) == (0, 1)
    assert troubles.seen.count("AssociateQualificationWithWorker") == 1
    assert "This study is not open to you" in work.open().html


def test_C09_blocks_are_by_command_only_and_can_be_undone(
    engine: Engine, put_up: Callable, person: Callable, answer: Callable, platform: MTurk, troubles: Any
) -> None:
    up_there = put_up(engine, design={"annotators": 4})
    answer(up_there, "Ada")
    collect_work(open_study_at(engine, "study", platform))
    (line,) = list_workers(open_study(engine, "study"), "local")
    with pytest.raises(UsageError, match="the reason is empty"):
        block_workers(open_study_at(engine, "study", platform), [line.worker], reason=" ")
    for expected in ((1, 0), (0, 1)):
        assert (
            block_workers(open_study_at(engine, "study", platform), [line.worker], reason="Two accounts")
            == expected
        )
    assert [found["Reason"] for found in blocks(platform)] == ["Two accounts"]
    assert list_workers(open_study(engine, "study"), "local")[0].blocked
    for expected in ((1, 0), (0, 1)):
        assert (
            block_workers(open_study_at(engine, "study", platform), [line.worker], reason="", on=False)
            == expected
        )
    assert blocks(platform) == []
    assert block_workers(open_study_at(engine, "study", platform), [line.worker], reason="Again") == (1, 0)
    assert turns(engine, "block", "unblock") == [
        ("block", "confirmed"),
        ("unblock", "confirmed"),
        ("block", "confirmed"),
    ]
    assert (troubles.seen.count("CreateWorkerBlock"), troubles.seen.count("DeleteWorkerBlock")) == (2, 1)


def blocks(platform: MTurk) -> list[dict[str, Any]]:
    pages = platform.client.get_paginator("list_worker_blocks").paginate()
    return [found for page in pages for found in page["WorkerBlocks"]]


def test_C19_a_worker_of_one_environment_is_not_touched_through_another(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk
) -> None:
    from humaneval.crowd.endpoints import SANDBOX

    answer(put_up(sqlite_engine, design={"annotators": 4}))
    (line,) = list_workers(open_study(sqlite_engine, "study"), "local")
    sandbox = MTurk(SANDBOX, session=nobodys_session())
    for act in (
        lambda: block_workers(open_study_at(sqlite_engine, "study", sandbox), [line.worker], reason="-"),
        lambda: exclude_workers(open_study_at(sqlite_engine, "study", sandbox), [line.worker]),
    ):
        with pytest.raises(UsageError, match="is a worker of local, not of sandbox"):
            act()
    with pytest.raises(UsageError, match="no worker 'w0123456789ab' is known at local"):
        block_workers(open_study_at(sqlite_engine, "study", platform), ["w0123456789ab"], reason="-")


def test_what_a_study_asks_of_participants_stands_on_its_hits(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, listed: Callable
) -> None:
    own = platform.client.create_qualification_type(
        Name="Reads German", Description="d", QualificationTypeStatus="Active"
    )["QualificationType"]["QualificationTypeId"]
    study_factory(
        sqlite_engine,
        design={"annotators": 4},
        participants={
            "countries": ["DE", "AT"],
            "min_approved_percent": 95,
            "min_approved_hits": 100,
            "qualifications": [{"id": own, "at_least": 80}, {"id": "3ELSEWHERE", "endpoint": "production"}],
        },
    )
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    (hit,) = listed()
    asked = {
        r["QualificationTypeId"]: (
            r["Comparator"],
            r.get("IntegerValues") or [v["Country"] for v in r["LocaleValues"]],
        )
        for r in hit["QualificationRequirements"]
    }
    assert asked == {
        "00000000000000000071": ("In", ["DE", "AT"]),
        "000000000000000000L0": ("GreaterThanOrEqualTo", [95]),
        "00000000000000000040": ("GreaterThanOrEqualTo", [100]),
        own: ("GreaterThanOrEqualTo", [80]),
    }
    assert {r["ActionsGuarded"] for r in hit["QualificationRequirements"]} == {"DiscoverPreviewAndAccept"}


def test_masters_cost_five_percent_more_and_more_than_ten_requirements_are_refused(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4}, participants={"masters": True})
    assert str(plan_hits(open_study_at(sqlite_engine, "study", platform), dry_run=True).cost.fees) == "0.80"
    many = [{"id": f"3Q{number}"} for number in range(11)]
    study_factory(sqlite_engine, "many", design={"annotators": 4}, participants={"qualifications": many})
    plan_hits(open_study_at(sqlite_engine, "many", platform))
    with pytest.raises(PlatformError, match="has 11 requirements for participants; the platform accepts 10"):
        publish_hits(open_study_at(sqlite_engine, "many", platform), public_url="http://localhost:9")
    with reading(sqlite_engine) as session:
        assert session.scalars(select(HitRow.external_id)).all() == [None]
