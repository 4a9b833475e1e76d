"""A marketplace that can be troubled, a study that is up at it, people who work by plain HTTP, and sudden
deaths."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Engine, event, func, inspect, select
from sqlalchemy.orm import Session

from humaneval.cli.main import main
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import PublishResult, publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.market import MarketServer, Mode, Trouble, open_account, open_market
from humaneval.simulated.browser import Browser, FoundForm, Page
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, OutboxRow
from humaneval.study.stored import open_study, study_key


class Killed(BaseException):
    """The process dies here: nothing catches it but the test."""


@pytest.fixture
def killed() -> type[BaseException]:
    return Killed


@pytest.fixture(scope="session")
def market_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A marketplace's database without an account, made once."""
    path = tmp_path_factory.mktemp("market") / "market.db"
    open_market(path).dispose()
    return path


@pytest.fixture
def market_engine(market_template: Path, tmp_path: Path) -> Iterator[Engine]:
    """The marketplace's own database."""
    engine = open_market(shutil.copy(market_template, tmp_path / "market.db"))
    yield engine
    engine.dispose()


@dataclass
class Troubles:
    """What goes wrong with the next calls of an operation, first one first."""

    coming: dict[str, list[Trouble | None]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def __call__(self, operation: str) -> Trouble | None:
        self.seen.append(operation)
        waiting = self.coming.get(operation)
        return waiting.pop(0) if waiting else None


@pytest.fixture
def troubles() -> Troubles:
    return Troubles()


@pytest.fixture
def balance() -> Decimal | None:
    """What the account opens with; None is the marketplace's own."""
    return None


@pytest.fixture
def market(market_engine: Engine, troubles: Troubles, balance: Decimal | None) -> Iterator[MarketServer]:
    """A marketplace in local mode, whose calls are seen and can go wrong."""
    open_account(market_engine, Mode.LOCAL, balance=balance)
    with MarketServer(market_engine, mode=Mode.LOCAL, trouble=troubles) as server:
        yield server


@pytest.fixture
def die(platform: MTurk) -> Callable[..., Any]:
    """Dies at the nth call of an operation: `before-send` before the request leaves, `response-received` when
    the marketplace has done its work and the answer no longer arrives."""

    @contextmanager
    def dying(when: str, operation: str, nth: int = 1, client: Any = None) -> Iterator[None]:
        calls = 0
        name = f"{when}.mturk.{operation}"

        def handler(**_: Any) -> None:
            nonlocal calls
            calls += 1
            if calls == nth:
                raise Killed(f"at {name} {nth}")

        events = (client or platform.client).meta.events
        events.register(name, handler)
        try:
            with pytest.raises(Killed):
                yield
        finally:
            events.unregister(name, handler)

    return dying


@pytest.fixture
def die_unconfirmed() -> Callable[..., Any]:
    """Dies at the nth commit that would confirm a write: the platform has answered, and nobody wrote it
    down."""

    @contextmanager
    def dying(operation: str, nth: int = 1) -> Iterator[None]:
        calls = 0
        confirmed = select(func.count()).where(
            OutboxRow.operation == operation, OutboxRow.state == "confirmed"
        )

        def handler(session: Session) -> None:
            nonlocal calls
            bind = session.get_bind()
            assert isinstance(bind, Engine)
            beside = bind.execution_options(writes=False)
            if not inspect(beside).has_table(OutboxRow.__tablename__):
                return  # the marketplace's own
            session.flush()
            with reading(beside) as outside:
                before = outside.scalar(confirmed)
            if session.scalar(confirmed) != before:
                calls += 1
                if calls == nth:
                    raise Killed(f"before confirming {operation} {nth}")

        event.listen(Session, "before_commit", handler)
        try:
            with pytest.raises(Killed):
                yield
        finally:
            event.remove(Session, "before_commit", handler)

    return dying


class Up(NamedTuple):
    """A study that is up."""

    name: str
    result: PublishResult
    forms: str
    """The address of its form server."""

    @property
    def preview(self) -> str:
        return self.result.preview_urls[0]


@pytest.fixture
def put_up(platform: MTurk, form_server: Callable, study_factory: Callable) -> Callable[..., Up]:
    """Makes a study, starts its form server and publishes it."""

    def make(engine: Engine, name: str = "study", *, static: bool = False, **sections: Any) -> Up:
        study_factory(engine, name, **sections)
        forms = form_server(engine)
        plan_hits(open_study_at(engine, name, platform), static=static)
        return Up(name, publish_hits(open_study_at(engine, name, platform), public_url=forms.url), forms.url)

    return make


@dataclass
class Accepted:
    """A HIT in hand: its page at the marketplace, its ids, and the address in its frame."""

    person: Person
    page: Page

    @property
    def frame(self) -> str:
        return self.page.frames[0]

    @property
    def id(self) -> str:
        return self.page.url.rpartition("/")[2]

    def open(self) -> Page:
        """The form, as the frame shows it."""
        return self.person.browser.get(self.frame)

    def give_back(self) -> None:
        form = self.page.form(action="/return")
        assert form is not None
        assert self.person.browser.submit(self.page, form, {}).status == 200

    def post(self, choice: int = 1, page: Page | None = None, **entered: str) -> Page:
        """Open the form, or take it as it stands on `page`, and send it to our server; gives the page
        that comes."""
        page = page or self.open()
        form = page.form(field="form")
        assert form is not None, page.html
        return self.person.browser.submit(page, form, {**filled(form, choice), **entered})

    def hand_over(self, page: Page) -> None:
        form = page.form(action="/mturk/externalSubmit")
        assert form is not None, page.html
        assert self.person.browser.submit(page, form, {}).status == 200

    def do(self, choice: int = 1, **entered: str) -> str:
        """Answer and hand over; gives the assignment's id."""
        self.hand_over(self.post(choice, **entered))
        return self.id

    def submit_directly(self, fields: dict[str, str]) -> Page:
        """Submit to the marketplace past our server."""
        target = FoundForm("/mturk/externalSubmit", "post", {"assignmentId": self.id, **fields})
        return self.person.browser.submit(self.page, target, {})


def filled(form: FoundForm, choice: int = 1) -> dict[str, str]:
    """Every passage answered with `choice`, and the consent given."""
    return {**form.boxes, **{name: str(choice) for name in form.choices}}


@dataclass
class Person:
    """A worker with a browser of their own."""

    name: str
    browser: Browser
    home: Page

    @property
    def id(self) -> str:
        found = re.search(r"\bA[A-Z0-9]{13}\b", self.browser.get(self.home.url).html)
        assert found
        return found.group()

    def accept(self, preview: str) -> Accepted:
        """Take the next HIT of a group, or a certain one at `/hits/ID`."""
        page = self.browser.get(preview)
        form = page.form(action="/accept")
        assert form is not None, page.html
        work = self.browser.submit(page, form, {})
        assert work.frames, work.html
        return Accepted(self, work)


@pytest.fixture
def person(market: MarketServer) -> Callable[[str], Person]:
    """Signs a worker in by name."""

    def sign_in(name: str = "Ada") -> Person:
        browser = Browser()
        entry = browser.get(f"{market.url}/hits")
        form = entry.form(action="/signin")
        assert form is not None
        return Person(name, browser, browser.submit(entry, form, {"name": name}))

    return sign_in


@pytest.fixture
def answer(person: Callable[[str], Person]) -> Callable[..., str]:
    """One person takes a HIT of the group and answers `choice` everywhere; gives the assignment's id."""

    def go(up: Up, name: str = "Ada", choice: int = 1) -> str:
        return person(name).accept(up.preview).do(choice)

    return go


@pytest.fixture
def listed(platform: MTurk) -> Callable[[], list[dict[str, Any]]]:
    """Every HIT at the marketplace, all pages of them, from a client of its own; the oldest first."""

    def hits() -> list[dict[str, Any]]:
        pages = platform.client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 3})
        found: list[Any] = [hit for page in pages for hit in page["HITs"]]
        return found[::-1]

    return hits


@pytest.fixture
def orphan(
    study_factory: Callable,
    form_server: Callable,
    platform: MTurk,
    die: Callable,
    listed: Callable,
    market: MarketServer,
) -> Callable[[Engine], str]:
    """Puts up a study whose `publish` dies before it has recorded its one HIT; gives the HIT's address."""

    def make(engine: Engine) -> str:
        study_factory(engine, design={"annotators": 4})
        plan_hits(open_study_at(engine, "study", platform))
        with die("response-received", "CreateHIT"):
            publish_hits(open_study_at(engine, "study", platform), public_url=form_server(engine).url)
        (hit,) = listed()
        return f"{market.url}/hits/{hit['HITId']}"

    return make


@pytest.fixture
def planned() -> Callable[[Engine], dict[str, tuple[str | None, int]]]:
    """Of each HIT in our database: annotation → id at the platform, and assignments."""

    def hits(engine: Engine) -> dict[str, tuple[str | None, int]]:
        with reading(engine) as session:
            return {
                f"humaneval:{hit.key}": (hit.external_id, hit.assignments) for hit in session.query(HitRow)
            }

    return hits


@dataclass
class Finished:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def verb(
    sqlite_database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Finished]:
    """Runs a verb of the command line on `sqlite_database`."""
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", "https://study.example.org")

    def run(*arguments: str) -> Finished:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        return Finished(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def study(sqlite_engine: Engine, study_factory: Callable) -> Engine:
    study_factory(sqlite_engine, design={"annotators": 4})
    return sqlite_engine


@pytest.fixture
def work_at(person: Callable, platform: MTurk) -> Callable[..., None]:
    """One person answers the next form: attentive people mark the machine's sentence of every passage."""

    def go(engine: Engine, preview: str, name: str, *, attentive: bool) -> None:
        work = person(name).accept(preview)
        form = work.open().form(field="form")
        truth = study_key(open_study(engine, "study"))[form.values["form"]]
        chosen = {
            f"choice-{place}": str(
                passage["position"] if attentive else int(str(passage["position"])) % 5 + 1
            )
            for place, passage in enumerate(truth, 1)
        }
        work.do(**chosen)

    return go
