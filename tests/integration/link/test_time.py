"""What time does to a form by link: leases end, links close and open again, and no answers are lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from humaneval.crowd import claims
from humaneval.crowd.approve import approve_work
from humaneval.crowd.close import close_all
from humaneval.crowd.extend import Expired, expire_all, extend_all
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.uncollected import would_collect
from humaneval.errors import PartialError
from humaneval.simulated.browser import Browser
from humaneval.store.tables import HitRow
from humaneval.study.stored import open_study
from tests.integration.link.people import begin, form_hash, heading, panel, send, take

OVER = (410, "This study has ended")


def test_C38_a_row_is_free_again_when_its_time_is_over(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine, design={"annotators": 1})
    link = study.open_link()
    gone = begin(link)
    assert heading(begin(link)) == "All forms are taken"
    study.let_leases_run_out()
    assert form_hash(begin(link)) == form_hash(gone)


def test_C38_a_row_whose_time_is_over_is_found_although_leases_were_looked_at_a_moment_ago(
    sqlite_engine: Engine, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 1})
    monkeypatch.setattr(claims, "LOOK_EVERY", timedelta(hours=1))
    link = study.open_link()
    gone = begin(link)
    assert heading(begin(link)) == "All forms are taken"
    study.let_leases_run_out()
    assert form_hash(begin(link)) == form_hash(gone)


def test_who_comes_back_late_has_their_form_still_or_gets_another(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine, design={"annotators": 2})
    link = study.open_link(2)
    late = begin(link)
    study.let_leases_run_out()
    assert form_hash(Browser().get(late.url)) == form_hash(late)  # nobody wanted it: their time begins anew
    assert form_hash(begin(link)) != form_hash(late)
    study.let_leases_run_out()
    other = begin(link)
    assert form_hash(other) == form_hash(late)
    again = Browser().get(late.url)
    assert form_hash(again) != form_hash(late)
    assert heading(send(again)) == heading(send(other)) == "Thank you"
    assert len(study.responses()) == 8
    assert heading(begin(link)) == "All forms are taken"


def test_answers_that_come_late_are_kept_even_when_the_row_is_somebody_elses(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine, design={"annotators": 1})
    link = study.open_link()
    late = begin(link)
    study.let_leases_run_out()
    other = begin(link)
    assert heading(send(late)) == heading(send(other)) == "Thank you"
    assert heading(Browser().get(late.url)) == "Thank you"
    assert len(study.answers()) == 2
    assert study.collect().responses == 8


def test_a_row_whose_place_went_to_a_late_answer_is_said(
    sqlite_engine: Engine, by_link: Callable, command: Callable
) -> None:
    study = by_link(sqlite_engine, design={"annotators": 2})
    link = study.open_link()
    late = begin(link)
    study.let_leases_run_out()
    other = begin(link)
    (line,) = study_status(open_study(sqlite_engine, "study"))
    assert line.crowded_out == 0
    send(late)
    send(other)
    assert heading(begin(link)) == "All forms are taken"
    (line,) = study_status(open_study(sqlite_engine, "study"))
    assert line.crowded_out == 1
    assert "1 form without answers and without a place" in command("status", "study").out
    study.open_link(3)
    send(begin(link))
    (line,) = study_status(open_study(sqlite_engine, "study"))
    assert line.crowded_out == 0


def test_C41_time_that_ran_out_does_not_count_against_a_person(engine: Engine, by_link: Callable) -> None:
    study = by_link(engine)
    link = study.panel_link()
    begin(panel(link, "P1", "S1"))
    study.let_leases_run_out()
    study.collect()
    assert study.held_rows() == []
    assert heading(take(panel(link, "P1", "S2"))) == "Thank you"


def test_expire_closes_the_link_for_new_people_and_who_has_begun_finishes(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine)
    link, members = study.open_link(), study.panel_link()
    open_page = Browser().get(link)
    begun, member = begin(link), begin(panel(members, "P1", "S1"))
    assert expire_all(open_study_at(engine, "study", study.platform)) == Expired(2, 2)
    for page in (
        Browser().get(link),
        Browser().submit(open_page, open_page.forms[0], {}),
        Browser().get(panel(members, "P2", "S2")),
    ):
        assert (page.status, heading(page)) == OVER
    assert form_hash(Browser().get(begun.url)) == form_hash(begun)
    assert form_hash(begin(panel(members, "P1", "S1"))) == form_hash(member)
    assert heading(send(begun)) == heading(send(member)) == "Thank you"
    assert heading(Browser().get(begun.url)) == "Thank you"
    assert study.states() == {"answered": 2}


def test_who_let_a_row_go_gets_none_after_the_end_but_their_answers_count(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine)
    late = begin(study.open_link())
    study.let_leases_run_out()
    study.collect()
    expire_all(open_study_at(sqlite_engine, "study", study.platform))
    back = Browser().get(late.url)
    assert (back.status, heading(back)) == OVER
    assert heading(send(late)) == "Thank you"
    assert len(study.responses()) == 4


def test_close_waits_for_who_has_begun_and_what_comes_later_is_collected_all_the_same(
    engine: Engine, by_link: Callable
) -> None:
    study = by_link(engine)
    link = study.open_link()
    begun, late = begin(link), begin(link)
    at = open_study_at(engine, "study", study.platform)
    assert close_all(at, dry_run=True).in_hand == 2
    with pytest.raises(PartialError, match="2 people may still submit: nothing was deleted"):
        close_all(at, wait=0)
    assert Browser().get(link).status == 410
    assert heading(send(begun)) == "Thank you"
    study.let_leases_run_out()
    study.collect()
    approve_work(at)
    assert close_all(at, wait=0).hits == 1
    assert heading(send(late)) == "Thank you"
    assert (would_collect(at).new, len(study.responses())) == (1, 8)
    assert (approve_work(at), study.collect().new, close_all(at, wait=0).hits) == (1, 0, 0)


def test_extend_opens_the_link_again(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine)
    link = study.open_link()
    expire_all(open_study_at(sqlite_engine, "study", study.platform))
    assert Browser().get(link).status == 410
    assert extend_all(open_study_at(sqlite_engine, "study", study.platform), 1) == 1
    assert heading(take(link)) == "Thank you"


def test_a_link_closes_by_itself_after_the_studys_days(sqlite_engine: Engine, by_link: Callable) -> None:
    from sqlalchemy import select

    from humaneval.store.engine import reading
    from humaneval.store.types import now

    study = by_link(sqlite_engine, hit={"lifetime_days": 2})
    study.open_link()
    with reading(sqlite_engine) as session:
        expires = session.scalars(select(HitRow.expires_at)).one()
    assert expires is not None
    assert (expires - now()).total_seconds() == pytest.approx(2 * 86_400, abs=60)
