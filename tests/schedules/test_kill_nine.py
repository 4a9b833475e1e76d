"""A real process, killed with SIGKILL at every boundary of its outbox in turn; the next run ends in the right
state."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, select
from sqlalchemy.orm import Session

from humaneval.crowd import publish_plan
from humaneval.crowd.approve import approve_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.collect import collect_work
from humaneval.crowd.endpoints import local
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import preview_urls
from humaneval.crowd.study_at import open_study_at
from humaneval.market import MarketServer, Mode, open_account, open_market
from humaneval.market.account import balance
from humaneval.market.operations import Market
from humaneval.market.tables.assignments import Assignment, Bonus, State
from humaneval.market.tables.hits import Hit
from humaneval.settings import Settings
from humaneval.simulated.annotator import Crowd, Skills
from humaneval.simulated.marketplace import work_through
from humaneval.store.engine import open_engine, reading
from humaneval.store.migrate import open_current
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow
from humaneval.study.stored import open_study, study_key
from humaneval.web.app import create_app, running

PEOPLE = 4


def publish_all(engine: Engine, platform: MTurk, forms: str) -> None:
    plan_hits(open_study_at(engine, "study", platform))
    publish_hits(open_study_at(engine, "study", platform), public_url=forms)


def take_in(engine: Engine, platform: MTurk, forms: str) -> None:
    collect_work(open_study_at(engine, "study", platform))


def approve(engine: Engine, platform: MTurk, forms: str) -> None:
    approve_work(open_study_at(engine, "study", platform))


def bonus(engine: Engine, platform: MTurk, forms: str) -> None:
    with reading(engine) as session:
        assignment = session.scalars(select(AssignmentRow.external_id).order_by(AssignmentRow.id)).first()
    assert assignment is not None
    pay_bonus(
        open_study_at(engine, "study", platform),
        assignment=assignment,
        amount=Decimal("0.25"),
        reason="Thank you.",
        purpose="thanks",
    )


VERBS: dict[str, Callable[[Engine, MTurk, str], None]] = {
    "publish": publish_all,
    "collect": take_in,
    "approve": approve,
    "bonus": bonus,
}


AFTER = ("response-received.mturk", "after_commit")
"""Here something has changed, at the platform or here."""
AROUND = ("before-send.mturk", *AFTER, "before_commit")
"""Besides: here the process is about to change something."""


def killed_at(nth: int, boundaries: Sequence[str], verb: str, database: str, market: str, forms: str) -> bool:
    """Run the verb in a process of its own, which kills itself at the nth boundary; whether it came to
    that."""
    child = os.fork()
    if child == 0:  # pragma: no cover - it does not live to tell
        try:
            _die_at(nth, boundaries, verb, database, market, forms)
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, f"{verb} failed at boundary {nth}"
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _die_at(nth: int, boundaries: Sequence[str], verb: str, database: str, market: str, forms: str) -> None:
    engine, platform, met = open_engine(database), MTurk(local(market)), 0

    def boundary(*_: Any, **__: Any) -> None:
        nonlocal met
        met += 1
        if met == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    def call(event_name: str, **_: Any) -> None:
        if not event_name.rpartition(".")[2].startswith(
            ("Get", "List")
        ):  # whose death changes nothing anywhere
            boundary()

    for client in (platform._turk.tokened, platform._turk.once):
        for moment in boundaries:
            if moment.endswith(".mturk"):
                client.meta.events.register(moment, call)
    for moment in boundaries:
        if moment.endswith("_commit"):
            event.listen(Session, moment, boundary)
    VERBS[verb](engine, platform, forms)


@contextmanager
def place(folder: Path, study: Callable[[Engine], Any]) -> Iterator[tuple[Engine, Engine, MarketServer]]:
    """A study's database and a marketplace."""
    engine, books = open_engine(f"sqlite:///{folder / 'study.db'}"), open_market(folder / "market.db")
    study(engine)
    open_account(books, Mode.LOCAL)
    with MarketServer(books, mode=Mode.LOCAL) as server:
        yield engine, books, server
    engine.dispose()
    books.dispose()


def work(engine: Engine, server: MarketServer, forms: str) -> None:
    crowd = Crowd(PEOPLE, Skills())
    for url in preview_urls(open_study(engine, "study"), local(server.url)):
        work_through(crowd, url, study_key(open_study(engine, "study")))


def check(engine: Engine, books: Engine, done: int) -> None:
    """One HIT for each that was planned, everything here that is there, nothing paid twice."""
    with Market(books, Mode.LOCAL).reading() as market:
        hits = {hit.annotation: hit.id for hit in market.session.scalars(select(Hit))}
        states = {one.id: str(one.state) for one in market.session.scalars(select(Assignment)) if one.answer}
        bonuses = [one.cents for one in market.session.scalars(select(Bonus))]
        pots = balance(market.session)
    with reading(engine) as session:
        assert hits == {f"humaneval:{hit.key}": hit.external_id for hit in session.scalars(select(HitRow))}
        assert not session.scalars(select(OutboxRow).where(OutboxRow.state == "pending")).all()
        here = {row.external_id: row.state for row in session.scalars(select(AssignmentRow))}
        paid = session.scalars(select(PaymentRow).where(PaymentRow.state == "paid")).all()
    if done >= 1:
        assert here == states
        assert len(here) == PEOPLE
    assert bonuses == ([25] if done >= 3 else [])
    if done >= 2:
        assert set(here.values()) == {str(State.APPROVED)}
        assert pots.paid + pots.fees == sum(100 * (payment.amount + payment.fee) for payment in paid)


@pytest.mark.slow
@pytest.mark.parametrize(
    "boundaries", [AFTER, pytest.param(AROUND, marks=pytest.mark.long)], ids=["after", "around"]
)
@pytest.mark.parametrize("verb", VERBS)
def test_killed_at_any_boundary_the_next_run_ends_in_the_right_state(
    verb: str,
    boundaries: Sequence[str],
    tmp_path: Path,
    study_factory: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publish_plan, "MAX_ASSIGNMENTS", 2)
    nth, order = 0, list(VERBS)
    before, done = order[: order.index(verb)], order.index(verb)

    def study(engine: Engine) -> None:
        open_current(engine)
        study_factory(engine, design={"annotators": PEOPLE})

    with place(tmp_path, study) as (engine, books, server), forms_of(engine, server) as forms:
        platform = MTurk(local(server.url))
        for name in before:
            VERBS[name](engine, platform, forms)
            if name == "publish":
                work(engine, server, forms)
        files = [tmp_path / "study.db", tmp_path / "market.db"]
        for file in files:
            copy_pages(file, file.with_suffix(".kept"))
        while True:
            nth += 1
            for file in files:
                copy_pages(file.with_suffix(".kept"), file)
            killed = killed_at(nth, boundaries, verb, str(engine.url), server.url, forms)
            VERBS[verb](engine, platform, forms)
            check(engine, books, done)
            if not killed:
                break
    assert nth >= 5


@contextmanager
def forms_of(engine: Engine, server: MarketServer) -> Iterator[str]:
    with running(create_app(Settings(market_url=server.url), engine)) as port:
        yield f"http://localhost:{port}"


def copy_pages(source: Path, target: Path) -> None:
    """Make `target` a copy of `source`, by their pages: others have them open."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)
