"""Who cannot be paid at the platform is paid by hand, and the books say so: once, and nobody pays again."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text, update

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.collect import Accepted, collect_work
from humaneval.crowd.compensate import Compensated, compensate_worker
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.open_money import open_money
from humaneval.crowd.paid_elsewhere import PaidElsewhere, pay_elsewhere
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import PlatformError, UsageError
from humaneval.market import MarketServer, Mode, open_account, open_market
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from tests.advice import printed_commands

LOST = Accepted(lost=True)


@pytest.fixture
def at(sqlite_engine: Engine, platform: MTurk) -> Callable[[], StudyAtPlatform]:
    return lambda: open_study_at(sqlite_engine, "study", platform)


@pytest.fixture
def decided(put_up: Callable, answer: Callable, at: Callable, sqlite_engine: Engine) -> list[str]:
    """One piece of work that is approved, one rejected, one collected, one only answered."""
    up = put_up(sqlite_engine, design={"annotators": 4})
    works = [answer(up, name) for name in ("Ada", "Ben", "Cleo")]
    collect_work(at())
    approve_work(at(), assignments=works[:1])
    reject_work(at(), assignments=works[1:2], reason="A trial.")
    return [*works, answer(up, "Dana")]


@pytest.fixture
def new_market(
    market_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], None]]:
    """A new marketplace in the place of the old one, without its workers and their work."""
    servers: list[MarketServer] = []

    def go() -> None:
        engine = open_market(shutil.copy(market_template, tmp_path / "new.db"))
        open_account(engine, Mode.LOCAL)
        server = MarketServer(engine, mode=Mode.LOCAL)
        servers.append(server.__enter__())
        monkeypatch.setenv("HUMANEVAL_MARKET_URL", server.url)

    yield go
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def gone(market_engine: Engine) -> Callable[[], None]:
    """The marketplace no longer has any of the study's HITs; its workers it has."""

    def go() -> None:
        with market_engine.begin() as connection:
            connection.execute(text("UPDATE hits SET id = '3LOST' || number, annotation = ''"))
            connection.execute(text("UPDATE assignments SET id = '3LOST' || number"))

    return go


def enter(at: StudyAtPlatform, work: str, amount: str = "0.80", **more: Any) -> PaidElsewhere:
    return pay_elsewhere(at, assignment=work, amount=Decimal(amount), reason="In cash.", **more)


def payments(engine: Engine) -> list[tuple[str, str, str, bool]]:
    with reading(engine) as session:
        rows = session.scalars(select(PaymentRow).order_by(PaymentRow.id))
        return [(row.kind, str(row.amount), row.state, row.elsewhere) for row in rows]


@pytest.fixture
def do(verb: Callable, tried: list[str]) -> Callable[..., None]:
    """Runs a verb. If it is refused, does what it advises, each command once, and runs it again."""

    def go(*words: str) -> None:
        tried.append(shlex.join(words))
        while (said := verb(*words)).code:
            filled = re.sub("SUM", "0.80", re.sub("REASON", "'In cash.'", said.err))
            advice = [shlex.split(line)[1:] for line in printed_commands(filled)]
            advice = [following for following in advice if shlex.join(following) not in tried]
            assert advice or SETTLED.search(said.err), f"{words}\n{said.err}"
            for following in advice:
                go(*following)
            if not advice:
                return

    return go


@pytest.fixture
def tried() -> list[str]:
    return []


SETTLED = re.compile("It is paid|It is taken|has taken|was paid|rejected work cannot be approved this way")
PAYING = ("--amount", "0.80", "--reason", "In cash.")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("approve", ()),
        ("approve", ("--undo-rejection",)),
        ("bonus", PAYING),
        ("reject", ("--reason", "No.")),
        ("compensate", PAYING),
    ],
)
def test_X49_after_a_lost_marketplace_every_refusal_leads_to_a_payment_in_the_books(
    decided: list[str],
    new_market: Callable,
    do: Callable,
    tried: list[str],
    verb: Callable,
    sqlite_engine: Engine,
    name: str,
    more: tuple[str, ...],
) -> None:
    new_market()
    already_decided = {"approve": decided[:1], "reject": decided[:2]}.get(name, [])
    for _ in range(2):
        for work in decided:
            do(name, "study", work, *more)  # as far as messages lead
        in_cash = [("compensation", "0.80", "paid", True)] * (4 - len(already_decided))
        assert payments(sqlite_engine)[1:] == in_cash, tried
    books = verb("status", "study", "--reconcile")
    assert books.code == 0, books.out
    assert f"${len(in_cash) * Decimal('0.80')} of it was paid elsewhere, by hand" in books.out


def test_X49_what_was_paid_by_hand_is_in_the_books_once_and_not_paid_again(
    decided: list[str], gone: Callable, at: Callable, sqlite_engine: Engine
) -> None:
    gone()
    collect_work(at(), accepted=LOST)
    assert len(collect_work(at()).unpaid) == 2
    with pytest.raises(UsageError, match="an amount above zero"):
        enter(at(), decided[2], "0.00")
    assert enter(at(), decided[2], dry_run=True).before is None
    assert enter(at(), decided[2]).before is None
    assert enter(at(), decided[2]).before == Decimal("0.80")
    assert enter(at(), decided[2], "0.90").before == Decimal("0.80")
    assert payments(sqlite_engine)[1:] == [("compensation", "0.90", "paid", True)]
    assert len(collect_work(at()).unpaid) == 1
    again = compensate_worker(at(), assignment=decided[2], amount=Decimal("0.80"), reason="It was lost.")
    assert (again.paid, again.made_now) == (True, False)
    (line,) = study_status(at().study)
    assert (line.paid_elsewhere, line.rewards, line.fees) == (
        Decimal("0.90"),
        Decimal("1.70"),
        Decimal("0.16"),
    )
    books = reconcile(at())
    assert (books.paid, books.elsewhere) == (Decimal("0.96"), Decimal("0.90"))


def test_X49_if_the_marketplace_has_the_work_again_it_is_not_approved_on_top(
    decided: list[str], gone: Callable, at: Callable, market_engine: Engine, sqlite_engine: Engine
) -> None:
    with market_engine.connect() as connection:
        before = connection.execute(text("SELECT number, id, annotation FROM hits")).all()
        work = connection.execute(text("SELECT number, id FROM assignments")).all()
    gone()
    collect_work(at(), accepted=LOST)
    enter(at(), decided[2])
    with market_engine.begin() as connection:
        for number, id, note in before:
            connection.execute(
                text("UPDATE hits SET id = :id, annotation = :note WHERE number = :number"),
                {"number": number, "id": id, "note": note},
            )
        for number, id in work:
            connection.execute(
                text("UPDATE assignments SET id = :id WHERE number = :number"), {"number": number, "id": id}
            )
    collect_work(at())
    assert approve_work(at()) == 1  # the other one
    with pytest.raises(PlatformError, match="would pay twice") as refused:
        approve_work(at(), assignments=[decided[2]])
    assert "Its worker was paid $0.80 elsewhere" in refused.value.hint
    assert reject_work(at(), assignments=[decided[2]], reason="You were paid by hand.") == 1


def test_X49_work_that_the_platform_can_pay_is_not_entered_as_paid_elsewhere(
    decided: list[str], at: Callable, sqlite_engine: Engine
) -> None:
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=None))
    for work, verb in zip(decided, ("bonus", "approve", "approve", "collect"), strict=True):
        with pytest.raises(UsageError) as refused:
            enter(at(), work)
        assert f"humaneval {verb} study" in refused.value.hint
    assert len(payments(sqlite_engine)) == 1


@pytest.mark.parametrize("taken", [False, True])
def test_X49_a_compensation_that_is_up_is_taken_down_unless_somebody_has_taken_it(
    sqlite_engine: Engine, put_up: Callable, person: Callable, at: Callable, taken: bool, listed: Callable
) -> None:
    work = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    work.open()
    with pytest.raises(UsageError, match="can still be submitted until"):
        enter(at(), work.id)
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=None))
    up = compensate_worker(at(), assignment=work.id, amount=Decimal("0.80"), reason="It was lost.")
    if taken:
        work.person.accept(up.preview_url).submit_directly({"compensation": "1"})
        with pytest.raises(PlatformError, match="is taken already"):
            enter(at(), work.id)
        collect_work(at())
        assert enter(at(), work.id).by_platform
        assert payments(sqlite_engine) == [("compensation", "0.80", "paid", False)]
    else:
        enter(at(), work.id)
        assert listed()[1]["HITStatus"] == "Reviewable"
        assert payments(sqlite_engine) == [("compensation", "0.80", "paid", True)]
        assert reconcile(at()).unexplained == 0


def test_X49_by_link_a_bonus_and_a_compensation_are_entered_as_paid_by_hand(
    sqlite_engine: Engine,
    study_factory: Callable,
    form_server: Callable,
    verb: Callable,
    do: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 4})
    server = form_server(sqlite_engine)
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", server.url)
    assert verb("publish", "study", "--to", "link").code == 0
    monkeypatch.setenv("HUMANEVAL_PORT", server.url.rpartition(":")[2])
    assert verb("simulate", "study", "--to", "link", "--annotators", "2").code == 0
    assert verb("collect", "study").code == 0
    first, second = [line["assignment"] for line in verb("review", "study", "--json").document["assignments"]]
    do("bonus", "study", first, *PAYING)
    do("compensate", "study", second, *PAYING)
    assert payments(sqlite_engine) == [("compensation", "0.80", "paid", True)] * 2
    assert "$1.60 of it was paid elsewhere, by hand" in verb("status", "study").out
    assert verb("review", "study", "--approve").code == 0


@pytest.fixture
def lost(sqlite_engine: Engine, put_up: Callable, person: Callable) -> Any:
    """The work of somebody whose time ran out."""
    work = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    work.open()
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=None))
    return work


def compensate(at: StudyAtPlatform, work: str) -> Compensated:
    return compensate_worker(at, assignment=work, amount=Decimal("0.80"), reason="It was lost.")


def nothing_is_open(engine: Engine) -> bool:
    with reading(engine) as session:
        unsure = session.scalars(select(OutboxRow.operation).where(OutboxRow.state == "pending")).all()
        return not unsure and not any("not known" in each.why for each in open_money(session, [1], now()))


@pytest.mark.parametrize("when", ["before-send", "response-received", "unconfirmed"])
def test_a_compensation_that_was_killed_and_then_paid_elsewhere_leaves_nothing_open(
    sqlite_engine: Engine,
    at: Callable,
    lost: Any,
    die: Callable,
    die_unconfirmed: Callable,
    listed: Callable,
    when: str,
) -> None:
    there = at()
    with (
        die_unconfirmed("compensate")
        if when == "unconfirmed"
        else die(when, "CreateHIT", client=there.platform.client)
    ):
        compensate(there, lost.id)
    assert not nothing_is_open(sqlite_engine)
    enter(at(), lost.id)
    assert nothing_is_open(sqlite_engine)
    assert all(hit["Expiration"] < now() for hit in listed()[1:])
    with writing(sqlite_engine) as session:  # as if a program had been killed that had begun before
        session.execute(update(OutboxRow).where(OutboxRow.operation == "compensate").values(state="pending"))
    assert compensate(at(), lost.id).paid
    assert nothing_is_open(sqlite_engine)
    assert payments(sqlite_engine) == [("compensation", "0.80", "paid", True)]


@pytest.mark.parametrize("operation", ["ListHITs", "CreateHIT"])
@pytest.mark.parametrize("when", ["before-send", "response-received"])
def test_of_a_compensation_and_one_elsewhere_at_once_one_is_paid(
    sqlite_engine: Engine, at: Callable, lost: Any, listed: Callable, operation: str, when: str
) -> None:
    there = at()
    meanwhile = Meanwhile(lambda: enter(at(), lost.id))
    events = there.platform.client.meta.events
    events.register(f"{when}.mturk.{operation}", meanwhile)
    with pytest.raises(PlatformError, match="meanwhile"):
        compensate(there, lost.id)
    events.unregister(f"{when}.mturk.{operation}", meanwhile)
    assert meanwhile.done
    assert all(hit["Expiration"] < now() for hit in listed()[1:])
    assert payments(sqlite_engine) == [("compensation", "0.80", "paid", True)]
    assert nothing_is_open(sqlite_engine)
    assert reconcile(at()).unexplained == 0


@pytest.mark.parametrize("when", ["before-send", "response-received"])
def test_what_the_platform_begins_to_pay_meanwhile_is_not_entered_as_paid_elsewhere(
    sqlite_engine: Engine, at: Callable, lost: Any, when: str
) -> None:
    there = at()
    meanwhile = Meanwhile(lambda: compensate(at(), lost.id))
    events = there.platform.client.meta.events
    events.register(f"{when}.mturk.ListHITs", meanwhile)
    with pytest.raises(PlatformError, match="another program is paying"):
        enter(there, lost.id)
    events.unregister(f"{when}.mturk.ListHITs", meanwhile)
    assert meanwhile.done
    assert payments(sqlite_engine) == [("compensation", "0.80", "due", False)]
    enter(at(), lost.id)
    assert payments(sqlite_engine) == [("compensation", "0.80", "paid", True)]


class Meanwhile:
    """Does something once, in the middle of somebody's call."""

    def __init__(self, what: Callable[[], object]) -> None:
        self.what, self.done = what, False

    def __call__(self, **_: object) -> None:
        if not self.done:
            self.done = True
            self.what()


def test_after_a_payment_elsewhere_no_decision_or_bonus_of_lost_work_is_open(
    decided: list[str], gone: Callable, at: Callable, sqlite_engine: Engine
) -> None:
    with writing(sqlite_engine) as session:
        work = session.scalars(select(AssignmentRow).where(AssignmentRow.external_id == decided[2])).one()
        about = f"assignment {work.external_id} worker {work.worker_id}"
        for operation, subject in (("approve", about), ("bonus", f"{about} purpose thanks")):
            session.add(
                OutboxRow(
                    study_id=work.study_id,
                    endpoint=work.endpoint,
                    operation=operation,
                    subject=subject,
                    token=operation,
                    request={"amount": "0.50", "reason": "thanks"},
                    attempts=1,
                )
            )
        session.add(
            PaymentRow(
                study_id=work.study_id,
                endpoint=work.endpoint,
                assignment_id=work.id,
                kind="bonus",
                purpose="thanks",
                amount=Decimal("0.50"),
                fee=Decimal("0.10"),
                reason="thanks",
                state="due",
            )
        )
    gone()
    collect_work(at(), accepted=LOST)
    enter(at(), decided[2])
    with reading(sqlite_engine) as session:
        assert not open_money(session, [work.worker_id], now())


def test_a_compensation_that_is_taken_and_paid_elsewhere_too_is_told(
    sqlite_engine: Engine, at: Callable, lost: Any
) -> None:
    up = compensate(at(), lost.id)
    lost.person.accept(up.preview_url).submit_directly({"compensation": "1"})
    with writing(sqlite_engine) as session:  # two programs, of which one was killed before it looked again
        session.execute(update(PaymentRow).values(state="paid", elsewhere=True))
    with pytest.raises(PlatformError, match="as paid elsewhere, too") as told:
        enter(at(), lost.id)
    assert "humaneval status study --reconcile" in told.value.hint
    assert reconcile(at()).unexplained


def test_a_compensation_that_is_taken_before_it_can_be_taken_down_is_told(
    sqlite_engine: Engine, at: Callable, lost: Any, listed: Callable
) -> None:
    there = at()

    def looked() -> None:  # the HIT is up and not recorded yet; who enters the payment has looked before
        with writing(sqlite_engine) as session:
            session.execute(update(PaymentRow).values(state="paid", elsewhere=True))
        group = listed()[-1]["HITGroupId"]
        lost.person.accept(there.platform.endpoint.preview_url.format(type=group))

    events = there.platform.client.meta.events
    once = Meanwhile(looked)
    events.register("response-received.mturk.CreateHIT", once)
    with pytest.raises(PlatformError, match="is taken, and the books have it as paid elsewhere, too"):
        compensate(there, lost.id)
    events.unregister("response-received.mturk.CreateHIT", once)
