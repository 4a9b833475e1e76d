"""A study at a stand-in for Prolific, its forms, and people who come by plain HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import urllib3
from sqlalchemy import Engine, select

from humaneval.crowd.collect import CollectedWork, collect_work
from humaneval.crowd.endpoints import prolific
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.publish import PublishResult, publish_hits
from humaneval.crowd.publish_plan import PublishPlan, plan_hits
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.domain import Role
from humaneval.market.prolific_standin import ProlificServer
from humaneval.simulated.browser import Page, parse_page
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, PassageRow, RowPassageRow, StudyRow


@dataclass
class Clock:
    """The stand-in's clock, which a test moves."""

    ahead: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def move(self, **by: float) -> None:
        self.ahead += timedelta(**by)


@dataclass
class World:
    """A study, the stand-in, and the address of the forms."""

    engine: Engine
    server: ProlificServer
    clock: Clock
    forms: str
    project: str
    name: str = "study"
    waited: list[float] = field(default_factory=list)

    def wait(self, seconds: float) -> None:
        """Instead of waiting, the stand-in's time passes."""
        self.waited.append(seconds)
        self.clock.move(seconds=seconds)

    def platform(self, **options: Any) -> Prolific:
        given = {"token": self.server.token, "project": self.project, "wait": self.wait, **options}
        return Prolific(prolific(self.server.url), self.engine, **given)

    def at(self, platform: Prolific | None = None) -> StudyAtPlatform:
        return open_study_at(self.engine, self.name, platform or self.platform())

    def plan(self, **options: Any) -> PublishPlan:
        return plan_hits(self.at(), **options)

    def publish(self, **options: Any) -> PublishResult:
        self.plan(**options)
        return publish_hits(self.at(), public_url=self.forms)

    def collect(self) -> CollectedWork:
        return collect_work(self.at())

    def hit(self) -> HitRow:
        with reading(self.engine) as session:
            named = select(HitRow).join(StudyRow, StudyRow.id == HitRow.study_id)
            hit = session.scalars(named.where(StudyRow.name == self.name)).one()
            session.expunge_all()
        return hit

    def study_there(self) -> dict[str, Any]:
        found: dict[str, Any] = self.platform()._client.read("look", f"/studies/{self.hit().external_id}/")
        return found

    def states(self) -> Counter[str]:
        with reading(self.engine) as session:
            return Counter(session.scalars(select(AssignmentRow.state)))

    def rows(self) -> list[int]:
        """The rows that somebody holds."""
        with reading(self.engine) as session:
            held = select(AssignmentRow.row_id).where(AssignmentRow.holds_row)
            return sorted(row for row in session.scalars(held) if row is not None)

    def status_of(self, submission: str) -> str:
        there = self.platform().session(submission)
        assert there is not None
        return there.status

    def person(self, name: str) -> Person:
        return Person(self, name)

    def answered_by(self, *names: str, right: bool = True) -> list[Person]:
        """People who take part, answer and hand over."""
        people = [self.person(name) for name in names]
        for person in people:
            person.take()
            person.answer(right=right)
            person.finish()
        return people


class Person:
    """Somebody who takes part: a browser of their own for the stand-in's pages and ours."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self._http = urllib3.PoolManager(retries=False)
        self._cookie = ""
        self.submission = ""
        self.address = ""
        """Where the stand-in sent them."""
        self.form_url = ""
        self.back = ""
        """Where our server sent them after their answers."""
        self.sent: dict[str, str] = {}
        self._there("POST", "/enter", {"name": name})

    def _there(self, method: str, path: str, fields: Mapping[str, str] | None = None) -> Any:
        url = urljoin(self.world.server.url, path)
        answer = self._http.request(
            method,
            url,
            body=urlencode(fields or {}) if method == "POST" else None,
            headers={"Cookie": self._cookie, "Content-Type": "application/x-www-form-urlencoded"},
            redirect=False,
        )
        if cookie := answer.headers.get("Set-Cookie"):
            self._cookie = cookie.partition(";")[0]
        return answer

    def reserve(self) -> bool:
        """Hold a place; False if there is none."""
        return self.reserve_at(self.world.hit().external_id or "")

    def reserve_at(self, study: str) -> bool:
        answer = self._there("POST", f"/studies/{study}/reserve")
        if answer.status != 303:
            return False
        self.submission = answer.headers["Location"].rpartition("/")[2]
        return True

    def start(self) -> None:
        answer = self._there("POST", f"/submissions/{self.submission}/start")
        assert answer.status == 302, answer.data
        self.address = answer.headers["Location"]

    @property
    def id(self) -> str:
        return parse_qs(urlsplit(self.address).query)["PROLIFIC_PID"][0]

    def open(self, address: str = "") -> Page:
        """Open our form, as the stand-in leads there."""
        url = address or self.address
        answer = self._http.request("GET", url, redirect=False)
        if answer.status == 303 and "complete?cc=" not in answer.headers["Location"]:
            self.form_url = urljoin(url, answer.headers["Location"])
            url, answer = self.form_url, self._http.request("GET", self.form_url, redirect=False)
        if answer.status == 303:
            self.back = answer.headers["Location"]
        return parse_page(url, answer.status, answer.data.decode())

    def take(self) -> Page:
        """Hold a place, start, and open the form."""
        assert self.reserve(), "there is no place"
        self.start()
        return self.open()

    def opened(self) -> Page:
        """The form, opened again."""
        return parse_page(self.form_url, 200, self._http.request("GET", self.form_url).data.decode())

    def answer(self, *, right: bool = True, choose: Callable[[int], int] = lambda place: 2) -> str:
        """Fill the form in and send it; where our server then leads."""
        page = self.opened()
        form = page.form(field="form")
        assert form is not None, page.html
        places = sorted(form.choices)
        controls = self._controls()
        chosen = {}
        for name in places:
            place = int(name.rpartition("-")[2])
            position = controls.get(place)
            chosen[name] = str(choose(place))
            if position is not None:
                chosen[name] = str(position if right else position % 5 + 1)
        return self.send({**form.values, **form.boxes, **chosen})

    def send(self, fields: Mapping[str, str]) -> str:
        self.sent = dict(fields)
        answer = self._http.request(
            "POST",
            self.form_url,
            body=urlencode(fields),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            redirect=False,
        )
        self.back = answer.headers.get("Location", "")
        return self.back

    def _controls(self) -> dict[int, int]:
        """Where the control's sentence is, by place."""
        with reading(self.world.engine) as session:
            row = session.scalar(
                select(AssignmentRow.row_id).where(AssignmentRow.external_id == self.submission)
            )
            found = session.execute(
                select(RowPassageRow.place, PassageRow.position)
                .join(PassageRow, PassageRow.id == RowPassageRow.passage_id)
                .where(RowPassageRow.row_id == row, PassageRow.role == Role.CONTROL)
            )
            return dict(found.all())

    @property
    def code(self) -> str:
        return parse_qs(urlsplit(self.back).query)["cc"][0]

    def finish(self, code: str | None = None) -> int:
        """Go where our server leads; with `code`, hand over with that one by hand."""
        if code is None:
            assert self.back.startswith(self.world.server.url), self.back
            return int(self._there("GET", self.back).status)
        return int(self._there("POST", f"/submissions/{self.submission}/complete", {"cc": code}).status)

    def give_back(self) -> None:
        assert self._there("POST", f"/submissions/{self.submission}/return").status == 303
