"""A study whose people come by link, and what they do: open, begin, answer, come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Engine, select, update

from humaneval.crowd.collect import CollectedWork, collect_work
from humaneval.crowd.link import Invitation, Link, open_invitation, panel_invitation
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import links_of
from humaneval.crowd.study_at import open_study_at
from humaneval.simulated.browser import Browser, FoundForm, Page
from humaneval.store.engine import reading, writing
from humaneval.store.responses import response_lines
from humaneval.store.tables import AnswerRow, AssignmentRow
from humaneval.study.stored import get_study, open_study


@dataclass
class LinkStudy:
    """A study on a running form server; nothing is up yet."""

    engine: Engine
    name: str
    url: str
    platform: Link

    def invite(self, *invitations: Invitation, **options: Any) -> list[str]:
        """Make these links and give their addresses."""
        plan_hits(open_study_at(self.engine, self.name, self.platform), invitations=invitations, **options)
        publish_hits(open_study_at(self.engine, self.name, self.platform), public_url=self.url)
        return links_of(open_study(self.engine, self.name), self.platform.endpoint, invitations)

    def open_link(self, places: int | None = None) -> str:
        return self.invite(open_invitation(places))[0]

    def panel_link(self, places: int | None = None) -> str:
        return self.invite(panel_invitation(places))[0]

    def states(self) -> Counter[str]:
        """How many assignments are in which state."""
        with reading(self.engine) as session:
            return Counter(session.scalars(select(AssignmentRow.state)))

    def held_rows(self) -> list[int]:
        """The rows that somebody holds, once for each who does."""
        with reading(self.engine) as session:
            rows = session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row))
            return sorted(row for row in rows if row is not None)

    def answers(self) -> list[dict[str, Any]]:
        """What arrived, in the order in which it did."""
        with reading(self.engine) as session:
            return list(
                session.scalars(
                    select(AnswerRow.fields).where(AnswerRow.source == "server").order_by(AnswerRow.id)
                )
            )

    def let_leases_run_out(self) -> None:
        """An hour passes for everyone who has a form open."""
        with writing(self.engine) as session:
            session.execute(update(AssignmentRow).values(lease_until=datetime.now(UTC) - timedelta(hours=1)))

    def collect(self) -> CollectedWork:
        return collect_work(open_study_at(self.engine, self.name, self.platform))

    def responses(self) -> list[dict[str, Any]]:
        """Collect, and give the response table."""
        self.collect()
        with reading(self.engine) as session:
            return response_lines(session, get_study(session, self.name))


def panel(link: str, person: str, session: str) -> str:
    """The link as Prolific opens it."""
    return f"{link}?{urlencode({'PROLIFIC_PID': person, 'SESSION_ID': session})}"


def begin(link: str, browser: Browser | None = None) -> Page:
    """Open a link and press the one button that is there; the page after it. A person who has sent a form is
    thanked at once."""
    browser = browser or Browser()
    page = browser.get(link)
    assert page.status == 200, page.html
    if not page.forms:
        return page
    (form,) = page.forms
    return browser.submit(page, form, {})


def form_on(page: Page) -> FoundForm:
    """The form to fill in; there is one."""
    form = page.form(field="form")
    assert form is not None, page.html
    return form


def form_hash(page: Page) -> str:
    """Which form it is."""
    return form_on(page).values["form"]


def send(page: Page, choice: int = 1, **entered: str) -> Page:
    """Agree, mark sentence `choice` everywhere, and send."""
    form = form_on(page)
    filled = {**form.boxes, **{name: str(choice) for name in form.choices}}
    return Browser().submit(page, form, {**filled, **entered})


def take(link: str, choice: int = 1) -> Page:
    """The whole way; the page at its end."""
    return send(begin(link), choice)


def heading(page: Page) -> str:
    """What the page says first."""
    return page.html.partition("<h1>")[2].partition("</h1>")[0]


def headings(pages: Sequence[Page]) -> Counter[str]:
    return Counter(heading(page) for page in pages)
