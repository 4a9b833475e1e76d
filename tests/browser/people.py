"""What people do: sign in, take a HIT, read, choose, send. On the worker site by its words, not by its
markup."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Frame, FrameLocator, Locator, Page
from sqlalchemy import Engine, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.study_at import open_study_at
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading
from humaneval.store.responses import response_lines
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow, ResponseRow
from humaneval.study.stored import get_study
from tests.fixtures import signed
from tests.pace import PATIENCE

STORIES = 4
"""Passages of a form of the bundled study."""

Place = Page | Frame | FrameLocator
"""Where a form stands: a page of its own, or the frame of a HIT."""


@dataclass(frozen=True)
class PublishedStudy:
    """A study that people can take part in."""

    engine: Engine
    platform: MTurk
    forms_url: str
    group_url: str

    @property
    def market_url(self) -> str:
        """The worker site."""
        return self.platform.endpoint.submit_origin

    def accept(self, worker: str = "ann") -> str:
        """Take the next HIT by plain HTTP; the address that the worker site gives to the frame."""
        browser = Browser()
        page = browser.get(self.group_url)
        signing_in = page.form(field="name")
        assert signing_in is not None
        page = browser.submit(page, signing_in, {"name": worker})
        accepting = page.form(action="/accept")
        assert accepting is not None, page.html
        return browser.submit(page, accepting, {}).frames[0]

    def responses(self) -> list[dict[str, object]]:
        """Collect, and give the lines of the response table by place."""
        collect_work(open_study_at(self.engine, "study", self.platform))
        with reading(self.engine) as session:
            lines = [dict(line) for line in response_lines(session, get_study(session, "study"))]
        return sorted(lines, key=lambda line: (str(line["worker"]), int(str(line["order"]))))

    def address(self, assignment: str, worker: str) -> str:
        """A form's address as the marketplace makes it for a worker, of the first HIT."""
        with reading(self.engine) as session:
            hit = session.scalars(select(HitRow).order_by(HitRow.id).limit(1)).one()
        query = signed(hit.secret, assignment, worker, hit.external_id or "")
        return f"{self.forms_url}/form/{hit.key}?{query}"

    def hit_keys(self) -> list[str]:
        """The unguessable part of each form's address."""
        with reading(self.engine) as session:
            return list(session.scalars(select(HitRow.key).order_by(HitRow.id)))

    def stored(self) -> tuple[int, int]:
        """How many assignments were opened, and how many sets of answers are kept."""
        with reading(self.engine) as session:
            return len(session.scalars(select(AssignmentRow)).all()), len(
                session.scalars(select(AnswerRow)).all()
            )

    def answers(self) -> list[dict[str, Any]]:
        """Collect, and give the stored answer to each passage, by form and place."""
        collect_work(open_study_at(self.engine, "study", self.platform))
        columns = (ResponseRow.choice, ResponseRow.answer)
        with reading(self.engine) as session:
            lines = session.execute(select(*columns).order_by(ResponseRow.assignment_id, ResponseRow.place))
            return [{"choice": line.choice, "answer": line.answer} for line in lines]


def assignment_of(address: str) -> str:
    """The assignment that a frame's address names."""
    return parse_qs(urlsplit(address).query)["assignmentId"][0]


def worker_of(address: str) -> str:
    """The worker that a frame's address names."""
    return parse_qs(urlsplit(address).query)["workerId"][0]


def passage(place: Place, number: int) -> Locator:
    """The fieldset of story `number`."""
    return place.get_by_role("group", name=f"Story {number} of")


def look_at(place: Place, number: int) -> None:
    """Bring story `number` into sight, and wait until the page has noticed: a busy machine is late."""
    story = passage(place, number)
    story.scroll_into_view_if_needed()
    drawn = "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(seen)))"
    story.evaluate(f"() => new Promise(seen => {drawn})")


def choose(place: Place, number: int, sentence: int) -> None:
    """Click on a sentence, as people do: on its words."""
    passage(place, number).locator("label").nth(sentence - 1).click()


def agree(place: Place) -> None:
    """Tick the box of the consent."""
    place.get_by_label("agree to take part").check()


def fill_in(place: Place, choices: list[int]) -> None:
    """Agree and mark a sentence in every story."""
    agree(place)
    for number, sentence in enumerate(choices, 1):
        choose(place, number, sentence)


def whole(place: Place) -> Place:
    """The place of a form once its page is there to its end and its scripts have run: a click returns before
    the next page has its first element."""
    passage(place, 1).wait_for()
    until = monotonic() + PATIENCE
    while place.locator(":root").evaluate("() => document.readyState") != "complete":
        assert monotonic() < until
        sleep(0.02)
    return place


def reload_frame(page: Page) -> None:
    """Reload what is in the frame of a HIT, and wait until it is another page."""
    frame = page.frames[1]
    with page.expect_event("framenavigated", lambda each: each == frame):
        frame.evaluate("() => { setTimeout(() => location.reload()) }")


def chosen(place: Place) -> list[int]:
    """What is marked in each story; 0 where nothing is."""
    place, marked = whole(place), []
    for number in range(1, STORIES + 1):
        radios = passage(place, number).get_by_role("radio")
        marked.append(next((at + 1 for at in range(5) if radios.nth(at).is_checked()), 0))
    return marked


def sentences(place: Place) -> list[str]:
    """The words of every choice, in the order of the page."""
    return [text.strip() for text in whole(place).locator(".passage label").all_inner_texts()]


def send(place: Place) -> None:
    """Press the button under the form."""
    place.get_by_role("button", name="Send my answers").click()


def sign_in(page: Page, study: PublishedStudy, name: str = "ann") -> None:
    """Come to the worker site and take the study's next HIT."""
    page.goto(study.group_url)
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Accept").click()
