"""People who are forgotten, or whose ids are purged, while their study is up at Prolific."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import func, select

from humaneval.crowd.approve import approve_work
from humaneval.crowd.ask_return import ask_returns
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.forget import forget
from humaneval.crowd.personal_data_export import kept_about
from humaneval.crowd.purge import purge
from humaneval.crowd.reconcile import reconcile
from humaneval.errors import UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, DeletedFormRow, EventRow, OutboxRow, WorkerIdentityRow
from humaneval.store.types import now
from tests.integration.prolific.people import World


def counted(world: World) -> list[int]:
    """How many forms, ids and deleted forms there are."""
    with reading(world.engine) as session:
        tables = (AssignmentRow, WorkerIdentityRow, DeletedFormRow)
        return [session.scalar(select(func.count()).select_from(each)) or 0 for each in tables]


def test_of_somebody_who_was_forgotten_or_purged_a_collection_brings_nothing_back(
    world: World, tmp_path: Path
) -> None:
    assert str(world.engine.url.database).startswith(str(tmp_path))
    world.publish()
    ann, ben = world.answered_by("Ann", "Ben")
    cem = world.person("Cem")
    cem.take()
    cem.answer()
    world.collect()
    asked = [ben.submission, cem.submission]
    ask_returns(world.at(), asked, "It was our fault: please return it.", dry_run=False)
    approve_work(world.at())
    with pytest.raises(UsageError, match="may still be submitted") as refused:
        forget(world.engine, cem.id)
    assert "collect study --to prolific" in refused.value.hint
    assert kept_about(world.engine, cem.id).counts["outbox"] == 1
    cem.give_back()
    world.collect()
    for each in (cem, ann):
        forget(world.engine, each.id)
    with reading(world.engine) as session:
        assert [each for each in session.scalars(select(OutboxRow.subject)) if cem.submission in each] == []
    assert (world.collect().new, counted(world)) == (0, [1, 1, 1])
    later = now() + timedelta(days=1)
    assert purge(world.engine, later, later).ids == 1
    with reading(world.engine) as session:
        reasons = [each.get("reason") for each in session.scalars(select(OutboxRow.request))]
        assert not any(reasons), reasons
    everything = b"".join(file.read_bytes() for file in tmp_path.glob("humaneval.db*"))
    assert [each.id for each in (ann, ben, cem) if each.id.encode() in everything] == []
    found = world.collect()
    assert (found.new, found.responses, found.notes, counted(world)) == (0, 4, (), [1, 0, 1])
    books = reconcile(world.at())
    assert (books.differences, books.left) == ((), 0)
    with pytest.raises(UsageError, match="was purged: nothing can be done"):
        pay_bonus(
            world.at(), assignment=ben.submission, amount=Decimal("0.20"), reason="Thanks.", purpose="more"
        )


def test_with_a_form_that_nobody_answered_what_was_written_about_it_goes(world: World) -> None:
    world.publish()
    cem = world.person("Cem")
    cem.take()
    ask_returns(world.at(), [cem.submission], "It was our fault: please return it.", dry_run=False)
    cem.give_back()
    with writing(world.engine) as session:
        what = {"endpoint": "prolific", "status": "RETURNED", "happened_at": now()}
        session.add_all(
            [EventRow(event_id=about, about=about, **what) for about in (cem.submission, "another")]
        )
    world.collect()
    later = now() + timedelta(days=1)
    assert purge(world.engine, later, later).unanswered == 1
    with reading(world.engine) as session:
        subjects = session.scalars(select(OutboxRow.subject)).all()
        assert session.scalars(select(EventRow.about)).all() == ["another"]
    assert [each for each in subjects if cem.submission in each] == []
    assert (world.collect().new, counted(world)) == (0, [0, 0, 0])
